//! Writing through the model, several requests at once: what the functions are made of.

use anyhow::ensure;
use futures_util::stream::{self, TryStreamExt};
use keyfold_core::value::Item;
use keyfold_dynamo::{PutNew, PutNewOptions, put_new, put_new_all};

use super::super::pace::Paces;
use super::stage::StreamStage;
use crate::report::Table;
use crate::{Scale, data, figure};

/// Requests under way at once.
const CONCURRENCY: usize = 8;

/// How items are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WayToWrite {
    ByHand,
    One,
    BatchOfOne,
    BatchOf25,
}

const WAYS: [(WayToWrite, &str); 4] = [
    (WayToWrite::ByHand, "conditional puts alone"),
    (WayToWrite::One, "`put_new`"),
    (WayToWrite::BatchOfOne, "`put_new_all`, 1 item"),
    (WayToWrite::BatchOf25, "`put_new_all`, 25 items"),
];

pub(super) async fn measure(stage: &StreamStage, scale: Scale) -> anyhow::Result<[Paces; WAYS.len()]> {
    let items = scale.of(100, 500);
    let mut paces: [Paces; WAYS.len()] = Default::default();
    for round in 0..=scale.of(1, 15) {
        for (number, (way, _)) in WAYS.into_iter().enumerate() {
            let new: Vec<Item> =
                (0..items).map(|at| data::event_called(format!("l{round}-{number}-{at}"), at)).collect();
            if way == WayToWrite::ByHand {
                let keyed = stage.keyed(new.into_iter())?;
                paces[number].round(items, stage.put_new(keyed, CONCURRENCY)).await?;
            } else {
                paces[number].round(items, through_the_model(stage, way, new)).await?;
            }
            if round == 0 {
                paces[number].forget();
            }
        }
    }
    Ok(paces)
}

async fn through_the_model(stage: &StreamStage, way: WayToWrite, items: Vec<Item>) -> anyhow::Result<()> {
    let size = if way == WayToWrite::BatchOf25 { 25 } else { 1 };
    let groups: Vec<_> = items.chunks(size).map(<[Item]>::to_vec).map(Ok).collect();
    let write = |group| write(stage, way, group);
    stream::iter(groups).try_for_each_concurrent(CONCURRENCY, write).await
}

async fn write(stage: &StreamStage, way: WayToWrite, mut group: Vec<Item>) -> anyhow::Result<()> {
    let (client, table) = (&stage.client, stage.target()?);
    if way == WayToWrite::One {
        // An item that is there already is an error.
        put_new(client, table, group.remove(0)).await?;
        return Ok(());
    }
    for outcome in put_new_all(client, table, group, &PutNewOptions::default()).await.outcomes {
        ensure!(matches!(outcome?, PutNew::Written), "an item was there already");
    }
    Ok(())
}

/// All ways, beside the first.
pub(super) fn table(paces: &[Paces; WAYS.len()]) -> Table {
    let caption = format!("The library's writes, items per second, {CONCURRENCY} parallel requests.");
    let mut table = Table::new(caption, ["", "items/s", "rate", "CPU µs", "CPU beside"]);
    for ((_, name), pace) in WAYS.iter().zip(paces) {
        table.row([
            (*name).to_owned(),
            figure::spread(pace.rate()),
            figure::ratio(pace.rate_beside(&paces[0])),
            figure::spread(pace.cpu()),
            figure::ratio(pace.cpu_beside(&paces[0])),
        ]);
    }
    table
}
