//! A change of the closed table. It follows the open table, and applications should not write it. After a switch, the open table
//! is the job's source and the closed table its target.
//!
//! The closed table's stream has the retrofit's own writes, changes that were carried over before the switch, and late changes of
//! writers that were not stopped. A late change that the open table does not have is noted with both images; then the closed
//! table's item gets the open table's state. So every late change leaves a trace, and the open table stays right.

use std::borrow::Cow;

use super::ledger::LedgerRow;
use super::rowed::Rowed;
use super::turn::Turn;
use crate::condition::Comparison;
use crate::retrofit::attributes::OWN_ATTRIBUTES;
use crate::retrofit::control::{self, SORT};
use crate::retrofit::fence::{Epoch, Fence};
use crate::retrofit::job::Job;
use crate::retrofit::mapping::{Mapping, same_item};
use crate::retrofit::quarantine::{QuarantineReason, map_of};
use crate::retrofit::record::{ChangeKind, ChangeRecord};
use crate::retrofit::request::{Action, Guard, Request, Response, TableRole, Write, is};
use crate::retrofit::result::TaskResult;
use crate::retrofit::source_key::SourceKey;
use crate::value::{AttributeValue, Item};

/// The examination of one change of the closed table, the job's target.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct Late {
    /// The item's key in the open table, the job's source.
    source: SourceKey,
    key: Item,
    record: ChangeRecord,
    /// The version of the change, in the order of the direction before the switch.
    fence: Fence,
    phase: LatePhase,
}

#[derive(Debug, Clone, PartialEq)]
enum LatePhase {
    /// The ledger row of the former direction: was the change carried over before the switch?
    ReadingFormerRow,
    /// The ledger row of the present direction: is the change the retrofit's own write?
    ReadingRow,
    /// The open table's item: has it the same content?
    ReadingSource,
    Noting,
    Repairing(Box<Rowed>),
}

impl Late {
    /// A change of the closed table, whose stream has this epoch; `key` is the item's key in the open one.
    pub(super) fn change(
        job: &Job,
        source: &SourceKey,
        key: &Item,
        record: &ChangeRecord,
        epoch: Epoch,
    ) -> (Late, Turn) {
        let fence = Fence::of_record(epoch, record.sequence.clone());
        let late = Late {
            source: source.clone(),
            key: key.clone(),
            record: record.clone(),
            fence,
            phase: LatePhase::ReadingFormerRow,
        };
        let turn = match SourceKey::of(job.mapping().target(), &record.key) {
            Some(closed) => {
                let partition =
                    control::ledger_partition(&job.mapping().other_rows_name(), &closed.row_key());
                Turn::Send(get(control::key(&partition, control::LEDGER_SORT)))
            }
            None => Turn::Done(TaskResult::Unchanged),
        };
        (late, turn)
    }

    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        if let LatePhase::Repairing(repair) = &mut self.phase {
            return repair.respond(job, response);
        }
        match (&self.phase, response) {
            (LatePhase::ReadingFormerRow, Response::Item(row)) => {
                // Carried over before the switch: without this check a record that Lambda delivers again could be noted as late.
                if row.as_ref().and_then(LedgerRow::read).is_some_and(|row| row.fence >= self.fence) {
                    return Turn::Done(TaskResult::Superseded);
                }
                self.phase = LatePhase::ReadingRow;
                Turn::Send(get(LedgerRow::key(job.mapping(), &self.source)))
            }
            (LatePhase::ReadingRow, Response::Item(row)) => {
                if row.as_ref().and_then(LedgerRow::read).is_some_and(|row| self.is_own(&row)) {
                    return Turn::Done(TaskResult::Superseded);
                }
                self.phase = LatePhase::ReadingSource;
                Turn::Send(Request::Get { role: TableRole::Source, key: self.key.clone() })
            }
            (LatePhase::ReadingSource, Response::Item(source)) => match self.is_equal(job, source.as_ref()) {
                true => Turn::Done(TaskResult::Unchanged),
                // Not an application's write: the service deletes items whose time to live is over in each table at another time.
                false if self.record.kind == (ChangeKind::Remove { expired: true }) => self.repair(job),
                false => {
                    // Noted before the repair: a kill after the repair would leave the change nowhere.
                    self.phase = LatePhase::Noting;
                    Turn::Send(Request::Write(self.note(job.mapping())))
                }
            },
            // Too large for a row: then the item stays as it is, and an operator has to decide.
            (_, Response::Rejected(_)) => Turn::Enter(QuarantineReason::Late, self.fence.clone()),
            (LatePhase::Noting, _) => self.repair(job),
            (_, response) => unreachable!("{response:?} does not answer what was sent"),
        }
    }

    /// Restores the closed table's item to the open table's state.
    fn repair(&mut self, job: &Job) -> Turn {
        let (repair, turn) = Rowed::repair(job, &self.source, &self.key, None);
        self.phase = LatePhase::Repairing(Box::new(repair));
        turn
    }

    /// True for the retrofit's own write. Its fences rise with each write of an item, and the row has the newest. An item that an
    /// application wrote keeps its fence, has no fence, or has the fence of an older copy.
    fn is_own(&self, row: &LedgerRow) -> bool {
        match &self.record.new {
            Some(new) => {
                let before = self.record.old.as_ref().and_then(Fence::on);
                let now = Fence::on(new);
                now > before && now.as_ref() <= Some(&row.fence)
            }
            // Before the retrofit deletes an item without a fence, it gives it one.
            None => {
                let fence = self.record.old.as_ref().and_then(Fence::on);
                fence.is_some() && fence <= row.removed
            }
        }
    }

    /// True if the open table has the same content.
    fn is_equal(&self, job: &Job, source: Option<&Item>) -> bool {
        let Ok(wanted) = source.map_or(Ok(None), |item| job.mapping().carried(Cow::Borrowed(item))) else {
            return false;
        };
        match (&wanted, &self.record.new) {
            (None, None) => true,
            (Some(wanted), Some(new)) => same_item(wanted, new, &OWN_ATTRIBUTES),
            // The retrofit carries neither the old nor the new item (`only`).
            (None, Some(new)) => !job.mapping().may_take(new) && self.was_not_taken(job),
            (Some(_), None) => false,
        }
    }

    fn was_not_taken(&self, job: &Job) -> bool {
        self.record.old.as_ref().is_none_or(|old| !job.mapping().may_take(old))
    }

    /// The row that keeps both images. Noting it again writes the same.
    fn note(&self, mapping: &Mapping) -> Write {
        let sort = format!("{}#{}", self.source.row_key(), self.fence);
        let mut row = control::row(control::key(&control::late_partition(mapping.name()), &sort));
        row.insert(control::TABLE, AttributeValue::S(mapping.target().name.clone()));
        row.insert(control::SOURCE_KEY, AttributeValue::M(map_of(&self.record.key)));
        for (name, image) in [(control::OLD, &self.record.old), (control::NEW, &self.record.new)] {
            row.extend(image.iter().map(|image| (name, AttributeValue::M(map_of(image)))));
        }
        let guard = Guard::AbsentOr(is(SORT, Comparison::Exists(true)));
        Write { role: TableRole::Control, action: Action::Put(row), guard }
    }
}

fn get(key: Item) -> Request {
    Request::Get { role: TableRole::Control, key }
}
