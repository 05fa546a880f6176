//! The cost of reading, writing and storing items: units by DynamoDB's rules, dollars by a dated price table.
//!
//! - [`ReadUnits`] and [`WriteUnits`] are DynamoDB's units, for on-demand and provisioned tables alike;
//! - the functions named `..._read_units` are the formulas of each kind of read;
//! - [`Prices`] turns units and bytes into [`Dollars`].
//!
//! [`index`](crate::index) computes the effect of a write on each index.

mod dollars;
mod read;
mod units;

#[cfg(test)]
mod tests;

pub use crate::model::{PriceError, PriceOverrides, Prices};
pub use dollars::Dollars;
pub use read::{
    Consistency, QUERY_PAGE_BYTES_MAX, get_read_units, lsi_fetch_read_units, query_read_units,
    scan_read_units,
};
pub use units::{READ_UNIT_BYTES, ReadUnits, WRITE_UNIT_BYTES, WriteUnits};
