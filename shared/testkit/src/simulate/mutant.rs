//! Ways to weaken the protocols from outside: the simulator is good for something only if it notices each of them.

use keyfold_core::query::Condition;
use keyfold_core::retrofit::mapping::{FENCE_ATTRIBUTE, OWNER_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use keyfold_core::retrofit::{Action, Guard, Place, Protocol, Write, control};

use super::fault::named;
use super::work::Kind;

named! {
/// A weakened protocol.
Mutant {
    /// A delete is a delete.
    NoTombstone = "no-tombstone",
    /// Sequence numbers are compared as text.
    TextSequence = "text-sequence",
    /// The scan reads what was there some writes ago.
    EventualScan = "eventual-scan",
    /// Target items are put whatever is there.
    NoGuard = "no-guard",
    /// A moved item is put over anybody's.
    NoOwner = "no-owner",
    /// A record is put over any fence.
    NoFence = "no-fence",
    /// The backfill writes whatever is there.
    BackfillOverwrites = "backfill-overwrites",
    /// The checkpoint passes a page that was read and not written.
    CheckpointFirst = "checkpoint-first",
    /// Only the source is verified.
    OneSided = "one-sided",
    /// An error of the scan is its end.
    ErrorIsEnd = "error-is-end",
    /// The stream is read from its end.
    Latest = "latest",
    /// A record that cannot be mapped is skipped.
    PoisonSkipped = "poison-skipped",
    /// A record that was given up is forgotten.
    DiscardForgotten = "discard-forgotten",
    /// A record that was given up is replayed later, without a guard.
    DiscardReplayed = "discard-replayed",
    /// A transaction's writes are carried out one by one.
    NotAtomic = "not-atomic",
    /// The ledger's row is not written.
    NoLedger = "no-ledger",
    /// The ledger's row is written whatever is there.
    LedgerUnguarded = "ledger-unguarded",
    /// The old place is not deleted.
    OldStays = "old-stays",
    /// A repair writes whatever is there.
    RepairUnguarded = "repair-unguarded",
    /// An update in place does not ask whether its inputs are as they were.
    NoInputs = "no-inputs",
    /// An update in place does not ask whether the item exists.
    Stub = "stub",
    /// Updates in place follow the scan alone, not the stream.
    NoEcho = "no-echo",
    /// An invocation does not report its failures.
    FailuresHidden = "failures-hidden",
    /// Only the first record of a batch is applied.
    FirstOnly = "first-only",
    /// Only the last record of a batch is applied.
    LastOnly = "last-only",
    /// Tombstones go while records are under way.
    TombstonesEarly = "tombstones-early",
    /// A new stream's records are fenced like the old one's.
    EpochIgnored = "epoch-ignored",
    /// A new stream begins without a new scan.
    NoRescan = "no-rescan",
    /// The retrofit is finalised while records are under way.
    FinaliseEarly = "finalise-early",
    /// Nothing enters the quarantine.
    NoQuarantine = "no-quarantine",
    /// What is in quarantine is not released.
    NoRelease = "no-release",
    /// A throttled write is taken for written.
    ThrottledIsWritten = "throttled-is-written",
    /// A removed item's record is skipped.
    RemoveSkipped = "remove-skipped",
    /// A record of an expired item is skipped.
    ExpirySkipped = "expiry-skipped",
    /// A crashed batch is not delivered again.
    CrashForgotten = "crash-forgotten",
    /// A blocked item is given up without a note.
    BlockedForgotten = "blocked-forgotten",
    /// The scan begins before the stream.
    ScanFirst = "scan-first",
}
}

impl Mutant {
    /// The one with this name.
    pub fn named(name: &str) -> Option<Mutant> {
        Mutant::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }

    /// Does it weaken this protocol?
    pub fn concerns(self, protocol: Protocol) -> bool {
        match self {
            Mutant::NoTombstone | Mutant::NoFence | Mutant::TombstonesEarly => protocol == Protocol::Fenced,
            Mutant::NoOwner
            | Mutant::NotAtomic
            | Mutant::NoLedger
            | Mutant::LedgerUnguarded
            | Mutant::BlockedForgotten
            | Mutant::OldStays => protocol == Protocol::Ledger,
            Mutant::NoInputs | Mutant::Stub | Mutant::NoEcho => protocol == Protocol::InPlace,
            _ => protocol != Protocol::InPlace,
        }
    }
}

/// What is left of a write; `None` if it is not sent, and taken for written.
pub(super) fn weakened(mutant: Mutant, write: &Write, kind: Kind) -> Option<Write> {
    let anyhow = || Write { guard: Guard::AbsentOr(Condition::All(Vec::new())), ..write.clone() };
    let is_target = write.place == Place::Target;
    let put = match &write.action {
        Action::Put(item) => Some(item),
        _ => None,
    };
    let in_control = |prefix: &str| {
        write.place == Place::Control
            && put.is_some_and(
                |row| matches!(&row[control::PARTITION], keyfold_core::value::AttributeValue::S(text) if text.starts_with(prefix)),
            )
    };
    let weak = match mutant {
        Mutant::NoTombstone if is_target => match put {
            Some(item) if item.contains_key(TOMBSTONE_ATTRIBUTE) => {
                Write { action: Action::Delete(item.clone()), ..write.clone() }
            }
            _ => return Some(write.clone()),
        },
        Mutant::NoGuard if is_target && put.is_some() => anyhow(),
        Mutant::NoOwner if is_target && put.is_some_and(|item| item.contains_key(OWNER_ATTRIBUTE)) => {
            anyhow()
        }
        Mutant::NoFence if is_target && put.is_some_and(|item| item.contains_key(FENCE_ATTRIBUTE)) => {
            match write.guard {
                Guard::AbsentOr(_) => anyhow(),
                _ => return Some(write.clone()),
            }
        }
        Mutant::BackfillOverwrites if kind == Kind::Scan => anyhow(),
        Mutant::RepairUnguarded if kind == Kind::Repair && write.place != Place::Source => anyhow(),
        Mutant::DiscardReplayed if kind == Kind::Replay => anyhow(),
        Mutant::NoLedger if in_control("ledger#") => return None,
        Mutant::LedgerUnguarded if in_control("ledger#") => anyhow(),
        Mutant::NoQuarantine if in_control("quarantine#") => return None,
        Mutant::OldStays if is_target && matches!(write.action, Action::Delete(_)) => return None,
        Mutant::NoInputs if write.place == Place::Source => {
            Write { guard: Guard::Present(Condition::All(Vec::new())), ..write.clone() }
        }
        Mutant::Stub if write.place == Place::Source => match &write.guard {
            Guard::Present(inputs) => Write { guard: Guard::AbsentOr(inputs.clone()), ..write.clone() },
            _ => return Some(write.clone()),
        },
        _ => return Some(write.clone()),
    };
    Some(weak)
}
