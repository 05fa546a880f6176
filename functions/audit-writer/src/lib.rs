//! The audit writer: an access event (who, what, how, when) becomes an item with every folded key of the manifest, so
//! that all indexes contain it at once.
//!
//! [`handle`] takes an event of an HTTP API or a function URL, a batch from SQS, or `{"auditEvents": [...]}`. An audit
//! event is written once, even if it is sent twice, and never changed. `keyfold-core` computes the folded keys;
//! `keyfold-dynamo` writes. Start with [`Settings`], [`Writer::start`] and [`handle`].

mod event;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handler;
mod http;
mod identity;
mod journal;
mod limits;
mod note;
mod outcome;
mod problem;
mod record;
mod settings;
mod source;
mod sqs;
mod stamp;
mod write;
mod writer;

pub use handler::handle;
pub use limits::{
    ATTRIBUTES_MAX, BODY_BYTES_MAX, DEADLINE_MARGIN, EVENTS_MAX, NAME_BYTES_MAX, NAMES_BYTES_MAX, VALUES_MAX,
    VALUES_TOGETHER_MAX, WRITE_TIME_MAX,
};
pub use record::Record;
pub use settings::Settings;
pub use writer::{StartError, Writer};
