//! Another table, where the source's key fixes the target's: each target item carries a fence, deleted ones leave a
//! tombstone, and a write goes through only over an older fence.

use std::borrow::Cow;
use std::sync::Arc;

use super::turn::{ROUNDS_MAX, Turn};
use crate::condition::Comparison;
use crate::retrofit::attributes::{FENCE_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use crate::retrofit::fence::Fence;
use crate::retrofit::job::Job;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::quarantine::QuarantineReason;
use crate::retrofit::request::{Action, Guard, ItemSeen, Request, Response, TableRole, Write, is};
use crate::retrofit::result::TaskResult;
use crate::retrofit::seal;
use crate::retrofit::source_key::SourceKey;
use crate::value::{AttributeValue, Item};

/// One item whose target key is fixed.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct Fenced {
    source_key: Arc<Item>,
    fence: Fence,
    phase: FencedPhase,
}

#[derive(Debug, Clone, PartialEq)]
enum FencedPhase {
    /// The write of a record or of a scanned item is sent.
    Writing,
    /// A careful backfill looks whether it is needed.
    Looking(Box<Write>),
    /// A refused write looks what it met.
    Asking,
    /// A record whose item does not fit looks whether something newer is there.
    Doubting(QuarantineReason),
    /// A repair of an item whose key has no place in the target asks whether there still is such an item.
    Placeless(QuarantineReason),
    Repairing(Box<Repair>),
}

/// A repair: the target is read, then the source, then the target is written if it is still the same.
#[derive(Debug, Clone, PartialEq)]
struct Repair {
    target_key: Item,
    failed: Option<Fence>,
    /// Asks whether the tidying has started: after it, this write would leave a tombstone, or overwrite the target's own writers.
    unsealed: Write,
    /// The target as it was read, once it is.
    target: Option<Option<Item>>,
    rounds: u32,
}

impl Fenced {
    /// The state in a record.
    pub(super) fn apply(
        job: &Job,
        key: &Arc<Item>,
        new: Option<Cow<'_, Item>>,
        fence: Fence,
    ) -> (Fenced, Turn) {
        // Records come twice and late. Without this guard an old one overwrites a newer state, or brings a deleted item back.
        // An item without a fence does not pass either: it is another program's.
        let older = is(FENCE_ATTRIBUTE, Comparison::Less(fence.value()));
        let is_taken = new.as_ref().is_some_and(|item| job.mapping().selects(item));
        let reason = match state(job.mapping(), key, new, &fence) {
            Ok(item) => return started(key, fence, FencedPhase::Writing, put(item, Guard::AbsentOr(older))),
            Err(reason) => reason,
        };
        // A record that comes again after its item was mended must not enter the quarantine again.
        let place = state(job.mapping(), key, None, &fence).ok();
        match place.and_then(|place| job.mapping().target().key_of(&place)) {
            Some(place) => {
                let look = Turn::Send(Request::Get { role: TableRole::Target, key: place });
                started(key, fence, FencedPhase::Doubting(reason), look)
            }
            // Its key has no place in the target: nothing can be there.
            None if !is_taken => {
                started(key, fence, FencedPhase::Writing, Turn::Done(TaskResult::NotSelected))
            }
            None => started(key, fence.clone(), FencedPhase::Writing, Turn::Enter(reason, fence)),
        }
    }

    /// A scanned item. In the first epoch it is written only where nothing is; later, over what is older than the epoch.
    pub(super) fn backfill(
        job: &Job,
        key: &Arc<Item>,
        item: Item,
        fence: Fence,
        careful: bool,
    ) -> (Fenced, Turn) {
        let first = fence.epoch() == crate::retrofit::fence::Epoch::FIRST;
        let older = || is(FENCE_ATTRIBUTE, Comparison::Less(fence.value()));
        let mapping = job.mapping();
        let takes = mapping.selects(&item);
        // A scanned item is older than every record, because the stream was there before the scan. Without these guards the
        // scan overwrites what a record wrote meanwhile. From the second epoch on, items of the epoch before are there: they
        // give way, also to an item that is no longer selected, which leaves a tombstone.
        let guard = match (takes, first) {
            (false, true) => {
                return started(key, fence, FencedPhase::Writing, Turn::Done(TaskResult::NotSelected));
            }
            (false, false) => Guard::Present(older()),
            (true, true) => Guard::Absent,
            (true, false) => Guard::AbsentOr(older()),
        };
        let item = match state(mapping, key, Some(Cow::Owned(item)), &fence) {
            // Its key has no place in the target: nothing can be there.
            Err(_) if !takes => {
                return started(key, fence, FencedPhase::Writing, Turn::Done(TaskResult::NotSelected));
            }
            Err(reason) => {
                let turn = Turn::Enter(reason, fence.clone());
                return started(key, fence, FencedPhase::Writing, turn);
            }
            Ok(item) => item,
        };
        if !careful {
            return started(key, fence, FencedPhase::Writing, put(item, guard));
        }
        let target_key = mapping.target().key_of(&item).unwrap_or_default();
        let write = Write { role: TableRole::Target, action: Action::Put(item), guard };
        let look = Turn::Send(Request::Get { role: TableRole::Target, key: target_key });
        started(key, fence, FencedPhase::Looking(Box::new(write)), look)
    }

