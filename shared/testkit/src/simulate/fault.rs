//! What can go wrong, switched on or off for each history.

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
Fault {
    /// An old record is delivered once more, late.
    Duplicate = "duplicate",
    /// An invocation ends before one of its requests is sent.
    CrashBefore = "crash-before",
    /// An invocation ends after one of its requests was carried out.
    CrashAfter = "crash-after",
    /// A request is carried out long after its sender has gone.
    Zombie = "zombie",
    /// A request is carried out, its response is lost, and it is sent again.
    LostResponse = "lost-response",
    /// A request is throttled and sent again later.
    Throttle = "throttle",
    /// A transaction conflicts with another one and is sent again.
    Conflict = "conflict",
    /// An item that cannot be mapped.
    Poison = "poison",
    /// An item whose target key would be too long.
    Oversize = "oversize",
    /// An item that the target's table refuses.
    Refused = "refused",
    /// The event source gives records up.
    Discard = "discard",
    /// The stream is switched off and on again.
    Reenable = "reenable",
    /// A shard is read again from an older place.
    Redrive = "redrive",
    /// A segment is run twice.
    SegmentTwice = "segment-twice",
    /// A shard splits.
    Split = "split",
    /// Items expire.
    Expiry = "expiry",
    /// The target has items of somebody else.
    Foreign = "foreign",
    /// Items are repaired while everything goes on.
    Repair = "repair",
    /// Quarantined items are released while everything goes on.
    Release = "release",
    /// Two items swap their keys.
    Swap = "swap",
}
}

/// The faults of one history, and how often each was hit.
#[derive(Debug, Clone)]
pub(super) struct Faults {
    on: u32,
    /// By the fault's number.
    pub(super) hits: Vec<u64>,
}

impl Faults {
    /// Each on or off.
    pub(super) fn drawn(random: &mut Random) -> Faults {
        let on = (random.draw() & 0xFFFF_FFFF) as u32;
        // One history in eight has no fault at all, one in eight has all of them.
        let on = match random.below(8) {
            0 => 0,
            1 => u32::MAX,
            _ => on,
        };
        Faults { on, hits: vec![0; Fault::ALL.len()] }
    }

    /// Is it on?
    pub(super) fn is_on(&self, fault: Fault) -> bool {
        self.on & (1 << fault as u32) != 0
    }

    /// Notes that it was hit.
    pub(super) fn hit(&mut self, fault: Fault) {
        self.hits[fault as usize] += 1;
    }

    /// Does it happen now, in so many of a hundred cases?
    pub(super) fn strikes(&mut self, fault: Fault, random: &mut Random, percent: usize) -> bool {
        let strikes = self.is_on(fault) && random.chance(percent);
        if strikes {
            self.hit(fault);
        }
        strikes
    }

    /// None happens from now on.
    pub(super) fn end(&mut self) {
        self.on = 0;
    }
}
