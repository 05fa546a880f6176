//! The same, but only the tables' policies stop the writers: they write at full speed all the time, are denied, and
//! continue in the table they are given. Every door for requests learns of a policy at a different time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use keyfold_core::retrofit::{Mapping, control};
use keyfold_dynamo::{BatchGet, Settings, batch_get, plain_client};
use keyfold_harness::{Policies, Principal, Proxy};

use super::*;

/// Maximum delay until a door knows of a policy.
const DELAY: Duration = Duration::from_millis(1_500);
/// How long no other change of a policy is taken.
const BLOCKED: Duration = Duration::from_millis(1_000);
/// How long writers write between two moves.
const WRITE_TIME: Duration = Duration::from_millis(1_500);

/// The tables, accessed through a proxy for each role.
struct Stage {
    deployment: Arc<Deployment>,
    policies: Arc<Policies>,
    operator: Arc<Principal>,
    replicator: Arc<LocalFunction>,
    /// Who may write to a table that follows the other one.
    exempt: String,
    writers: Client,
}

impl Stage {
    async fn start(retrofit: &str) -> Stage {
        let mut deployment = Deployment::start(TABLES[0]).await;
        let policies = Policies::new(DELAY, BLOCKED);
        let upstream = deployment.dynamo.endpoint().to_owned();
        let proxy = |principal: &Arc<Principal>| {
            let principal: Arc<Principal> = Arc::clone(principal);
            Proxy::start(&upstream, principal).endpoint().to_owned()
        };
        let [operator, replicating, writing] =
            ["operator", "replicator", "writer"].map(|role| policies.principal(role));
        deployment.endpoint = proxy(&operator);
        enable_stream(&deployment.dynamo.client(), deployment.table(TABLES[1])).await.unwrap();
        let replicator = replicator(&deployment, &proxy(&replicating), retrofit);
        let exempt = format!("{},{}", operator.role(), replicating.role());
        let writers = plain_client(&proxy(&writing), &Settings::default());
        Stage { deployment: Arc::new(deployment), policies, operator, replicator, exempt, writers }
    }

    async fn prepared(&self, retrofit: &str) -> [StreamPoller; 2] {
        let follow = |table| follow(&self.deployment, &self.replicator, table);
        let pollers = [follow(TABLES[0]).await, follow(TABLES[1]).await];
        let way_back = Mapping::of(self.deployment.model(), retrofit).unwrap().reverse().is_ok();
        self.deployment.prepared(retrofit, if way_back { &[] } else { &["--for-good"] }).await;
        pollers
    }

    /// The code with which a command is refused.
    async fn refused(&self, words: &[&str], exempt: &str) -> String {
        let mut command = self.deployment.command(words);
        if !exempt.is_empty() {
            command.env("KEYFOLD_EXEMPT", exempt);
        }
        let output = command.output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{words:?}: {said}");
        let from = said.find('{').unwrap_or_else(|| panic!("{words:?}: {said}"));
        let problem: Value =
            serde_json::from_str(&said[from..]).unwrap_or_else(|error| panic!("{error}: {said}"));
        problem["code"].as_str().unwrap().to_owned()
    }

