//! Writers move to the new table, back, and again, each time at full speed up to the stop, with kills of the replicator
//! of both directions and of the operator's command. Each writer knows its last writes: both tables must contain them
//! in the end. Here they stop by themselves; in [`by_policy`] the tables' policies stop them.

mod by_policy;
mod gates;
mod proof;
mod streams;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, Expected, WriteError, delete, enable_stream, put};
use keyfold_local::{FunctionOptions, LocalFunction, PollerOptions, Start, StreamPoller};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::deployment::{Deployment, event};
use crate::killable::Killable;
use crate::own::{Plain, differences, plain, switched};
use crate::programs::program;

const RETROFIT: &str = "switched";
const TABLES: [&str; 2] = ["old", "switched"];
const CONTROL: &str = "keyfold-control";
/// Processes of the replicator.
const REPLICATORS: usize = 3;
/// The number of writing programs, each with its own ids.
const WRITERS: usize = 3;
/// Ids of each.
const IDS: usize = 60;
/// Writes of each, while its table is open.
const WRITES: usize = 120;
/// Default number of kills of a function in each round, and of the command before it may finish; set by
/// `KEYFOLD_SWITCH_KILLS`.
const KILLS_DEFAULT: usize = 4;
/// How long anything may take.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Maximum time until a comparison finds no difference while writers never pause.
const VERIFIED_MAX: Duration = Duration::from_secs(120);
const RETRIES_MAX: u32 = 1000;

/// The last writes, in the form of the old table.
type Truth = BTreeMap<String, Plain>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_move_and_come_back_and_nothing_is_lost() {
    let rounds: usize = std::env::var("KEYFOLD_SWITCHES").map_or(3, |text| text.parse().unwrap());
    let seed: u64 =
        std::env::var("KEYFOLD_SEED").map_or_else(|_| fastrand::u64(..), |text| text.parse().unwrap());
    println!("{RETROFIT}: KEYFOLD_SEED={seed} KEYFOLD_SWITCHES={rounds}");
    let mut random = fastrand::Rng::with_seed(seed);
    let deployment = Arc::new(Deployment::start(TABLES[0]).await);
    enable_stream(&deployment.dynamo.client(), deployment.table(TABLES[1])).await.unwrap();
    let function = replicator(&deployment, deployment.dynamo.endpoint(), RETROFIT);
    let pollers =
        [follow(&deployment, &function, TABLES[0]).await, follow(&deployment, &function, TABLES[1]).await];
    deployment.prepared(RETROFIT, &[]).await;

    let mut truth = Truth::new();
    let (mut killed, mut commands) = (0, 0);
    for round in 0..rounds {
        let open = round % 2;
        let writers = Writers::start(&deployment, open, &truth, random.u64(..));
        while !writers.is_over() {
            tokio::time::sleep(Duration::from_millis(random.u64(20..60))).await;
            if killed < kills() * (round + 1) {
                killed += usize::from(function.kill(random.usize(..REPLICATORS)) == Some(true));
            }
        }
        // The writers have stopped. Their last writes are still in flight.
        truth.extend(writers.finish().await);
        if open == 0 {
            verified(&deployment, RETROFIT, "0").await;
        }
        let words = ["switch", RETROFIT, "--writers", "attested", "--back"];
        let words = &words[..words.len() - (1 - open)];
        commands += moved(&deployment, words, &[], &mut random).await;
        // The open table contains the last writes of its writers.
        agrees(&deployment, 1 - open, &truth).await;
    }
    late(&deployment, rounds % 2, &truth).await;
    for poller in pollers {
        poller.drained(WAIT_MAX).await.unwrap();
        assert_eq!(poller.stop().await.unwrap().0.given_up, 0, "records went to the on-failure file");
    }
    agrees(&deployment, 0, &truth).await;
    agrees(&deployment, 1, &truth).await;
    println!("{rounds} moves, {} items; {killed} functions and {commands} commands killed", truth.len());
    // The retrofit ends on the side where its writers are. This command is killed too.
    if rounds % 2 == 1 {
        let finishes = moved(&deployment, &["finish", RETROFIT], &[], &mut random).await;
        assert_eq!(deployment.done(&["status", RETROFIT]).await["phase"], "finalised");
        println!("finish killed {finishes} times");
        assert_eq!(differences(&wanted(1, &truth), &found(&deployment, 1, &truth).await), [""; 0]);
    }
}

