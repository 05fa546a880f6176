//! Which writes are in force: those of a generation that is over are sealed.

/// Which writes: each time the direction changes, the next generation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(u64);

impl Generation {
    /// Until the first switch.
    pub const FIRST: Generation = Generation(1);

    /// The generation with this number; `None` for zero.
    pub fn new(number: u64) -> Option<Generation> {
        (number > 0).then_some(Generation(number))
    }

    /// Its number.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The one that follows.
    #[must_use]
    pub fn next(self) -> Generation {
        Generation(self.0 + 1)
    }

    /// The one before; `None` before the first.
    pub fn former(self) -> Option<Generation> {
        Generation::new(self.0 - 1)
    }
}
