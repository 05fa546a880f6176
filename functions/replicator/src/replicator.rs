//! The state of the process: the mapping, the client, the sender of the current epoch. Built before the first event.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use keyfold_core::model::Table;
use keyfold_core::retrofit::control::{Delivery, Direction, RetrofitState};
use keyfold_core::retrofit::reverse::RECENT_SECONDS;
use keyfold_core::retrofit::{Epoch, Job, Mapping, MappingError};
use keyfold_dynamo::Client;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError};
use keyfold_edge::{ManifestError, SettingsError};

use crate::state_cache::HeadCache;
use crate::{Refusal, Settings};

/// How often a process records its lag. Each time costs a write unit of the control table.
const LAG_PERIOD: Duration = Duration::from_secs(5);

/// The replicator of one retrofit.
#[derive(Debug)]
pub struct Replicator {
    /// The retrofit's name in the settings.
    pub(crate) retrofit: String,
    pub(crate) concurrency: usize,
    client: Client,
    control_table: String,
    /// An unknown retrofit fails each invocation instead of the start, because an error at start-up has no code.
    mapping: Result<Mapping, MappingError>,
    /// The jobs derived from the retrofit's row, for records of either stream.
    kept: Mutex<Vec<OpenedJob>>,
    /// The last state row that allowed writes.
    cache: HeadCache,
    /// When this process last recorded its lag.
    lag_reported: Mutex<Option<Instant>>,
}

/// How a batch is processed.
#[derive(Debug, Clone)]
pub(crate) enum Opened {
    /// Its records are copied.
    Carry(Arc<RequestSender>),
    /// Its table is closed: each record is checked. With the epoch of its stream.
    Late(Arc<RequestSender>, Epoch),
    /// It is ignored.
    Nothing,
}

/// How a batch is processed, and the state row that allows it.
#[derive(Debug, Clone)]
pub(crate) struct Allowed {
    pub(crate) opened: Opened,
    /// The row's version.
    pub(crate) version: u64,
    /// The row was not read for this batch.
    pub(crate) remembered: bool,
}

/// The job derived from the row of this version.
#[derive(Debug, Clone)]
struct OpenedJob {
    version: u64,
    direction: Direction,
    opened: Opened,
}

