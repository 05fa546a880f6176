//! A failure for people: everything that is needed to see it again.

use std::fmt::Write;

use keyfold_core::query::explain::explain;

use super::Case;
use super::verdict::{Failure, json};

/// Seed, manifest, items, request, plan, what is wrong, and the command that replays it.
pub fn report(case: &Case, failure: &Failure) -> String {
    let mut text = String::new();
    let request = serde_json::to_string(&case.asking.request).unwrap_or_default();
    let _ = writeln!(text, "seed {}: {}\n\n{}", case.seed, failure.what, case.manifest);
    for item in &case.items {
        let _ = writeln!(text, "item {}", json(item));
    }
    let _ = writeln!(text, "\nrequest {request}\ncaller {:?}\n", case.asking.caller);
    if let Some(plan) = &failure.plan {
        let _ = writeln!(text, "{}", explain(plan));
    }
    let _ = writeln!(text, "\nreplay: cargo run -p keyfold-testkit --bin oracle -- {}", case.seed);
    text
}
