//! A change of the table that is closed: it follows the other one, and applications should not write it.
//!
//! Its stream has the retrofit's own writes, of changes that were carried over before the direction changed, and, if the
//! writers were not stopped well, of changes that come too late. A late change that the open table does not say too is noted with
//! both of its images; then the closed table's item is what the open table says again. So nothing is lost without a trace, and
//! the table that is open stays right.

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

/// A change of an item of the table that a job writes to.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct Late {
    /// The item's key in the open table.
    source: SourceKey,
    key: Item,
    record: ChangeRecord,
    /// How new the change is, among those that the other direction carried over.
    fence: Fence,
    phase: LatePhase,
}

#[derive(Debug, Clone, PartialEq)]
enum LatePhase {
    /// Was it carried over before?
    ReadingFormerRow,
    /// Is it the retrofit's own?
    ReadingRow,
    /// The open table's state.
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
                // From before the writers moved: without this check a record that Lambda delivers again could be noted as late.
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
            (LatePhase::ReadingSource, Response::Item(source)) => match self.is_said(job, source.as_ref()) {
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

    /// Makes the item what the open table says.
    fn repair(&mut self, job: &Job) -> Turn {
        let (repair, turn) = Rowed::repair(job, &self.source, &self.key, None);
        self.phase = LatePhase::Repairing(Box::new(repair));
        turn
    }

    /// Did this retrofit write it? Its own fences rise with each write of an item, and the row is never behind. Copies that an
    /// application wrote has the fence that was there before, or none, or an older copy's.
    fn is_own(&self, row: &LedgerRow) -> bool {
        match &self.record.new {
            Some(new) => {
                let before = self.record.old.as_ref().and_then(Fence::on);
                let now = Fence::on(new);
                now > before && now.as_ref() <= Some(&row.fence)
            }
            // Deleted items have a fence: an item without one gets one first.
            None => {
                let fence = self.record.old.as_ref().and_then(Fence::on);
                fence.is_some() && fence <= row.removed
            }
        }
    }

    /// Does the open table say the same?
    fn is_said(&self, job: &Job, source: Option<&Item>) -> bool {
        let Ok(wanted) = source.map_or(Ok(None), |item| job.mapping().carried(Cow::Borrowed(item))) else {
            return false;
        };
        match (&wanted, &self.record.new) {
            (None, None) => true,
            (Some(wanted), Some(new)) => same_item(wanted, new, &OWN_ATTRIBUTES),
            // An item that the retrofit does not take is ignored, before and after.
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
