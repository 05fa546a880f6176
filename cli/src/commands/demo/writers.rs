//! Writers that know nothing of the retrofit: they put, change and delete events of the old table while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_dynamo::{Client, delete, put};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::events::{event, id, pick};

/// Writers at once, each with its own part of the events.
const WRITERS: u32 = 8;
/// The pause between two writes of a writer: about 200 writes a second in all, if the machine can. The embedded DynamoDB looks through all
/// records of a stream for each new one, so more would measure that.
const PAUSE: Duration = Duration::from_millis(40);

/// Writers at work.
pub(super) struct Writers {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<anyhow::Result<()>>>,
    written: Arc<AtomicU64>,
}

impl Writers {
    /// Starts the writers on a table that has `items` events. `table` is the table without the new index.
    pub(super) fn start(client: &Client, table: &Table, items: u32) -> Writers {
        let (stop, stopped) = watch::channel(false);
        let written = Arc::new(AtomicU64::new(0));
        let writer = |number: u32| {
            let writer = Writer {
                client: client.clone(),
                table: table.clone(),
                items,
                number,
                stopped: stopped.clone(),
                written: Arc::clone(&written),
            };
            tokio::spawn(writer.work())
        };
        let tasks = (0..WRITERS).map(writer).collect();
        Writers { stop, tasks, written }
    }

    /// Lets the writers finish their current write and stops them. Returns the number of writes.
    pub(super) async fn stop(self) -> anyhow::Result<u64> {
        self.stop.send_replace(true);
        for task in self.tasks {
            task.await??;
        }
        Ok(self.written.load(Ordering::Relaxed))
    }
}

struct Writer {
    client: Client,
    table: Table,
    items: u32,
    number: u32,
    stopped: watch::Receiver<bool>,
    written: Arc<AtomicU64>,
}

impl Writer {
    async fn work(self) -> anyhow::Result<()> {
        let mut clock = interval(PAUSE);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut turn = 0;
        while !*self.stopped.borrow() {
            clock.tick().await;
            self.write(turn).await?;
            self.written.fetch_add(1, Ordering::Relaxed);
            turn += 1;
        }
        Ok(())
    }

    /// Of five writes one is a new event, two change one, two delete one.
    async fn write(&self, turn: u32) -> anyhow::Result<()> {
        let draw = turn * WRITERS + self.number;
        match pick(draw, 20, 5) {
            0 => self.put(self.items + draw, draw).await,
            1 | 2 => self.put(self.known(draw), u32::MAX - draw).await,
            _ => {
                let key = [("id".to_owned(), keyfold_core::value::AttributeValue::S(id(self.known(draw))))];
                let key: Item = std::collections::HashMap::from(key).into();
                delete(&self.client, &self.table, &key, &keyfold_dynamo::Expected::nothing()).await?;
                Ok(())
            }
        }
    }

    async fn put(&self, number: u32, draw: u32) -> anyhow::Result<()> {
        put(&self.client, &self.table, event(number, draw)).await?;
        Ok(())
    }

    /// An event of this writer's own part, so that each one's writes are in their order.
    fn known(&self, draw: u32) -> u32 {
        let own = self.items / WRITERS;
        pick(draw, 21, own.max(1)) * WRITERS + self.number
    }
}
