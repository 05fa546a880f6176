//! Programs that write to the source as fast as they can, without any knowledge of the retrofit.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, Expected, Update, delete, put, update};
use tokio::task::JoinHandle;

use crate::deployment::event;

/// The number of concurrent writers, which use the same items.
const WRITERS: u64 = 4;
/// The number of ids; the first of them exist before.
const IDS: usize = 1000;

pub(crate) struct Writers {
    stop: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Writers {
    /// Starts them. With `partial`, some items lack an attribute.
    pub(crate) fn start(client: &Client, table: &Table, partial: bool, seed: u64) -> Writers {
        let (stop, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let tasks = (0..WRITERS)
            .map(|number| {
                let (stop, writes) = (Arc::clone(&stop), Arc::clone(&writes));
                let (client, table) = (client.clone(), table.clone());
                let mut random = fastrand::Rng::with_seed(seed.wrapping_add(number));
                tokio::spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        write(&client, &table, partial, &mut random).await;
                        writes.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        Writers { stop, writes, tasks }
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Ends them; how often they wrote.
    pub(crate) async fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.writes.load(Ordering::Relaxed)
    }
}

async fn write(client: &Client, table: &Table, partial: bool, random: &mut fastrand::Rng) {
    let id = format!("i{:04}", random.usize(..IDS));
    let (number, whole) = (random.usize(..1000), !partial || random.u8(..10) > 0);
    let key: Item = HashMap::from([("id".to_owned(), AttributeValue::S(id.clone()))]).into();
    match random.u8(..10) {
        0..=3 => drop(put(client, table, event(&id, number, whole)).await.unwrap()),
        4..=6 => change(client, table, &key, number, whole).await,
        7..=8 => drop(delete(client, table, &key, &Expected::nothing()).await.unwrap()),
        // Gone and there again, within moments.
        _ => {
            delete(client, table, &key, &Expected::nothing()).await.unwrap();
            put(client, table, event(&id, number, whole)).await.unwrap();
        }
    }
}

/// Changes attributes in keys. The item may not exist.
async fn change(client: &Client, table: &Table, key: &Item, number: usize, whole: bool) {
    let text = |text: String| AttributeValue::S(text);
    let change = Update::new()
        .set("owner", text(format!("o{}", number % 5)))
        .set("place", text(format!("p{}", number % 3)));
    let change = if whole { change } else { change.remove("kind") };
    match update(client, table, key, &change).await {
        Ok(_) => {}
        Err(error) => assert_eq!(error.code(), "item-not-found", "{error}"),
    }
}
