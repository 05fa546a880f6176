//! Tables, plots and sentences about retrofits.

use super::Where;
use super::matrix::Matrix;
use crate::report::{Bars, Line, Lines, Plot, Table};
use crate::retrofit::Done;
use crate::{Goal, Report, Spread, figure};

/// Which row others are compared with.
const RAW: usize = 0;
/// What a backfill is to cost beside the raw loop.
const GOAL: Goal = Goal::CpuAtMost(0.85);
/// What grows by no more than this, from the smallest table to the largest, is called the same for all sizes.
const STEADY: f64 = 1.25;

pub(super) fn opening() -> Report {
    Report::new(
        "4. Retrofit",
        "A table of events gets its folded key, in a new table and in place, while nobody else writes. The raw loop makes the same calls as Keyfold, with the same bytes, but decides nothing. The queue is the obvious first program: it puts whole items back without a condition. The boto3 script is what you write in an afternoon. Each program runs in its own process, so CPU and memory are its own. If somebody writes at the same time, only Keyfold and the raw loop give a right result, and only Keyfold can continue where it stopped.",
    )
}

pub(super) fn add(matrix: &Matrix, report: &mut Report) {
    let (name, file) = match matrix.place {
        Where::NewTable => ("Into a new table", "retrofit-new"),
        Where::InPlace => ("In place", "retrofit-in-place"),
    };
    report.tables.push(table(matrix, name));
    report.plots.push(Plot::Bars(bars(matrix, name, file)));
    if matrix.place == Where::NewTable {
        report.plots.push(Plot::Lines(lines(
            matrix,
            file,
            name,
            "cpu",
            "µs of CPU per item",
            Done::cpu_microseconds,
        )));
        report.plots.push(Plot::Lines(lines(matrix, file, name, "memory", "MB at most", Done::peak_mb)));
    }
    report.notes.extend(verdicts(matrix, name));
    report.notes.extend(growth(matrix, name));
    if matrix.place == Where::InPlace {
        report.notes.push(
            "In place the largest table is smaller than for a new table, because each program needs a freshly loaded table. There is no stream in either case, because the embedded DynamoDB slows down with every change that a stream keeps; `keyfold demo` has writers and a stream. The scans have no segments: the embedded DynamoDB reads the whole table for each page of a segment, which DynamoDB does not."
                .to_owned(),
        );
    }
}

fn table(matrix: &Matrix, name: &str) -> Table {
    let columns =
        ["", "items", "items/s", "time beside raw", "CPU µs per item", "CPU beside raw", "goal", "peak MB"];
    let mut table =
        Table::new(format!("{name}. Programs that are missing at a size would take too long."), columns);
    for items in matrix.sizes() {
        for (at, program) in matrix.programs.iter().enumerate() {
            let of = |figure| matrix.spread(at, items, figure);
            if of(Done::rate).median.is_nan() {
                continue;
            }
            let cpu = matrix.beside(at, RAW, items, Done::cpu_microseconds);
            table.row([
                program.name().to_owned(),
                figure::count(items),
                figure::spread(of(Done::rate)),
                figure::ratio(matrix.beside(at, RAW, items, |done| done.seconds)),
                figure::spread(of(Done::cpu_microseconds)),
                figure::ratio(cpu),
                Goal::cell(program.is_ours().then_some(GOAL), cpu),
                figure::spread(of(Done::peak_mb)),
            ]);
        }
    }
    table
}

fn bars(matrix: &Matrix, name: &str, file: &str) -> Bars {
    let mut bars = Bars::new(file, &format!("{name}: items per second"), "items per second");
    for (at, program) in matrix.programs.iter().enumerate() {
        // The largest table that all of them had.
        let sizes = matrix.sizes();
        let Some(items) = sizes.iter().rev().find(|items| {
            (0..matrix.programs.len()).all(|at| !matrix.of(at, **items, Done::rate).is_empty())
        }) else {
            break;
        };
        let (label, rate) = (
            format!("{}, {} items", program.name(), figure::count(*items)),
            matrix.spread(at, *items, Done::rate),
        );
        if program.is_ours() { bars.ours(label, rate) } else { bars.peer(label, rate) }
    }
    bars
}

