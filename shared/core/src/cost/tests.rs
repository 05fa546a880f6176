//! Tests of units, prices and the estimate of a retrofit, each in a file of its own.

mod prices;
mod read;
mod retrofit;
mod units;
