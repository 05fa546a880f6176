//! The replicator's handler: batches of records as texts, answers as values.

use std::time::Duration;

use anyhow::bail;
use keyfold_core::retrofit::control::LOOK_MS_MAX;
use keyfold_core::retrofit::{Epoch, Fence, Mapping, SequenceNumber};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;
use keyfold_edge::Invocation;
use keyfold_replicator::{Replicator, Settings, handle};
use serde_json::{Value, json};

use super::stage::{RETROFIT, SdkItem, StreamStage};
use super::{Compared, IN_FLIGHT};
use crate::{Goal, Scale, data};

/// Batches of one kind.
struct BatchShape {
    name: &'static str,
    /// Changes of items that are in the target already, or new items?
    changes: bool,
    /// Records of a batch.
    records: usize,
    /// What it is to reach beside the puts alone.
    goal: Option<Goal>,
    /// How many batches a round has, quick and full.
    batches: [usize; 2],
}

const SINGLE: Option<Goal> = Some(Goal::RateAtLeast(0.9));
const CHANGES: Option<Goal> = Some(Goal::CpuAtMost(1.05));

const SHAPES: [BatchShape; 5] = [
    BatchShape {
        name: "new items, 1 in a batch",
        changes: false,
        records: 1,
        goal: SINGLE,
        batches: [50, 400],
    },
    BatchShape {
        name: "new items, 100 in a batch",
        changes: false,
        records: 100,
        goal: None,
        batches: [4, 20],
    },
    BatchShape {
        name: "new items, 10000 in a batch",
        changes: false,
        records: 10_000,
        goal: None,
        batches: [1, 1],
    },
    BatchShape {
        name: "changes, 100 in a batch",
        changes: true,
        records: 100,
        goal: CHANGES,
        batches: [4, 20],
    },
    BatchShape {
        name: "changes, 10000 in a batch",
        changes: true,
        records: 10_000,
        goal: CHANGES,
        batches: [1, 1],
    },
];

pub(super) async fn measure(stage: &StreamStage, scale: Scale) -> anyhow::Result<Vec<Compared>> {
    let settings = Settings {
        manifest: "keyfold.toml".into(),
        dynamo: keyfold_dynamo::Settings::default(),
        retrofit: RETROFIT.to_owned(),
        control_table: CONTROL_TABLE_DEFAULT.to_owned(),
        concurrency: IN_FLIGHT,
        look: Duration::from_millis(LOOK_MS_MAX),
    };
    let replicator = Replicator::new(Mapping::of(&stage.model, RETROFIT), stage.client.clone(), settings);
    let mut pairs = Vec::new();
    for (number, kind) in SHAPES.iter().enumerate() {
        let mut pair = Compared::new(kind.name.to_owned(), kind.goal);
        for round in 0..=scale.of(1, 5) {
            for turn in 0..2 {
                // Each goes first as often as the other.
                let is_raw = (turn + round) % 2 == 0;
                let batches = scale.of(kind.batches[0], kind.batches[1]);
                let names: Vec<String> =
                    (0..batches).map(|batch| format!("{number}-{round}-{is_raw}-{batch}")).collect();
                if kind.changes {
                    for name in &names {
                        let before = stage.keyed(events(name, kind.records))?;
                        stage.put_over_older(before, &Fence::of_scan(Epoch::FIRST)).await?;
                    }
                }
                let items = kind.records * batches;
                if is_raw {
                    let puts = names.iter().map(|name| stage.keyed(events(name, kind.records)));
                    let puts = puts.collect::<anyhow::Result<Vec<_>>>()?;
                    pair.raw.round(items, by_hand(stage, puts)).await?;
                } else {
                    let texts = names.iter().map(|name| batch_text(&stage.stream, kind, name)).collect();
                    pair.ours.round(items, by_us(&replicator, texts)).await?;
                }
            }
            if round == 0 {
                pair.forget();
            }
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

async fn by_hand(stage: &StreamStage, batches: Vec<Vec<SdkItem>>) -> anyhow::Result<()> {
    let fence = Fence::of_record(Epoch::FIRST, SequenceNumber::parse(&sequence(0))?);
    for batch in batches {
        stage.put_over_older(batch, &fence).await?;
    }
    Ok(())
}

async fn by_us(replicator: &Replicator, batches: Vec<String>) -> anyhow::Result<()> {
    for batch in batches {
        let invocation = Invocation { event: &batch, request_id: "bench", deadline: None };
        match handle(replicator, invocation).await.answer {
            Ok(value) if value == json!({ "batchItemFailures": [] }) => {}
            other => bail!("the replicator did not carry a batch over: {other:?}"),
        }
    }
    Ok(())
}

/// New events, whose ids begin with the batch's name.
fn events(batch: &str, records: usize) -> impl Iterator<Item = Item> {
    (0..records).map(move |at| data::event_called(format!("{batch}-{at}"), at))
}

/// A batch as Lambda delivers it.
fn batch_text(stream: &str, kind: &BatchShape, batch: &str) -> String {
    let name = if kind.changes { "MODIFY" } else { "INSERT" };
    let record = |(at, item): (usize, Item)| record(stream, name, at, &item);
    let records: Vec<Value> = events(batch, kind.records).enumerate().map(record).collect();
    json!({ "Records": records }).to_string()
}

fn sequence(at: usize) -> String {
    format!("1000000000000000{at:08}")
}

fn record(stream: &str, name: &str, at: usize, item: &Item) -> Value {
    json!({
        "eventID": format!("{at:032x}"),
        "eventName": name,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_488_355_200,
            "Keys": { "id": { "S": data::text(item, "id") } },
            "NewImage": item,
            "SequenceNumber": sequence(at),
            "SizeBytes": 300,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": stream,
    })
}

/// How large the largest batch is, as text.
pub(super) fn batch_bytes() -> usize {
    let stream = "arn:aws:dynamodb:us-east-1:123456789012:table/T/stream/S";
    SHAPES.iter().map(|kind| batch_text(stream, kind, "batch").len()).max().unwrap_or_default()
}
