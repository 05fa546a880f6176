//! Dollars for units and bytes, by a table of prices.

use std::fmt;

use crate::cost::{ReadUnits, WriteUnits};
use crate::model::Prices;

impl Prices {
    /// The price of these reads and writes.
    pub fn dollars_for(&self, read: ReadUnits, write: WriteUnits) -> Dollars {
        self.dollars_for_reads(read) + self.dollars_for_writes(write)
    }

    /// The price of these reads.
    pub fn dollars_for_reads(&self, read: ReadUnits) -> Dollars {
        Dollars(read.as_f64() * self.read_million / MILLION)
    }

    /// The price of these writes.
    pub fn dollars_for_writes(&self, write: WriteUnits) -> Dollars {
        Dollars(write.get() as f64 * self.write_million / MILLION)
    }

    /// The price of storing this many bytes for a month; negative if bytes are freed.
    pub fn dollars_for_month(&self, storage_bytes: i64) -> Dollars {
        Dollars(storage_bytes as f64 / GB * self.storage_gb_month)
    }
}

const MILLION: f64 = 1e6;
const GB: f64 = 1024.0 * 1024.0 * 1024.0;

/// An amount of US dollars, as an estimate: no amount that is billed.
///
/// ```
/// use keyfold_core::cost::Dollars;
/// assert_eq!(Dollars(1234.5).to_string(), "$1234.50");
/// assert_eq!(Dollars(0.000_628).to_string(), "$0.00063");
/// assert_eq!(Dollars(-0.25).to_string(), "-$0.25");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Dollars(pub f64);

/// A smaller amount is shown as "less than" this.
const DOLLARS_SHOWN_MIN: f64 = 1e-9;

impl fmt::Display for Dollars {
    /// Cents from ten cents upwards, two significant digits below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, amount) = if self.0 < 0.0 { ("-", -self.0) } else { ("", self.0) };
        if amount == 0.0 {
            return f.write_str("$0");
        }
        if amount < DOLLARS_SHOWN_MIN {
            return write!(f, "{sign}<$0.000000001");
        }
        let places = (2..=10).find(|places| amount * 10f64.powi(*places) >= 10.0).unwrap_or(10);
        let places = usize::try_from(places).map_err(|_| fmt::Error)?;
        write!(f, "{sign}${amount:.places$}")
    }
}

impl std::ops::Add for Dollars {
    type Output = Dollars;

    fn add(self, other: Dollars) -> Dollars {
        Dollars(self.0 + other.0)
    }
}
