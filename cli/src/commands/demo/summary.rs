//! The last page of the demo: the figures of the run.

use keyfold_core::cost::{Dollars, ReadUnits};
use keyfold_core::model::{Model, Table};
use keyfold_core::retrofit::{Epoch, Job, Mapping, RetrofitEstimate};
use keyfold_core::value::Item;
use serde_json::{Value, json};

use super::compare::{Differences, Truth};
use super::stage::Stage;
use crate::output::grouped;

/// The number of items for which the price is shown.
const BILLION: u64 = 1_000_000_000;
/// The number of questions for which the price is shown.
const ASKED: u64 = 1_000_000;

/// Everything that is shown at the end.
pub(super) struct Summary {
    /// For programs.
    pub(super) value: Value,
    /// The rows of the printed table.
    pub(super) rows: Vec<Vec<String>>,
    /// Is nothing lost, and the answer complete?
    pub(super) is_whole: bool,
}

/// The counts of a run.
pub(super) struct Counts {
    /// Writes during the retrofit.
    pub(super) writes: u64,
    pub(super) replicated: u64,
}

/// Asks the question in three ways, compares the tables, and estimates the prices.
pub(super) async fn summarise(
    stage: &Stage,
    sample: &[Item],
    backfill: &Value,
    plain: Option<&Table>,
    Counts { writes, replicated }: Counts,
) -> anyhow::Result<Summary> {
    let count = |name: &str| backfill["counts"][name].as_u64().unwrap_or(0);
    let number = |name: &str| backfill[name].as_f64().unwrap_or(0.0);
    let (items, written) = (count("items"), count("written"));
    let (rate, units) = (number("itemsPerSecond"), number("writeUnits"));
    let truth = Truth::read(&stage.client, &stage.source).await?;
    let ours = truth.compare(&stage.client, &stage.target).await?;
    let naive = match plain {
        Some(table) => Some(truth.compare(&stage.client, table).await?),
        None => None,
    };
    let answer = stage.ask().await?;
    let by_index = answer.consumed_read_units;
    let by_filter = stage.ask_by_filter().await?.consumed_read_units;
    let by_scan = stage.ask_by_scan().await?.consumed_read_units;
    let least_units = estimate(stage, written, sample).map(|estimate| estimate.write_units().get());
    let billion = estimate(stage, BILLION, sample)
        .map(|estimate| stage.model.prices.dollars_for(estimate.scan_read, estimate.write_units()));

    let row = |name: &str, value: String| vec![format!("  {name}"), value];
    let price = |units: f64| {
        format!("{units} read units, {} for {} questions", dollars(&stage.model, units), grouped(ASKED))
    };
    let least = least_units.map_or_else(|| "unknown".to_owned(), grouped);
    let (all, units_text) = (grouped(written), grouped(whole(units)));
    let (changes, records) = (grouped(writes), grouped(replicated));
    let mut rows = vec![
        row("items", format!("{}, {} items/s", grouped(items), grouped(whole(rate)))),
        row("write units", format!("{units_text} for {all} items; the minimum is {least}")),
        row("during it", format!("{changes} writes to both tables, {records} records carried over")),
        row("Keyfold", ours.to_string()),
    ];
    rows.extend(naive.map(|naive| row("naive protocol", naive.to_string())));
    rows.extend([
        row("Keyfold's index", price(by_index)),
        row("another index, filtered", price(by_filter)),
        row("a scan, filtered", price(by_scan)),
    ]);
    rows.extend(
        billion.map(|price| {
            row("a billion items", format!("{price} for such a retrofit with on-demand capacity"))
        }),
    );
    let value = json!({
        "items": items, "itemsPerSecond": rate.round(), "written": written, "writeUnits": units,
        "leastWriteUnits": least_units, "writesMeanwhile": writes, "recordsCarriedOver": replicated,
        "keyfold": wrong(ours), "plain": naive.map(wrong), "answer": answer.count, "expected": truth.answers,
        "readUnits": { "index": by_index, "filter": by_filter, "scan": by_scan },
        "dollarsForABillionItems": billion.map(|price| price.to_string()),
    });
    let is_whole = ours.count() == 0 && answer.count == truth.answers;
    Ok(Summary { value, rows, is_whole })
}

fn wrong(table: Differences) -> Value {
    json!({ "lost": table.lost, "stale": table.stale, "ghosts": table.ghosts })
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

/// The estimate of such a retrofit for this many items.
fn estimate(stage: &Stage, items: u64, sample: &[Item]) -> Option<RetrofitEstimate> {
    let mapping = Mapping::of(&stage.model, stage.retrofit).ok()?;
    RetrofitEstimate::of_sample(&Job::new(mapping, Epoch::FIRST), items, sample)
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