    /// Is the retrofit's statement in the policies of the old and the new table?
    fn closed(&self) -> [bool; 2] {
        TABLES.map(|table| self.policies.of(&self.deployment.table(table).name).is_some())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_never_stop_by_themselves_lose_nothing() {
    let rounds: usize = std::env::var("KEYFOLD_SWITCHES").map_or(2, |text| text.parse().unwrap());
    let seed: u64 =
        std::env::var("KEYFOLD_SEED").map_or_else(|_| fastrand::u64(..), |text| text.parse().unwrap());
    println!("{RETROFIT} by policy: KEYFOLD_SEED={seed} KEYFOLD_SWITCHES={rounds}");
    let mut random = fastrand::Rng::with_seed(seed);
    let stage = Stage::start(RETROFIT).await;
    let pollers = stage.prepared(RETROFIT).await;
    let writers = Restless::start(&stage, true, random.u64(..));
    let (mut killed, mut commands) = (0, 0);
    for round in 0..rounds {
        let open = round % 2;
        let until = Instant::now() + WRITE_TIME * u32::try_from(kills().div_ceil(KILLS_DEFAULT)).unwrap();
        while Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(random.u64(20..60))).await;
            if killed < kills() * (round + 1) {
                killed += usize::from(stage.replicator.kill(random.usize(..REPLICATORS)) == Some(true));
            }
        }
        if open == 0 {
            verified(&stage.deployment, RETROFIT, "2").await;
        }
        let words = ["switch", RETROFIT, "--writers", "policy", "--back"];
        let words = &words[..words.len() - (1 - open)];
        let environment = [("KEYFOLD_EXEMPT", stage.exempt.as_str())];
        commands += moved(&stage.deployment, words, &environment, &mut random).await;
        assert_eq!(
            stage.closed(),
            [open == 0, open == 1],
            "the table that follows is closed, the other one open"
        );
        writers.open.store(1 - open, Ordering::Relaxed);
    }
    tokio::time::sleep(WRITE_TIME).await;
    let (truth, written, denied) = writers.finish().await;
    // The last writes have arrived: a late write changes its item.
    for poller in &pollers {
        poller.drained(WAIT_MAX).await.unwrap();
    }
    late(&stage.deployment, rounds % 2, &truth).await;
    for poller in pollers {
        poller.drained(WAIT_MAX).await.unwrap();
        assert_eq!(poller.stop().await.unwrap().0.given_up, 0, "records went to the on-failure file");
    }
    agrees(&stage.deployment, 0, &truth).await;
    agrees(&stage.deployment, 1, &truth).await;
    println!(
        "{rounds} moves, {written} writes, {denied} denied; {killed} functions and {commands} commands killed"
    );
    assert!(denied > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_does_not_arrive_moves_nobody_and_one_that_is_written_over_is_put_back() {
    let stage = Stage::start(RETROFIT).await;
    let pollers = stage.prepared(RETROFIT).await;
    verified(&stage.deployment, RETROFIT, "0").await;
    let switch = |writers: &'static str, most: &'static str| {
        ["switch", RETROFIT, "--writers", writers, "--stop-max", most]
    };
    // A check changes nothing, and needs the roles of the copying functions.
    assert_eq!(stage.refused(&switch("policy", "9"), "").await, "exempt-missing");
    assert_eq!(stage.refused(&switch("policy", "9"), "replicator").await, "exempt-no-arn");
    let mut look = stage.deployment.command(&[&switch("policy", "9")[..], &["--check"]].concat());
    let output = look.env("KEYFOLD_EXEMPT", &stage.exempt).output().await.unwrap();
    let looked: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(looked["policies"][0]["table"], "old-events", "{looked}");
    assert_eq!(stage.closed(), [false, false]);

    // A door that never learns of it: writes continue, so everything is rolled back.
    stage.operator.leaks(true);
    assert_eq!(stage.refused(&switch("policy", "4"), &stage.exempt).await, "writers-not-denied");
    stage.operator.leaks(false);
    assert_eq!(stage.closed(), [false, false]);
    assert_eq!(stage.deployment.done(&["status", RETROFIT]).await["phase"], "tidy");

    verified(&stage.deployment, RETROFIT, "0").await;
    let words = switch("policy", "60");
    let mut command = stage.deployment.command(&words);
    let output = command.env("KEYFOLD_EXEMPT", &stage.exempt).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stage.closed(), [true, false]);

    let status = stage.deployment.done(&["status", RETROFIT]).await;
    assert_eq!(
        status["denied"],
        serde_json::json!([{ "table": "old", "who": "all but those who carry changes to it" }])
    );

    // Another program overwrites it. The row contains the required policy.
    stage.policies.overwrite("old-events", None);
    let status = stage.deployment.done(&["status", RETROFIT]).await;
    assert_eq!(status["policiesToApply"][0]["table"], "old-events");
    assert_eq!(stage.closed(), [false, false]);
    let again = ["switch", RETROFIT];
    stage.deployment.done(&again).await;
    assert_eq!(stage.closed(), [true, false]);
    let status = stage.deployment.done(&["status", RETROFIT]).await;
    assert_eq!(status["policiesToApply"], Value::Array(Vec::new()));

    // The control table is lost, and with it the list of denied roles. Writers must still be admitted.
    let (client, control) = (stage.deployment.dynamo.client(), control::table(CONTROL));
    let keys = vec![control::head_key(RETROFIT)];
    let row = BatchGet { table: control.name.clone(), keys, consistent: true, ..BatchGet::default() };
    let row = batch_get(&client, &row).await.unwrap().items.remove(0);
    let key = control.key_of(&row).unwrap();
    delete(&client, &control, &key, &Expected::nothing()).await.unwrap();
    assert_eq!(stage.refused(&again, "").await, "retrofit-not-started");
    let lifted = stage.deployment.done(&["switch", RETROFIT, "--lift"]).await;
    assert_eq!(
        (lifted["phase"].clone(), lifted["policies"][0]["policy"].clone()),
        (Value::Null, Value::Null)
    );
    assert_eq!(stage.closed(), [false, false]);
    put(&client, &control, row).await.unwrap();
    stage.deployment.done(&again).await;
    assert_eq!(stage.closed(), [true, false]);
    stage.deployment.done(&["switch", RETROFIT, "--lift", "--control", "no-such-table"]).await;
    assert_eq!(stage.closed(), [false, false]);
    stage.deployment.done(&again).await;
    assert_eq!(stage.closed(), [true, false]);

    // A switch without policies must not leave writers denied.
    let attested = ["switch", RETROFIT, "--back", "--writers", "attested"];
    assert_eq!(stage.refused(&attested, "").await, "policies-in-force");
    assert_eq!(stage.closed(), [true, false]);

    let lifted = stage.deployment.done(&["switch", RETROFIT, "--lift"]).await;
    assert_eq!(lifted["policies"][0]["policy"], Value::Null);
    assert_eq!(stage.closed(), [false, false]);
    let status = stage.deployment.done(&["status", RETROFIT]).await;
    assert_eq!(status["policiesToApply"], Value::Array(Vec::new()), "this retrofit denies nothing now");
    for poller in pollers {
        poller.stop().await.unwrap();
    }
}

/// The new table lacks attributes that `drop` removes, so no return is possible. Writers move anyway, if requested.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_move_for_good_where_nothing_leads_back() {
    for_good("moved", "new", true, crate::own::moved).await;
}

