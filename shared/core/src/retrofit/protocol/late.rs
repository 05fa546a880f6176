//! A change of the closed table. It follows the open table, and applications should not write it. After a switch, the open table
//! is the job's source and the closed table its target.
//!
//! The closed table's stream has the retrofit's own writes, changes that were carried over before the switch, and late changes of
//! writers that were not stopped. A late change that the open table does not have is noted with both images; then the closed
//! table's item gets the open table's state. So every late change leaves a trace, and the open table stays right.
//!
//! Where keys can move, the row of the closed table's key names the open table's item, and has the retrofit's own fences.

use std::borrow::Cow;

use super::freeing::Freeing;
use super::paired::Paired;
use super::place::{Place, read};
use super::row::LedgerRow;
use super::rowed::Rowed;
use super::turn::Turn;
use crate::condition::Comparison;
use crate::retrofit::attributes::{OWN_ATTRIBUTES, REMOVING_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use crate::retrofit::control::{self, SORT};
use crate::retrofit::fence::{Epoch, Fence};
use crate::retrofit::job::Job;
use crate::retrofit::mapping::{Mapping, same_item};
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::quarantine::{self, QuarantineReason, Quarantined, map_of};
use crate::retrofit::record::{ChangeKind, ChangeRecord};
use crate::retrofit::request::{Action, Guard, Request, Response, TableRole, Write, is};
use crate::retrofit::result::TaskResult;
use crate::retrofit::source_key::SourceKey;
use crate::value::{AttributeValue, Item};

/// The examination of one change of the closed table, the job's target.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct Late {
    /// The key of the open table's item, if there is one.
    open: Option<(SourceKey, Item)>,
    place: Place,
    record: ChangeRecord,
    /// The version of the change, in the order of the direction before the switch.
    fence: Fence,
    phase: LatePhase,
}

#[derive(Debug, Clone, PartialEq)]
enum LatePhase {
    /// The row of the closed table's key: was the change carried over before the switch?
    ReadingFormerRow,
    /// The row of the open table's key: is the change the retrofit's own write? Where keys can move: does it name this place too?
    ReadingRow,
    /// The open table's item: has it the same content?
    ReadingSource,
    Noting,
    Repairing(Box<Rowed>),
    Moving(Box<Paired>),
    Freeing(Box<Freeing>),
    Entering(Box<Quarantined>),
}

