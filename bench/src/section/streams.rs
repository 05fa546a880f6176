//! What follows a table and what writes to it: replicator, audit writer, and the library below them.

mod library;
mod replicator;
mod stage;
mod writer;

use super::compared::{self, Compared};
use crate::report::{Bars, Plot};
use crate::{Report, Setting, figure};
use stage::StreamStage;

/// Puts under way at once where they are sent by hand.
const IN_FLIGHT: usize = keyfold_dynamo::retrofit::IN_FLIGHT_DEFAULT;

/// What ours is compared with.
const PUTS: &str = "puts alone";

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new(
        "6. Streams and writes",
        "The replicator's handler gets batches of stream records as Lambda delivers them; the audit writer's handler gets lists of events. They are compared with the conditional puts alone: the same items, with keys computed in advance, and the same number of parallel requests. Only our figures include reading the event and writing the answer. Changes are records of items that are already in the target, with an older fence.",
    );
    super::one_thread()?.block_on(async {
        let stage = StreamStage::new().await?;
        let replicated = replicator::measure(&stage, setting.scale).await?;
        let written = writer::measure(&stage, setting.scale).await?;
        let by_library = library::measure(&stage, setting.scale).await?;
        report.tables.push(compared::table("Replicator, records per second.", PUTS, &replicated));
        report.tables.push(compared::table("Audit writer, events per second.", PUTS, &written));
        report.tables.push(library::table(&by_library));
        let both = || replicated.iter().chain(&written);
        report.plots.push(Plot::Bars(bars(both())));
        report.notes.extend(both().map(verdict));
        report.notes.push(format!(
            "A batch of 10,000 records here is {} MB of text; Lambda closes a batch at 6 MB.",
            figure::number(replicator::batch_bytes() as f64 / 1e6)
        ));
        Ok(report)
    })
}

fn bars<'p>(pairs: impl Iterator<Item = &'p Compared>) -> Bars {
    let mut bars = Bars::new("streams", "Records and events per second", "per second");
    for Compared { name, raw, ours, .. } in pairs {
        bars.peer(format!("{name}: puts alone"), raw.rate());
        bars.ours(format!("{name}: ours"), ours.rate());
    }
    bars
}

fn verdict(pair: &Compared) -> String {
    figure::verdict(
        &format!("{}, time", pair.name),
        "the puts alone",
        pair.ours.time_beside(&pair.raw),
        "Each batch or record also pays for parsing and writing JSON, folding, and reading the control table.",
    )
}
