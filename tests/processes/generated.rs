//! Generated tables: the programs carry random manifests with messy items over, are killed, and a judge that knows only what the plan
//! announced compares every item.
//!
//! `KEYFOLD_MANIFESTS`: the number of retrofits of each shape; `KEYFOLD_SEED`: the first of their seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use keyfold_core::model::{KeySource, Table};
use keyfold_core::retrofit::{Mapping, Quarantined};
use keyfold_core::value::{Item, equal};
use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;
use keyfold_dynamo::{Client, Expected, Update, delete, put, update};
use keyfold_testkit::generate::{Random, Words};
use keyfold_testkit::generated::{Counts, DrawnRetrofit, Judge, Shape, messy, world};

use crate::carrying::{Carrying, Means};
use crate::deployment::Deployment;
use crate::scenario::{self, KILLS_DEFAULT, variable};

/// The name of every generated retrofit.
const RETROFIT: &str = "r";
/// The default number of retrofits of each shape.
const TABLES_DEFAULT: u64 = 1;
/// How many items are drawn for the source before the retrofit begins.
const ITEMS: usize = 60;
/// The number of writers. No two write the same item, so that the last state of each item is known.
const WRITERS: usize = 4;
/// The fewest writes of a retrofit.
const WRITES_MIN: u64 = 600;
/// How long the stream may take to be drained.
const DRAIN_WAIT: Duration = Duration::from_secs(180);

