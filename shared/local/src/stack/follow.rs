//! Follows a retrofit's source, and the target for a rollback, while the retrofit is open: the equivalent of an event
//! source mapping that is enabled and disabled with the retrofit.

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

/// How often the control table is checked for an open retrofit.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum redeliveries of a batch. A mapping would retry for about a day, as long as a stream keeps its records; here
/// it is enough to outlast an investigation.
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
    /// The followers of this retrofit, one for each stream; none if its mapping has errors, which `keyfold retrofit`
    /// reports.
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
                // Without a stream, it waits for one.
                poller = self.poller().await;
            } else if !open && let Some(poller) = poller.take() {
                // Failed records are in the file.
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
