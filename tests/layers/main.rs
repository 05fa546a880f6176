//! Arrows between files point one way: no two files import each other, over however many others, and inside core no layer
//! imports a layer above it.
//!
//! An import is a path in a `use` or in the code. A path that leads to a re-export counts as an import of the file that defines
//! the item; `mod` and the re-export itself do not count. Tests may import anything.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use imports::{Crate, Imports};

/// The crates whose files are looked at.
const CRATES: [&str; 9] = [
    "shared/core",
    "shared/dynamo",
    "shared/edge",
    "shared/trail",
    "functions/audit-writer",
    "functions/backfiller",
    "functions/query-api",
    "functions/replicator",
    "functions/verifier",
];
/// The layers of core, from the lowest: a module imports only modules of its own layer or of a lower one.
const LAYERS: [&[&str]; 5] =
    [&["value"], &["condition"], &["key"], &["model"], &["manifest", "index", "query", "retrofit"]];
/// Circles of a few files that are still there. Take a line away when you mend it; add none.
const KNOWN: &[(&str, &[&str])] = &[];

fn read(of: &str) -> Imports {
    Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of)).imports()
}

#[test]
fn no_files_import_each_other() {
    let mut circles = Vec::new();
    for of in CRATES {
        let known: Vec<BTreeSet<String>> =
            KNOWN.iter().filter(|(krate, _)| *krate == of).map(|(_, files)| named(files)).collect();
        let all = imports::circles(&read(of)).into_iter();
        let new = all.filter(|circle| !known.iter().any(|known| circle.is_subset(known)));
        circles.extend(new.map(|circle| format!("{of}: {}", listed(&circle))));
    }
    assert!(circles.is_empty(), "{} circles of files:\n{}", circles.len(), circles.join("\n"));
}

fn named(files: &[&str]) -> BTreeSet<String> {
    files.iter().map(|file| (*file).to_owned()).collect()
}

fn listed(circle: &BTreeSet<String>) -> String {
    circle.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[test]
fn no_layer_of_core_imports_a_layer_above_it() {
    let layer = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let mut upward = Vec::new();
    let mut between: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, all) in read("shared/core") {
        for to in all {
            let (low, high) = (imports::top(&from), imports::top(&to));
            if layer(low).zip(layer(high)).is_some_and(|(low, high)| low < high) {
                upward.push(format!("{from} imports {to}"));
            }
            if low != high {
                between.entry(low.to_owned()).or_default().insert(high.to_owned());
            }
        }
    }
    assert!(upward.is_empty(), "{} imports upward:\n{}", upward.len(), upward.join("\n"));
    let circles: Vec<String> = imports::circles(&between).iter().map(listed).collect();
    assert!(circles.is_empty(), "modules of core import each other:\n{}", circles.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let arrows = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("c", "e")];
    let mut all = Imports::new();
    for (from, to) in arrows {
        all.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    assert_eq!(imports::circles(&all), [named(&["a", "b", "c"])]);
}