    /// Reads both sides again. `failed` is the newest change that could not be carried over, if one is known.
    pub(super) fn repair(
        job: &Job,
        source: &SourceKey,
        key: &Arc<Item>,
        failed: Option<Fence>,
    ) -> (Fenced, Turn) {
        let fence = failed.clone().unwrap_or(Fence::of_scan(job.epoch()));
        match job.mapping().target_key(key) {
            Ok(Some(target_key)) => {
                let unsealed = seal::unsealed_repair(job, source);
                let repair = Repair { target_key, failed, unsealed, target: None, rounds: 0 };
                let turn = repair.read_target();
                started(key, fence, FencedPhase::Repairing(Box::new(repair)), turn)
            }
            Ok(None) => unreachable!("the protocol applies only where the source's key fixes the target's"),
            Err(error) => {
                let look = Turn::Send(Request::Get { role: TableRole::Source, key: Item::clone(key) });
                let reason = QuarantineReason::unmappable(&error);
                started(key, fence, FencedPhase::Placeless(reason), look)
            }
        }
    }

    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        if let Response::Rejected(code) = response {
            return Turn::Enter(QuarantineReason::Rejected(code), self.fence.clone());
        }
        let first_scan = self.is_first_scan();
        match (&mut self.phase, response) {
            (FencedPhase::Writing, Response::Written) => Turn::Done(TaskResult::Written),
            (FencedPhase::Writing, Response::Refused(ItemSeen::Unknown)) if first_scan => {
                Turn::Done(TaskResult::Superseded)
            }
            (FencedPhase::Writing, Response::Refused(ItemSeen::Unknown)) => self.ask(job),
            (FencedPhase::Writing, Response::Refused(ItemSeen::Nothing)) => {
                Turn::Done(TaskResult::Superseded)
            }
            (FencedPhase::Writing, Response::Refused(ItemSeen::Item(there))) => self.met(Some(&there)),
            (FencedPhase::Asking, Response::Item(there)) => self.met(there.as_ref()),
            (FencedPhase::Doubting(reason), Response::Item(there)) => {
                let newer = there.as_ref().and_then(Fence::on).is_some_and(|fence| fence >= self.fence);
                match newer {
                    true => Turn::Done(TaskResult::Superseded),
                    false => Turn::Enter(reason.clone(), self.fence.clone()),
                }
            }
            (FencedPhase::Placeless(reason), Response::Item(item)) => {
                match item.is_some_and(|item| job.mapping().selects(&item)) {
                    true => Turn::Enter(reason.clone(), self.fence.clone()),
                    false => Turn::Done(TaskResult::NotSelected),
                }
            }
            (FencedPhase::Looking(write), Response::Item(there)) => {
                if write.guard.holds(there.as_ref()) {
                    let write = Request::Write((**write).clone());
                    self.phase = FencedPhase::Writing;
                    return Turn::Send(write);
                }
                self.met(there.as_ref())
            }
            (FencedPhase::Repairing(repair), response) => {
                repair.respond(job, &self.source_key, &self.fence, response)
            }
            (
                FencedPhase::Writing
                | FencedPhase::Looking(_)
                | FencedPhase::Asking
                | FencedPhase::Doubting(_)
                | FencedPhase::Placeless(_),
                response,
            ) => {
                unreachable!("{response:?} does not answer what was sent")
            }
        }
    }

    /// A scan's plain insert that met something: whatever it is, it is not for the scan to overwrite, and a look would
    /// cost as much as the write. Verification finds what is not ours.
    fn is_first_scan(&self) -> bool {
        self.fence == Fence::of_scan(crate::retrofit::fence::Epoch::FIRST)
    }

    fn ask(&mut self, job: &Job) -> Turn {
        match job.mapping().target_key(&self.source_key) {
            Ok(Some(key)) => {
                self.phase = FencedPhase::Asking;
                Turn::Send(Request::Get { role: TableRole::Target, key })
            }
            Ok(None) | Err(_) => Turn::Done(TaskResult::Superseded),
        }
    }

    /// The reason of a refused write: a newer write of the retrofit, or another program's item.
    fn met(&self, there: Option<&Item>) -> Turn {
        match there {
            Some(item) if !item.contains_key(FENCE_ATTRIBUTE) => {
                Turn::Enter(QuarantineReason::Foreign, self.fence.clone())
            }
            _ => Turn::Done(TaskResult::Superseded),
        }
    }
}

