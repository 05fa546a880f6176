//! The handlers of replicator and audit writer, compared with puts by the SDK alone.

mod stage;

use std::time::Duration;

use anyhow::bail;
use keyfold_audit_writer::{Settings as WriterSettings, Writer};
use keyfold_core::retrofit::control::STATE_CACHE_MS_MAX;
use keyfold_core::retrofit::{Epoch, Fence, Mapping, SequenceNumber};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{CONTROL_TABLE_DEFAULT, IN_FLIGHT_DEFAULT};
use keyfold_edge::{Auth, Invocation};
use keyfold_replicator::{Replicator, Settings as ReplicatorSettings};
use serde_json::{Map, Value, json};

use crate::data;
use crate::goal::{CHANGES, Goal, SINGLE_RECORD};
use crate::report::{Report, Table};
use crate::setting::{Scale, Setting};
use crate::turns::{Rounds, Way, Work, one_thread, rates, rates_row};
use stage::{RETROFIT, StreamStage};

const ABOUT: &str = "The replicator's handler gets batches of stream records as Lambda delivers them; the audit writer's handler gets lists \
of events. They are compared with conditional puts by the SDK: the same items, with keys computed in advance, and the same number of \
parallel requests. Only our figures include reading the event and writing the answer. Changes are records of items that are already in the \
target, with an older fence; the other records are of new items, which Keyfold inserts 25 in a request. A batch of 10,000 records here is \
6.65 MB of text; Lambda closes a batch at 6 MB.";

/// Batches of stream records: how many records each has, how many batches a round has (quick, full), and the goal.
struct BatchShape {
    name: &'static str,
    changes: bool,
    records: usize,
    batches: [usize; 2],
    goal: Option<Goal>,
}

const BATCHES: [BatchShape; 5] = [
    batches("new items, 1 in a batch", false, 1, [50, 400], Some(SINGLE_RECORD)),
    batches("new items, 100 in a batch", false, 100, [4, 20], None),
    batches("new items, 10000 in a batch", false, 10_000, [1, 1], None),
    batches("changes, 100 in a batch", true, 100, [4, 20], Some(CHANGES)),
    batches("changes, 10000 in a batch", true, 10_000, [1, 1], Some(CHANGES)),
];

const fn batches(
    name: &'static str,
    changes: bool,
    records: usize,
    batches: [usize; 2],
    goal: Option<Goal>,
) -> BatchShape {
    BatchShape { name, changes, records, batches, goal }
}

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new("5. Streams and writes", ABOUT);
    one_thread()?.block_on(async {
        let stage = StreamStage::new().await?;
        let table = replicator(&stage, setting.scale, &mut report).await?;
        report.add(table);
        report.add(writer(&stage, setting.scale).await?);
        Ok(report)
    })
}

async fn replicator(stage: &StreamStage, scale: Scale, report: &mut Report) -> anyhow::Result<Table> {
    let settings = ReplicatorSettings {
        manifest: "keyfold.toml".into(),
        dynamo: keyfold_dynamo::Settings::default(),
        retrofit: RETROFIT.to_owned(),
        control_table: CONTROL_TABLE_DEFAULT.to_owned(),
        concurrency: IN_FLIGHT_DEFAULT,
        state_cache: Duration::from_millis(STATE_CACHE_MS_MAX),
    };
    let replicator = &Replicator::new(Mapping::of(&stage.model, RETROFIT), stage.client.clone(), settings);
    let older = Fence::of_scan(Epoch::FIRST);
    let newer = Fence::of_record(Epoch::FIRST, SequenceNumber::parse(&sequence(0))?);
    let mut table = rates("Replicator, records per second.");
    for BatchShape { name, changes, records, batches, goal } in BATCHES {
        let batches = scale.of(batches[0], batches[1]);
        let rounds = Rounds { warm_up: 1, measured: scale.of(1, 5), items: records * batches };
        let compared = rounds.measure(async |way, round| {
            let names: Vec<String> =
                (0..batches).map(|batch| format!("{records}-{changes}-{round}-{way:?}-{batch}")).collect();
            let mut lists = Vec::new();
            for name in &names {
                lists.push(stage.keyed(events(name, 0..records))?);
                if changes {
                    stage.put_over_older(stage.keyed(events(name, 0..records))?, &older).await?;
                }
            }
            let texts: Vec<String> =
                names.iter().map(|name| batch_text(&stage.stream, changes, records, name)).collect();
            let newer = newer.clone();
            let work: Work<'_> = Box::pin(async move {
                match way {
                    Way::Sdk => {
                        for list in lists {
                            stage.put_over_older(list, &newer).await?;
                        }
                    }
                    Way::Ours => {
                        for text in texts {
                            let invocation = Invocation { event: &text, request_id: "bench", deadline: None };
                            match keyfold_replicator::handle(replicator, invocation).await.answer {
                                Ok(value) if value == json!({ "batchItemFailures": [] }) => {}
                                other => bail!("the replicator did not write a batch: {other:?}"),
                            }
                        }
                    }
                }
                Ok(())
            });
            Ok(work)
        });
        let compared = compared.await?;
        table.row(rates_row(name, &compared));
        if let Some(goal) = goal {
            report.judge(goal, name, if changes { compared.cpu() } else { compared.rate() });
        }
    }
    Ok(table)
}

