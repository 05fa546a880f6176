//! The query API: a question over HTTP becomes a plan, the plan becomes an answer.
//!
//! [`handle`] takes a request of an HTTP API, of a function URL or of a server on this machine, and always has an answer:
//! a refusal is an RFC 9457 problem document. What is asked, what may be asked and how it is read is decided by
//! `keyfold-core`; `keyfold-dynamo` reads. Start with [`Settings`], [`Api::start`] and [`handle`].

mod answer;
mod api;
mod ask;
mod caller;
mod edge;
mod exact;
mod handler;
pub mod log;
pub mod metrics;
mod openapi;
mod page;
mod params;
mod plain;
mod problem;
mod question;
mod record;
mod route;
pub mod settings;

pub use api::{Api, StartError};
pub use edge::serve;
pub use handler::{Handled, handle};
pub use openapi::openapi;
pub use record::Record;
pub use settings::{
    ANSWER_BYTES_MAX, ANSWER_TIME_MAX, Auth, BODY_BYTES_MAX, Limits, PAGE_TOKEN_SECONDS,
    QUERY_STRING_BYTES_MAX, READ_UNITS_MAX_DEFAULT, Settings, SettingsError,
};