impl Repair {
    fn read_target(&self) -> Turn {
        Turn::Send(Request::Get { role: TableRole::Target, key: self.target_key.clone() })
    }

    fn respond(&mut self, job: &Job, source_key: &Item, fence: &Fence, response: Response) -> Turn {
        match (response, &self.target) {
            (Response::Written, _) => Turn::Done(TaskResult::Written),
            (Response::Cancelled(held), _) if self.rounds >= ROUNDS_MAX || held.last() == Some(&false) => {
                Turn::Done(TaskResult::Busy)
            }
            (Response::Cancelled(_), _) => {
                self.rounds += 1;
                self.target = None;
                self.read_target()
            }
            (Response::Item(target), None) => {
                self.target = Some(target);
                Turn::Send(Request::Get { role: TableRole::Source, key: source_key.clone() })
            }
            (Response::Item(source), Some(target)) => {
                self.write(job, source_key, source.as_ref(), target.as_ref(), fence)
            }
            (response, _) => unreachable!("{response:?} does not answer what was sent"),
        }
    }

    fn write(
        &self,
        job: &Job,
        source_key: &Item,
        source: Option<&Item>,
        target: Option<&Item>,
        fence: &Fence,
    ) -> Turn {
        let known = target.and_then(Fence::on);
        // An item without a fence was not written by this retrofit. A repair must not overwrite it.
        if target.is_some() && known.is_none() {
            return Turn::Enter(QuarantineReason::Foreign, fence.clone());
        }
        // Above what is there and above the change that failed, so that this change cannot be applied after the repair; below
        // the next record of the item, so that this one still is.
        let newest = known.as_ref().map(Fence::repaired).max(self.failed.clone());
        let fence_now = newest.into_iter().chain([Fence::of_scan(job.epoch())]).max();
        let fence_now = fence_now.unwrap_or_else(|| fence.clone());
        let wanted = match state(job.mapping(), source_key, source.map(Cow::Borrowed), &fence_now) {
            Ok(item) => item,
            Err(reason) => return Turn::Enter(reason, fence.clone()),
        };
        let as_new = known.is_some() && known >= self.failed;
        let nothing = target.is_none() && wanted.contains_key(TOMBSTONE_ATTRIBUTE) && self.failed.is_none();
        if nothing || (as_new && target.is_some_and(|item| same_but_fence(item, &wanted))) {
            return Turn::Done(TaskResult::Unchanged);
        }
        // The source was read after the target. If a record was applied in between, the source as it was read may be older
        // than that record: then both are read again.
        let guard = match &known {
            Some(known) => Guard::equals(FENCE_ATTRIBUTE, known.value()),
            None => Guard::Absent,
        };
        let write = Write { role: TableRole::Target, action: Action::Put(wanted), guard };
        Turn::Send(Request::Transact(vec![write, self.unsealed.clone()]))
    }
}

fn started(key: &Arc<Item>, fence: Fence, phase: FencedPhase, turn: Turn) -> (Fenced, Turn) {
    (Fenced { source_key: Arc::clone(key), fence, phase }, turn)
}

fn put(item: Item, guard: Guard) -> Turn {
    Turn::Send(Request::Write(Write { role: TableRole::Target, action: Action::Put(item), guard }))
}

/// The desired target item for a source item: the mapped item, or a tombstone, with its fence.
pub(super) fn state(
    mapping: &Mapping,
    key: &Item,
    source: Option<Cow<'_, Item>>,
    fence: &Fence,
) -> Result<Item, QuarantineReason> {
    let unmappable = |error: crate::index::ItemError| QuarantineReason::unmappable(&error);
    let mapped = source.map_or(Ok(None), |item| mapping.carried(item))?;
    let mut item = match mapped {
        Some(item) => item,
        None => tombstone(mapping, key).map_err(unmappable)?,
    };
    item.insert(FENCE_ATTRIBUTE, fence.value());
    // The fence counts too, against the limit of an item. All else was checked without it.
    mapping.target().check_size(&item).map_err(unmappable)?;
    Ok(item)
}

fn tombstone(mapping: &Mapping, key: &Item) -> Result<Item, crate::index::ItemError> {
    let mut item = mapping.target_key(key)?.unwrap_or_default();
    mapping.target().check_item(&item)?;
    item.insert(TOMBSTONE_ATTRIBUTE, AttributeValue::Bool(true));
    Ok(item)
}

pub(super) fn same_but_fence(a: &Item, b: &Item) -> bool {
    crate::retrofit::mapping::same_item(a, b, &[FENCE_ATTRIBUTE])
}
