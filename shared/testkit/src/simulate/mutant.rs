//! Ways to weaken the protocols from outside: the simulator is good for something only if it notices each of them.

use keyfold_core::condition::{Comparison, Path};
use keyfold_core::query::Condition;
use keyfold_core::retrofit::mapping::{FENCE_ATTRIBUTE, OWNER_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use keyfold_core::retrofit::{Action, Guard, Place, Protocol, Write, control};
use keyfold_core::value::{AttributeValue, Item};

use super::fault::named;
use super::work::Kind;

named! {
/// A weakened protocol.
Mutant {
    /// A delete is a delete.
    NoTombstone = "no-tombstone",
    /// Sequence numbers are compared as text.
    TextSequence = "text-sequence",
    /// The scan reads what was there a while ago.
    EventualScan = "eventual-scan",
    /// A repair reads what was there a while ago.
    EventualRepair = "eventual-repair",
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
    /// The first difference that the verifier sees is its finding.
    HastyVerifier = "hasty-verifier",
    /// An error of the backfill's scan is its end.
    ErrorIsEnd = "error-is-end",
    /// An error of the verifier's scan is its end.
    VerifyErrorIsEnd = "verify-error-is-end",
    /// The stream is read from its end.
    Latest = "latest",
    /// A record that cannot be mapped is skipped.
    PoisonSkipped = "poison-skipped",
    /// A record that does not tell its item is skipped.
    UnreadableSkipped = "unreadable-skipped",
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
    /// An update in place puts the whole item as it was read.
    WholeItem = "whole-item",
    /// Updates in place follow the scan alone, not the stream.
    NoEcho = "no-echo",
    /// An invocation does not report its failures.
    FailuresHidden = "failures-hidden",
    /// Only the first record of a batch is applied.
    FirstOnly = "first-only",
    /// Only the last record of a batch is applied.
    LastOnly = "last-only",
    /// The second half of a batch that was split is not delivered.
    HalfLost = "half-lost",
    /// Tombstones go while records are under way.
    TombstonesEarly = "tombstones-early",
    /// A new stream's records are fenced like the old one's.
    EpochIgnored = "epoch-ignored",
    /// A new stream begins without a new scan.
    NoRescan = "no-rescan",
    /// The retrofit is finalised while records are under way.
    FinaliseEarly = "finalise-early",
    /// Records are carried over although the retrofit is being finalised.
    FinaliseOpen = "finalise-open",
    /// Nobody compares the mapping with the one that the retrofit was started with.
    VersionsMixed = "versions-mixed",
    /// Nothing enters the quarantine.
    NoQuarantine = "no-quarantine",
    /// What is in quarantine is not released.
    NoRelease = "no-release",
    /// A throttled write is taken for written.
    ThrottledIsWritten = "throttled-is-written",
    /// A task that gave up is taken for settled.
    GivenUpIsSettled = "given-up-is-settled",
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

    /// Does it weaken this protocol, so that its histories must notice?
    pub fn concerns(self, protocol: Protocol) -> bool {
        use Protocol::{Fenced, InPlace, Ledger};
        match self {
            Mutant::NoTombstone | Mutant::NoFence | Mutant::TombstonesEarly => protocol == Fenced,
            Mutant::NoOwner
            | Mutant::NotAtomic
            | Mutant::NoLedger
            | Mutant::LedgerUnguarded
            | Mutant::BlockedForgotten
            | Mutant::OldStays => protocol == Ledger,
            Mutant::NoInputs | Mutant::Stub | Mutant::WholeItem | Mutant::NoEcho => protocol == InPlace,
            // In place, every record makes what is there right; only the last one of an item matters.
            Mutant::PoisonSkipped
            | Mutant::UnreadableSkipped
            | Mutant::DiscardForgotten
            | Mutant::ErrorIsEnd
            | Mutant::CheckpointFirst
            | Mutant::HastyVerifier
            | Mutant::Latest
            | Mutant::NoRescan
            | Mutant::VerifyErrorIsEnd
            | Mutant::FailuresHidden
            | Mutant::FirstOnly
            | Mutant::LastOnly
            | Mutant::HalfLost
            | Mutant::VersionsMixed
            | Mutant::NoQuarantine
            | Mutant::NoRelease
            | Mutant::ThrottledIsWritten
            | Mutant::GivenUpIsSettled
            | Mutant::CrashForgotten => true,
            _ => protocol != InPlace,
        }
    }
}

/// What is sent in place of a write.
#[expect(
    clippy::large_enum_variant,
    reason = "one lives at a time, and a box would cost each write an allocation"
)]
pub(super) enum Weak {
    /// This.
    Write(Write),
    /// Nothing, and it is taken for written.
    Nothing,
}