async fn writer(stage: &StreamStage, scale: Scale) -> anyhow::Result<Table> {
    let settings = WriterSettings {
        manifest: "keyfold.toml".into(),
        dynamo: keyfold_dynamo::Settings::default(),
        table: stage.target()?.id.clone(),
        id: "id".to_owned(),
        time: "timestamp".to_owned(),
        received: "received".to_owned(),
        journal: None,
        keep_days: None,
        auth: Auth::Open,
        grant: None,
    };
    let writer = &Writer::new(stage.target()?.clone(), stage.client.clone(), settings)?;
    let mut table = rates("Audit writer, events per second.");
    let items = scale.of(200, 1000);
    let rounds = Rounds { warm_up: 1, measured: scale.of(1, 9), items };
    for size in [1, 25, 100] {
        let compared = rounds.measure(async |way, round| {
            let name = format!("w{size}-{round}-{way:?}");
            let lists = || (0..items).step_by(size).map(|first| events(&name, first..first + size));
            let keyed = lists().map(|list| stage.keyed(list)).collect::<anyhow::Result<Vec<_>>>()?;
            let texts: Vec<String> = lists().map(list_text).collect();
            let work: Work<'_> = Box::pin(async move {
                match way {
                    Way::Sdk => {
                        for list in keyed {
                            stage.put_new(list).await?;
                        }
                    }
                    Way::Ours => {
                        for text in texts {
                            let invocation = Invocation { event: &text, request_id: "bench", deadline: None };
                            match keyfold_audit_writer::handle(writer, invocation).await.answer {
                                Ok(value) if value["written"] == size => {}
                                other => bail!("the audit writer did not write a list: {other:?}"),
                            }
                        }
                    }
                }
                Ok(())
            });
            Ok(work)
        });
        table.row(rates_row(&format!("events by {size}"), &compared.await?));
    }
    Ok(table)
}

/// New events, whose ids begin with this name.
fn events(name: &str, numbers: std::ops::Range<usize>) -> impl Iterator<Item = Item> {
    numbers.map(move |at| data::event_called(format!("{name}-{at}"), at))
}

/// A direct call with these events.
fn list_text(events: impl Iterator<Item = Item>) -> String {
    let text = |event: &Item, name: &str| Value::String(data::text(event, name).to_owned());
    let plain =
        |event: Item| event.keys().map(|name| (name.to_string(), text(&event, name))).collect::<Map<_, _>>();
    json!({ "auditEvents": events.map(plain).collect::<Vec<_>>() }).to_string()
}

/// A batch as Lambda delivers it.
fn batch_text(stream: &str, changes: bool, records: usize, name: &str) -> String {
    let record = |(at, item): (usize, Item)| {
        json!({
            "eventID": format!("{at:032x}"),
            "eventName": if changes { "MODIFY" } else { "INSERT" },
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_488_355_200,
                "Keys": { "id": { "S": data::text(&item, "id") } },
                "NewImage": item,
                "SequenceNumber": sequence(at),
                "SizeBytes": 300,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": stream,
        })
    };
    let records: Vec<Value> = events(name, 0..records).enumerate().map(record).collect();
    json!({ "Records": records }).to_string()
}

fn sequence(at: usize) -> String {
    format!("1000000000000000{at:08}")
}
