//! Records drafts in the journal before they are written, and outcomes afterwards.

use std::time::Instant;

use keyfold_core::audit::{Entry, Key, OutcomeLetter, event_digest};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{PutNew, WriteError};
use keyfold_edge::Problem;

use crate::event::Draft;
use crate::journal::{EndedEvent, JournalError, OpenRow, TrailNames};
use crate::{Record, Writer};

/// Records all events that can be written in the journal, if there is one. Without events it records nothing.
pub(crate) async fn begin(
    writer: &Writer,
    drafts: &[Result<Draft, Problem>],
    stop: Instant,
    record: &mut Record,
) -> Result<Vec<OpenRow>, JournalError> {
    let Some(journal) = &writer.journal else { return Ok(Vec::new()) };
    let entries = drafts.iter().flatten().map(|draft| entry(writer, draft)).collect();
    let of = TrailNames { table: &writer.table.id, id: &writer.id, left_out: &writer.folded };
    journal.begin(&writer.client, &of, entries, stop, record).await
}

/// Records their outcomes in the journal.
pub(crate) async fn end(
    writer: &Writer,
    open: Vec<OpenRow>,
    outcomes: &[Result<PutNew, WriteError>],
    stop: Instant,
    record: &mut Record,
) -> Result<(), JournalError> {
    let Some(journal) = &writer.journal else { return Ok(()) };
    let ended: Vec<EndedEvent> = outcomes.iter().map(|outcome| ended(writer, outcome)).collect();
    journal.end(&writer.client, open, &ended, stop, record).await
}

fn entry(writer: &Writer, draft: &Draft) -> Entry {
    let others = writer.key_inputs.iter().filter(|name| **name != writer.id);
    let key: Key = others.filter_map(|name| Some((name.clone(), draft.item.get(name)?.clone()))).collect();
    Entry {
        id: draft.id.clone(),
        digest: event_digest(&draft.item, &writer.folded),
        key,
        expires: expires(writer, &draft.item),
    }
}

fn expires(writer: &Writer, item: &Item) -> Option<u64> {
    match item.get(writer.table.ttl.as_ref()?) {
        Some(AttributeValue::N(seconds)) => seconds.parse().ok(),
        _ => None,
    }
}

fn ended(writer: &Writer, outcome: &Result<PutNew, WriteError>) -> EndedEvent {
    let (outcome, found) = match outcome {
        Ok(PutNew::Written) => (OutcomeLetter::Written, None),
        Ok(PutNew::Exists(stored)) => {
            let stored = stored.reveal();
            let digest = event_digest(stored, &writer.folded);
            (OutcomeLetter::Refused, Some((digest, expires(writer, stored))))
        }
        // Nothing was sent.
        Err(error) if error.dynamo().is_none() => (OutcomeLetter::Refused, None),
        Err(_) => (OutcomeLetter::Unknown, None),
    };
    EndedEvent { outcome, found }
}
