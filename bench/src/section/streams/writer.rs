//! The audit writer's handler: lists of events as texts, answers as values.

use anyhow::bail;
use keyfold_audit_writer::{Settings, Writer, handle};
use keyfold_core::value::Item;
use keyfold_edge::{Auth, Invocation};
use serde_json::{Map, Value};

use super::stage::StreamStage;
use super::{Compared, IN_FLIGHT};
use crate::{Scale, data};

/// Events of an invocation.
const LISTS: [usize; 3] = [1, 25, 100];
/// Events of a round, quick and full.
const EVENTS: [usize; 2] = [200, 1000];

pub(super) async fn measure(stage: &StreamStage, scale: Scale) -> anyhow::Result<Vec<Compared>> {
    let settings = Settings {
        manifest: "keyfold.toml".into(),
        dynamo: keyfold_dynamo::Settings::default(),
        table: stage.target()?.id.clone(),
        id: "id".to_owned(),
        time: "timestamp".to_owned(),
        received: "received".to_owned(),
        journal: None,
        auth: Auth::Open,
        grant: None,
    };
    let writer = Writer::new(stage.target()?.clone(), stage.client.clone(), settings)?;
    let (mut pairs, events) = (Vec::new(), scale.of(EVENTS[0], EVENTS[1]));
    for size in LISTS {
        let mut pair = Compared::new(format!("events by {size}"), None);
        for round in 0..=scale.of(1, 9) {
            for turn in 0..2 {
                let is_raw = (turn + round) % 2 == 0;
                let event = |at| data::event_called(format!("w{size}-{round}-{is_raw}-{at}"), at);
                let lists: Vec<usize> = (0..events).step_by(size).collect();
                let items = lists.len() * size;
                let lists = lists.into_iter().map(|first| (first..first + size).map(event));
                if is_raw {
                    let lists = lists.map(|list| stage.keyed(list)).collect::<anyhow::Result<Vec<_>>>()?;
                    let puts = async {
                        for list in lists {
                            stage.put_new(list, IN_FLIGHT).await?;
                        }
                        Ok(())
                    };
                    pair.raw.round(items, puts).await?;
                } else {
                    let texts: Vec<String> = lists.map(list_text).collect();
                    pair.ours.round(items, by_us(&writer, texts, size)).await?;
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

async fn by_us(writer: &Writer, lists: Vec<String>, size: usize) -> anyhow::Result<()> {
    for list in lists {
        let invocation = Invocation { event: &list, request_id: "bench", deadline: None };
        match handle(writer, invocation).await.answer {
            Ok(value) if value["written"] == size => {}
            other => bail!("the audit writer did not write a list: {other:?}"),
        }
    }
    Ok(())
}

/// Events as they are sent: plain JSON.
fn list_text(events: impl Iterator<Item = Item>) -> String {
    Value::Array(events.map(|event| Value::Object(plain(&event))).collect()).to_string()
}

fn plain(event: &Item) -> Map<String, Value> {
    let text = |name: &str| Value::String(data::text(event, name).to_owned());
    event.keys().map(|name| (name.to_string(), text(name))).collect()
}
