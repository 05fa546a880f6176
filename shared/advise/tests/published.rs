//! The advice for published models without their indexes, compared with the indexes that their designers chose.
//!
//! The questions are the models' published access patterns. The table is in published.md.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use keyfold_advise::{Advice, Options, Total, advise};
use keyfold_core::manifest;
use keyfold_core::query::advise::advise as plan_all;

/// Models whose advice has more indexes or a higher price than the design, with the reason.
const WORSE: [(&str, &str); 1] = [(
    "labs_employees",
    "all employees by name: the design keeps them in one partition, which `check` reports as hot; the advice has ten shards",
)];
/// A difference of the price that is due to rounding.
const DOLLARS: f64 = 0.005;

/// The advice for the table of a manifest.
fn advice(text: &str, options: &Options) -> Advice {
    let model = manifest::model("", text).unwrap();
    advise(text, &model.tables[0].id, options).unwrap()
}

/// The manifest without the sections and lines of its indexes.
fn without_indexes(text: &str) -> String {
    let mut kept = String::new();
    let mut is_index = false;
    for line in text.lines() {
        if line.starts_with('[') {
            is_index = line.contains(".indexes.");
        }
        if !is_index && !line.starts_with("indexes") {
            let _ = writeln!(kept, "{line}");
        }
    }
    kept
}

/// The design and the advice for a table without its indexes, as a row of the table.
fn compare(name: &str, text: &str) -> String {
    let designed = advice(text, &Options { global_max: 0, ..Options::default() }).now;
    // The tables of the designers did not exist yet either.
    let options = Options { local_allowed: true, time_limit: Duration::from_secs(60), ..Options::default() };
    let bare = without_indexes(text);
    let advised = advice(&bare, &options);
    assert!(advised.is_optimal, "{name}");
    let model = manifest::model("", &format!("{bare}\n{}", advised.addition)).unwrap();
    for planned in plan_all(&model) {
        let plan = planned.outcome.as_ref().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!plan.scans() || planned.question.scan, "{name}: `{}` scans", planned.question.name);
    }
    let (addition, advised) = (advised.addition, advised.advised);
    assert_eq!((designed.unserved, advised.unserved), (0, 0), "{name}");
    let is_worse = advised.indexes > designed.indexes || advised.total > designed.total + DOLLARS;
    let reason = WORSE.iter().find(|(worse, _)| *worse == name).map_or("", |(_, reason)| reason);
    assert_eq!(is_worse, !reason.is_empty(), "{name}: {designed:?} {advised:?}\n{addition}");
    let column = |total: &Total| format!("{}, ${:.2}", total.indexes, total.total);
    format!("| `{name}` | {} | {} | {} | {reason} |\n", designed.served, column(&designed), column(&advised))
}

#[test]
fn no_published_design_has_fewer_indexes_or_a_lower_price_but_for_named_reasons() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = std::fs::read_dir(root.join("tests/models/manifests")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert_eq!(paths.len(), 17);
    let row = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy();
        compare(&name, &std::fs::read_to_string(path).unwrap())
    };
    let table: String = paths.iter().map(row).collect();
    let page = std::fs::read_to_string(root.join("shared/advise/tests/published.md")).unwrap();
    assert!(page.contains(&table), "published.md has another table than this:\n{table}");
}