fn lines(matrix: &Matrix, file: &str, name: &str, what: &str, unit: &str, figure: fn(&Done) -> f64) -> Lines {
    let sizes = matrix.sizes();
    // Ours has the first colour, as in every plot.
    let mut in_colours: Vec<usize> = (0..matrix.programs.len()).collect();
    in_colours.sort_by_key(|at| !matrix.programs[*at].is_ours());
    let line = |at: usize| Line {
        name: matrix.programs[at].name().to_owned(),
        points: sizes.iter().map(|items| (*items as f64, matrix.spread(at, *items, figure))).collect(),
    };
    Lines {
        file: format!("{file}-{what}"),
        title: format!("{name}: {unit}"),
        x: "items of the table".to_owned(),
        y: unit.to_owned(),
        x_is_log: true,
        y_is_log: true,
        lines: in_colours.into_iter().map(line).collect(),
    }
}

/// Ours beside each of the others, at the largest table that both had.
fn verdicts(matrix: &Matrix, name: &str) -> Vec<String> {
    let Some(ours) = matrix.ours() else { return Vec::new() };
    let verdict = |(at, program): (usize, &super::Program)| {
        let sizes = matrix.sizes();
        let items = sizes.iter().rev().find(|items| !matrix.of(at, **items, Done::rate).is_empty())?;
        let time = matrix.beside(ours, at, *items, |done| done.seconds);
        let why = match at {
            RAW => "This is the cost of deciding each write: folding, comparing, conditions, checkpoints.",
            _ => {
                "Plain puts are cheaper than conditional ones, for the server too, but they overwrite what others wrote in between."
            }
        };
        let what = format!("{name}, {} items, time", figure::count(*items));
        Some(figure::verdict(&what, &format!("\"{}\"", program.name()), time, why))
    };
    let others = matrix.programs.iter().enumerate().filter(|(at, _)| *at != ours);
    others.filter_map(verdict).collect()
}

/// Do cost and memory grow as they should?
fn growth(matrix: &Matrix, name: &str) -> Option<String> {
    let (ours, sizes) = (matrix.ours()?, matrix.sizes());
    let (cpu, memory) = (matrix.growth(ours, Done::cpu_microseconds)?, matrix.growth(ours, Done::peak_mb));
    let said =
        if cpu <= STEADY { "grows no faster than the table" } else { "grows **faster** than the table" };
    let of_memory = match memory {
        Some(memory) if memory <= STEADY => "memory stays flat",
        Some(_) => "memory does **not** stay flat",
        None => "the system does not tell the memory",
    };
    let times = |growth: f64| figure::ratio(Spread::exact(growth));
    Some(format!(
        "{name}: from {} to {} items the CPU per item is {} and the peak of memory {}: the cost {said}, and {of_memory}.",
        figure::count(*sizes.first()?),
        figure::count(*sizes.last()?),
        times(cpu),
        memory.map_or_else(|| "-".to_owned(), times),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::matrix::Cell;
    use super::super::program::Program;
    use super::*;
    use crate::retrofit::worker;

    fn matrix(cpu_of_large: f64, peak_of_large: u64) -> Matrix {
        let program = |role| Program::Rust { program: "program".into(), role };
        let programs = vec![program(worker::Role::Raw), program(worker::Role::Ours)];
        let mut matrix = Matrix::new(Where::NewTable, programs);
        for (program, seconds) in [(0, 1.0), (1, 1.5)] {
            for (items, cpu_seconds, peak_kb) in [(10, 1.0, 10_240), (1000, cpu_of_large, peak_of_large)] {
                let done = Done { items, seconds, cpu_seconds, peak_kb };
                matrix.cells.push(Cell { program, items, round: 0, done });
            }
        }
        matrix
    }

    #[test]
    fn what_does_not_grow_as_it_should_is_said() {
        let said = growth(&matrix(100.0, 10_240), "New").unwrap();
        assert!(said.contains("no faster") && said.contains("stays flat"), "{said}");
        let said = growth(&matrix(200.0, 102_400), "New").unwrap();
        assert!(said.contains("grows **faster**") && said.contains("does **not** stay flat"), "{said}");
    }

    #[test]
    fn ours_is_judged_beside_the_others_and_not_itself() {
        let said = verdicts(&matrix(100.0, 10_240), "New");
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("New, 1,000 items, time: **\"raw loop, same calls\" is ahead**"),
            "{said:?}"
        );
    }
}
