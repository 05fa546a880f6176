//! A failure as text: everything needed to reproduce it.

use std::fmt::Write;

use keyfold_core::query::explain::explain;

use super::Case;
use super::judge::Failure;
use crate::operation::text;

/// Seed, manifest, items, request, plan, violation, and the command that replays it.
pub fn report(case: &Case, failure: &Failure) -> String {
    let mut all = String::new();
    let request = serde_json::to_string(&case.asking.request).unwrap_or_default();
    let _ = writeln!(all, "seed {}: {}\n\n{}", case.seed, failure.what, case.manifest);
    for item in &case.items {
        let _ = writeln!(all, "item {}", text(&item.stored));
    }
    for item in &case.changed {
        let _ = writeln!(all, "later {}", text(&item.stored));
    }
    let _ = writeln!(all, "pending {:?}", case.pending);
    let _ = writeln!(all, "\nrequest {request}\ncaller {:?}\n", case.asking.caller);
    let _ = writeln!(all, "{}", explain(&failure.plan));
    let _ = writeln!(all, "\nreplay: cargo run -p keyfold-testkit --bin oracle -- {}", case.seed);
    all
}
