//! Folding keys beside what people write by hand.

mod cases;
mod promises;

use crate::micro::{self, Measured};
use crate::peers::Node;
use crate::report::{Bars, Plot, Table};
use crate::{Report, Setting, figure};

/// Names of the cases that others are compared with.
const STRUCT_THREE: &str = "three texts: a struct's own fields, joined";
const JOIN_THREE: &str = "three texts: looked up in the item, joined by `format!`";
const SERDE_THREE: &str = "three texts: item into a struct by serde_dynamo, joined";
const FOLD_THREE: &str = "three texts: fold";
const JOIN_MIXED: &str = "two texts, a timestamp, a padded number: `format!`";
const FOLD_MIXED: &str = "two texts, a timestamp, a padded number: fold";
const NUMBER_TEXT: &str = "a number: parsed as f64, written out (not in order)";
const NUMBER_FOLD: &str = "a number: full-range ordered encoding";
const SPLIT: &str = "back again: `split`";
const UNFOLD: &str = "back again: unfold";
const SELECT: &str = "two equalities and a prefix into a key condition: select";

/// Ours, the peer, what is compared, why the peer stays ahead where it is.
const PAIRS: [(&str, &str, &str); 6] = [
    (
        FOLD_THREE,
        JOIN_THREE,
        "A fold also looks for separators in every byte and checks types and limits. A join does not, and its keys collide.",
    ),
    (
        FOLD_THREE,
        STRUCT_THREE,
        "A struct's fields need no look-up, but an item is a list: most of the difference is finding three names in it.",
    ),
    (FOLD_THREE, SERDE_THREE, "A fold needs no struct."),
    (
        FOLD_MIXED,
        JOIN_MIXED,
        "A fold checks the timestamp, converts it to UTC, and checks the number against its width. `format!` writes whatever it gets.",
    ),
    (
        NUMBER_FOLD,
        NUMBER_TEXT,
        "The encoding keeps 38 digits, which f64 does not, and keeps the order, which the digits as text do not.",
    ),
    (UNFOLD, SPLIT, "Unfold undoes the escapes and checks each part against its type."),
];

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let measured = micro::measure(cases::all()?, micro::rounds(setting.scale));
    let mut report = Report::new(
        "1. Keys",
        "Attributes are folded into a key once per write. A fold never gives two items the same key by accident, refuses values that do not fit, and keeps the order. A join does none of this. Here is what it costs.",
    );
    report.tables.push(table(&measured));
    report.plots.push(Plot::Bars(bars(&measured)));
    let node = Node::prepare(setting);
    report.tables.push(promises::table(node.as_ref().ok())?);
    report.absent.extend(node.err().map(|missing| format!("ElectroDB's keys: {missing}")));
    report.notes = PAIRS.iter().filter_map(|pair| verdict(&measured, pair)).collect();
    Ok(report)
}

fn table(measured: &[Measured]) -> Table {
    let mut table = Table::new("One key, one thread.", ["", "ns", "allocations", "bytes allocated"]);
    for case in measured {
        let allocations = case.allocations;
        table.row([
            case.name.clone(),
            figure::spread(case.nanoseconds()),
            figure::count(allocations.count),
            figure::count(allocations.bytes),
        ]);
    }
    table
}

fn bars(measured: &[Measured]) -> Bars {
    let mut bars = Bars::new("keys", "One key", "nanoseconds");
    for case in measured {
        let ours = [FOLD_THREE, FOLD_MIXED, NUMBER_FOLD, UNFOLD, SELECT].contains(&case.name.as_str());
        let label = case.name.replace('`', "");
        if ours { bars.ours(label, case.nanoseconds()) } else { bars.peer(label, case.nanoseconds()) }
    }
    bars
}

fn verdict(measured: &[Measured], (ours, peer, why): &(&str, &str, &str)) -> Option<String> {
    let find = |name: &str| measured.iter().find(|case| case.name == name);
    Some(figure::verdict(ours, &format!("\"{peer}\""), find(ours)?.beside(find(peer)?), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_names_cases_that_are_measured() {
        let measured = micro::measure(cases::all().unwrap(), 1);
        for (ours, peer, _) in PAIRS {
            for name in [ours, peer] {
                assert!(measured.iter().any(|case| case.name == name), "{name}");
            }
        }
    }

    #[test]
    fn a_fold_makes_its_result_and_nothing_else() {
        let measured = micro::measure(cases::all().unwrap(), 1);
        let fold = measured.iter().find(|case| case.name == FOLD_THREE).unwrap();
        assert_eq!(fold.allocations.count, 1);
    }
}
