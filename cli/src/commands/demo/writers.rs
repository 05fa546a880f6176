//! Writers that are unaware of the retrofit: they put, change and delete events of the old table while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, Expected, delete, put};
use tokio::task::JoinSet;

use super::events::{event, id, pick};

/// The number of writers, each with its own part of the events.
const WRITERS: u32 = 8;
/// The pause between two writes of a writer: nearly 200 writes a second in all. The embedded DynamoDB scans all records of a stream for each
/// new one, so more writes would measure that.
const PAUSE: Duration = Duration::from_millis(40);

/// Writers at work.
pub(super) struct Writers {
    tasks: JoinSet<anyhow::Result<()>>,
    shared: Arc<Shared>,
}

/// The state shared by all writers.
struct Shared {
    stop: AtomicBool,
    written: AtomicU64,
}

impl Writers {
    /// Starts the writers on a table that has `items` events. `table` is the table without the new index.
    pub(super) fn start(client: &Client, table: &Table, items: u32) -> Writers {
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), written: AtomicU64::new(0) });
        let writer = |number: u32| {
            Writer { client: client.clone(), table: table.clone(), items, number }.work(Arc::clone(&shared))
        };
        Writers { tasks: (0..WRITERS).map(writer).collect(), shared }
    }

    /// Lets the writers finish their current write and stops them. Returns the number of writes.
    pub(super) async fn stop(mut self) -> anyhow::Result<u64> {
        self.shared.stop.store(true, Ordering::Relaxed);
        while let Some(end) = self.tasks.join_next().await {
            end??;
        }
        Ok(self.shared.written.load(Ordering::Relaxed))
    }
}

struct Writer {
    client: Client,
    table: Table,
    items: u32,
    number: u32,
}

impl Writer {
    async fn work(self, shared: Arc<Shared>) -> anyhow::Result<()> {
        let mut turn = 0;
        while !shared.stop.load(Ordering::Relaxed) {
            tokio::time::sleep(PAUSE).await;
            self.write(turn).await?;
            shared.written.fetch_add(1, Ordering::Relaxed);
            turn += 1;
        }
        Ok(())
    }

    /// Of five writes one is a new event, two change one, two delete one.
    async fn write(&self, turn: u32) -> anyhow::Result<()> {
        let draw = turn * WRITERS + self.number;
        match pick(draw, 20, 5) {
            0 => self.put(self.items + draw, draw).await,
            1 | 2 => self.put(self.existing(draw), u32::MAX - draw).await,
            _ => {
                let id = AttributeValue::S(id(self.existing(draw)));
                let key: Item = std::collections::HashMap::from([("id".to_owned(), id)]).into();
                delete(&self.client, &self.table, &key, &Expected::nothing()).await?;
                Ok(())
            }
        }
    }

    async fn put(&self, number: u32, draw: u32) -> anyhow::Result<()> {
        put(&self.client, &self.table, event(number, draw)).await?;
        Ok(())
    }

    /// An event of this writer's own part, so that each one's writes are in their order.
    fn existing(&self, draw: u32) -> u32 {
        let own = self.items / WRITERS;
        pick(draw, 21, own.max(1)) * WRITERS + self.number
    }
}
