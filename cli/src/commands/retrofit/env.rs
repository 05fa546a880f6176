//! A retrofit by its name: its mapping, the senders of its requests, and how long each step waits.

use anyhow::bail;
use keyfold_core::retrofit::operate::Limits;
use keyfold_core::retrofit::{Epoch, Job, Mapping};
use keyfold_dynamo::retrofit::{
    PassOptions, RequestSender, RetrofitError, RetrofitState, lag_seconds, limits,
};
use keyfold_dynamo::{DynamoError, EnsureError, ServiceError, Settings, client};

pub(super) use crate::globals::Env;
use crate::refusal::{Refusal, explained};

/// Which retrofit, and how long its steps wait.
#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitName {
    /// The retrofit's name in the manifest.
    #[arg(value_name = "RETROFIT")]
    pub(super) name: String,
    /// Other waits than those that follow from the endpoint, in seconds, such as `in-flight=60,quiet=2,denied=15,proof=60`.
    #[arg(long, hide = true, value_name = "WAITS", env = "KEYFOLD_WAITS", value_delimiter = ',')]
    waits: Vec<String>,
}

/// How a pass over a table is split into segments, and how fast it goes.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct RetrofitWork {
    /// This worker's name, for the leases of segments. After a kill, a worker of the same name continues at once [default: a new
    /// name for each run, which waits half a minute for the leases to end].
    #[arg(long, value_name = "NAME", env = "KEYFOLD_WORKER")]
    worker: Option<String>,
    /// The number of segments of each table's scan. A pass that was interrupted continues with its number [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) segments: Option<u32>,
    /// How many segments are processed at the same time [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) concurrency: Option<u32>,
    /// Capacity units per second, reads and writes of all segments together: the first rate and the maximum [default: starts at
    /// 1000 and grows while nothing is throttled; no limit at an endpoint on this machine].
    #[arg(long, value_name = "UNITS")]
    pub(super) rate: Option<f64>,
}

impl RetrofitWork {
    /// As options of a pass.
    pub(super) fn options(&self, lag_seconds: u64) -> PassOptions {
        // The variable also counts for commands without these options.
        let worker = self.worker.clone().or_else(|| std::env::var("KEYFOLD_WORKER").ok());
        let given = PassOptions::of(worker.as_deref());
        let at_once = self.concurrency.unwrap_or(given.at_once);
        PassOptions { segments: self.segments, at_once, rate: self.rate, lag_seconds, ..given }
    }
}

impl Env<'_> {
    /// How long the steps wait, which follows from what can still be in flight; and how many seconds the replicator may be behind: a
    /// difference is checked again for twice as long.
    pub(super) fn waits(&self, retrofit: &RetrofitName) -> anyhow::Result<(Limits, u64)> {
        let endpoint = self.globals.settings()?.endpoint;
        let (mut limits, mut lag) = (limits(&endpoint), lag_seconds(&endpoint));
        for text in retrofit.waits.iter().filter(|text| !text.is_empty()) {
            let wait =
                text.split_once('=').and_then(|(name, seconds)| Some((name, seconds.parse::<u64>().ok()?)));
            let (name, seconds) = wait.unwrap_or_default();
            let (wait, unit) = match name {
                "in-flight" => (&mut limits.in_flight_ms, 1_000),
                "quiet" => (&mut limits.quiet_ms, 1_000),
                "denied" => (&mut limits.denied_ms, 1_000),
                "proof" => (&mut limits.proof_max_ms, 1_000),
                "lag" => (&mut lag, 1),
                _ => bail!(
                    "`{text}` is not NAME=SECONDS, with one of the names `in-flight`, `quiet`, `denied`, `proof` and `lag`"
                ),
            };
            *wait = seconds.saturating_mul(unit);
        }
        Ok((limits, lag))
    }

    /// The retrofit's mapping, as the manifest has it.
    pub(super) fn mapping(&self, retrofit: &RetrofitName) -> anyhow::Result<Mapping> {
        Mapping::of(self.model, &retrofit.name).map_err(Refusal::of)
    }

    /// For a retrofit that was not started yet, or whose epoch does not matter.
    pub(super) async fn unstarted(&self, retrofit: &RetrofitName) -> anyhow::Result<RequestSender> {
        // The SDK must not retry throttled requests silently: the retrofit has its own retries, and lowers its rate.
        let settings = Settings { attempts_max: 1, ..self.globals.settings()? };
        let job = Job::new(self.mapping(retrofit)?, Epoch::FIRST);
        Ok(RequestSender::new(client(&settings).await, job, &self.globals.control))
    }

    /// For a retrofit that was started, in its current epoch; with its row of the control table.
    pub(super) async fn started(
        &self,
        retrofit: &RetrofitName,
    ) -> anyhow::Result<(RequestSender, RetrofitState)> {
        let unstarted = self.unstarted(retrofit).await?;
        let (client, mapping) = (unstarted.client().clone(), unstarted.job().mapping().clone());
        Ok(RequestSender::started(client, mapping, &self.globals.control).await?)
    }
}

/// Errors below a command have codes and hints: a program reads them.
pub(super) fn with_code(error: anyhow::Error) -> anyhow::Error {
    let of_dynamo = |error: anyhow::Error| error.downcast::<DynamoError>().map(RetrofitError::from);
    let of_retrofit = error.downcast::<RetrofitError>().or_else(of_dynamo);
    of_retrofit
        .map(Refusal::with_causes)
        .or_else(|error| error.downcast::<ServiceError>().map(explained))
        .or_else(|error| error.downcast::<EnsureError>().map(explained))
        .unwrap_or_else(|error| error)
}
