//! Faults, switched on or off for each history, and the writers' actions.

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
/// A fault of the world around the retrofit. Each says what AWS does, and what a retrofit without the right guard would lose.
///
/// There is no fault for a global index that lags behind, because nothing here reads an index: tasks read by the primary key,
/// strongly consistent, and scans read base tables. Whether an index is complete is a gate of the cut-over.
Fault {
    /// The stream delivers an old record once more, late: Lambda delivers at least once. Without a fence, the old image
    /// overwrites a newer one.
    Duplicate = "duplicate",
    /// A shard stands still for a while. Records of other shards and the scan overtake it; what it delivers later is old.
    Lag = "late-delivery",
    /// After a failure Lambda splits the batch in two (`BisectBatchOnFunctionError`). Records that succeeded come again.
    Resplit = "re-split-batch",
    /// An invocation or a scan ends before it sends one of its requests. A checkpoint that was saved too early skips an item.
    CrashBefore = "crash-before",
    /// An invocation or a scan ends after one of its requests was carried out. The retry meets its own writes.
    CrashAfter = "crash-after",
    /// A request times out and DynamoDB carries it out long after. Its sender has gone or has sent it again, so only the
    /// condition of the write can stop it.
    Zombie = "zombie",
    /// DynamoDB carries a request out and the response is lost. The SDK sends it again: the write meets itself, and its
    /// condition fails although it succeeded.
    LostResponse = "lost-response",
    /// The table's throughput is used up. A throttled write must not count as written.
    ThrottleTable = "throttle-table",
    /// A global index of the target has too little capacity and throttles writes of the table.
    ThrottleIndex = "throttle-index",
    /// One partition is hot: requests for one item are throttled for a while and those around it are not, so records of a
    /// batch finish in another order than they began.
    ThrottleKey = "throttle-hot-key",
    /// The account's limit is reached: everything is throttled for a while, the control table too.
    ThrottleAccount = "throttle-account",
    /// A request is throttled so often that its sender gives up. The batch must then fail, not go on.
    GiveUp = "attempts-used-up",
    /// A write meets a transaction and fails with `TransactionConflict`. It is sent again, and the item can have changed.
    Conflict = "transaction-conflict",
    /// An item whose key attribute has the wrong type. It must go to quarantine: to skip it loses it, to fail blocks its shard.
    Poison = "poison-item",
    /// A record without its item's key. It cannot be mapped to an item in quarantine, so it has a separate row.
    Unreadable = "poison-record",
    /// An item whose target key would be longer than DynamoDB allows. It is known before the write.
    Oversize = "oversize-key",
    /// An item at DynamoDB's limit of 400 KB: too large with what the retrofit adds. Only DynamoDB's refusal shows it.
    Huge = "oversize-item",
    /// An item that the target's table refuses for an unpredictable, permanent reason.
    Refused = "refused-item",
    /// The event source gives records up: they are older than the stream keeps them, or have failed too often. They are
    /// not delivered again, so the items must be read again.
    Discard = "discarded-record",
    /// The stream is switched off and on again. Changes between have no record, and sequence numbers of the two streams do
    /// not compare: that is what epochs are for.
    Reenable = "stream-re-enabled",
    /// A shard is read again from an older place, after its checkpoint was moved. Many old records come in order.
    Redrive = "shard-redrive",
    /// The state machine runs a segment twice, at the same time. Both write, and both save checkpoints.
    SegmentTwice = "segment-twice",
    /// A segment goes on from an older checkpoint. It reads items again that have changed since.
    CheckpointRedrive = "checkpoint-redrive",
    /// A shard splits. Its children hold newer records of the same items and must wait for it.
    Split = "shard-split",
    /// Items expire by their time to live. Their delete comes from DynamoDB, not from a writer.
    Expiry = "expiry",
    /// Several items want the same target key. None may overwrite another.
    Collision = "target-collision",
    /// The target has items of another program, for a while or for good. They must stay.
    Foreign = "foreign-item",
    /// Functions with another version of the mapping are at work, as during a deployment. Their writes would not agree.
    Versions = "two-mapping-versions",
    /// Items are repaired while everything goes on. A repair reads, and what it read can be old when it writes.
    Repair = "repair-under-way",
    /// Quarantined items are released while everything goes on: the item can change between its release and its task.
    Release = "release-under-way",
    /// Both sides are compared, and repaired, while everything goes on. A write under way is no difference.
    Verify = "verify-under-way",
    /// Two items swap their keys. Each wants a place that the other still holds, so neither order of the two works alone.
    Swap = "swap",
    /// The manifest is mended while the retrofit runs. Workers that started before write by the previous one; what they and all before them
    /// wrote must be carried over again.
    Revision = "mended-manifest",
    /// In place: some writers fold keys by themselves and others do not. Their keys are right already, or wrong.
    WritersFold = "writers-that-fold",
    /// In place: no stream is followed, and every writer folds. Then the scan alone must reach all older items.
    NoStream = "no-stream",
    /// The retrofit is abandoned and started again, with the same stream. Records meanwhile are refused, and those that are given up then
    /// leave no note. Those that were dealt with before may come again all the same.
    Restart = "abandoned-and-restarted",
    /// A replicator remembers for a while that the retrofit's row said yes. A record can then be younger than the look by which it is
    /// dealt with: the phase, the epoch or the mapping may be others by now.
    Remembered = "remembered-look",
}
}

