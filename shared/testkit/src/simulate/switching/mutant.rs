//! How the protocol of the switch is weakened. Each must be caught.

use super::super::fault::named;

named! {
/// A switch without one of its guards.
SwitchMutant {
    /// Writes do not ask whether their generation is over.
    NoSeal = "no-seal",
    /// A row is written over whatever row is there.
    NoRowGuard = "no-row-guard",
    /// Writers of the other table are let in before what they could meet has arrived.
    NotDrained = "not-drained",
    /// Nobody looks at what came to the closed table before the direction is turned.
    ClosedUnseen = "closed-unseen",
    /// What is found in the closed table's stream is called late by a row that was read before.
    StaleLook = "stale-look",
    /// A function remembers also that it has to carry nothing, or that what comes is late.
    NoRemembered = "no-remembered",
    /// The direction is turned before the closed table's stream has shown the retrofit's last writes.
    OwnUnseen = "own-unseen",
    /// What is under way counts as arrived as soon as the item is in the other table.
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
    /// What comes to the closed table is ignored.
    LateIgnored = "late-ignored",
    /// What comes late is put right without a note.
    LateNotNoted = "late-not-noted",
    /// What comes late is noted and stays.
    LateStays = "late-stays",
    /// Every deletion counts as the retrofit's own.
    DeletionIsOwn = "deletion-is-own",
    /// What was carried over before the switch counts as late.
    FormerRowIgnored = "former-row-ignored",
    /// Writers of the source are let in while those of the target are.
    ReturnUnclosed = "return-unclosed",
    /// An operator does not ask whether another one was faster.
    HeadUnguarded = "head-unguarded",
}
}

impl SwitchMutant {
    /// The one with this name.
    pub fn from_name(name: &str) -> Option<SwitchMutant> {
        SwitchMutant::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }
}
