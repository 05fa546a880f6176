//! Another table, where the source's key fixes the target's: each target item carries a fence, deleted ones leave a
//! tombstone, and a write goes through only over an older fence.

use super::fence::Fence;
use super::job::Job;
use super::mapping::{FENCE_ATTRIBUTE, Mapping, TOMBSTONE_ATTRIBUTE};
use super::quarantine::Reason;
use super::request::{Action, Guard, Outcome, Place, Request, Seen, Write, is};
use super::task::{Machine, Turn, Verdict};
use crate::condition::Comparison;
use crate::value::{AttributeValue, Item};

/// How often a repair begins anew because something was written meanwhile.
const ROUNDS_MAX: u32 = 8;

/// One item whose target key is fixed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fenced {
    source_key: Item,
    fence: Fence,
    phase: Phase,
}

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// The write of a record or of a scanned item is sent.
    Writing,
    /// A careful backfill looks whether it is needed.
    Looking(Box<Write>),
    /// A refused write looks what it met.
    Asking,
    Repairing(Repair),
}

/// A repair: the target is read, then the source, then the target is written if it is still the same.
#[derive(Debug, Clone, PartialEq)]
struct Repair {
    target_key: Item,
    failed: Option<Fence>,
    /// The target as it was read, once it is.
    target: Option<Option<Item>>,
    rounds: u32,
}

impl Fenced {
    /// The state that a record tells.
    pub(super) fn apply(job: &Job, key: &Item, new: Option<&Item>, fence: Fence) -> (Machine, Turn) {
        let older = is(FENCE_ATTRIBUTE, Comparison::Less(fence.value()));
        let turn = match state(job.mapping(), key, new, &fence) {
            Err(reason) => Turn::Enter(reason, fence.clone()),
            Ok(item) => put(item, Guard::AbsentOr(older)),
        };
        machine(key, fence, Phase::Writing, turn)
    }

    /// A scanned item. In the first epoch it is written only where nothing is; later, over what is older than the epoch.
    pub(super) fn backfill(
        job: &Job,
        key: &Item,
        item: &Item,
        fence: Fence,
        careful: bool,
    ) -> (Machine, Turn) {
        let first = fence.epoch() == super::Epoch::FIRST;
        let older = is(FENCE_ATTRIBUTE, Comparison::Less(fence.value()));
        let mapping = job.mapping();
        let guard = match (mapping.selects(item), first) {
            (false, true) => return machine(key, fence, Phase::Writing, Turn::Done(Verdict::NotSelected)),
            (false, false) => Guard::Present(older),
            (true, true) => Guard::Absent,
            (true, false) => Guard::AbsentOr(older),
        };
        let item = match state(mapping, key, Some(item), &fence) {
            Err(reason) => {
                let turn = Turn::Enter(reason, fence.clone());
                return machine(key, fence, Phase::Writing, turn);
            }
            Ok(item) => item,
        };
        if !careful {
            return machine(key, fence, Phase::Writing, put(item, guard));
        }
        let target_key = mapping.target().key_of(&item).unwrap_or_default();
        let write = Write { place: Place::Target, action: Action::Put(item), guard };
        let look = Turn::Send(Request::Get { place: Place::Target, key: target_key });
        machine(key, fence, Phase::Looking(Box::new(write)), look)
    }

    /// Reads both sides again. `failed` is the newest change that could not be carried over, if one is known.
    pub(super) fn repair(job: &Job, key: &Item, failed: Option<Fence>) -> (Machine, Turn) {
        let fence = failed.clone().unwrap_or(Fence::of_scan(job.epoch()));
        match job.mapping().target_key(key) {
            Ok(Some(target_key)) => {
                let repair = Repair { target_key, failed, target: None, rounds: 0 };
                let turn = repair.read_target();
                machine(key, fence, Phase::Repairing(repair), turn)
            }
            Ok(None) => unreachable!("the protocol applies only where the source's key fixes the target's"),
            Err(error) => {
                let reason = Reason::Unmappable(error.code().to_owned());
                machine(key, fence.clone(), Phase::Writing, Turn::Enter(reason, fence))
            }
        }
    }

    pub(super) fn told(&mut self, job: &Job, outcome: Outcome) -> Turn {
        if let Outcome::Rejected(code) = outcome {
            return Turn::Enter(Reason::Rejected(code), self.fence.clone());
        }
        let first_scan = self.is_first_scan();
        match (&mut self.phase, outcome) {
            (Phase::Writing, Outcome::Written) => Turn::Done(Verdict::Written),
            (Phase::Writing, Outcome::Refused(Seen::Unknown)) if first_scan => {
                Turn::Done(Verdict::Superseded)
            }
            (Phase::Writing, Outcome::Refused(Seen::Unknown)) => self.ask(job),
            (Phase::Writing, Outcome::Refused(Seen::Nothing)) => Turn::Done(Verdict::Superseded),
            (Phase::Writing, Outcome::Refused(Seen::Item(there))) => self.met(Some(&there)),
            (Phase::Asking, Outcome::Got(there)) => self.met(there.as_ref()),
            (Phase::Looking(write), Outcome::Got(there)) => {
                if write.guard.holds(there.as_ref()) {
                    let write = Request::Write((**write).clone());
                    self.phase = Phase::Writing;
                    return Turn::Send(write);
                }
                self.met(there.as_ref())
            }
            (Phase::Repairing(repair), outcome) => repair.told(job, &self.source_key, &self.fence, outcome),
            (Phase::Writing | Phase::Looking(_) | Phase::Asking, outcome) => {
                unreachable!("{outcome:?} does not answer what was sent")
            }
        }
    }

