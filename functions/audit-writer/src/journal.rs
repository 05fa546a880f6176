//! The journal: intended writes are recorded before they are sent, and their outcomes before the answer.
//!
//! So whenever an invocation ends: an event in the table has its digest in the journal, and an event reported as
//! written has a recorded outcome. See `docs/adr/0018`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use keyfold_core::audit::{
    Chain, Content, Entry, Found, Hash, OutcomeLetter, day_of, journal_table, since_item,
};
use keyfold_core::model::{AttributeKind, Precision, Table};
use keyfold_core::value::Hex;
use keyfold_dynamo::{Client, DynamoError, WriteError, put, put_new};
use tokio::sync::Mutex;

use crate::{Record, stamp};

/// Maximum events in one row, and maximum bytes of their ids and keys: far below an item's 400 KB.
const ROW_EVENTS_MAX: usize = 500;
const ROW_KEY_BYTES_MAX: u64 = 150_000;

/// The journal of one process.
#[derive(Debug)]
pub(crate) struct Journal {
    table: Table,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The current chain.
    growing: Option<OpenChain>,
    /// Does the journal have the row with its start time?
    dated: bool,
}

/// A chain and its day. `None` inside while the state of a row is unknown: a different row would replace it.
#[derive(Debug, Clone)]
struct OpenChain {
    day: String,
    chain: Arc<Mutex<Option<Chain>>>,
}

/// A row without its end.
#[derive(Debug)]
pub(crate) struct OpenRow {
    chain: Arc<Mutex<Option<Chain>>>,
    seq: u64,
    events: usize,
}

/// The names in every row of a writer.
#[derive(Debug)]
pub(crate) struct TrailNames<'n> {
    /// The table's id in the manifest.
    pub(crate) table: &'n str,
    /// The attribute of an event's id.
    pub(crate) id: &'n str,
    /// The attributes excluded from digests.
    pub(crate) left_out: &'n BTreeSet<String>,
}

/// The outcome of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedEvent {
    pub(crate) outcome: OutcomeLetter,
    /// The digest of an existing item, and when it expires.
    pub(crate) found: Option<(Hash, Option<u64>)>,
}

/// Why a row may not have been written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("there was no time left")]
    TimedOut,
    #[error("the system gave no random bytes for a chain's id")]
    NoRandom,
    #[error("it is unknown whether the row before it was written")]
    Ended,
    #[error("a row is not JSON")]
    NoJson,
}

impl Journal {
    pub(crate) fn new(name: &str) -> Journal {
        Journal { table: journal_table(name), state: Mutex::default() }
    }

    /// Records the events to be written. If it fails, none of them may be written.
    pub(crate) async fn begin(
        &self,
        client: &Client,
        of: &TrailNames<'_>,
        entries: Vec<Entry>,
        stop: Instant,
        record: &mut Record,
    ) -> Result<Vec<OpenRow>, JournalError> {
        let mut open = Vec::new();
        for events in rows(entries) {
            let at = now();
            let chain = self.chain(client, &at, stop, record).await?;
            let mut growing = chain.lock().await;
            let is_new = growing.as_ref().is_some_and(Chain::is_new);
            let count = events.len();
            let content = Content::Begin {
                table: of.table.to_owned(),
                id_attribute: of.id.to_owned(),
                left_out: is_new.then(|| of.left_out.clone()),
                events,
            };
            let seq = self.append(client, &mut growing, &at, content, stop, record).await?;
            drop(growing);
            open.push(OpenRow { chain, seq, events: count });
        }
        Ok(open)
    }