named! {
/// A writer's action.
WriterAction {
    /// It puts a whole item, whether one is there or not.
    Put = "put",
    /// It updates an attribute that is in no key: the item's place stays.
    Update = "update",
    /// It updates an attribute that is in a key: the item's place changes.
    Move = "key-moving-update",
    /// It removes an attribute of an item: what is made of it must go too.
    Remove = "remove-attribute",
    /// It deletes an item: a late record must not bring it back.
    Delete = "delete",
    /// It puts an item again that was deleted: the tombstone must give way, and late records of the first life must not.
    Recreate = "re-create",
    /// It exchanges the key attributes of two items.
    Swap = "swap",
    /// DynamoDB deletes an item whose time to live is over.
    Expire = "ttl-delete",
}
}

/// How often each fault was hit, in the order of [`Fault::ALL`].
pub type Hits = [u64; Fault::ALL.len()];
/// How often each action was done, in the order of [`WriterAction::ALL`].
pub type WriterActions = [u64; WriterAction::ALL.len()];

/// The faults of one history, and how often each was hit.
#[derive(Debug, Clone)]
pub(super) struct Faults {
    pub(super) on: u64,
    pub(super) hits: Hits,
    pub(super) writer_actions: WriterActions,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults { on: 0, hits: [0; Fault::ALL.len()], writer_actions: [0; WriterAction::ALL.len()] }
    }
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
        Faults { on, ..Faults::default() }
    }

    /// Is it on?
    pub(super) fn is_on(&self, fault: Fault) -> bool {
        self.on & (1 << fault as u64) != 0
    }

    /// Notes that it was hit.
    pub(super) fn hit(&mut self, fault: Fault) {
        self.hits[fault as usize] += 1;
    }

    /// Notes that a writer did this.
    pub(super) fn did(&mut self, writer_action: WriterAction) {
        self.writer_actions[writer_action as usize] += 1;
    }

    /// Does it happen now, with this probability in percent?
    pub(super) fn strikes(&mut self, fault: Fault, random: &mut Random, percent: usize) -> bool {
        let strikes = self.is_on(fault) && random.chance(percent);
        if strikes {
            self.hit(fault);
        }
        strikes
    }

    /// From now on only throttling happens.
    pub(super) fn calm(&mut self) {
        let throttling = [Fault::ThrottleTable, Fault::ThrottleIndex, Fault::ThrottleAccount];
        let kept = throttling.iter().fold(0, |kept, fault| kept | 1 << *fault as u64);
        self.on &= kept;
    }
}
