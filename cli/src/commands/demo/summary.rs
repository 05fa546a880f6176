//! The last page of the demo: the figures of the run.

use keyfold_core::cost::{Dollars, ReadUnits};
use keyfold_core::model::Model;
use keyfold_core::retrofit::RetrofitEstimate;
use keyfold_core::value::Item;
use serde::Serialize;
use serde_json::json;

use super::compare::Differences;
use super::stage::Stage;
use crate::output::{Output, columns, grouped};

/// The number of items for which the price is shown.
const BILLION: u64 = 1_000_000_000;
/// The number of questions for which the price is shown.
const ASKED: u64 = 1_000_000;

/// Everything that is shown at the end.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) items: u64,
    pub(super) items_per_second: f64,
    pub(super) written: u64,
    pub(super) write_units: f64,
    /// The least write units for these items: each written once, with its index entries.
    pub(super) least_units: Option<u64>,
    /// Writes to the source during the retrofit.
    pub(super) writes: u64,
    pub(super) replicated: u64,
    pub(super) ours: Differences,
    pub(super) plain: Option<Differences>,
    pub(super) answer: u64,
    pub(super) expected: u64,
    pub(super) by_index: f64,
    pub(super) by_filter: f64,
    pub(super) by_scan: f64,
    pub(super) billion: Option<Dollars>,
}

impl Summary {
    /// Is nothing lost and the answer complete?
    pub(super) fn is_whole(&self) -> bool {
        self.ours.count() == 0 && self.answer == self.expected
    }

    pub(super) fn print(&self, stage: &Stage, out: &Output) -> anyhow::Result<()> {
        if out.json {
            return out.value(&self.json());
        }
        out.text(columns(&self.rows(&stage.model)));
        Ok(())
    }

    fn rows(&self, model: &Model) -> Vec<Vec<String>> {
        let row = |name: &str, value: String| vec![format!("  {name}"), value];
        let asked = |units: f64| {
            format!("{units} read units, {} for {} questions", dollars(model, units), grouped(ASKED))
        };
        let mut rows = vec![
            row(
                "items",
                format!("{}, {} items/s", grouped(self.items), grouped(whole(self.items_per_second))),
            ),
            row(
                "write units",
                format!(
                    "{} for {} items; the minimum is {}",
                    grouped(whole(self.write_units)),
                    grouped(self.written),
                    self.least_units.map_or_else(|| "unknown".to_owned(), grouped),
                ),
            ),
            row(
                "during it",
                format!(
                    "{} writes to both tables, {} records carried over",
                    grouped(self.writes),
                    grouped(self.replicated)
                ),
            ),
            row("Keyfold", self.ours.to_string()),
        ];
        rows.extend(self.plain.map(|plain| row("naive protocol", plain.to_string())));
        rows.extend([
            row("Keyfold's index", asked(self.by_index)),
            row("another index, filtered", asked(self.by_filter)),
            row("a scan, filtered", asked(self.by_scan)),
        ]);
        rows.extend(self.billion.map(|price| {
            row("a billion items", format!("{price} for such a retrofit with on-demand capacity"))
        }));
        rows
    }

    fn json(&self) -> impl Serialize {
        let shown =
            |found: Differences| json!({ "lost": found.lost, "stale": found.stale, "ghosts": found.ghosts });
        json!({
            "items": self.items, "itemsPerSecond": self.items_per_second.round(),
            "written": self.written, "writeUnits": self.write_units, "leastWriteUnits": self.least_units, "writesMeanwhile": self.writes,
            "recordsCarriedOver": self.replicated, "keyfold": shown(self.ours), "plain": self.plain.map(shown),
            "answer": self.answer, "expected": self.expected,
            "readUnits": { "index": self.by_index, "filter": self.by_filter, "scan": self.by_scan },
            "dollarsForABillionItems": self.billion.map(|price| price.to_string()),
        })
    }
}

impl std::fmt::Display for Differences {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.count() == 0 {
            return write!(f, "{} events compared one by one: nothing lost", grouped(self.events));
        }
        let parts = [(self.lost, "lost"), (self.stale, "stale"), (self.ghosts, "deleted but still there")];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", grouped(*count)))
            .collect();
        write!(f, "{} of {} wrong: {}", grouped(self.count()), grouped(self.events), parts.join(", "))
    }
}

/// What such a retrofit of this many items takes, estimated from a sample.
pub(super) fn estimate(
    stage: &Stage,
    in_place: bool,
    items: u64,
    sample: &[Item],
) -> Option<RetrofitEstimate> {
    RetrofitEstimate::of(&stage.source, &stage.target, in_place, false, items, sample)
}

/// What such a retrofit of a billion items costs.
pub(super) fn billion(stage: &Stage, in_place: bool, sample: &[Item]) -> Option<Dollars> {
    let estimate = estimate(stage, in_place, BILLION, sample)?;
    Some(stage.model.prices.dollars_for(estimate.scan_read, estimate.write_units()))
}

fn dollars(model: &Model, units: f64) -> Dollars {
    model.prices.dollars_for_reads(ReadUnits::from_halves(whole(units * 2.0) * ASKED))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "units and rates, never negative"
)]
pub(super) fn whole(number: f64) -> u64 {
    number.round() as u64
}
