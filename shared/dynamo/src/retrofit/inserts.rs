//! The new items of a batch of records, 25 in one round trip.
//!
//! The item of an INSERT record is most likely not in the target yet. Its put, which asks that nothing be
//! there or something older, is tried as an `INSERT` first: that goes through only where nothing is, and then it has written
//! what the put would have. Where something is, the put itself is sent and decides.

use std::sync::atomic::{AtomicBool, Ordering};

use keyfold_core::retrofit::{ChangeKind, Received, Response, TableRole, Write};

use super::RequestSender;
use super::concurrent::{After, execute_all};
use crate::guarded::{Statement, put_as_insert};

/// The inserts of one batch of records.
#[derive(Debug)]
pub(super) struct Inserts {
    /// Is it worth trying still? Of a batch that is delivered once more all items are there.
    hopeful: AtomicBool,
}

/// The outcome of some records.
pub(super) struct Tried {
    /// How a record ended, or what has to be sent for it by itself.
    pub(super) after: Vec<After>,
    /// Those that were not looked at, with their places.
    pub(super) untried: Vec<(usize, Received)>,
}

impl Inserts {
    pub(super) fn new() -> Inserts {
        Inserts { hopeful: AtomicBool::new(true) }
    }

    /// Tells the record of a new item?
    pub(super) fn is_for(record: &Received) -> bool {
        matches!(record, Received::Change(change) if change.kind == ChangeKind::Insert)
    }

    /// Tries these records, each with its place, at most 25.
    pub(super) async fn try_all(&self, sender: &RequestSender, records: Vec<(usize, Received)>) -> Tried {
        if records.len() < 2 || !self.hopeful.load(Ordering::Relaxed) {
            return Tried { after: Vec::new(), untried: records };
        }
        let (mut after, mut batch) = (Vec::with_capacity(records.len()), Vec::new());
        for (at, record) in records {
            let mut task = Box::new(sender.job().take(record));
            let step = task.start(sender.job());
            match After::of(at, task, step) {
                After::Wants(waiting) => match waiting.statement(sender, insert) {
                    Some(statement) => batch.push((waiting, statement)),
                    None => after.push(After::Wants(waiting)),
                },
                ended @ After::Ended(..) => after.push(ended),
            }
        }
        let (tried, mut written) = (batch.len(), 0);
        let responses = match tried {
            0 => Vec::new(),
            _ => execute_all(sender, TableRole::Target, insert, batch).await,
        };
        for (waiting, outcome) in responses {
            after.push(match outcome {
                Some(Response::Written) => {
                    written += 1;
                    waiting.respond(sender, Response::Written)
                }
                _ => After::Wants(waiting),
            });
        }
        if written * 2 <= tried {
            self.hopeful.store(false, Ordering::Relaxed);
        }
        Tried { after, untried: Vec::new() }
    }
}

/// Only puts into the target: what a row of the control table means hangs on its guard.
fn insert(table: &str, write: &Write) -> Option<Statement> {
    (write.role == TableRole::Target).then(|| put_as_insert(table, &write.action, &write.guard)).flatten()
}
