//! Read and write units, as DynamoDB counts and bills them.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

/// Bytes of one strongly consistent read unit.
pub const READ_UNIT_BYTES: u64 = 4 * 1024;
/// Bytes of one write unit.
pub const WRITE_UNIT_BYTES: u64 = 1024;
/// A write inside a transaction counts this many times.
const TRANSACTION_FACTOR: u64 = 2;

/// Read units, exactly: DynamoDB counts in halves.
///
/// ```
/// use keyfold_core::cost::ReadUnits;
/// assert_eq!(ReadUnits::from_halves(5).to_string(), "2.5");
/// assert_eq!((ReadUnits::from_halves(5) * 2).to_string(), "5");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadUnits {
    halves: u64,
}

impl ReadUnits {
    /// None.
    pub const ZERO: ReadUnits = ReadUnits { halves: 0 };

    /// This many half units.
    pub const fn from_halves(halves: u64) -> ReadUnits {
        ReadUnits { halves }
    }

    /// The number of half units.
    pub const fn halves(self) -> u64 {
        self.halves
    }

    /// As DynamoDB's `ConsumedCapacity` shows it.
    pub fn as_f64(self) -> f64 {
        self.halves as f64 / 2.0
    }
}

impl fmt::Display for ReadUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = if self.halves.is_multiple_of(2) { "" } else { ".5" };
        write!(f, "{}{half}", self.halves / 2)
    }
}

impl Add for ReadUnits {
    type Output = ReadUnits;

    fn add(self, other: ReadUnits) -> ReadUnits {
        ReadUnits { halves: self.halves.saturating_add(other.halves) }
    }
}

impl Mul<u64> for ReadUnits {
    type Output = ReadUnits;

    fn mul(self, times: u64) -> ReadUnits {
        ReadUnits { halves: self.halves.saturating_mul(times) }
    }
}

/// Write units: whole ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteUnits(u64);

impl WriteUnits {
    /// None.
    pub const ZERO: WriteUnits = WriteUnits(0);
    /// This many.
    pub const fn new(units: u64) -> WriteUnits {
        WriteUnits(units)
    }

    /// The units for writing or deleting this many bytes: bytes rounded up to 1 KB, at least one unit.
    pub fn of(bytes: u64) -> WriteUnits {
        WriteUnits(bytes.div_ceil(WRITE_UNIT_BYTES).max(1))
    }

    /// The units of a table for a change of an item: by the larger of the two sizes. `None`: no item. With neither, as
    /// for deleting a missing item, it is one unit. A write whose condition fails consumes the same.
    pub fn of_change(old_bytes: Option<u64>, new_bytes: Option<u64>) -> WriteUnits {
        WriteUnits::of(old_bytes.max(new_bytes).unwrap_or(0))
    }

    /// The units inside a transaction, which prepares and commits each item. Units of indexes do not double: see
    /// [`TableWrite::transactional`](crate::index::TableWrite::transactional).
    #[must_use]
    pub fn transactional(self) -> WriteUnits {
        self * TRANSACTION_FACTOR
    }

    /// How many.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for WriteUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Add for WriteUnits {
    type Output = WriteUnits;

    fn add(self, other: WriteUnits) -> WriteUnits {
        WriteUnits(self.0.saturating_add(other.0))
    }
}

impl Mul<u64> for WriteUnits {
    type Output = WriteUnits;

    fn mul(self, times: u64) -> WriteUnits {
        WriteUnits(self.0.saturating_mul(times))
    }
}

impl AddAssign for ReadUnits {
    fn add_assign(&mut self, other: ReadUnits) {
        *self = *self + other;
    }
}

impl AddAssign for WriteUnits {
    fn add_assign(&mut self, other: WriteUnits) {
        *self = *self + other;
    }
}

impl Sum for ReadUnits {
    fn sum<I: Iterator<Item = ReadUnits>>(units: I) -> ReadUnits {
        units.fold(ReadUnits::ZERO, Add::add)
    }
}

impl Sum for WriteUnits {
    fn sum<I: Iterator<Item = WriteUnits>>(units: I) -> WriteUnits {
        units.fold(WriteUnits::ZERO, Add::add)
    }
}
