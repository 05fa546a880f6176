//! Which writes are in force: those of a generation that is over are sealed.

/// Which writes: each time the direction changes, the next generation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(u64);

impl Generation {
    /// Before the tidying, when only repairs ask for a seal. The state row never has this generation.
    pub const UNTIDIED: Generation = Generation(0);
    /// From the tidying on.
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

    /// The one before.
    #[must_use]
    pub fn former(self) -> Generation {
        Generation(self.0.saturating_sub(1))
    }
}
