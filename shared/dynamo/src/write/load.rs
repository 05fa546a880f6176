//! Writes many items, in batches, several in flight.

use std::collections::BTreeSet;
use std::pin::pin;

use aws_sdk_dynamodb::Client;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{PrimaryKey, comparable_key};

use super::WriteError;
use super::batch::{BATCH_WRITE_ITEMS_MAX, BatchDone, put_batch};
use crate::consumed::Consumed;
use crate::error::DynamoError;

/// Maximum batches in flight.
pub const LOAD_BATCHES_IN_FLIGHT_MAX: usize = 8;

/// The result of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The items written.
    pub written: u64,
    /// The batches that were finished.
    pub batches: u64,
    /// The items that had to be sent again, each time counted.
    pub resent: u64,
    /// The write units.
    pub consumed: Consumed,
}

/// Why a load ended early. Batches in flight were completed.
#[derive(Debug, thiserror::Error)]
#[error("the load stopped after {} items", .loaded.written)]
pub struct LoadError {
    /// The confirmed writes; a part of a failed batch may be written too.
    pub loaded: Loaded,
    /// The error.
    pub source: WriteError,
}

/// Writes all items, with their folded keys. The first error ends the load.
///
/// Of items with one key the last one stays, as if they had been written one after another: an item waits until no
/// batch holds its key.
pub async fn load(
    client: &Client,
    table: &Table,
    items: impl Stream<Item = Item>,
) -> Result<Loaded, LoadError> {
    let mut loader = Loader::new(client, table);
    match loader.load(items).await {
        Ok(()) => Ok(loader.loaded),
        Err(source) => {
            loader.drain().await;
            Err(LoadError { loaded: loader.loaded, source })
        }
    }
}

/// A batch in flight: its keys, and its result.
type UnderWay<'a> = BoxFuture<'a, (BTreeSet<PrimaryKey>, Result<BatchDone, DynamoError>)>;

struct Loader<'a> {
    client: &'a Client,
    table: &'a Table,
    /// The items that wait for their batch to fill.
    batch: Vec<Item>,
    batch_keys: BTreeSet<PrimaryKey>,
    under_way: FuturesUnordered<UnderWay<'a>>,
    /// The keys of all batches in flight, all different.
    under_way_keys: BTreeSet<PrimaryKey>,
    loaded: Loaded,
}

impl<'a> Loader<'a> {
    fn new(client: &'a Client, table: &'a Table) -> Loader<'a> {
        Loader {
            client,
            table,
            batch: Vec::new(),
            batch_keys: BTreeSet::new(),
            under_way: FuturesUnordered::new(),
            under_way_keys: BTreeSet::new(),
            loaded: Loaded::default(),
        }
    }

    async fn load(&mut self, items: impl Stream<Item = Item>) -> Result<(), WriteError> {
        let mut items = pin!(items);
        while let Some(item) = items.next().await {
            self.add(item).await?;
        }
        self.send_batch().await?;
        self.settle(0).await
    }

    async fn add(&mut self, item: Item) -> Result<(), WriteError> {
        let item = self.table.written(item)?;
        let key = comparable_key(self.table, &item);
        if self.batch_keys.contains(&key) {
            self.send_batch().await?;
        }
        if self.under_way_keys.contains(&key) {
            self.settle(0).await?;
        }
        if self.batch.len() == BATCH_WRITE_ITEMS_MAX {
            self.send_batch().await?;
        }
        self.batch_keys.insert(key);
        self.batch.push(item);
        Ok(())
    }

    /// Sends the waiting items when fewer than the maximum number of batches are in flight.
    async fn send_batch(&mut self) -> Result<(), WriteError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.settle(LOAD_BATCHES_IN_FLIGHT_MAX - 1).await?;
        let (batch, keys) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.batch_keys));
        self.under_way_keys.extend(keys.iter().cloned());
        let (client, table) = (self.client, self.table);
        self.under_way.push(async move { (keys, put_batch(client, &table.name, batch).await) }.boxed());
        Ok(())
    }

    /// Waits until at most `most` batches are in flight.
    async fn settle(&mut self, most: usize) -> Result<(), WriteError> {
        while self.under_way.len() > most
            && let Some(ended) = self.under_way.next().await
        {
            self.count(ended)?;
        }
        Ok(())
    }

    /// Waits for all batches in flight and ignores their results, because an error is reported already.
    async fn drain(&mut self) {
        while let Some(ended) = self.under_way.next().await {
            let _ = self.count(ended);
        }
    }

    fn count(
        &mut self,
        ended: (BTreeSet<PrimaryKey>, Result<BatchDone, DynamoError>),
    ) -> Result<(), DynamoError> {
        let (keys, done) = ended;
        for key in &keys {
            self.under_way_keys.remove(key);
        }
        let done = done?;
        self.loaded.batches += 1;
        self.loaded.written += done.written;
        self.loaded.resent += done.resent;
        self.loaded.consumed.add(&done.consumed);
        Ok(())
    }
}
