//! What lives as long as the process: the mapping, the client, the sender of the epoch at hand. Built before the first event.

use std::sync::{Arc, Mutex, PoisonError};

use keyfold_core::retrofit::{Epoch, Job, Mapping, MappingError};
use keyfold_dynamo::Client;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError};
use keyfold_edge::{ManifestError, SettingsError};

use crate::{Refusal, Settings};

/// The replicator of one retrofit.
#[derive(Debug)]
pub struct Replicator {
    /// The retrofit's name, as it was set.
    pub(crate) retrofit: String,
    pub(crate) concurrency: usize,
    client: Client,
    control_table: String,
    /// An unknown retrofit fails each invocation, not the start: an error at the start has no name of ours.
    mapping: Result<Mapping, MappingError>,
    kept: Mutex<Option<Arc<RequestSender>>>,
}

/// Why there is no replicator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The environment says something impossible.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There is no manifest that could be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl Replicator {
    /// The replicator that these settings describe.
    pub async fn start(settings: Settings) -> Result<Replicator, StartError> {
        let model = keyfold_edge::load(&settings.manifest)?;
        let mapping = Mapping::of(&model, &settings.retrofit);
        let client = keyfold_dynamo::client(&settings.dynamo).await;
        Ok(Replicator::new(mapping, client, settings))
    }

    /// The replicator of a mapping, with a client.
    pub fn new(mapping: Result<Mapping, MappingError>, client: Client, settings: Settings) -> Replicator {
        let Settings { retrofit, control_table, concurrency, .. } = settings;
        Replicator { retrofit, concurrency, client, control_table, mapping, kept: Mutex::default() }
    }

    /// The mapping of the manifest at hand.
    pub(crate) fn mapping(&self) -> Result<&Mapping, Refusal> {
        self.mapping.as_ref().map_err(|error| Refusal::Mapping(error.clone()))
    }

    /// What carries records of this stream over, if the control table allows it; without a stream, what writes to the control
    /// table alone.
    ///
    /// The retrofit's row is read for every batch, strongly consistent, and never kept: one read unit buys that nothing is
    /// written under a mapping or in a phase that is over. Kept is what follows from the row: the sender of its epoch
    /// and phase.
    pub(crate) async fn open(&self, stream: Option<&str>) -> Result<Arc<RequestSender>, Refusal> {
        let mapping = self.mapping()?;
        let sender = self.kept().unwrap_or_else(|| self.sender(Job::new(mapping.clone(), Epoch::FIRST)));
        let head = sender.head().await?;
        head.check_open(mapping).map_err(RetrofitError::from)?;
        if let Some(stream) = stream {
            head.check_stream(stream).map_err(RetrofitError::from)?;
        }
        let head = sender.adopt(head).await?;
        let same = sender.job().epoch() == head.epoch && sender.job().kept() == head.kept();
        let sender = if same { sender } else { self.sender(head.job(mapping.clone())) };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&sender));
        Ok(sender)
    }

    fn kept(&self) -> Option<Arc<RequestSender>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn sender(&self, job: Job) -> Arc<RequestSender> {
        Arc::new(RequestSender::new(self.client.clone(), job, &self.control_table))
    }
}
