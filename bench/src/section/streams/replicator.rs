//! The replicator's handler: batches of records as texts, answers as values.

use anyhow::bail;
use keyfold_core::retrofit::Mapping;
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;
use keyfold_replicator::{Answer, Replicator, Settings, handle};
use serde_json::{Value, json};

use super::stage::{RETROFIT, SdkItem, Stage};
use super::{IN_FLIGHT, Pair};
use crate::{Scale, data};

/// Records of a batch, and how many batches a round has, quick and full.
const BATCHES: [(usize, [usize; 2]); 3] = [(1, [50, 400]), (100, [4, 20]), (10_000, [1, 1])];

pub(super) async fn measure(stage: &Stage, scale: Scale) -> anyhow::Result<Vec<Pair>> {
    let settings = Settings {
        manifest: "keyfold.toml".into(),
        dynamo: keyfold_dynamo::Settings::default(),
        retrofit: RETROFIT.to_owned(),
        control_table: CONTROL_TABLE_DEFAULT.to_owned(),
        concurrency: IN_FLIGHT,
    };
    let replicator = Replicator::new(Mapping::of(&stage.model, RETROFIT), stage.client.clone(), settings);
    let mut pairs = Vec::new();
    for (records, batches) in BATCHES {
        let batches = scale.of(batches[0], batches[1]);
        let mut pair = Pair::new(format!("batches of {records}"));
        for round in 0..=scale.of(1, 5) {
            for turn in 0..2 {
                // Each goes first as often as the other.
                let is_raw = (turn + round) % 2 == 0;
                let name = |batch: usize| format!("{records}-{round}-{is_raw}-{batch}");
                let items = records * batches;
                if is_raw {
                    let puts = (0..batches).map(|batch| stage.keyed(events(&name(batch), records)));
                    let puts = puts.collect::<anyhow::Result<Vec<_>>>()?;
                    pair.raw.round(items, by_hand(stage, puts)).await?;
                } else {
                    let texts = (0..batches).map(|batch| batch_text(&stage.stream, &name(batch), records));
                    let texts: Vec<String> = texts.collect();
                    pair.ours.round(items, by_us(&replicator, texts)).await?;
                }
            }
            if round == 0 {
                pair.raw.forget();
                pair.ours.forget();
            }
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

async fn by_hand(stage: &Stage, batches: Vec<Vec<SdkItem>>) -> anyhow::Result<()> {
    for batch in batches {
        stage.put_over_older(batch).await?;
    }
    Ok(())
}

async fn by_us(replicator: &Replicator, batches: Vec<String>) -> anyhow::Result<()> {
    for batch in batches {
        match handle(replicator, &batch, "bench", None).await.answer {
            Answer::Value(value) if value == json!({ "batchItemFailures": [] }) => {}
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
fn batch_text(stream: &str, batch: &str, records: usize) -> String {
    let record = |(at, item): (usize, Item)| record(stream, at, &item);
    let records: Vec<Value> = events(batch, records).enumerate().map(record).collect();
    json!({ "Records": records }).to_string()
}

fn record(stream: &str, at: usize, item: &Item) -> Value {
    json!({
        "eventID": format!("{at:032x}"),
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_488_355_200,
            "Keys": { "id": { "S": data::text(item, "id") } },
            "NewImage": item,
            "SequenceNumber": format!("1000000000000000{at:08}"),
            "SizeBytes": 300,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": stream,
    })
}

/// How large the largest batch is, as text.
pub(super) fn batch_bytes() -> usize {
    batch_text("arn:aws:dynamodb:us-east-1:123456789012:table/T/stream/S", "batch", 10_000).len()
}
