//! The replicator: copies the changes in a retrofit's source, from its stream, to the target, or folds keys in place.
//!
//! [`handle`] takes a batch of stream records and returns the record from which Lambda must redeliver.
//! `keyfold_core::retrofit` decides the writes and their conditions; `keyfold-dynamo` sends them. Nothing is written
//! unless the control table, read within the last second, shows that the retrofit is open, has this mapping, and
//! follows the stream of the records.
//! Start with [`Settings`], [`Replicator::start`] and [`handle`].

mod change;
mod event;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handler;
mod refusal;
mod replicator;
mod report;
mod settings;
mod state_cache;

pub use handler::handle;
pub use refusal::Refusal;
pub use replicator::{Replicator, StartError};
pub use report::Report;
pub use settings::Settings;