impl Late {
    /// A change of the closed table, whose stream has this epoch; `open` is the item's key in the open one, if the closed table's
    /// key says it.
    pub(super) fn change(
        job: &Job,
        open: Option<(SourceKey, Item)>,
        record: &ChangeRecord,
        epoch: Epoch,
    ) -> (Late, Turn) {
        let fence = Fence::of_record(epoch, record.sequence.clone());
        let Some(place) = Place::of(job, &record.key) else { unreachable!("a record has a whole key") };
        let turn = Turn::Send(place.read_row(job));
        (Late { open, place, record: record.clone(), fence, phase: LatePhase::ReadingFormerRow }, turn)
    }

    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        match &mut self.phase {
            LatePhase::Repairing(repair) => return repair.respond(job, response),
            LatePhase::Moving(_) => return self.go_on(job, |repair, job| repair.respond(job, response)),
            LatePhase::Freeing(freeing) => return freeing.respond(job, response),
            LatePhase::Entering(entry) => return Turn::Done(quarantine::entered(entry, response)),
            _ => {}
        }
        match (&self.phase, response) {
            (LatePhase::ReadingFormerRow, Response::Item(row)) => {
                self.place.row = row.as_ref().and_then(LedgerRow::read);
                // Carried over before the switch: without this check a record that Lambda delivers again could be noted as late.
                if self.place.row.as_ref().is_some_and(|row| row.fence >= self.fence) {
                    return Turn::Done(TaskResult::Superseded);
                }
                if job.mapping().protocol() == Protocol::Ledger {
                    return self.find_holder(job);
                }
                self.read_row(job)
            }
            (LatePhase::ReadingRow, Response::Item(row)) => {
                let row = row.as_ref().and_then(LedgerRow::read);
                if job.mapping().protocol() == Protocol::Ledger {
                    let names_place = row.and_then(|row| row.target);
                    let names_place = names_place.is_some_and(|key| same_item(&key, &self.place.key, &[]));
                    self.open.take_if(|_| !names_place);
                } else if row.is_some_and(|row| self.is_own(&row.fence, &row)) {
                    return Turn::Done(TaskResult::Superseded);
                }
                self.read_source(job)
            }
            (LatePhase::ReadingSource, Response::Item(source)) => self.judge(job, source.as_ref()),
            // Too large for a row: then the item stays as it is, and an operator has to decide.
            (_, Response::Rejected(_)) => self.enter(job, &QuarantineReason::Late, self.fence.clone()),
            (LatePhase::Noting, _) => self.repair(job),
            (_, response) => unreachable!("{response:?} does not answer what was sent"),
        }
    }

    /// Tries once more what another item was in the way of.
    pub(super) fn again(&mut self, job: &Job) -> Turn {
        self.go_on(job, Paired::again)
    }

    /// Gives that up.
    pub(super) fn park(&mut self, job: &Job) -> Turn {
        self.go_on(job, Paired::park)
    }

    fn go_on(&mut self, job: &Job, next: impl FnOnce(&mut Paired, &Job) -> Turn) -> Turn {
        let LatePhase::Moving(repair) = &mut self.phase else { return Turn::Done(TaskResult::Unchanged) };
        match next(repair, job) {
            Turn::Enter(reason, fence) => self.enter(job, &reason, fence),
            turn => turn,
        }
    }

    fn enter(&mut self, job: &Job, reason: &QuarantineReason, fence: Fence) -> Turn {
        let entry = match &self.open {
            Some((name, key)) => Quarantined::item(key, name, reason, fence),
            // No item of the open table stands for it.
            None => {
                let code = reason.code().to_owned();
                Quarantined { code, ..Quarantined::named(&self.place.name.row_key(), fence) }
            }
        };
        let write = entry.enter(job.mapping());
        self.phase = LatePhase::Entering(Box::new(entry));
        Turn::Send(Request::Write(write))
    }

    /// Where keys can move: the open table's item that has the place.
    fn find_holder(&mut self, job: &Job) -> Turn {
        let Some(row) = &self.place.row else { return self.judge(job, None) };
        let can_be_own = match (&self.record.new, &self.record.old) {
            (Some(new), _) => self.place.is_written_here(job, new),
            (None, Some(old)) => old.contains_key(REMOVING_ATTRIBUTE) && self.place.is_written_here(job, old),
            (None, None) => false,
        };
        if can_be_own && row.shown.as_ref().is_some_and(|shown| self.is_own(shown, row)) {
            return Turn::Done(TaskResult::Superseded);
        }
        let key = row.target.clone();
        self.open = key.and_then(|key| Some((SourceKey::of(job.mapping().source(), &key)?, key)));
        match self.open {
            Some(_) => self.read_row(job),
            None => self.judge(job, None),
        }
    }

    fn read_row(&mut self, job: &Job) -> Turn {
        let Some((name, _)) = &self.open else { unreachable!("a row is of an item") };
        self.phase = LatePhase::ReadingRow;
        Turn::Send(read(LedgerRow::key(job.mapping(), name)))
    }

    fn read_source(&mut self, job: &Job) -> Turn {
        let Some((_, key)) = self.open.clone() else { return self.judge(job, None) };
        self.phase = LatePhase::ReadingSource;
        Turn::Send(Request::Get { role: TableRole::Source, key })
    }

    fn judge(&mut self, job: &Job, source: Option<&Item>) -> Turn {
        match self.is_equal(job, source) {
            true => Turn::Done(TaskResult::Unchanged),
            // Not an application's write: the service deletes items whose time to live is over in each table at another time.
            false if self.record.kind == (ChangeKind::Remove { expired: true }) => self.repair(job),
            false => {
                // Noted before the repair: a kill after the repair would leave the change nowhere.
                self.phase = LatePhase::Noting;
                Turn::Send(Request::Write(self.note(job.mapping())))
            }
        }
    }

    /// Restores the closed table's item to the open table's state.
    fn repair(&mut self, job: &Job) -> Turn {
        let (phase, turn) = match &self.open {
            Some((name, key)) if job.mapping().protocol() == Protocol::Ledger => {
                let (repair, turn) = Paired::repair(job, name, key, None);
                (LatePhase::Moving(Box::new(repair)), turn)
            }
            Some((name, key)) => {
                let (repair, turn) = Rowed::repair(job, name, key, None);
                (LatePhase::Repairing(Box::new(repair)), turn)
            }
            None => {
                let (freeing, turn) = Freeing::of(self.place.clone());
                (LatePhase::Freeing(Box::new(freeing)), turn)
            }
        };
        self.phase = phase;
        turn
    }

    /// True for the retrofit's own write. Its fences rise with each write of an item, and the row has the newest. An item that an
    /// application wrote keeps its fence, has no fence, or has the fence of an older copy.
    fn is_own(&self, newest: &Fence, row: &LedgerRow) -> bool {
        match &self.record.new {
            Some(new) => {
                let before = self.record.old.as_ref().and_then(Fence::on);
                let now = Fence::on(new);
                now > before && now.as_ref() <= Some(newest)
            }
            // Before the retrofit deletes an item without a fence, it gives it one.
            None => {
                let fence = self.record.old.as_ref().and_then(Fence::on);
                fence > row.lost && fence <= row.removed
            }
        }
    }

    /// True if the open table has the same content.
    fn is_equal(&self, job: &Job, source: Option<&Item>) -> bool {
        let Ok(wanted) = source.map_or(Ok(None), |item| job.mapping().carried(Cow::Borrowed(item))) else {
            return false;
        };
        match (&wanted, &self.record.new) {
            // Where keys can move, the item may be at another place by now: its deletion is noted, or nothing would say so. Items that the
            // retrofit does not carry (`only`) are not.
            (None, None) => job.mapping().protocol() != Protocol::Ledger || self.is_of_others(job),
            (Some(wanted), Some(new)) => same_item(wanted, new, &OWN_ATTRIBUTES),
            // The retrofit carries neither the old nor the new item (`only`).
            (None, Some(new)) => !job.mapping().may_take(new) && self.was_not_taken(job),
            // A tombstone that was swept: no item went.
            (Some(_), None) => {
                self.record.old.as_ref().is_some_and(|old| old.contains_key(TOMBSTONE_ATTRIBUTE))
            }
        }
    }

    /// Was an item deleted that the retrofit does not carry?
    fn is_of_others(&self, job: &Job) -> bool {
        self.record.old.is_some() && self.was_not_taken(job)
    }

    fn was_not_taken(&self, job: &Job) -> bool {
        self.record.old.as_ref().is_none_or(|old| !job.mapping().may_take(old))
    }

    /// The row that keeps both images. Noting it again writes the same.
    fn note(&self, mapping: &Mapping) -> Write {
        // Where keys can move, the item that has the place can be another one when the change is noted again.
        let open = self.open.as_ref().filter(|_| mapping.protocol() != Protocol::Ledger);
        let name = open.map_or(&self.place.name, |(name, _)| name);
        let sort = format!("{}#{}", name.row_key(), self.fence);
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
