//! Tests of units and prices.

mod prices;
mod read;
mod units;
