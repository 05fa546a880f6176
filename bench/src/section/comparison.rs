//! Comparing both tables after a retrofit, page by page, beside the same reads without a comparison.

mod raw;
mod stage;

use keyfold_core::retrofit::Pass;

use super::compared::{self, Compared};
use crate::report::{Bars, Plot};
use crate::{Goal, Report, Setting, figure};
use stage::ComparisonStage;

/// What a comparison is to cost beside its reads alone.
const GOAL: Goal = Goal::CpuAtMost(0.8);
/// The two directions.
const PASSES: [(Pass, &str); 2] =
    [(Pass::VerifySource, "source against target"), (Pass::VerifyTarget, "target against source")];

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let (items, rounds) = setting.scale.of((1000, 3), (5000, 31));
    super::one_thread()?.block_on(async {
        let stage = ComparisonStage::new(items).await?;
        let mut all = Vec::new();
        for (pass, name) in PASSES {
            all.push(measure(&stage, pass, name, rounds).await?);
        }
        Ok(report(&all, items))
    })
}

async fn measure(stage: &ComparisonStage, pass: Pass, name: &str, rounds: usize) -> anyhow::Result<Compared> {
    let mut compared = Compared::new(name, Some(GOAL));
    for round in 0..=rounds {
        for turn in 0..2 {
            // Each goes first as often as the other.
            if (turn + round) % 2 == 0 {
                compared.raw.round(stage.items(), stage.raw(pass)).await?;
            } else {
                compared.ours.round(stage.items(), stage.ours(pass)).await?;
            }
        }
        if round == 0 {
            compared.forget();
        }
    }
    Ok(compared)
}

fn report(all: &[Compared], items: usize) -> Report {
    let about = format!(
        "`keyfold retrofit verify` compares {} items of both tables: it scans one of them in pages of {}, reads the other by key, folds every item again and compares all attributes. The SDK alone makes the same reads and only counts what comes.",
        figure::count(items as u64),
        stage::PAGE_ITEMS
    );
    let mut report = Report::new("5. Comparison of both tables", &about);
    report.tables.push(compared::table("Items per second, CPU for one item.", "reads alone", all));
    let mut bars =
        Bars::new("comparison", "CPU of the client for one compared item", "microseconds for one item");
    for Compared { name, raw, ours, .. } in all {
        bars.peer(format!("{name}: reads alone"), raw.cpu());
        bars.ours(format!("{name}: ours"), ours.cpu());
    }
    report.plots.push(Plot::Bars(bars));
    let verdict = |pair: &Compared| {
        figure::verdict(
            &format!("{}, time", pair.name),
            "the reads alone",
            pair.ours.time_beside(&pair.raw),
            "Every item is folded and compared attribute by attribute.",
        )
    };
    report.notes.extend(all.iter().map(verdict));
    report
}
