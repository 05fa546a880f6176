//! A retrofit by its name: its mapping, and the senders of its requests.

use anyhow::Context;
use keyfold_core::retrofit::{Epoch, Job, Mapping, SegmentId};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError, RetrofitState};
use keyfold_dynamo::{Settings, client};

pub(super) use crate::globals::Env;
use crate::refusal::Refusal;

/// Which retrofit.
#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitName {
    /// The retrofit's name in the manifest.
    #[arg(value_name = "RETROFIT")]
    pub(super) name: String,
}

impl Env<'_> {
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
        let mapping = unstarted.job().mapping().clone();
        RequestSender::started(unstarted.client().clone(), mapping, &self.globals.control)
            .await
            .map_err(explained)
    }
}

/// An error with its causes, its code and its hint.
pub(super) fn explained(error: impl Into<RetrofitError>) -> anyhow::Error {
    Refusal::with_causes::<RetrofitError>(error.into())
}

/// The ids of all segments of a scan.
pub(super) fn segments(total: u32) -> anyhow::Result<Vec<SegmentId>> {
    (0..total)
        .map(|number| SegmentId::new(number, total))
        .collect::<Result<_, _>>()
        .context("the number of segments does not fit")
}
