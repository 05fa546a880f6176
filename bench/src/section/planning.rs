//! Planning alone, by the number of a table's indexes and of a request's conditions.

mod requests;

use std::hint::black_box;

use keyfold_core::query::advise::advise;
use keyfold_core::query::explain::explain;
use keyfold_core::query::{Readiness, plan};

use crate::micro::{self, Case, Measured};
use crate::report::{Line, Lines, Plot, Table};
use crate::{Report, Setting, figure};

/// How many indexes the tables have.
const INDEXES: [usize; 3] = [1, 5, 20];
/// What a request with three conditions over 20 indexes is to stay under, in nanoseconds.
const TARGET: f64 = 5_000.0;

/// A row: what is planned.
struct Row {
    name: &'static str,
    /// One for each number of indexes.
    measured: Vec<Measured>,
}

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let models = INDEXES.map(requests::model).into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let mut cases = Vec::new();
    for (_, request) in requests::ALL {
        for model in &models {
            let checked = requests::checked(model, request)?;
            let complete = Readiness::complete();
            cases.push(Case::new("", move || plan(black_box(&checked), &complete)));
        }
    }
    for model in &models {
        cases.push(Case::new("", || requests::checked(black_box(model), requests::THREE).is_ok()));
    }
    for model in &models {
        cases.push(Case::new("", || advise(black_box(model))));
    }
    for model in &models {
        let plan = plan(&requests::checked(model, requests::THREE)?, &Readiness::complete())?;
        cases.push(Case::new("", move || explain(black_box(&plan))));
    }
    let mut measured = micro::measure(cases, micro::rounds(setting.scale)).into_iter();
    let extra = [
        "read from JSON and checked, three conditions",
        "a named question of the manifest",
        "an explanation",
    ];
    let names = requests::ALL.iter().map(|(name, _)| *name).chain(extra);
    let rows: Vec<Row> =
        names.map(|name| Row { name, measured: measured.by_ref().take(INDEXES.len()).collect() }).collect();
    Ok(report(&rows))
}

fn report(rows: &[Row]) -> Report {
    let mut report = Report::new(
        "2. Planning",
        "Planning turns a checked request into a plan: it tries every index, computes its price, and rejects or chooses it. This happens once per request, in the calling process; nothing is sent.",
    );
    let mut table = Table::new(
        "Microseconds of one thread.",
        ["", "1 index", "5 indexes", "20 indexes", "allocations at 20"],
    );
    for Row { name, measured } in rows {
        let times = measured.iter().map(|case| figure::spread(case.nanoseconds().times(1e-3)));
        let allocations = measured.last().map(|case| figure::count(case.allocations.count));
        table.row([(*name).to_owned()].into_iter().chain(times).chain(allocations));
    }
    report.tables.push(table);
    report.plots.push(Plot::Lines(lines(&rows[..requests::ALL.len()])));
    report.notes.extend(target(rows));
    report
}

fn lines(rows: &[Row]) -> Lines {
    let line = |Row { name, measured }: &Row| Line {
        name: (*name).to_owned(),
        points: INDEXES
            .iter()
            .zip(measured)
            .map(|(indexes, case)| (*indexes as f64, case.nanoseconds().times(1e-3)))
            .collect(),
    };
    Lines {
        file: "planning".to_owned(),
        title: "Planning a request".to_owned(),
        x: "indexes of the table".to_owned(),
        y: "microseconds".to_owned(),
        lines: rows.iter().map(line).collect(),
        ..Lines::default()
    }
}

/// Is the ordinary request under its target?
fn target(rows: &[Row]) -> Option<String> {
    let row = rows.iter().find(|row| row.name == requests::THREE_NAME)?;
    let median = row.measured.last()?.nanoseconds().median;
    let said = if median <= TARGET { "is under" } else { "is **over**" };
    Some(format!(
        "The target for three conditions over 20 indexes is {} µs. The median {said} it, at {} µs. There is no peer: the other libraries we know leave the choice of the index to the caller.",
        figure::number(TARGET / 1e3),
        figure::number(median / 1e3)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_a_plan_with_every_number_of_indexes() {
        for indexes in INDEXES {
            let model = requests::model(indexes).unwrap();
            for (name, request) in requests::ALL {
                let checked = requests::checked(&model, request).unwrap();
                assert!(plan(&checked, &Readiness::complete()).is_ok(), "{name}, {indexes}");
            }
        }
    }

    /// A time cannot be tested where other work goes on; what makes planning slow can.
    #[test]
    fn three_conditions_over_twenty_indexes_take_fewer_than_sixty_allocations() {
        let model = requests::model(20).unwrap();
        let (checked, complete) =
            (requests::checked(&model, requests::THREE).unwrap(), Readiness::complete());
        // What the tables' declarations say is worked out with the first plan, and kept.
        let _first = plan(&checked, &complete);
        let counted = crate::allocations::during(|| plan(&checked, &complete));
        assert!((1..60).contains(&counted.count), "{counted:?}");
    }

    #[test]
    fn the_target_is_judged_by_the_row_with_the_most_indexes() {
        let of = |nanoseconds: f64| Measured {
            name: String::new(),
            rounds: vec![nanoseconds],
            allocations: Default::default(),
        };
        let row = |last| Row { name: requests::THREE_NAME, measured: vec![of(99_000.0), of(last)] };
        assert!(target(&[row(4_900.0)]).unwrap().contains("is under"));
        assert!(target(&[row(5_100.0)]).unwrap().contains("**over**"));
    }
}