/// With nearly every write an item's key in the new table changes too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_move_for_good_where_keys_move() {
    for_good("keyed", "keyed", false, crate::own::keyed).await;
}

async fn for_good(retrofit: &str, target: &str, partial: bool, mapped: fn(&Plain) -> Plain) {
    let seed: u64 =
        std::env::var("KEYFOLD_SEED").map_or_else(|_| fastrand::u64(..), |text| text.parse().unwrap());
    println!("{retrofit} for good: KEYFOLD_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let stage = Stage::start(retrofit).await;
    let pollers = stage.prepared(retrofit).await;
    let writers = Restless::start(&stage, partial, random.u64(..));
    let (until, mut killed) = (Instant::now() + WRITE_TIME, 0);
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(random.u64(20..60))).await;
        if killed < kills() {
            killed += usize::from(stage.replicator.kill(random.usize(..REPLICATORS)) == Some(true));
        }
    }
    verified(&stage.deployment, retrofit, "2").await;
    let words = ["switch", retrofit, "--writers", "policy"];
    if Mapping::of(stage.deployment.model(), retrofit).unwrap().reverse().is_err() {
        assert_eq!(stage.refused(&words, &stage.exempt).await, "no-way-back");
    }
    let words = [&words[..], &["--for-good"]].concat();
    let exempt = [("KEYFOLD_EXEMPT", stage.exempt.as_str())];
    let commands = moved(&stage.deployment, &words, &exempt, &mut random).await;
    let (truth, written, denied) = writers.finish().await;
    println!("{written} writes, {denied} denied; {killed} functions and {commands} commands killed");
    assert!(written > 0 && denied > 0);
    assert_eq!(stage.deployment.done(&["status", retrofit]).await["phase"], "settled");
    let wanted: Vec<Plain> = truth.values().filter(|item| !item.is_empty()).map(mapped).collect();
    let mut found = stage.deployment.items(target).await;
    found.retain(|item| truth.contains_key(&item["id"]));
    found.iter_mut().for_each(|item| item.retain(|name, _| !name.starts_with("keyfold_")));
    assert_eq!(differences(&wanted, &found), [""; 0]);
    assert_eq!(stage.closed(), [true, false], "the old table is not followed, so its writers stay out");
    for poller in pollers {
        poller.stop().await.unwrap();
    }
}

/// How often was written, and how often that was denied.
type Counts = Arc<Mutex<(usize, usize)>>;

/// Programs that write all the time to their current table, and retry when denied.
struct Restless {
    /// Which table.
    open: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    counts: Counts,
    writers: Vec<JoinHandle<Truth>>,
}

impl Restless {
    fn start(stage: &Stage, partial: bool, seed: u64) -> Restless {
        let (open, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let counts = Counts::default();
        let writers = (0..WRITERS).map(|number| {
            let mut random = fastrand::Rng::with_seed(seed.wrapping_add(number as u64));
            let (open, over, counts) = (Arc::clone(&open), Arc::clone(&over), Arc::clone(&counts));
            let (deployment, client) = (Arc::clone(&stage.deployment), stage.writers.clone());
            tokio::spawn(async move {
                let mut written = Truth::new();
                while !over.load(Ordering::Relaxed) {
                    let id = format!("i{:04}", random.usize(..IDS) * WRITERS + number);
                    let (table, before) = (open.load(Ordering::Relaxed), written.get(&id));
                    match write(&client, &deployment, table, &id, before, partial, &mut random).await {
                        Ok(item) => {
                            written.insert(id, item);
                            counts.lock().unwrap().0 += 1;
                        }
                        Err(error) => {
                            assert_eq!(error.code(), "access-denied", "{error}");
                            counts.lock().unwrap().1 += 1;
                        }
                    }
                    // Copying in transactions of four parts takes longer.
                    tokio::time::sleep(Duration::from_millis(if partial { 5 } else { 40 })).await;
                }
                written
            })
        });
        Restless { writers: writers.collect(), open, over, counts }
    }

    /// Their last writes, the number of writes, and the number of denials.
    async fn finish(self) -> (Truth, usize, usize) {
        self.over.store(true, Ordering::Relaxed);
        let mut truth = Truth::new();
        for writer in self.writers {
            truth.extend(writer.await.unwrap());
        }
        let (written, denied) = *self.counts.lock().unwrap();
        (truth, written, denied)
    }
}
