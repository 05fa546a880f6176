//! How the protocol of the switch is weakened. Each must be caught.

use super::super::fault::named;

named! {
/// A switch without one of its guards.
SwitchMutant {
    /// Writers are stopped while something is under way that asks for no seal, because it started before there were any.
    NoWait = "no-wait",
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
    /// A stream that the target got since a return counts as the one before.
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
    /// A record that was given up on its way is forgotten.
    DiscardForgotten = "discard-forgotten",
    /// A record whose item is refused is dealt with.
    RefusalForgotten = "refusal-forgotten",
    /// The record's image is written in place of what the open table says now.
    RecordImage = "record-image",
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

impl SwitchMutant {
    /// Those that histories with a ledger need not catch. Each write asks for its row as it was read, so nothing has to be waited for, and the row
    /// of a newer record refuses the image of an older one. With a ledger the target is tidy in the first generation. The last two need one
    /// key twice, which is rare where there are many keys: histories with fixed keys catch them.
    pub const NOT_WITH_LEDGER: [SwitchMutant; 5] = [
        SwitchMutant::NoWait,
        SwitchMutant::RecordImage,
        SwitchMutant::TidyingUnsealed,
        SwitchMutant::EpochStays,
        SwitchMutant::LateUnseen,
    ];

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<SwitchMutant> {
        SwitchMutant::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }
}