/// Items by their keys, as applications wrote them.
type Truth = BTreeMap<String, Item>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_tables_end_as_announced_by_programs_that_are_killed() {
    let first = variable("KEYFOLD_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    let tables = variable("KEYFOLD_MANIFESTS").unwrap_or(TABLES_DEFAULT);
    let mut counts = Counts::default();
    for seed in first..first + tables {
        for shape in Shape::ALL {
            println!("{shape:?}: KEYFOLD_SEED={seed}");
            let drawn = DrawnRetrofit::new(seed, shape);
            let judged = play(&drawn, seed).await;
            counts =
                counts.plus(judged.unwrap_or_else(|fault| panic!("{shape:?}: {fault}\n{}", drawn.manifest)));
        }
    }
    println!("{counts:?}");
    assert!(counts.judged + counts.quarantined > 0, "{counts:?}");
}

async fn play(drawn: &DrawnRetrofit, seed: u64) -> Result<Counts, String> {
    let mapping = &drawn.mapping;
    let mut random = Random::new(seed);
    let table = raw(mapping.source());
    let items = messy::items(mapping.source(), &drawn.source_words, ITEMS, &mut random);
    let truth: Truth = items.into_iter().map(|item| (key_text(mapping, &item), item)).collect();
    let deployment = Arc::new(Deployment::of(&drawn.manifest, &mapping.source().id).await);
    let client = deployment.dynamo.client();
    for item in truth.values() {
        put(&client, &table, item.clone()).await.unwrap();
    }
    let (function, poller) = scenario::follow(&deployment, RETROFIT, &mapping.source().id).await;
    deployment.done(&["run", RETROFIT, "--until", "start"]).await;

    let writers = Arc::new(Writers {
        client,
        table,
        drawn: drawn.clone(),
        stop: AtomicBool::default(),
        writes: AtomicU64::default(),
    });
    let writing = join_all((0..WRITERS).map(|number| {
        let own = truth.iter().filter(|(key, _)| owner(key) == number);
        let own = own.map(|(key, item)| (key.clone(), item.clone())).collect();
        tokio::spawn(Arc::clone(&writers).write(number, own, random.fork()))
    }));
    let kills = variable("KEYFOLD_KILLS").map_or(KILLS_DEFAULT, |kills| usize::try_from(kills).unwrap());
    let both = mapping.source().id != mapping.target().id;
    let carrying = Carrying::start(Means::Functions, &deployment, RETROFIT, both);
    scenario::kill(&function, &carrying, kills, seed).await;
    while writers.writes.load(Ordering::Relaxed) < WRITES_MIN {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    writers.stop.store(true, Ordering::Relaxed);
    let truth: Truth = writing.await.into_iter().flat_map(Result::unwrap).collect();
    let (_, verifiers) = carrying.finish().await;
    poller.drained(DRAIN_WAIT).await.unwrap();
    verifiers.finish().await;
    poller.stop().await.unwrap();

    let quarantined = quarantined(&deployment, mapping).await;
    let target = deployment.stored(&mapping.target().name).await;
    let judge = Judge {
        announced: mapping.announced(),
        retrofit: &drawn.model.retrofits[0],
        from: mapping.source(),
        to: mapping.target(),
        back: false,
    };
    let counts = judge.tables(mapping, &truth, target.iter(), &quarantined)?;
    Ok(Counts { quarantined: quarantined.len() as u64, ..counts })
}

fn key_text(mapping: &Mapping, item: &Item) -> String {
    world::key_text(mapping.source(), item).unwrap()
}

/// The writer of an item.
fn owner(key: &str) -> usize {
    key.bytes().map(usize::from).sum::<usize>() % WRITERS
}

/// The table as a program sees it that knows of no attribute but its key.
fn raw(table: &Table) -> Table {
    let mut raw =
        Table { indexes: Vec::new(), entities: Vec::new(), attributes: BTreeMap::new(), ..table.clone() };
    raw.partition.source = KeySource::Natural;
    raw.sort.iter_mut().for_each(|sort| sort.source = KeySource::Natural);
    raw
}

/// The keys of items in quarantine.
async fn quarantined(deployment: &Deployment, mapping: &Mapping) -> BTreeSet<String> {
    let rows = deployment.stored(CONTROL_TABLE_DEFAULT).await;
    let entries = rows.iter().filter_map(Quarantined::read);
    entries.filter_map(|entry| Some(key_text(mapping, entry.key.as_ref()?))).collect()
}

/// Programs that put, update and delete items, and know nothing of the retrofit.
struct Writers {
    client: Client,
    table: Table,
    drawn: DrawnRetrofit,
    stop: AtomicBool,
    writes: AtomicU64,
}

impl Writers {
    /// Writes until it is to stop; returns the items of this writer as it left them.
    async fn write(self: Arc<Self>, number: usize, mut own: Truth, mut random: Random) -> Truth {
        while !self.stop.load(Ordering::Relaxed) {
            let keys: Vec<String> = own.keys().cloned().collect();
            let known = random.any(&keys).cloned();
            match (random.below(10), known) {
                (0, Some(key)) => self.delete(&mut own, &key).await,
                (1..3, _) => self.put(number, &mut own, &mut random).await,
                (_, Some(key)) => self.update(&mut own, &key, &mut random).await,
                _ => {}
            }
            self.writes.fetch_add(1, Ordering::Relaxed);
            // Not every turn writes: without a pause, a writer that has no item to change keeps its thread for ever.
            tokio::task::yield_now().await;
        }
        own
    }

    fn words(&self) -> (&Table, &Words) {
        (self.drawn.mapping.source(), &self.drawn.source_words)
    }

    async fn delete(&self, own: &mut Truth, key: &str) {
        let Some(item) = own.remove(key) else { return };
        let key = self.table.key_of(&item).unwrap();
        delete(&self.client, &self.table, &key, &Expected::nothing()).await.unwrap();
    }

    async fn put(&self, number: usize, own: &mut Truth, random: &mut Random) {
        let (source, words) = self.words();
        for item in messy::items(source, words, 1, random) {
            let key = key_text(&self.drawn.mapping, &item);
            if owner(&key) == number {
                put(&self.client, &self.table, item.clone()).await.unwrap();
                own.insert(key, item);
            }
        }
    }

    async fn update(&self, own: &mut Truth, key: &str, random: &mut Random) {
        let (source, words) = self.words();
        let before = &own[key];
        let Some(later) = messy::updated(source, words, before, random) else { return };
        let is_same = |name: &str| match (before.get(name), later.get(name)) {
            (Some(a), Some(b)) => equal(a, b),
            _ => false,
        };
        let set = later.iter().filter(|(name, _)| !is_same(name.as_str()));
        let change =
            set.fold(Update::new(), |change, (name, value)| change.set(name.as_str(), value.clone()));
        let gone = before.keys().filter(|name| !later.contains_key(*name));
        let change = gone.fold(change, |change, name| change.remove(name.as_str()));
        // An empty update is refused.
        if change == Update::new() {
            return;
        }
        let at = self.table.key_of(before).unwrap();
        update(&self.client, &self.table, &at, &change).await.unwrap();
        own.insert(key.to_owned(), later);
    }
}