    /// A scan's plain insert that met something: whatever it is, it is not for the scan to overwrite, and a look would
    /// cost as much as the write. Verification finds what is not ours.
    fn is_first_scan(&self) -> bool {
        self.fence == Fence::of_scan(super::Epoch::FIRST)
    }

    fn ask(&mut self, job: &Job) -> Turn {
        match job.mapping().target_key(&self.source_key) {
            Ok(Some(key)) => {
                self.phase = Phase::Asking;
                Turn::Send(Request::Get { place: Place::Target, key })
            }
            Ok(None) | Err(_) => Turn::Done(Verdict::Superseded),
        }
    }

    /// What a refused write met: something newer of ours, or an item of somebody else.
    fn met(&self, there: Option<&Item>) -> Turn {
        match there {
            Some(item) if !item.contains_key(FENCE_ATTRIBUTE) => {
                Turn::Enter(Reason::Foreign, self.fence.clone())
            }
            _ => Turn::Done(Verdict::Superseded),
        }
    }
}

impl Repair {
    fn read_target(&self) -> Turn {
        Turn::Send(Request::Get { place: Place::Target, key: self.target_key.clone() })
    }

    fn told(&mut self, job: &Job, source_key: &Item, fence: &Fence, outcome: Outcome) -> Turn {
        match (outcome, &self.target) {
            (Outcome::Written, _) => Turn::Done(Verdict::Written),
            (Outcome::Refused(_), _) if self.rounds >= ROUNDS_MAX => Turn::Done(Verdict::Busy),
            (Outcome::Refused(_), _) => {
                self.rounds += 1;
                self.target = None;
                self.read_target()
            }
            (Outcome::Got(target), None) => {
                self.target = Some(target);
                Turn::Send(Request::Get { place: Place::Source, key: source_key.clone() })
            }
            (Outcome::Got(source), Some(target)) => {
                self.write(job, source_key, source.as_ref(), target.as_ref(), fence)
            }
            (Outcome::Cancelled(_) | Outcome::Rejected(_), _) => {
                unreachable!("neither can come of what was sent")
            }
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
        let known = target.and_then(|item| Fence::read(item.get(FENCE_ATTRIBUTE)?));
        if target.is_some() && known.is_none() {
            return Turn::Enter(Reason::Foreign, fence.clone());
        }
        let newest = known.as_ref().map(Fence::repaired).max(self.failed.clone());
        let fence_now = newest.into_iter().chain([Fence::of_scan(job.epoch())]).max();
        let fence_now = fence_now.unwrap_or_else(|| fence.clone());
        let wanted = match state(job.mapping(), source_key, source, &fence_now) {
            Ok(item) => item,
            Err(reason) => return Turn::Enter(reason, fence.clone()),
        };
        let as_new = known.is_some() && known >= self.failed;
        let nothing = target.is_none() && wanted.contains_key(TOMBSTONE_ATTRIBUTE) && self.failed.is_none();
        if nothing || (as_new && target.is_some_and(|item| same_but_fence(item, &wanted))) {
            return Turn::Done(Verdict::Unchanged);
        }
        let guard = match &known {
            Some(known) => Guard::equals(FENCE_ATTRIBUTE, known.value()),
            None => Guard::Absent,
        };
        put(wanted, guard)
    }
}

fn machine(key: &Item, fence: Fence, phase: Phase, turn: Turn) -> (Machine, Turn) {
    (Machine::Fenced(Box::new(Fenced { source_key: key.clone(), fence, phase })), turn)
}

fn put(item: Item, guard: Guard) -> Turn {
    Turn::Send(Request::Write(Write { place: Place::Target, action: Action::Put(item), guard }))
}

/// What the target should hold for a source item: the mapped item, or a tombstone, with its fence.
fn state(mapping: &Mapping, key: &Item, source: Option<&Item>, fence: &Fence) -> Result<Item, Reason> {
    let unmappable = |error: crate::index::ItemError| Reason::Unmappable(error.code().to_owned());
    let mapped = source.map_or(Ok(None), |item| mapping.target_item(item)).map_err(unmappable)?;
    let mut item = match mapped {
        Some(item) => item,
        None => tombstone(mapping, key).map_err(unmappable)?,
    };
    item.insert(FENCE_ATTRIBUTE.to_owned(), fence.value());
    // The fence counts too, against the limit of an item.
    mapping.target().check_item(&item).map_err(unmappable)?;
    Ok(item)
}

fn tombstone(mapping: &Mapping, key: &Item) -> Result<Item, crate::index::ItemError> {
    let mut item = mapping.target_key(key)?.unwrap_or_default();
    item.insert(TOMBSTONE_ATTRIBUTE.to_owned(), AttributeValue::Bool(true));
    Ok(item)
}

fn same_but_fence(a: &Item, b: &Item) -> bool {
    super::mapping::same_item(a, b, &[FENCE_ATTRIBUTE])
}
