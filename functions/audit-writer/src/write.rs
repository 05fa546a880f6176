//! Writes drafts, with one outcome for each event.

use std::time::{Duration, Instant, SystemTime};

use keyfold_core::index::CollectionLevel;
use keyfold_core::value::{Item, equal};
use keyfold_dynamo::{PutNew, PutNewOptions, put_new_all};
use keyfold_edge::Problem;

use crate::event::Draft;
use crate::journal::JournalError;
use crate::limits::{DEADLINE_MARGIN, WRITE_TIME_MAX};
use crate::outcome::{Outcome, counts};
use crate::{Record, Writer, note, problem};

/// Writes all valid drafts.
pub(crate) async fn write(
    writer: &Writer,
    drafts: Vec<Result<Draft, Problem>>,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Vec<Outcome> {
    let stop = stop_at(deadline);
    // Recorded before anything is written: the table cannot contain an event that is not in the journal.
    let open = match note::begin(writer, &drafts, stop, record).await {
        Ok(open) => open,
        Err(error) => return not_written(drafts, &error, record),
    };
    let items = drafts.iter().flatten().map(|draft| draft.item.clone()).collect();
    let options = PutNewOptions { deadline: Some(stop), ..PutNewOptions::default() };
    let inserted = put_new_all(&writer.client, &writer.table, items, &options).await;
    record.requests += inserted.requests;
    record.resent += inserted.resent;
    record.consumed_units += inserted.consumed.units;
    for collection in inserted.collections {
        record.collection_gb_max = record.collection_gb_max.max(collection.upper_gb);
        if collection.level > CollectionLevel::Fine {
            record.large_collections += 1;
        }
    }
    let noted = note::end(writer, open, &inserted.outcomes, stop, record).await;
    let mut results = inserted.outcomes.into_iter();
    let outcomes: Vec<Outcome> = drafts
        .into_iter()
        .map(|draft| match draft {
            Err(problem) => Outcome::Failed { id: None, problem },
            Ok(draft) => match results.next() {
                Some(result) => outcome(writer, draft, result),
                None => unreachable!("`put_new_all` has an outcome for each item"),
            },
        })
        .collect();
    match noted {
        Ok(()) => counted(outcomes, record),
        // A stored event is reported as written only after the journal records it.
        Err(error) => counted(outcomes.into_iter().map(|outcome| outcome.unnoted(&error)).collect(), record),
    }
}

/// Nothing can be written without the journal.
fn not_written(
    drafts: Vec<Result<Draft, Problem>>,
    error: &JournalError,
    record: &mut Record,
) -> Vec<Outcome> {
    let failed = |draft| match draft {
        Err(problem) => Outcome::Failed { id: None, problem },
        Ok(Draft { id, .. }) => Outcome::Failed { id: Some(id), problem: problem::of_journal(error) },
    };
    counted(drafts.into_iter().map(failed).collect(), record)
}

fn counted(outcomes: Vec<Outcome>, record: &mut Record) -> Vec<Outcome> {
    let counts = counts(&outcomes);
    record.events += outcomes.len() as u64;
    record.written += counts.written;
    record.repeated += counts.repeated;
    record.failed += counts.failed;
    outcomes
}

fn outcome(writer: &Writer, draft: Draft, result: Result<PutNew, keyfold_dynamo::WriteError>) -> Outcome {
    match result {
        Ok(PutNew::Written) => Outcome::Written { id: draft.id },
        Ok(PutNew::Exists(stored)) if is_same(writer, &draft, stored.reveal()) => {
            Outcome::Repeated { id: draft.id }
        }
        Ok(PutNew::Exists(_)) => {
            let problem = problem::conflict(&draft.id);
            Outcome::Failed { id: Some(draft.id), problem }
        }
        Err(error) => Outcome::Failed { id: Some(draft.id), problem: problem::of_write(&error) },
    }
}

/// Is the stored item the same event? All given attributes count. Folded keys do not, because the manifest may have
/// changed; nor does a time added by the writer, nor its other attributes, which differ each time.
fn is_same(writer: &Writer, draft: &Draft, stored: &Item) -> bool {
    let counts = |name: &str| {
        !writer.folded.contains(name)
            && !writer.stamps_attribute(name)
            && (draft.timed || name != writer.time)
    };
    let given = draft.item.iter().filter(|(name, _)| counts(name));
    let there = stored.iter().filter(|(name, _)| counts(name)).count();
    given.clone().count() == there
        && given.into_iter().all(|(name, value)| stored.get(name).is_some_and(|stored| equal(stored, value)))
}

/// When writing stops: shortly before Lambda's timeout.
fn stop_at(deadline: Option<SystemTime>) -> Instant {
    let left = deadline.map(|deadline| deadline.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO));
    let left = left.map_or(WRITE_TIME_MAX, |left| left.saturating_sub(DEADLINE_MARGIN).min(WRITE_TIME_MAX));
    Instant::now() + left
}
