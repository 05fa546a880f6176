//! Compares tables item by item. Uses no code of the retrofit or its verifier, and joins the folded key by hand, so that a
//! mistake there cannot hide here.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_dynamo::Client;

use super::events::{ATTRIBUTES, answers, text};
use super::stage::Pages;

/// How a target differs from its source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// Events of the source.
    pub(super) events: u64,
    /// Not in the target at all.
    pub(super) lost: u64,
    /// In the target with old values.
    pub(super) stale: u64,
    /// Deleted in the source, still in the target.
    pub(super) ghosts: u64,
}

impl Differences {
    pub(super) fn count(&self) -> u64 {
        self.lost + self.stale + self.ghosts
    }
}

/// The contents of the old table at the end: a hash of every event.
#[derive(Debug)]
pub(super) struct Truth {
    events: HashMap<String, Option<u64>>,
    /// How many of them answer the question.
    pub(super) answers: u64,
}

impl Truth {
    /// Reads the whole table.
    pub(super) async fn read(client: &Client, source: &Table) -> anyhow::Result<Truth> {
        let mut matching = 0;
        let events = events(client, source, |item| {
            matching += u64::from(answers(item));
            Some(digest(item, &by_hand(item)?))
        })
        .await?;
        Ok(Truth { events, answers: matching })
    }

    /// Compares a target with it, event by event.
    pub(super) async fn compare(&self, client: &Client, target: &Table) -> anyhow::Result<Differences> {
        let found = events(client, target, |item| Some(digest(item, text(item, KEY)?))).await?;
        let mut differences = Differences { events: self.events.len() as u64, ..Differences::default() };
        for (id, event) in &self.events {
            match found.get(id) {
                None => differences.lost += 1,
                Some(other) if other != event => differences.stale += 1,
                Some(_) => {}
            }
        }
        differences.ghosts = found.keys().filter(|id| !self.events.contains_key(*id)).count() as u64;
        Ok(differences)
    }
}

/// The attribute that holds the folded key.
const KEY: &str = "byResourceActionUser_pk";

/// The key as a plain join. No value of the demo has a `-`, so folding must give the same.
fn by_hand(item: &Item) -> Option<String> {
    let part = |name: &str| text(item, name);
    Some(format!("{}-{}-{}", part("resourceId")?, part("action")?, part("accessedBy")?))
}

/// A hash of an event's attributes and its key.
fn digest(item: &Item, key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in ATTRIBUTES {
        text(item, name).hash(&mut hasher);
    }
    key.hash(&mut hasher);
    hasher.finish()
}

/// The events of a table by their ids. An item without a resource is a tombstone, not an event.
async fn events(
    client: &Client,
    table: &Table,
    mut digest: impl FnMut(&Item) -> Option<u64>,
) -> anyhow::Result<HashMap<String, Option<u64>>> {
    let (mut all, mut pages) = (HashMap::new(), Pages::of(client, &table.name));
    while let Some(items) = pages.next().await? {
        for item in items.iter().filter(|item| item.contains_key("resourceId")) {
            if let Some(id) = text(item, "id") {
                all.insert(id.to_owned(), digest(item));
            }
        }
    }
    Ok(all)
}
