//! Retrofits of whole tables by several programs, each in a process of its own, on one embedded DynamoDB.

mod decisions;
mod matrix;
mod program;
mod stage;
mod tell;

use crate::peers::Python;
use crate::{Report, Scale, Setting};
use matrix::{Cell, Matrix};
use program::Program;
use stage::RetrofitStage;

/// Into a new table, or in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    NewTable,
    InPlace,
}

/// So many items, and how many rounds of them.
#[derive(Debug, Clone, Copy)]
struct Size {
    items: u64,
    rounds: usize,
}

/// Sizes of both kinds, by scale.
///
/// In place each program needs a freshly loaded table, which takes as long as the retrofit itself.
fn sizes(scale: Scale, place: Where) -> Vec<Size> {
    let size = |items, rounds| Size { items, rounds };
    match (scale, place) {
        (Scale::Quick, _) => vec![size(500, 1), size(2000, 1)],
        (Scale::Full, Where::NewTable) => vec![size(10_000, 7), size(100_000, 3), size(1_000_000, 3)],
        (Scale::Full, Where::InPlace) => vec![size(10_000, 7), size(100_000, 3)],
    }
}

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let (programs, absent) = programs(setting);
    let stage = RetrofitStage::new()?;
    let mut report = tell::opening();
    for place in [Where::NewTable, Where::InPlace] {
        let mut matrix = Matrix::new(place, programs.clone());
        for size in sizes(setting.scale, place) {
            measure(setting, &stage, &mut matrix, size)?;
        }
        tell::add(&matrix, &mut report);
    }
    report.tables.push(decisions::table(stage.model(), setting.scale)?);
    report.absent.extend(absent);
    report.notes.extend(programs.iter().filter_map(Program::versions));
    Ok(report)
}

fn measure(setting: &Setting, stage: &RetrofitStage, matrix: &mut Matrix, size: Size) -> anyhow::Result<()> {
    let place = matrix.place;
    let taking_part: Vec<usize> =
        (0..matrix.programs.len()).filter(|at| size.items <= matrix.programs[*at].items_max(place)).collect();
    stage.load_source(place, size.items)?;
    for round in 0..size.rounds {
        // Each goes first as often as the others.
        for turn in 0..taking_part.len() {
            let at = taking_part[(turn + round) % taking_part.len()];
            stage.reset_target(place, size.items)?;
            let name = matrix.programs[at].name();
            (setting.progress)(&format!("{place:?}, {} items, round {}: {name}", size.items, round + 1));
            let done = matrix.programs[at].run(stage.endpoint(), place, size.items)?;
            stage.check(size.items)?;
            matrix.cells.push(Cell { program: at, items: size.items, round, done });
        }
    }
    Ok(())
}

/// Those that can run here, and why the others cannot.
fn programs(setting: &Setting) -> (Vec<Program>, Vec<String>) {
    let (mut programs, mut absent) = (Program::of_ours(setting), Vec::new());
    match Python::prepare(setting) {
        Ok(python) => programs.push(Program::Boto3(python)),
        Err(missing) => absent.push(format!("the boto3 script: {missing}")),
    }
    if !program::dynein_is_there() {
        absent.push(
            "`dynein`: there is no `dy`. It could only copy items (`dy export`, `dy import`): it makes no keys, so it would not be a retrofit"
                .to_owned(),
        );
    }
    (programs, absent)
}
