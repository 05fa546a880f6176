//! Follows a retrofit's source, and the target for the way back, while the retrofit is open: what an event source mapping does that
//! is switched on with the retrofit and off after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dynoxide::Database;
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Epoch, Job, Mapping};
use keyfold_dynamo::retrofit::RequestSender;
use tokio::time::sleep;

use super::CONTROL_TABLE;
use super::replicator::AnyReplicator;
use crate::{EmbeddedDynamo, PollerOptions, StreamPoller};

/// How often the control table is asked whether the retrofit is open.
const LOOK: Duration = Duration::from_secs(1);
/// How often a batch is tried again: for about a day, as a stream keeps its records, a mapping would; here it is enough to
/// outlast what a person looks into.
const RETRIES_MAX: u32 = 1000;

/// Starts and stops the poller of one stream of a retrofit.
pub(super) struct Follower {
    sender: RequestSender,
    database: Database,
    table: String,
    handler: Arc<AnyReplicator>,
    on_failure: Option<PathBuf>,
}

impl Follower {
    /// Of this retrofit, for each stream that it follows; none if its mapping has mistakes: `keyfold retrofit` tells them.
    pub(super) fn of(
        model: &Model,
        retrofit: &str,
        dynamo: &EmbeddedDynamo,
        handler: AnyReplicator,
        data: Option<&Path>,
    ) -> Vec<Follower> {
        let Ok(mapping) = Mapping::of(model, retrofit) else { return Vec::new() };
        let mut tables = vec![(mapping.source().name.clone(), "failed")];
        tables.extend(mapping.reverse().is_ok().then(|| (mapping.target().name.clone(), "failed-back")));
        let handler = Arc::new(handler);
        let follower = |(table, failed): (String, &str)| Follower {
            sender: RequestSender::new(
                dynamo.client(),
                Job::new(mapping.clone(), Epoch::FIRST),
                CONTROL_TABLE,
            ),
            database: dynamo.database().clone(),
            table,
            handler: Arc::clone(&handler),
            on_failure: data.map(|folder| folder.join(format!("{retrofit}-{failed}.jsonl"))),
        };
        tables.into_iter().map(follower).collect()
    }

    pub(super) async fn run(self) {
        let mut poller: Option<StreamPoller> = None;
        loop {
            let open = self.is_open().await;
            if open && poller.is_none() {
                // Without a stream there is nothing to follow, until there is one.
                poller = self.poller().await;
            } else if !open && let Some(poller) = poller.take() {
                // What the handler would not take is in the file.
                let _ = poller.stop().await;
            }
            sleep(LOOK).await;
        }
    }

    async fn is_open(&self) -> bool {
        match self.sender.head().await {
            Ok(head) => head.check(self.sender.job().mapping()).is_ok() && head.phase.direction().is_some(),
            Err(_) => false,
        }
    }

    async fn poller(&self) -> Option<StreamPoller> {
        let options = PollerOptions {
            retries_max: RETRIES_MAX,
            on_failure: self.on_failure.clone(),
            ..PollerOptions::default()
        };
        StreamPoller::start(&self.database, &self.table, Arc::clone(&self.handler), options).await.ok()
    }
}
