//! One retrofit from start to end, with random kills.

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyfold_local::{FunctionOptions, LocalFunction, PollerOptions, Start, StreamPoller};
use serde_json::{Value, json};

use crate::carrying::{Carrying, Means};
use crate::deployment::{Deployment, TOMBSTONE};
use crate::own::{Plain, differences};
use crate::programs::program;
use crate::tidy::Tidying;
use crate::writers::Writers;

/// The default number of kills.
pub(crate) const KILLS_DEFAULT: usize = 8;
/// Minimum number of writes.
const WRITES_MIN: u64 = 1500;
/// The shortest and the longest time between two kills, in milliseconds.
const KILL_PAUSE_MS: std::ops::Range<u64> = 5..60;
/// Processes of the replicator.
const REPLICATORS: usize = 3;
/// So often the command that tidies is killed, and functions after it.
const TIDY_KILLS_MAX: usize = 3;
/// How long the stream may take to be drained.
const DRAIN_WAIT: Duration = Duration::from_secs(180);
/// Maximum time until an abandoned lease expires.
const LEASE_WAIT: Duration = Duration::from_secs(60);
/// A batch is tried again as often as it may be killed.
const RETRIES_MAX: u32 = 1000;
/// Attributes that a retrofit keeps on target items until it is finalised.
const OWN: [&str; 4] = ["keyfold_fence", "keyfold_source", "keyfold_removing", "keyfold_place"];