/// A writer that should have stopped continues: its write is recorded with both images, and the closed table follows
/// the open one again.
async fn late(deployment: &Deployment, open: usize, truth: &Truth) {
    let closed = 1 - open;
    let mut said = truth.values().find(|item| !item.is_empty()).unwrap().clone();
    said.insert("note".to_owned(), "too late".to_owned());
    let said = item(&if closed == 0 { said } else { switched(&said) });
    put(&deployment.dynamo.client(), deployment.table(TABLES[closed]), said).await.unwrap();
    let started = Instant::now();
    let changes = loop {
        let known = deployment.done(&["quarantine", RETROFIT, "--images"]).await;
        let changes = known["late"].as_array().unwrap().clone();
        if !changes.is_empty() {
            break changes;
        }
        assert!(started.elapsed() < WAIT_MAX, "a late write was not noted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["what"], "changed");
    assert_eq!(changes[0]["new"]["note"]["S"], "too late");
    assert_eq!(deployment.done(&["status", RETROFIT]).await["late"], 1);
    let name = changes[0]["name"].as_str().unwrap();
    deployment.command(&["quarantine", RETROFIT, "--forget", name]).output().await.unwrap();
    assert_eq!(deployment.done(&["quarantine", RETROFIT]).await["late"], Value::Array(Vec::new()));
}

fn replicator(deployment: &Deployment, endpoint: &str, retrofit: &str) -> Arc<LocalFunction> {
    let options = FunctionOptions::of(program("replicator"))
        .env("KEYFOLD_MANIFEST", deployment.manifest().to_str().unwrap())
        .env("KEYFOLD_ENDPOINT", endpoint)
        .env("KEYFOLD_RETROFIT", retrofit);
    let log = Some(deployment.folder.path().join("replicator.log"));
    Arc::new(LocalFunction::new(FunctionOptions { concurrency: REPLICATORS, log, ..options }))
}

async fn follow(deployment: &Deployment, function: &Arc<LocalFunction>, table: &str) -> StreamPoller {
    let options = PollerOptions {
        start: Start::Latest,
        batch_records: 20,
        parallel: REPLICATORS,
        retries_max: RETRIES_MAX,
        retry_pause: Duration::from_millis(20),
        on_failure: Some(deployment.folder.path().join(format!("{table}-failures.jsonl"))),
        ..PollerOptions::default()
    };
    let table = &deployment.table(table).name;
    StreamPoller::start(deployment.dynamo.database(), table, Arc::clone(function), options).await.unwrap()
}

/// Compares until the replicator has caught up.
async fn verified(deployment: &Deployment, retrofit: &str, lag: &str) {
    let started = Instant::now();
    let words = ["run", retrofit, "--lag", lag, "--segments", "1"];
    loop {
        let output = deployment.command(&words).output().await.unwrap();
        if output.status.success() {
            return;
        }
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(started.elapsed() < VERIFIED_MAX, "the tables differ still: {said}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// How often, in this run, a function is killed in each round, and the command in each move.
fn kills() -> usize {
    std::env::var("KEYFOLD_SWITCH_KILLS").map_or(KILLS_DEFAULT, |text| text.parse().unwrap())
}

/// Runs the command until it completes, with kills. Returns their number.
async fn moved(
    deployment: &Deployment,
    words: &[&str],
    environment: &[(&str, &str)],
    random: &mut fastrand::Rng,
) -> usize {
    let mut killed = 0;
    loop {
        let process = Arc::new(Killable::default());
        let running = {
            let (process, mut command) = (Arc::clone(&process), deployment.command(words));
            command.envs(environment.iter().copied());
            tokio::spawn(async move { process.run(command).await })
        };
        if killed < kills() {
            tokio::time::sleep(Duration::from_millis(random.u64(50..2_500))).await;
            killed += usize::from(process.kill());
        }
        if running.await.unwrap() {
            return killed;
        }
    }
}

async fn agrees(deployment: &Deployment, table: usize, truth: &Truth) {
    assert_eq!(
        differences(&wanted(table, truth), &found(deployment, table, truth).await),
        [""; 0],
        "in table `{}`",
        TABLES[table]
    );
}

/// The expected items of a table.
fn wanted(table: usize, truth: &Truth) -> Vec<Plain> {
    let there = truth.values().filter(|item| !item.is_empty());
    there.map(|item| if table == 0 { item.clone() } else { switched(item) }).collect()
}

async fn found(deployment: &Deployment, table: usize, truth: &Truth) -> Vec<Plain> {
    let items = deployment.items(TABLES[table]).await.into_iter();
    items
        .filter(|item| truth.contains_key(&item["id"]))
        .map(|mut item| {
            item.retain(|name, _| !name.starts_with("keyfold_"));
            item
        })
        .collect()
}

/// Programs at full speed.
struct Writers(Vec<JoinHandle<Truth>>);

impl Writers {
    fn start(deployment: &Arc<Deployment>, open: usize, truth: &Truth, seed: u64) -> Writers {
        let writer = |number: usize| {
            let mut random = fastrand::Rng::with_seed(seed.wrapping_add(number as u64));
            let (deployment, known) = (Arc::clone(deployment), truth.clone());
            tokio::spawn(async move {
                let mut written = Truth::new();
                for _ in 0..WRITES {
                    let id = format!("i{:04}", random.usize(..IDS) * WRITERS + number);
                    let before = written.get(&id).or_else(|| known.get(&id)).cloned();
                    let client = deployment.dynamo.client();
                    let item =
                        write(&client, &deployment, open, &id, before.as_ref(), true, &mut random).await;
                    written.insert(id, item.unwrap());
                }
                written
            })
        };
        Writers((0..WRITERS).map(writer).collect())
    }

    fn is_over(&self) -> bool {
        self.0.iter().all(JoinHandle::is_finished)
    }

    async fn finish(self) -> Truth {
        let mut truth = Truth::new();
        for writer in self.0 {
            truth.extend(writer.await.unwrap());
        }
        truth
    }
}

/// Puts or deletes an item, and returns its new state. Some items lack an attribute, if allowed.
async fn write(
    client: &Client,
    deployment: &Deployment,
    open: usize,
    id: &str,
    before: Option<&Plain>,
    partial: bool,
    random: &mut fastrand::Rng,
) -> Result<Plain, WriteError> {
    let table = deployment.table(TABLES[open]);
    if before.is_some() && random.u8(..4) == 0 {
        let key: Item =
            std::collections::HashMap::from([("id".to_owned(), AttributeValue::S(id.to_owned()))]).into();
        delete(client, table, &key, &Expected::nothing()).await?;
        return Ok(Plain::new());
    }
    let said = plain(&event(id, random.usize(..1000), !partial || random.u8(..10) > 0));
    put(client, table, item(&if open == 0 { said.clone() } else { switched(&said) })).await?;
    Ok(said)
}

/// An item without the keys that are folded: the writer's library folds them.
fn item(said: &Plain) -> Item {
    let natural = said.iter().filter(|(name, _)| !name.starts_with("byOwner_"));
    let texts = natural.map(|(name, text)| (name.clone(), AttributeValue::S(text.clone())));
    texts.collect::<std::collections::HashMap<_, _>>().into()
}

/// The message of a step that must be refused.
async fn refused(deployment: &Deployment, words: &[&str]) -> String {
    let output = deployment.command(words).output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{words:?}: {said}");
    said
}
