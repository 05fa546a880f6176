//! What can go wrong, switched on or off for each history, and what writers do.

use crate::generate::Random;

macro_rules! named {
    ($(#[$about:meta])* $kind:ident { $($(#[$doc:meta])* $name:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $kind { $($(#[$doc])* $name,)* }

        impl $kind {
            /// Every one.
            pub const ALL: &'static [$kind] = &[$($kind::$name,)*];

            /// Its name on the command line and in tables.
            pub fn name(self) -> &'static str {
                match self { $($kind::$name => $text,)* }
            }
        }
    };
}
pub(super) use named;

named! {
/// A fault of the world around the retrofit.
///
/// There is none for a global index that lags behind: nothing here reads an index. Tasks read by the primary key,
/// strongly consistent, and scans read base tables; what an index shows is a gate of the cut-over.
Fault {
    /// An old record is delivered once more, late.
    Duplicate = "duplicate",
    /// A shard stands still for a while.
    Lag = "late-delivery",
    /// After a failure, the batch is delivered again in two halves.
    Resplit = "re-split-batch",
    /// An invocation or a scan ends before one of its requests is sent.
    CrashBefore = "crash-before",
    /// An invocation or a scan ends after one of its requests was carried out.
    CrashAfter = "crash-after",
    /// A request times out and is carried out long after; its sender has gone, or has sent it again.
    Zombie = "zombie",
    /// A request is carried out, its response is lost, and it is sent again.
    LostResponse = "lost-response",
    /// The table's throughput is used up.
    ThrottleTable = "throttle-table",
    /// A global index of the target holds its writes back.
    ThrottleIndex = "throttle-index",
    /// One partition is hot: requests for one item are throttled for a while.
    ThrottleKey = "throttle-hot-key",
    /// The account's limit is reached: everything is throttled for a while.
    ThrottleAccount = "throttle-account",
    /// A request is throttled so often that its sender gives up.
    GiveUp = "attempts-used-up",
    /// A write meets a transaction and is sent again.
    Conflict = "transaction-conflict",
    /// An item that cannot be mapped.
    Poison = "poison-item",
    /// A record that does not tell which item it is of.
    Unreadable = "poison-record",
    /// An item whose target key would be too long.
    Oversize = "oversize-key",
    /// An item at the limit of DynamoDB, too large with what the retrofit adds.
    Huge = "oversize-item",
    /// An item that the target's table refuses.
    Refused = "refused-item",
    /// The event source gives records up.
    Discard = "discarded-record",
    /// The stream is switched off and on again.
    Reenable = "stream-re-enabled",
    /// A shard is read again from an older place.
    Redrive = "shard-redrive",
    /// A segment is run twice.
    SegmentTwice = "segment-twice",
    /// A segment goes on from an older checkpoint.
    CheckpointRedrive = "checkpoint-redrive",
    /// A shard splits.
    Split = "shard-split",
    /// Items expire.
    Expiry = "expiry",
    /// Items want the same target key.
    Collision = "target-collision",
    /// The target has items of somebody else, for a while or for good.
    Foreign = "foreign-item",
    /// Functions of another version of the mapping are at work.
    Versions = "two-mapping-versions",
    /// Items are repaired while everything goes on.
    Repair = "repair-under-way",
    /// Quarantined items are released while everything goes on.
    Release = "release-under-way",
    /// Both sides are compared, and repaired, while everything goes on.
    Verify = "verify-under-way",
    /// Two items swap their keys.
    Swap = "swap",
    /// In place: some writers fold keys by themselves, others do not.
    WritersFold = "writers-that-fold",
    /// In place: no stream is followed, and every writer folds.
    NoStream = "no-stream",
}
}

named! {
/// What a writer does.
Deed {
    /// A whole item, where there is one.
    Put = "put",
    /// An attribute that no key is made of.
    Update = "update",
    /// An attribute that a key is made of.
    Move = "key-moving-update",
    /// An item goes.
    Delete = "delete",
    /// An item that was there before comes again.
    Recreate = "re-create",
    /// Two items exchange what their keys are made of.
    Swap = "swap",
    /// An item's time to live is over.
    Expire = "ttl-delete",
}
}

/// How often each fault was hit, in the order of [`Fault::ALL`].
pub type Hits = [u64; Fault::ALL.len()];
/// How often each deed was done, in the order of [`Deed::ALL`].
pub type Deeds = [u64; Deed::ALL.len()];

/// The faults of one history, and how often each was hit.
#[derive(Debug, Clone)]
pub(super) struct Faults {
    on: u64,
    pub(super) hits: Hits,
    pub(super) deeds: Deeds,
}

impl Faults {
    /// Each on or off.
    pub(super) fn drawn(random: &mut Random) -> Faults {
        let on = random.draw();
        // One history in eight has no fault at all, one in eight has all of them.
        let on = match random.below(8) {
            0 => 0,
            1 => u64::MAX,
            _ => on,
        };
        Faults { on, hits: [0; Fault::ALL.len()], deeds: [0; Deed::ALL.len()] }
    }

    /// Is it on?
    pub(super) fn is_on(&self, fault: Fault) -> bool {
        self.on & (1 << fault as u64) != 0
    }

    /// Is any on?
    pub(super) fn are_on(&self) -> bool {
        self.on != 0
    }

    /// Notes that it was hit.
    pub(super) fn hit(&mut self, fault: Fault) {
        self.hits[fault as usize] += 1;
    }

    /// Notes that a writer did this.
    pub(super) fn did(&mut self, deed: Deed) {
        self.deeds[deed as usize] += 1;
    }

    /// Does it happen now, in so many of a hundred cases?
    pub(super) fn strikes(&mut self, fault: Fault, random: &mut Random, percent: usize) -> bool {
        let strikes = self.is_on(fault) && random.chance(percent);
        if strikes {
            self.hit(fault);
        }
        strikes
    }

    /// From now on only throttling happens. Returns what there was.
    pub(super) fn calm(&mut self) -> u64 {
        let throttling = [Fault::ThrottleTable, Fault::ThrottleIndex, Fault::ThrottleAccount];
        let kept = throttling.iter().fold(0, |kept, fault| kept | 1 << *fault as u64);
        let on = self.on;
        self.on &= kept;
        on
    }

    /// What there was happens again.
    pub(super) fn restore(&mut self, on: u64) {
        self.on = on;
    }

    /// None happens from now on.
    pub(super) fn end(&mut self) {
        self.on = 0;
    }
}