pub(crate) struct Scenario {
    pub(crate) retrofit: &'static str,
    pub(crate) source: &'static str,
    pub(crate) target: &'static str,
    /// The expected target item of a source item.
    pub(crate) own: fn(&Plain) -> Plain,
    /// May items lack attributes?
    pub(crate) partial: bool,
    /// The programs that copy the old items.
    pub(crate) means: Means,
    /// Are the target's tombstones deleted during writes? Then the functions copy once more afterwards.
    pub(crate) tidies: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Kills {
    replicator: usize,
    backfill: usize,
    verifier: usize,
    tidy: usize,
}

impl Kills {
    fn all(&self) -> usize {
        self.replicator + self.backfill + self.verifier + self.tidy
    }
}

impl Scenario {
    pub(crate) async fn play(&self) {
        let kills = variable("KEYFOLD_KILLS").map_or(KILLS_DEFAULT, |kills| usize::try_from(kills).unwrap());
        let seed = variable("KEYFOLD_SEED").unwrap_or_else(|| fastrand::u64(..));
        println!("{} by {:?}: KEYFOLD_SEED={seed} KEYFOLD_KILLS={kills}", self.retrofit, self.means);
        let started = Instant::now();
        let deployment = Arc::new(Deployment::start(self.source).await);
        let (function, poller) = follow(&deployment, self.retrofit, self.source).await;
        deployment.done(&["run", self.retrofit, "--until", "start"]).await;

        let unaware = deployment.unaware(self.source);
        let writers = Writers::start(&deployment.dynamo.client(), &unaware, self.partial, seed);
        let carrying = Carrying::start(self.means, &deployment, self.retrofit, self.source != self.target);
        let mut killed = kill(&function, &carrying, kills, seed).await;
        let carrying = match self.tidies {
            true => self.tidied(&deployment, carrying, &function, &mut killed, seed).await,
            false => carrying,
        };
        while writers.writes() < WRITES_MIN {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let writes = writers.stop().await;
        let (passes, verifiers) = carrying.finish().await;
        poller.drained(DRAIN_WAIT).await.unwrap();
        let compared = verifiers.clean().await;

        let counts = poller.counts();
        println!(
            "{}: {writes} writes, {} records in {} invocations, {} failed, {} partly; killed {killed:?}; {passes} passes, \
             {compared} comparisons; {} replicators; {:.1} s",
            self.retrofit,
            counts.records,
            counts.invocations,
            counts.failed,
            counts.partly,
            function.started(),
            started.elapsed().as_secs_f64()
        );
        assert!(killed.all() >= kills);
        assert_eq!(counts.given_up, 0, "records went to the on-failure file");
        self.agrees(&deployment).await;
        self.ends(&deployment, poller).await;
    }

    /// Tidies the target during writes, with kills of the replicator and the command; then the functions copy once
    /// more.
    async fn tidied(
        &self,
        deployment: &Arc<Deployment>,
        carrying: Carrying,
        function: &LocalFunction,
        killed: &mut Kills,
        seed: u64,
    ) -> Carrying {
        carrying.finish().await;
        let tidying = Tidying::start(deployment, self.retrofit);
        let mut random = fastrand::Rng::with_seed(seed);
        while !tidying.is_over() {
            tokio::time::sleep(Duration::from_millis(random.u64(KILL_PAUSE_MS) * 4)).await;
            match random.u8(..4) {
                0 if killed.tidy < TIDY_KILLS_MAX => killed.tidy += usize::from(tidying.kill()),
                _ => {
                    killed.replicator +=
                        usize::from(function.kill(random.usize(..REPLICATORS)) == Some(true));
                }
            }
        }
        tidying.finish().await;
        let carrying = Carrying::start(Means::Functions, deployment, self.retrofit, true);
        let more = kill(function, &carrying, TIDY_KILLS_MAX, !seed).await;
        killed.replicator += more.replicator;
        killed.backfill += more.backfill;
        killed.verifier += more.verifier;
        assert_eq!(deployment.tombstones(self.target).await, 0, "while writers delete at full speed");
        carrying
    }

    /// Checks that the command's verification and our own agree.
    async fn agrees(&self, deployment: &Deployment) {
        let found: Vec<Plain> = deployment.items(self.target).await;
        let found: Vec<Plain> = found
            .into_iter()
            .filter(|item| !item.contains_key(TOMBSTONE))
            .map(|mut item| {
                item.retain(|name, _| !OWN.contains(&name.as_str()));
                item
            })
            .collect();
        let wanted = self.wanted(deployment).await;
        assert_eq!(differences(&wanted, &found), [""; 0], "of {} items", wanted.len());
        let verified = deployment.done(&["run", self.retrofit]).await["comparison"].take();
        assert_eq!(verified["counts"]["same"], verified["counts"]["items"], "{verified}");
        let gates = gates(deployment, self.retrofit).await;
        let codes: Vec<_> = gates.as_array().unwrap().iter().map(|gate| gate["code"].clone()).collect();
        let left = self.retrofit == "moved" && !self.tidies;
        assert_eq!(codes, if left { vec![json!("tombstones")] } else { Vec::new() }, "{gates}");
        if self.tidies {
            assert_eq!(deployment.tombstones(self.target).await, 0);
        }
    }

    /// After the cut-over no trace of the retrofit is left on the target's items.
    async fn ends(&self, deployment: &Deployment, poller: StreamPoller) {
        poller.stop().await.unwrap();
        let switch = ["switch", self.retrofit, "--writers", "attested", "--for-good"];
        deployment.done(if self.source == self.target { &switch[..2] } else { &switch }).await;
        deployment.done(&["finish", self.retrofit]).await;
        let found = deployment.items(self.target).await;
        assert_eq!(differences(&self.wanted(deployment).await, &found), [""; 0]);
    }

    async fn wanted(&self, deployment: &Deployment) -> Vec<Plain> {
        deployment.items(self.source).await.iter().map(self.own).collect()
    }
}

/// The replicator, fed with writes from now on. Existing items are left to the backfill.
pub(crate) async fn follow(
    deployment: &Deployment,
    retrofit: &str,
    source: &str,
) -> (Arc<LocalFunction>, StreamPoller) {
    let options = FunctionOptions::of(program("replicator"))
        .env("KEYFOLD_MANIFEST", deployment.manifest().to_str().unwrap())
        .env("KEYFOLD_ENDPOINT", deployment.dynamo.endpoint())
        .env("KEYFOLD_RETROFIT", retrofit);
    let log = Some(deployment.folder.path().join("replicator.log"));
    let options = FunctionOptions { concurrency: REPLICATORS, log, ..options };
    let function = Arc::new(LocalFunction::new(options));
    let options = PollerOptions {
        start: Start::Latest,
        batch_records: 50,
        parallel: REPLICATORS,
        retries_max: RETRIES_MAX,
        retry_pause: Duration::from_millis(5),
        on_failure: Some(deployment.folder.path().join("failures.jsonl")),
        ..PollerOptions::default()
    };
    let table = &deployment.table(source).name;
    let poller = StreamPoller::start(deployment.dynamo.database(), table, Arc::clone(&function), options)
        .await
        .unwrap();
    (function, poller)
}

/// The gates of the cut-over, once the leases of killed processes have expired.
async fn gates(deployment: &Deployment, retrofit: &str) -> Value {
    let started = Instant::now();
    loop {
        let status = deployment.done(&["status", retrofit]).await;
        let at_work = |gate: &Value| gate["code"] == "still-at-work";
        let waits = status["gates"].as_array().is_some_and(|gates| gates.iter().any(at_work));
        if !waits || started.elapsed() > LEASE_WAIT {
            return status["gates"].clone();
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Kills `kills` times, at random: a replicator during a batch, the backfill, or a verifier.
pub(crate) async fn kill(function: &LocalFunction, carrying: &Carrying, kills: usize, seed: u64) -> Kills {
    let mut random = fastrand::Rng::with_seed(!seed);
    let mut killed = Kills::default();
    while killed.all() < kills {
        tokio::time::sleep(Duration::from_millis(random.u64(KILL_PAUSE_MS))).await;
        let pick = random.usize(..REPLICATORS);
        match random.u8(..6) {
            0 | 1 => killed.backfill += usize::from(carrying.kill_backfill(pick)),
            2 => killed.verifier += usize::from(carrying.kill_verifier(pick)),
            _ => killed.replicator += usize::from(function.kill(pick) == Some(true)),
        }
    }
    killed
}

pub(crate) fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}
