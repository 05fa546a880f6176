//! Functions from the start of their process on: until they ask for an event, until the first answer, and after.

mod answer;
mod binaries;
mod subject;

use crate::peers::Node;
use crate::report::{Bars, Plot, Table};
use crate::start::{Start, start};
use crate::{Report, Setting, Spread, figure};
use answer::Answers;
use subject::Subject;

/// The function that does nothing: others are compared with it.
const BARE: usize = 0;

/// Why a peer stays ahead where it is.
const WHY_START: &str = "It reads the manifest and the system's certificates and makes the client: docs/adr/0009 says what each costs.";
const WHY_ANSWER: &str =
    "The query API checks, plans, logs and seals page tokens; the Node function sends one query.";

/// The starts of one function, in milliseconds.
#[derive(Debug, Default)]
struct Starts {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new(
        "7. Cold start and size",
        "First, the time from the start of the process to its first request for an event, with the template's settings and the AWS client created. Then, with a DynamoDB on this machine, the time to the first answer to a question, and the time of each later answer. The Node function asks the same question on the same index with ElectroDB, over the same Runtime API, in a loop of 30 lines. A function has a whole core here; Lambda gives it a share of a core that depends on its memory.",
    );
    let (binaries, how_built) = binaries::find(setting)?;
    let mut subjects = Subject::ours(&binaries);
    match Node::prepare(setting) {
        Ok(node) => {
            report.notes.push(format!("The Node function: {}.", node.versions()));
            subjects.extend(Subject::node(&node));
        }
        Err(missing) => report.absent.push(format!("the Node function with ElectroDB: {missing}")),
    }
    let starts = starts(setting, &subjects)?;
    report.tables.push(table(&subjects, &starts));
    report.plots.push(Plot::Bars(bars(&subjects, &starts)));
    let answers = answer::measure(setting, &subjects)?;
    report.tables.push(answer::table(&answers));
    report.plots.push(Plot::Bars(answer::bars(&answers)));
    report.notes.insert(0, how_built);
    report.notes.extend(notes(&subjects, &starts, &answers));
    Ok(report)
}

fn starts(setting: &Setting, subjects: &[Subject]) -> anyhow::Result<Vec<Starts>> {
    let mut starts: Vec<Starts> = subjects.iter().map(|_| Starts::default()).collect();
    // The first start of each reads its files.
    for round in 0..=setting.scale.of(3, 40) {
        for (subject, starts) in subjects.iter().zip(&mut starts) {
            let Start { wall, cpu } = start(|runtime| Ok(subject.as_in_aws(setting, runtime)))
                .map_err(|error| error.context(format!("function `{}`", subject.name)))?;
            if round > 0 {
                starts.wall.push(wall.as_secs_f64() * 1e3);
                starts.cpu.push(cpu.as_secs_f64() * 1e3);
            }
        }
    }
    Ok(starts)
}

fn table(subjects: &[Subject], starts: &[Starts]) -> Table {
    let columns = ["", "start, ms", "beside bare", "CPU, ms", "size, MB"];
    let mut table = Table::new("From the start of the process to its first request for an event.", columns);
    for (subject, Starts { wall, cpu }) in subjects.iter().zip(starts) {
        table.row([
            subject.name.clone(),
            figure::spread(Spread::of(wall)),
            figure::ratio(Spread::of_ratios(wall, &starts[BARE].wall)),
            figure::spread(Spread::of(cpu)),
            figure::number(subject.bytes as f64 / 1e6),
        ]);
    }
    table
}

fn bars(subjects: &[Subject], starts: &[Starts]) -> Bars {
    let mut bars = Bars::new("coldstart", "Start of the process to its first request", "milliseconds");
    bars.is_log = true;
    for (subject, starts) in subjects.iter().zip(starts) {
        let wall = Spread::of(&starts.wall);
        if subject.is_keyfold { bars.ours(&subject.name, wall) } else { bars.peer(&subject.name, wall) }
    }
    bars
}

/// The query API beside the others that were started.
fn notes(subjects: &[Subject], starts: &[Starts], answers: &[Answers]) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(ours) = subjects.iter().position(|subject| subject.asks && subject.is_keyfold) else {
        return notes;
    };
    for (at, subject) in subjects.iter().enumerate().filter(|(at, subject)| *at == BARE || subject.asks) {
        if at != ours {
            let cost = Spread::of_ratios(&starts[ours].wall, &starts[at].wall);
            notes.push(figure::verdict("Start of the query API", &subject.name, cost, WHY_START));
        }
    }
    let Some((ours, others)) = answers.split_first() else { return notes };
    for other in others {
        for (what, of) in answer::FIGURES {
            let cost = Spread::of_ratios(of(ours), of(other));
            notes.push(figure::verdict(&format!("{what} of the query API"), &other.name, cost, WHY_ANSWER));
        }
    }
    notes
}