    /// Records their outcomes, in order. If it fails, none of them may be reported as written.
    pub(crate) async fn end(
        &self,
        client: &Client,
        open: Vec<OpenRow>,
        ended: &[EndedEvent],
        stop: Instant,
        record: &mut Record,
    ) -> Result<(), JournalError> {
        let mut left = ended;
        for OpenRow { chain, seq, events } in open {
            let (of_row, rest) = left.split_at(events.min(left.len()));
            left = rest;
            let found = |(event, ended): (usize, &EndedEvent)| {
                let (digest, expires) = ended.found?;
                Some(Found { event, digest, expires })
            };
            let content = Content::End {
                of: seq,
                outcomes: of_row.iter().map(|ended| ended.outcome.letter()).collect(),
                found: of_row.iter().enumerate().filter_map(found).collect(),
            };
            let mut growing = chain.lock().await;
            self.append(client, &mut growing, &now(), content, stop, record).await?;
        }
        Ok(())
    }

    /// The chain of this process and of today.
    async fn chain(
        &self,
        client: &Client,
        at: &str,
        stop: Instant,
        record: &mut Record,
    ) -> Result<Arc<Mutex<Option<Chain>>>, JournalError> {
        let mut state = self.state.lock().await;
        if !state.dated {
            record.requests += 1;
            let noted = by(stop, put_new(client, &self.table, since_item(at))).await;
            match noted {
                Ok(consumed) => record.consumed_units += consumed.units,
                // Another process was first.
                Err(JournalError::Write(error)) if is_there(&error) => {}
                Err(error) => return Err(error),
            }
            state.dated = true;
        }
        if let Some(OpenChain { day, chain }) = &state.growing
            && day == day_of(at)
            && chain.try_lock().map_or(true, |chain| chain.is_some())
        {
            return Ok(Arc::clone(chain));
        }
        let day = day_of(at).to_owned();
        let chain = Arc::new(Mutex::new(Some(Chain::new(&random_id()?, &day))));
        state.growing = Some(OpenChain { day, chain: Arc::clone(&chain) });
        Ok(chain)
    }

    /// Writes the next row of a chain. Without a condition: a row whose response was lost is written again, unchanged.
    async fn append(
        &self,
        client: &Client,
        chain: &mut Option<Chain>,
        at: &str,
        content: Content,
        stop: Instant,
        record: &mut Record,
    ) -> Result<u64, JournalError> {
        // While the write is in flight, the state of the row is unknown.
        let mut growing = chain.take().ok_or(JournalError::Ended)?;
        let row = growing.row(at, content).map_err(|_| JournalError::NoJson)?;
        record.requests += 1;
        let consumed = by(stop, put(client, &self.table, row.item.clone())).await?;
        record.consumed_units += consumed.units;
        growing.advance(&row);
        *chain = Some(growing);
        Ok(row.seq)
    }
}

async fn by<T>(stop: Instant, call: impl Future<Output = Result<T, WriteError>>) -> Result<T, JournalError> {
    match tokio::time::timeout_at(stop.into(), Box::pin(call)).await {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_) => Err(JournalError::TimedOut),
    }
}

fn is_there(error: &WriteError) -> bool {
    matches!(error.dynamo(), Some(DynamoError::ConditionFailed { .. }))
}

fn now() -> String {
    stamp::text(stamp::now(), Some(AttributeKind::Timestamp(Precision::Milliseconds)))
}

fn random_id() -> Result<String, JournalError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| JournalError::NoRandom)?;
    Ok(Hex(&bytes).to_string())
}

/// The events, in rows of limited size.
fn rows(entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut bytes_left = 0;
    for entry in entries {
        let values = entry.key.iter().map(|(name, value)| keyfold_core::index::attribute_bytes(name, value));
        let bytes = entry.id.len() as u64 + values.sum::<u64>();
        match rows.last_mut() {
            Some(row) if row.len() < ROW_EVENTS_MAX && bytes <= bytes_left => {
                bytes_left -= bytes;
                row.push(entry);
            }
            _ => {
                bytes_left = ROW_KEY_BYTES_MAX.saturating_sub(bytes);
                rows.push(vec![entry]);
            }
        }
    }
    rows
}
