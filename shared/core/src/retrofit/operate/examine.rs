//! Examines the records of the closed table, as the functions do: a late write is noted, and the item is put right.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::arrivals::{Arrivals, CARRY_ITEMS};
use super::context::OperationContext;
use super::effect::{Effect, Reply};
use super::parts::{PartStep, one_row};
use crate::retrofit::control::{self, Delivery, Direction, RetrofitState};
use crate::retrofit::fence::Epoch;
use crate::retrofit::job::Job;
use crate::retrofit::request::TableRole;
use crate::retrofit::source_key::SourceKey;

/// One look at the records of the closed table that were not examined yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Examining {
    /// The job that writes the closed table, and the epoch of its stream; `None` where nothing of it can be late.
    late: Option<(Arc<Job>, Epoch)>,
    /// Is the row still the one that is known?
    checked: bool,
    /// Items whose first record could not be dealt with.
    stuck: BTreeSet<Option<SourceKey>>,
    over: bool,
}

impl Examining {
    /// `stream`: the closed table's.
    pub(super) fn of(context: &OperationContext, arrivals: &mut Arrivals, stream: &str) -> Examining {
        let head = context.head();
        let (records_lead, head) = match arrivals.roles()[1] {
            TableRole::Source => (Direction::Forward, Ok(head.clone())),
            // Before the stop the row can still name an earlier stream. In its epoch, a late record would count as carried over.
            _ if head.was_reversed() => (Direction::Reverse, head.with_reverse_stream(stream)),
            _ => (Direction::Reverse, Ok(head.clone())),
        };
        let delivery = head.map(|head| head.delivery(&context.mapping, records_lead));
        let late = match delivery.unwrap_or(Delivery::Nothing) {
            Delivery::Late { job, epoch } => Some((Arc::new(job), epoch)),
            _ => None,
        };
        if late.is_none() {
            // Kept, they would count as a backlog, and a switch would be refused as too far behind.
            arrivals.unexamined.clear();
        }
        let over = arrivals.unexamined.is_empty();
        Examining { late, checked: false, stuck: BTreeSet::new(), over }
    }

    /// Ends with: was every record examined?
    pub(super) fn next(&self, context: &OperationContext, arrivals: &Arrivals) -> PartStep<bool> {
        let Some((job, epoch)) = self.late.as_ref().filter(|_| !self.over) else {
            return PartStep::Over(arrivals.unexamined.is_empty());
        };
        if !self.checked {
            // After the records were read: what came while the table was open is not late.
            let keys = vec![control::head_key(&context.head().retrofit)];
            return PartStep::Ask(Effect::Read { table: TableRole::Control, keys });
        }
        let wave = self.wave(arrivals);
        if wave.is_empty() {
            return PartStep::Over(false);
        }
        let tasks = wave.iter().map(|at| job.late(&arrivals.unexamined[*at], *epoch)).collect();
        PartStep::Ask(Effect::Carry { job: Arc::clone(job), tasks })
    }

    /// The first record of each item that is not stuck.
    fn wave(&self, arrivals: &Arrivals) -> Vec<usize> {
        let table = arrivals.job().mapping().target();
        // Tasks of one effect run side by side: a second record of an item, or one behind a record that failed, would overtake the first.
        let mut met = self.stuck.clone();
        let mut wave = Vec::new();
        for (at, record) in arrivals.unexamined.iter().enumerate() {
            if wave.len() == CARRY_ITEMS {
                break;
            }
            if met.insert(SourceKey::of(table, &record.key)) {
                wave.push(at);
            }
        }
        wave
    }

    /// The row's version decides: `Err` if another operator changed it.
    pub(super) fn take(
        &mut self,
        context: &mut OperationContext,
        arrivals: &mut Arrivals,
        reply: Reply,
    ) -> Result<(), Option<Box<RetrofitState>>> {
        match reply {
            Reply::Items(items) => {
                let there = RetrofitState::read(context.mapping.name(), one_row(&items)).ok();
                // By another row the table may be open by now, and what its writers wrote would be noted as late.
                if there.as_ref().map(|head| head.version) != Some(context.head().version) {
                    context.head = there.clone();
                    return Err(there.map(Box::new));
                }
                self.checked = true;
            }
            Reply::Results(results) => {
                let wave = self.wave(arrivals);
                let table = arrivals.job().mapping().target().clone();
                let mut done = BTreeSet::new();
                for (at, result) in wave.into_iter().zip(results) {
                    let key = arrivals.unexamined[at].key.clone();
                    // A record that fails stays: dropped, an application's late write would be overwritten without a note.
                    if !result.is_done() {
                        self.stuck.insert(SourceKey::of(&table, &key));
                        continue;
                    }
                    done.insert(at);
                    if result.is_late() {
                        arrivals.look_at_late(&key);
                    }
                }
                let mut at = 0;
                arrivals.unexamined.retain(|_| {
                    at += 1;
                    !done.contains(&(at - 1))
                });
                self.over = arrivals.unexamined.is_empty();
            }
            reply => unreachable!("{reply:?} does not answer an examination"),
        }
        Ok(())
    }
}
