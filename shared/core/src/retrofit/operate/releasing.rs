//! Tries the entries of the quarantine again.

use std::sync::Arc;

use super::context::OperationContext;
use super::effect::{Effect, Reply};
use super::gate_check::leading;
use super::parts::{Part, PartStep, Rows, at_end, check_row, drop_at_end};
use crate::retrofit::control::{self, RetrofitState};
use crate::retrofit::job::Job;
use crate::retrofit::quarantine::Quarantined;
use crate::retrofit::request::TableRole;

/// Each entry that names an item is tried again, as long as fewer are left each time: one item may have been in another's way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Releasing {
    job: Arc<Job>,
    /// How many there were at first.
    first: Option<usize>,
    /// How many were tried last.
    tried: usize,
    state: ReleasingState,
}

#[derive(Debug, Clone, PartialEq)]
enum ReleasingState {
    Reading(Rows),
    /// Items are written as the phase of the row says: is it still the known one?
    Checking(Vec<Quarantined>),
    Carrying(Vec<Quarantined>),
    Over(Released),
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Released {
    /// The numbers of entries that left, and that stay.
    Done { released: usize, left: usize },
    /// Another operator changed the row.
    Raced(Option<Box<RetrofitState>>),
}

impl Releasing {
    /// The entries of the direction that items are carried in.
    pub(super) fn of(context: &OperationContext) -> Releasing {
        let job = Arc::new(leading(context));
        let state = reading(&job);
        Releasing { job, first: None, tried: usize::MAX, state }
    }

    fn read(&mut self, entries: Vec<Quarantined>) -> ReleasingState {
        let entries: Vec<Quarantined> = entries.into_iter().filter(|entry| entry.key.is_some()).collect();
        let (left, first) = (entries.len(), *self.first.get_or_insert(entries.len()));
        if left == 0 || left >= self.tried {
            return ReleasingState::Over(Released::Done { released: first.saturating_sub(left), left });
        }
        self.tried = left;
        ReleasingState::Checking(entries)
    }
}

fn reading(job: &Job) -> ReleasingState {
    ReleasingState::Reading(Rows::of(vec![control::quarantine_partition(job.mapping().rows_name())]))
}

impl Part for Releasing {
    type End = Released;

    fn next(&self, context: &OperationContext) -> PartStep<Released> {
        PartStep::Ask(match &self.state {
            ReleasingState::Over(end) => return PartStep::Over(end.clone()),
            ReleasingState::Reading(rows) => return rows.next(context).pending(),
            ReleasingState::Checking(_) => Effect::Read {
                table: TableRole::Control,
                keys: vec![control::head_key(&context.head().retrofit)],
            },
            ReleasingState::Carrying(entries) => {
                let tasks = at_end(entries).iter().filter_map(|entry| self.job.release(entry)).collect();
                Effect::Carry { job: Arc::clone(&self.job), tasks }
            }
        })
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        let state = std::mem::replace(&mut self.state, ReleasingState::Checking(Vec::new()));
        self.state = match (state, reply) {
            (ReleasingState::Reading(mut rows), reply) => {
                rows.take(context, reply);
                match rows.next(context) {
                    PartStep::Ask(_) => ReleasingState::Reading(rows),
                    PartStep::Over(read) => {
                        self.read(read.iter().flatten().filter_map(Quarantined::read).collect())
                    }
                }
            }
            (ReleasingState::Checking(entries), Reply::Items(items)) => match check_row(context, &items) {
                Ok(()) => ReleasingState::Carrying(entries),
                Err(there) => ReleasingState::Over(Released::Raced(there)),
            },
            (ReleasingState::Carrying(mut entries), Reply::Results(_)) => match drop_at_end(&mut entries) {
                None => ReleasingState::Checking(entries),
                Some(()) => reading(&self.job),
            },
            (state, reply) => unreachable!("{reply:?} does not answer {state:?}"),
        };
    }
}