/// What becomes of a write; `None` if it stays as it is.
pub(super) fn weakened(mutant: Mutant, write: &Write, kind: Kind) -> Option<Weak> {
    let is_target = write.place == Place::Target;
    let put = match &write.action {
        Action::Put(item) => Some(item),
        Action::Update { .. } | Action::Delete(_) => None,
    };
    let has = |name: &str| is_target && put.is_some_and(|item| item.contains_key(name));
    match mutant {
        Mutant::NoTombstone if has(TOMBSTONE_ATTRIBUTE) => {
            put.map(|item| Weak::Write(Write { action: Action::Delete(item.clone()), ..write.clone() }))
        }
        Mutant::NoGuard if is_target && put.is_some() => anyhow(write),
        Mutant::NoOwner if has(OWNER_ATTRIBUTE) => anyhow(write),
        Mutant::NoFence if has(FENCE_ATTRIBUTE) && kind == Kind::Record => over_ours(write),
        Mutant::BackfillOverwrites if kind == Kind::Scan => over_ours(write),
        Mutant::RepairUnguarded if kind == Kind::Repair && write.place != Place::Source => over_ours(write),
        Mutant::DiscardReplayed if kind == Kind::Replay => anyhow(write),
        Mutant::NoLedger if is_row(write, "ledger#") => Some(Weak::Nothing),
        Mutant::LedgerUnguarded if is_row(write, "ledger#") => anyhow(write),
        Mutant::NoQuarantine if is_row(write, "quarantine#") => Some(Weak::Nothing),
        Mutant::OldStays if is_target && matches!(write.action, Action::Delete(_)) => Some(Weak::Nothing),
        Mutant::NoInputs if write.place == Place::Source => {
            guarded(write, Guard::Present(Condition::All(Vec::new())))
        }
        Mutant::Stub if write.place == Place::Source => match &write.guard {
            Guard::Present(inputs) => guarded(write, Guard::AbsentOr(inputs.clone())),
            Guard::Absent | Guard::AbsentOr(_) => None,
        },
        _ => None,
    }
}

fn guarded(write: &Write, guard: Guard) -> Option<Weak> {
    Some(Weak::Write(Write { guard, ..write.clone() }))
}

/// The same write, whatever is there.
fn anyhow(write: &Write) -> Option<Weak> {
    guarded(write, Guard::AbsentOr(Condition::All(Vec::new())))
}

/// The same write, over whatever the retrofit has put there.
fn over_ours(write: &Write) -> Option<Weak> {
    let has = |name: &str| Condition::Is(Path::attribute(name), Comparison::Exists(true));
    let ours = [FENCE_ATTRIBUTE, OWNER_ATTRIBUTE, control::FENCE].map(has);
    guarded(write, Guard::AbsentOr(Condition::Any(ours.to_vec())))
}

/// Does it put a row whose partition key begins so into the control table?
fn is_row(write: &Write, prefix: &str) -> bool {
    let begins = |row: &Item| match row.get(control::PARTITION) {
        Some(AttributeValue::S(partition)) => partition.starts_with(prefix),
        _ => false,
    };
    write.place == Place::Control && matches!(&write.action, Action::Put(row) if begins(row))
}
