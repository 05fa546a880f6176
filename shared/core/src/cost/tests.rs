//! Tests of units and prices, each in a file of its own.

mod prices;
mod read;
mod units;
