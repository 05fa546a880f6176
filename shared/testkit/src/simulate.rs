//! The retrofit, simulated: one thread, one seed, the core's real code over tables in memory, and everything that can
//! go wrong.
//!
//! A history has writers, streams with shards, the functions' invocations, and operators: drivers of core's own operator. All of them take
//! turns, one request at a time, in an order that the seed draws; faults are switched on and off for each history.
//!
//! - `scenario` is the retrofit of histories that fill, one for each protocol; `store` are tables in memory;
//! - `switching` plays the histories: a target is filled or keys are folded in place; writers move there and back; the retrofit is finished;
//! - [`fault`] is what goes wrong around the protocol, [`mutant`] how the protocol itself is weakened;
//! - [`campaign`] plays many histories, on several threads;
//! - [`exhaustive`] walks every order of a few things that can happen.

pub mod campaign;
pub mod exhaustive;
pub mod fault;
pub mod mutant;
mod outcome;
mod scenario;
mod store;
mod switching;
mod work;

pub use campaign::{Campaign, Tally};
pub use exhaustive::{Bounds, Orders, Walked, exhaust};
pub use fault::{Fault, Hits, WriterAction, WriterActions};
pub use mutant::Mutant;
pub use outcome::{History, Violation};
pub use scenario::HistoryKind;
pub use switching::history;
