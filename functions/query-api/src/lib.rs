//! The query API: a question over HTTP becomes a plan, the plan becomes an answer. Tables that the manifest lists can be written.
//!
//! [`respond`] takes a request and always has an answer: a refusal is an RFC 9457 problem document. It knows nothing of
//! Lambda, so a server on this machine can call it; [`handle`] calls it for a request of an HTTP API or of a function URL.
//! What is asked, what may be asked and how it is read is decided by `keyfold-core`; `keyfold-dynamo` reads. Start with
//! [`Settings`], [`Api::start`] and [`respond`].

mod answer;
mod api;
mod ask;
mod budget;
mod caller;
mod clock;
mod exact;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handler;
mod keys;
mod lambda;
mod openapi;
mod page;
mod params;
mod plain;
mod problem;
mod record;
mod request;
mod route;
mod settings;
mod write;

pub use api::{Api, StartError};
pub use budget::Budget;
pub use handler::respond;
pub use keyfold_core::query::check::Caller;
pub use keyfold_edge::Auth;
pub use keys::{SecretKeys, TokenKeySource};
pub use lambda::handle;
pub use openapi::openapi;
pub use record::Record;
pub use request::ApiRequest;
pub use settings::{
    ANSWER_BYTES_MAX, ANSWER_TIME_MAX, BODY_BYTES_MAX, Grants, Limits, PAGE_TOKEN_SECONDS,
    QUERY_STRING_BYTES_MAX, READ_UNITS_MAX_DEFAULT, Settings,
};
