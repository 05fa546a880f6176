//! The replicator: what changes in a retrofit's source, as its stream tells it, is carried over to the target, or in place
//! gets its folded keys.
//!
//! [`handle`] takes a batch of stream records and says from which of them on Lambda must deliver again. What is written, and
//! on what condition, is decided by `keyfold_core::retrofit`; `keyfold-dynamo` sends it. Nothing is written unless the
//! control table says, or said within the last second, that the retrofit is open, has this very mapping, and follows the stream
//! that the records are of.
//! Start with [`Settings`], [`Replicator::start`] and [`handle`].

mod change;
mod event;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handler;
mod look;
mod refusal;
mod replicator;
mod report;
mod settings;

pub use handler::handle;
pub use refusal::Refusal;
pub use replicator::{Replicator, StartError};
pub use report::Report;
pub use settings::Settings;
