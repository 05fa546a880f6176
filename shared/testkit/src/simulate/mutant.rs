//! Ways to weaken the protocols from outside: the simulator is good for something only if it notices each of them.

use keyfold_core::condition::{Comparison, Path};
use keyfold_core::query::Condition;
use keyfold_core::retrofit::attributes::{FENCE_ATTRIBUTE, OWNER_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use keyfold_core::retrofit::{Action, Guard, Protocol, TableRole, Write, control};

use super::fault::named;
use super::scenario::HistoryKind;
use super::store::control_partition;
use super::work::TaskOrigin;

named! {
/// A weakened protocol: one guard is missing. Each says what goes wrong without it; the simulator must see that.
Mutant {
    /// A delete leaves no tombstone: a late record or the scan finds nothing there and puts the deleted item back.
    NoTombstone = "no-tombstone",
    /// Sequence numbers compare as text: `9` counts as newer than `10`, and the newer record is dropped.
    TextSequence = "text-sequence",
    /// The scan reads eventually consistently: it writes what the item was before a record that was applied already.
    EventualScan = "eventual-scan",
    /// A repair reads eventually consistently: it repairs with an image that is old.
    EventualRepair = "eventual-repair",
    /// Target items are put without any condition: the last request that arrives wins, not the newest.
    NoGuard = "no-guard",
    /// A moved item is put without asking whose item is there: it overwrites the item of another source key.
    NoOwner = "no-owner",
    /// A record is put over any fence: an old record that comes again undoes a newer one.
    NoFence = "no-fence",
    /// The backfill overwrites what a record has written: its page was read before that record.
    BackfillOverwrites = "backfill-overwrites",
    /// The checkpoint passes a page before it is written: after a crash its items are skipped.
    CheckpointFirst = "checkpoint-first",
    /// Only the source is verified: items that the target has and the source does not are never seen.
    OneSided = "one-sided",
    /// The verifier reports the first difference that it sees: writes under way are called drift.
    HastyVerifier = "hasty-verifier",
    /// The verifier looks several times, at once: a record that waits for its batch alone is longer under way.
    ShortPauses = "short-pauses",
    /// An item that is carried over just now counts as the same: whether it arrives is not checked.
    MovingIsSame = "moving-is-same",
    /// An error of the backfill's scan counts as its end: the rest of the segment is never read.
    ErrorIsEnd = "error-is-end",
    /// An error of the verifier's scan counts as its end: a clean result of a comparison that never took place.
    VerifyErrorIsEnd = "verify-error-is-end",
    /// The stream is read from its end (`LATEST`): records between the subscription and the first read are lost.
    Latest = "latest",
    /// A record that cannot be mapped is skipped: its item is stale, and no row in quarantine says so.
    PoisonSkipped = "poison-skipped",
    /// A record that does not tell its item is skipped: some item is stale, and it is unknown which.
    UnreadableSkipped = "unreadable-skipped",
    /// A record that the event source gave up is forgotten.
    DiscardForgotten = "discard-forgotten",
    /// A record that was given up is replayed later without a condition: it is old by then.
    DiscardReplayed = "discard-replayed",
    /// A transaction's writes are carried out one by one: a crash between them leaves an item at two places, or at none.
    NotAtomic = "not-atomic",
    /// The ledger's row is not written: the item's place is unknown when it moves on.
    NoLedger = "no-ledger",
    /// The ledger's row is written without a condition: two records of one item both believe that they moved it.
    LedgerUnguarded = "ledger-unguarded",
    /// The old place is not deleted when an item moves: a ghost stays there.
    OldStays = "old-stays",
    /// A checkpoint is stored one item further on than what was read: that item is never carried over.
    CheckpointFurther = "checkpoint-further",
    /// A repair writes without a condition: it overwrites what was written since it read.
    RepairUnguarded = "repair-unguarded",
    /// An update in place does not ask whether the key's attributes are as it read them: it writes the key of old values.
    NoInputs = "no-inputs",
    /// An update in place does not ask whether the item exists: after a delete it makes an item of nothing but keys.
    Stub = "stub",
    /// An update in place puts the whole item as it was read: a writer's change to another attribute is lost.
    WholeItem = "whole-item",
    /// In place, only the scan folds keys: what writers change after it keeps its old keys.
    NoEcho = "no-echo",
    /// An invocation does not report its failed records: Lambda takes the batch for done.
    FailuresHidden = "failures-hidden",
    /// Only the first record of a batch is applied.
    FirstOnly = "first-only",
    /// Only the last record of a batch is applied.
    LastOnly = "last-only",
    /// The second half of a batch that was split is not delivered.
    HalfLost = "half-lost",
    /// A new stream's records get fences of the old epoch: their sequence numbers do not compare, and the newer one loses.
    EpochIgnored = "epoch-ignored",
    /// A new stream begins without a new scan: changes made while there was no stream are never read.
    NoRescan = "no-rescan",
    /// A retrofit that is started again with the same stream begins the next epoch: a record that was dealt with before is newer than the
    /// new scan then.
    RestartAnew = "restarted-anew",
    /// The mapping is not compared with the one that the retrofit was started with: two versions write two kinds of keys.
    VersionsMixed = "versions-mixed",
    /// A mended manifest is followed from now on, and what was carried over before stays as it was.
    RevisionForgotten = "revision-forgotten",
    /// Nothing enters the quarantine: items that cannot be mapped are lost without a word.
    NoQuarantine = "no-quarantine",
    /// The quarantine is not released: a mended item never arrives.
    NoRelease = "no-release",
    /// A throttled write counts as written.
    ThrottledIsWritten = "throttled-is-written",
    /// A task that gave up counts as settled: the checkpoint passes an item that was not written.
    GivenUpIsSettled = "given-up-is-settled",
    /// A delete's record is skipped: the item stays in the target as a ghost.
    RemoveSkipped = "remove-skipped",
    /// A record of an expired item is skipped, as filters on `userIdentity` do: the item stays in the target.
    ExpirySkipped = "expiry-skipped",
    /// A batch whose invocation crashed is not delivered again.
    CrashForgotten = "crash-forgotten",
    /// An item whose place another holds is given up without a row in quarantine: it is not tried again.
    BlockedForgotten = "blocked-forgotten",
    /// The verifier takes no notice of attributes that only the target has: an attribute that was removed stays there.
    ExtraIgnored = "extra-ignored",
    /// In place, a folded key stays when an attribute that it is made of has gone: it finds the item under what it was.
    StaleKeyStays = "stale-key-stays",
    /// The scan begins before the stream: changes between the two are in neither.
    ScanFirst = "scan-first",
    /// The retrofit is finalised while records are under way: they arrive when the fences are gone.
    FinaliseEarly = "finalise-early",
    /// Records are applied while the retrofit is being finalised: they put fences on items that were cleaned already.
    FinaliseOpen = "finalise-open",
    /// The end of the retrofit cleans items without a condition: it deletes what an application has written meanwhile.
    CleanUnguarded = "clean-unguarded",
    /// The retrofit's row is cached for longer than the wait: what it allows is done when it is forbidden.
    LookTooLong = "look-too-long",
    /// A change of the phase does not wait until the previous row has left all caches.
    NoFloor = "no-floor",
    /// Deletes leave nothing while requests that know of no rows may still arrive: such a put brings a deleted item back.
    NoWaitForRows = "no-wait-for-rows",
    /// A change leaves no row: when the delete has left nothing either, an older change brings the item back.
    NoRow = "no-row",
    /// The item is written over any fence: what was put before there were rows is overwritten by something older.
    ItemUnguarded = "item-unguarded",
    /// In a tidy target records are put by their fences alone: late ones bring back what was deleted.
    PlainPuts = "plain-puts",
    /// The sweep asks neither for the mark nor for the fence: it deletes an item that was put again meanwhile.
    SweepUnguarded = "sweep-unguarded",
    /// In a tidy target deletes go on leaving tombstones: readers meet them.
    TombstonesStay = "tombstones-stay",
    /// The record's image is written in place of the source's state: the fence of a swept tombstone is unknown.
    RecordImage = "record-image",
    /// A change that finds everything as it should be leaves no row: an older one that is under way goes through after it.
    EqualIsSkipped = "equal-is-skipped",
    /// Writes do not ask whether their generation is over.
    NoSeal = "no-seal",
    /// A repair from before the tidying does not ask whether that has started.
    RepairsUnsealed = "repairs-unsealed",
    /// A repair of the tidying does not ask whether the target is tidy.
    TidyingUnsealed = "tidying-unsealed",
    /// A row is written over whatever row is there.
    NoRowGuard = "no-row-guard",
    /// Writers of the other table are let in before what they could meet has arrived.
    NotDrained = "not-drained",
    /// The closed table's records are not examined before the direction is turned.
    ClosedUnseen = "closed-unseen",
    /// A new stream that the target got since a return counts as its previous stream.
    EpochStays = "epoch-stays",
    /// The direction is turned before the closed table's stream has shown the retrofit's last writes.
    OwnUnseen = "own-unseen",
    /// The same for items that the open table's writers have not changed since they were let in.
    LateUnseen = "late-unseen",
    /// An item without a fence is deleted without getting one first.
    FenceSkipped = "fence-skipped",
    /// A change counts as arrived as soon as the item is in the other table.
    DrainByPresence = "drain-by-presence",
    /// Writers are let in before the former generation is sealed.
    OpenBeforeSeals = "open-before-seals",
    /// Half of the seals are forgotten.
    HalfSealed = "half-sealed",
    /// The return does not seal what the switch began.
    ReturnUnsealed = "return-unsealed",
    /// A stop that is taken back leaves its generation unsealed.
    TakenBackUnsealed = "taken-back-unsealed",
    /// The function goes on carrying over what comes from the source.
    CarriesOn = "carries-on",
    /// Records of the closed table are ignored.
    LateIgnored = "late-ignored",
    /// A late write is put right without a note.
    LateNotNoted = "late-not-noted",
    /// A late write is noted and stays.
    LateStays = "late-stays",
    /// Every deletion counts as the retrofit's own.
    DeletionIsOwn = "deletion-is-own",
    /// A change that was carried over before the switch counts as late.
    FormerRowIgnored = "former-row-ignored",
    /// Writes after the stop are not waited for: one may have been acknowledged before, and published late.
    EarlyLook = "early-look",
    /// A repair goes on from the source to the target while the target is the truth.
    RepairsForward = "repairs-forward",
    /// A record whose item is refused is dealt with.
    RefusalForgotten = "refusal-forgotten",
    /// A return that is taken back forgets the way back.
    ReturnForgets = "return-forgets",
    /// Writers are moved though nothing carries what they write back.
    ReverseUnusable = "reverse-unusable",
    /// The way back begins with what comes after it is noticed that writers were moved.
    ReverseFromLatest = "reverse-from-latest",
    /// After the seals the operator goes on with what it saw before them.
    SecondLookSkipped = "second-look-skipped",
    /// The streams at the end of a stop are not compared with those of its beginning.
    StreamUnchecked = "stream-unchecked",
    /// The clock stands still while writers are stopped.
    PauseUncounted = "pause-uncounted",
    /// The policies of a stop are removed while it goes on.
    LiftedInStop = "lifted-in-stop",
    /// A retrofit whose writers are stopped is settled.
    SettledFromClosing = "settled-from-closing",
    /// A control table of an earlier time is believed.
    RestoreUnseen = "restore-unseen",
    /// An operator does not ask whether another one was faster.
    HeadUnguarded = "head-unguarded",
    /// A process that wakes up writes without reading the row again.
    SleeperWrites = "sleeper-writes",
    /// Where keys can move: a place is taken over from an item that wants it still.
    HolderUnread = "holder-unread",
    /// The same: the row of a place is not changed with it.
    PlaceRowKept = "place-row-kept",
    /// The same: a place that another item has since is emptied.
    OneSidedCounts = "one-sided-counts",
    /// The same: a place is emptied whatever its row says by then.
    FreedUnguarded = "freed-unguarded",
}
}

impl Mutant {
    /// The one with this name.
    pub fn named(name: &str) -> Option<Mutant> {
        Mutant::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }

    /// Must histories of this kind notice it?
    pub fn concerns(self, kind: &HistoryKind) -> bool {
        match kind {
            HistoryKind::Fill(protocol) => !self.is_of_switch() && self.concerns_protocol(*protocol),
            HistoryKind::Switch { ledger } => self.concerns_switch(*ledger),
        }
    }

    /// Does it weaken what operators do, or the way of the writers to the target and back?
    fn is_of_switch(self) -> bool {
        self >= Mutant::FinaliseEarly
    }

    /// With a ledger each write asks for its row as it was read, so nothing has to be waited for, and the row of a newer record refuses the
    /// image of an older one; deletes leave no tombstones, and the target is tidy in the first generation. `EpochStays` and `LateUnseen` need
    /// one key twice, which is rare where there are many keys.
    fn concerns_switch(self, ledger: bool) -> bool {
        use Mutant::{
            DiscardForgotten, EpochStays, EqualIsSkipped, FreedUnguarded, HolderUnread, ItemUnguarded,
            LateUnseen, NoRow, NoWaitForRows, OneSidedCounts, PlaceRowKept, PlainPuts, RecordImage,
            SleeperWrites, SweepUnguarded, TidyingUnsealed, TombstonesStay,
        };
        match self {
            HolderUnread | PlaceRowKept | OneSidedCounts | FreedUnguarded => ledger,
            NoWaitForRows | NoRow | ItemUnguarded | PlainPuts | SweepUnguarded | TombstonesStay
            | EqualIsSkipped | RecordImage | SleeperWrites | TidyingUnsealed | EpochStays | LateUnseen => {
                !ledger
            }
            DiscardForgotten => true,
            _ => self.is_of_switch(),
        }
    }

    fn concerns_protocol(self, protocol: Protocol) -> bool {
        use Protocol::{Fenced, InPlace, Ledger};
        match self {
            Mutant::NoTombstone | Mutant::NoFence => protocol == Fenced,
            Mutant::NoOwner
            | Mutant::NotAtomic
            | Mutant::NoLedger
            | Mutant::LedgerUnguarded
            | Mutant::BlockedForgotten
            | Mutant::OldStays => protocol == Ledger,
            Mutant::NoInputs | Mutant::Stub | Mutant::WholeItem | Mutant::NoEcho | Mutant::StaleKeyStays => {
                protocol == InPlace
            }
            // In place, every record makes what is there right; only the last one of an item matters.
            Mutant::PoisonSkipped
            | Mutant::UnreadableSkipped
            | Mutant::DiscardForgotten
            | Mutant::ErrorIsEnd
            | Mutant::CheckpointFirst
            | Mutant::CheckpointFurther
            | Mutant::HastyVerifier
            | Mutant::ShortPauses
            | Mutant::Latest
            | Mutant::NoRescan
            | Mutant::VerifyErrorIsEnd
            | Mutant::FailuresHidden
            | Mutant::FirstOnly
            | Mutant::LastOnly
            | Mutant::HalfLost
            | Mutant::VersionsMixed
            | Mutant::RevisionForgotten
            | Mutant::NoQuarantine
            | Mutant::NoRelease
            | Mutant::ThrottledIsWritten
            | Mutant::GivenUpIsSettled
            | Mutant::CrashForgotten => true,
            _ => protocol != InPlace,
        }
    }
}

/// The write that a weakened protocol sends in place of this one: `Some(None)` if it sends nothing and takes the write for written, `None` if
/// the write stays as it is.
pub(super) fn weakened(mutant: Mutant, write: &Write, kind: TaskOrigin) -> Option<Option<Write>> {
    let is_target = write.role == TableRole::Target;
    let put = match &write.action {
        Action::Put(item) => Some(item),
        Action::Update { .. } | Action::Delete(_) => None,
    };
    let has = |name: &str| is_target && put.is_some_and(|item| item.contains_key(name));
    match mutant {
        Mutant::NoTombstone if has(TOMBSTONE_ATTRIBUTE) => {
            put.map(|item| Some(Write { action: Action::Delete(item.clone()), ..write.clone() }))
        }
        Mutant::NoGuard if is_target && put.is_some() => unguarded(write),
        Mutant::NoOwner if has(OWNER_ATTRIBUTE) => unguarded(write),
        Mutant::NoFence if has(FENCE_ATTRIBUTE) && kind == TaskOrigin::Record => over_ours(write),
        Mutant::BackfillOverwrites if kind == TaskOrigin::Scan => over_ours(write),
        Mutant::RepairUnguarded if kind == TaskOrigin::Repair && write.role != TableRole::Source => {
            over_ours(write)
        }
        Mutant::DiscardReplayed if kind == TaskOrigin::Replay => unguarded(write),
        Mutant::NoLedger if is_row(write, "ledger#") => Some(None),
        Mutant::LedgerUnguarded if is_row(write, "ledger#") => unguarded(write),
        Mutant::NoQuarantine if is_row(write, "quarantine#") => Some(None),
        Mutant::OldStays if is_target && matches!(write.action, Action::Delete(_)) => Some(None),
        Mutant::StaleKeyStays => match &write.action {
            Action::Update { key, set, remove } if !remove.is_empty() => {
                let action = Action::Update { key: key.clone(), set: set.clone(), remove: Vec::new() };
                Some(Some(Write { action, ..write.clone() }))
            }
            _ => None,
        },
        Mutant::NoInputs if write.role == TableRole::Source => {
            guarded(write, Guard::Present(Condition::All(Vec::new())))
        }
        Mutant::Stub if write.role == TableRole::Source => match &write.guard {
            Guard::Present(inputs) => guarded(write, Guard::AbsentOr(inputs.clone())),
            Guard::Absent | Guard::AbsentOr(_) => None,
        },
        _ => None,
    }
}

fn guarded(write: &Write, guard: Guard) -> Option<Option<Write>> {
    Some(Some(Write { guard, ..write.clone() }))
}

/// The same write, whatever is there.
fn unguarded(write: &Write) -> Option<Option<Write>> {
    guarded(write, Guard::AbsentOr(Condition::All(Vec::new())))
}

/// The same write, over whatever the retrofit has put there.
fn over_ours(write: &Write) -> Option<Option<Write>> {
    let has = |name: &str| Condition::Is(Path::attribute(name), Comparison::Exists(true));
    let ours = [FENCE_ATTRIBUTE, OWNER_ATTRIBUTE, control::FENCE].map(has);
    guarded(write, Guard::AbsentOr(Condition::Any(ours.to_vec())))
}

/// Does it put a row whose partition key begins so into the control table?
fn is_row(write: &Write, prefix: &str) -> bool {
    write.role == TableRole::Control
        && matches!(&write.action, Action::Put(row) if control_partition(row).starts_with(prefix))
}
