//! A sequence of small numbers that drives the generation of a random case.
//!
//! Where templates, items and tests depend on each other, this is quicker than nested strategies and shrinks as well: a
//! smaller number is a simpler choice, and an exhausted sequence yields zeros.

use proptest::prelude::*;

#[derive(Debug, Clone)]
pub(super) struct Choices {
    row: Vec<u8>,
    at: usize,
}

/// A random sequence, long enough for a template, some items and tests.
pub(super) fn choices() -> impl Strategy<Value = Choices> {
    proptest::collection::vec(any::<u8>(), 256).prop_map(|row| Choices { row, at: 0 })
}

impl Choices {
    /// A number below `many`.
    pub(super) fn pick(&mut self, many: usize) -> usize {
        let byte = self.row.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % many
    }

    /// One of these; the first is the simplest.
    pub(super) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.pick(of.len())]
    }

    /// True once in `once_in` calls, on average.
    pub(super) fn rarely(&mut self, once_in: usize) -> bool {
        self.pick(once_in) == once_in - 1
    }
}
