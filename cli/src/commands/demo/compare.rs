//! Compares two tables by looking at every item: no code of the retrofit or its verifier is used here, and the folded key is
//! put together by hand.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_dynamo::{Client, PageRequest, ScanPage, scan_page};

use super::events::{ATTRIBUTES, text};

/// How a target differs from its source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// Events of the source.
    pub(super) events: u64,
    /// Not in the target at all.
    pub(super) lost: u64,
    /// In the target as they once were.
    pub(super) stale: u64,
    /// Deleted in the source, still in the target.
    pub(super) ghosts: u64,
}

impl Differences {
    pub(super) fn count(&self) -> u64 {
        self.lost + self.stale + self.ghosts
    }
}

/// Compares all events.
pub(super) async fn compare(client: &Client, source: &Table, target: &Table) -> anyhow::Result<Differences> {
    let wanted = events(client, source, |item| Some(said(item, &by_hand(item)?))).await?;
    let found = events(client, target, |item| Some(said(item, text(item, KEY)?))).await?;
    let mut differences = Differences { events: wanted.len() as u64, ..Differences::default() };
    for (id, event) in &wanted {
        match found.get(id) {
            None => differences.lost += 1,
            Some(other) if other != event => differences.stale += 1,
            Some(_) => {}
        }
    }
    differences.ghosts = found.keys().filter(|id| !wanted.contains_key(*id)).count() as u64;
    Ok(differences)
}

/// The attribute that holds the folded key.
const KEY: &str = "byResourceActionUser_pk";

/// The key as anybody would join it. No value of the demo has a `-`, so folding must come to the same.
fn by_hand(item: &Item) -> Option<String> {
    let part = |name: &str| text(item, name);
    Some(format!("{}-{}-{}", part("resourceId")?, part("action")?, part("accessedBy")?))
}

/// What an event says, in short.
fn said(item: &Item, key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in ATTRIBUTES {
        text(item, name).hash(&mut hasher);
    }
    key.hash(&mut hasher);
    hasher.finish()
}

/// How many items of a table pass.
pub(super) async fn count(
    client: &Client,
    table: &Table,
    passes: impl Fn(&Item) -> bool,
) -> anyhow::Result<u64> {
    let found = events(client, table, |item| passes(item).then_some(0)).await?;
    Ok(found.values().flatten().count() as u64)
}

/// The events of a table by their ids. What has no resource is none: a tombstone has its key alone.
async fn events(
    client: &Client,
    table: &Table,
    said: impl Fn(&Item) -> Option<u64>,
) -> anyhow::Result<HashMap<String, Option<u64>>> {
    let (mut all, mut start_key) = (HashMap::new(), None);
    loop {
        let page =
            PageRequest { table: table.name.clone(), consistent: true, start_key, ..PageRequest::default() };
        let page = scan_page(client, &ScanPage { page, segment: None }).await?;
        for item in page.items.iter().filter(|item| item.contains_key("resourceId")) {
            if let Some(id) = text(item, "id") {
                all.insert(id.to_owned(), said(item));
            }
        }
        start_key = page.last_key;
        if start_key.is_none() {
            return Ok(all);
        }
    }
}