/// Why there is no replicator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An invalid setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No usable manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl Replicator {
    /// The replicator with these settings.
    pub async fn start(settings: Settings) -> Result<Replicator, StartError> {
        let model = keyfold_edge::load(&settings.manifest)?;
        let mapping = Mapping::of(&model, &settings.retrofit);
        let client = keyfold_dynamo::client(&settings.dynamo).await;
        Ok(Replicator::new(mapping, client, settings))
    }

    /// The replicator of a mapping, with a client.
    pub fn new(mapping: Result<Mapping, MappingError>, client: Client, settings: Settings) -> Replicator {
        let Settings { retrofit, control_table, concurrency, state_cache, .. } = settings;
        Replicator {
            retrofit,
            concurrency,
            client,
            control_table,
            mapping,
            kept: Mutex::default(),
            cache: HeadCache::new(state_cache),
            lag_reported: Mutex::default(),
        }
    }

    /// The mapping of the manifest.
    pub(crate) fn mapping(&self) -> Result<&Mapping, Refusal> {
        self.mapping.as_ref().map_err(|error| Refusal::Mapping(error.clone()))
    }

    /// The table of this stream's records, and the direction in which its changes are carried while it is open.
    pub(crate) fn records_of(&self, stream: &str) -> Result<(&Table, Direction), Refusal> {
        let mapping = self.mapping()?;
        let back = mapping.target().name != mapping.source().name && is_stream_of(stream, mapping.target());
        Ok(if back { (mapping.target(), Direction::Reverse) } else { (mapping.source(), Direction::Forward) })
    }

    /// How records of this stream are processed, if the control table allows it. An allowing row is cached briefly.
    /// `age`: of the newest record.
    pub(crate) async fn open(
        &self,
        stream: &str,
        direction: Direction,
        age: Option<Duration>,
    ) -> Result<Allowed, Refusal> {
        if let Some((sender, version)) = self.cache.of(stream) {
            return Ok(Allowed { opened: Opened::Carry(sender), version, remembered: true });
        }
        let is_recent = age.is_none_or(|age| age <= Duration::from_secs(RECENT_SECONDS));
        self.read_state(stream, direction, is_recent).await
    }

    /// Does the retrofit's row still have this version? Reads it now.
    pub(crate) async fn is_still(
        &self,
        stream: &str,
        direction: Direction,
        version: u64,
    ) -> Result<bool, Refusal> {
        self.cache.forget();
        Ok(self.read_state(stream, direction, false).await?.version == version)
    }

    /// Reads the retrofit's row strongly consistently: for one read unit, nothing is written under an old mapping or
    /// phase. The job of a row version is kept. `answers`: may this batch answer an operator's question about the
    /// reverse direction?
    async fn read_state(
        &self,
        stream: &str,
        direction: Direction,
        answers: bool,
    ) -> Result<Allowed, Refusal> {
        let mapping = self.mapping()?;
        let reader = self.row_reader(mapping);
        let started = self.cache.begin();
        let head = reader.head().await?;
        head.check(mapping).map_err(RetrofitError::from)?;
        // Before the streams are compared: the reverse direction may have to follow a new stream.
        if answers && head.would_carry(direction) {
            self.answer_reverse(mapping, &head, stream).await;
        }
        match (direction, &head.reverse_stream) {
            (Direction::Forward, _) => head.check_stream(stream).map_err(RetrofitError::from)?,
            (Direction::Reverse, Some(_)) => {
                head.check_reverse_stream(stream).map_err(RetrofitError::from)?;
            }
            (Direction::Reverse, None) => {
                return Ok(Allowed { opened: Opened::Nothing, version: head.version, remembered: false });
            }
        }
        let version = head.version;
        let opened = self.follows(mapping, &head, direction)?;
        if let Opened::Carry(sender) = &opened {
            self.cache.remember(started, stream, sender, version);
        }
        Ok(Allowed { opened, version, remembered: false })
    }

    /// The job derived from this row.
    fn follows(
        &self,
        mapping: &Mapping,
        head: &RetrofitState,
        direction: Direction,
    ) -> Result<Opened, Refusal> {
        let known =
            self.kept().into_iter().find(|kept| kept.version == head.version && kept.direction == direction);
        if let Some(known) = known {
            return Ok(known.opened);
        }
        let opened = match head.delivery(mapping, direction) {
            Delivery::Carry(job) => Opened::Carry(self.sender(job)),
            Delivery::Late { job, epoch } => Opened::Late(self.sender(job), epoch),
            // Returns records of the source's stream to Lambda: its event source mapping should be disabled by now.
            Delivery::Nothing if direction == Direction::Forward => {
                return Err(RetrofitError::from(head.closed()).into());
            }
            Delivery::Nothing => Opened::Nothing,
        };
        self.keep(OpenedJob { version: head.version, direction, opened: opened.clone() });
        Ok(opened)
    }

    /// Answers whether it could copy these records too, if an operator asks. A failure does not fail the batch: the
    /// operator sees no answer.
    async fn answer_reverse(&self, mapping: &Mapping, head: &RetrofitState, stream: &str) {
        let Some(job) = head.leading_job(mapping) else { return };
        if let Err(error) = self.sender(job).answer_reverse(stream).await {
            tracing::warn!(target: keyfold_edge::log::TARGET, retrofit = self.retrofit, code = error.code(), %error, "not answered");
        }
    }

    /// The sender for records about the current direction.
    pub(crate) async fn open_control(&self) -> Result<Arc<RequestSender>, Refusal> {
        let mapping = self.mapping()?;
        let head = self.row_reader(mapping).head().await?;
        head.check(mapping).map_err(RetrofitError::from)?;
        let job = head.leading_job(mapping).ok_or_else(|| RetrofitError::from(head.closed()))?;
        Ok(self.sender(job))
    }

    /// True if the lag is due to be reported; the caller must report it, as the next report is due a period later.
    pub(crate) fn claim_lag_report(&self) -> bool {
        let mut lag_reported = self.lag_reported.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = lag_reported.is_none_or(|last| last.elapsed() >= LAG_PERIOD);
        if is_time {
            *lag_reported = Some(Instant::now());
        }
        is_time
    }

    /// The sender that reads the retrofit's row.
    fn row_reader(&self, mapping: &Mapping) -> Arc<RequestSender> {
        self.kept()
            .into_iter()
            .find_map(|kept| match kept.opened {
                Opened::Carry(sender) | Opened::Late(sender, _) => Some(sender),
                Opened::Nothing => None,
            })
            .filter(|sender| !sender.job().mapping().is_reverse())
            .unwrap_or_else(|| self.sender(Job::new(mapping.clone(), Epoch::FIRST)))
    }

    fn kept(&self) -> Vec<OpenedJob> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, new: OpenedJob) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.direction != new.direction);
        kept.push(new);
    }

    fn sender(&self, job: Job) -> Arc<RequestSender> {
        Arc::new(RequestSender::new(self.client.clone(), job, &self.control_table))
    }
}

/// Is this the ARN of a stream of the table? `arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL`
fn is_stream_of(stream: &str, table: &Table) -> bool {
    let parts = stream.split_once(":table/").and_then(|(_, rest)| rest.split_once("/stream/"));
    parts.is_some_and(|(name, _)| name == table.name)
}
