//! The query API: a question over HTTP becomes a plan, and the plan an answer. Tables listed in the manifest can be
//! written.
//!
//! [`respond`] always returns an answer to a request: errors are RFC 9457 problem documents. It is independent of
//! Lambda, so a local server can call it; [`handle`] calls it for a request of an HTTP API or of a function URL.
//! `keyfold-core` checks and plans requests; `keyfold-dynamo` reads. Start with [`Settings`], [`Api::start`] and
//! [`respond`].

mod api;
mod budget;
mod caller;
mod context;
mod handler;
mod lambda;
mod openapi;
mod page_token;
mod plain;
mod plan;
mod query;
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
pub use lambda::handle;
pub use openapi::openapi;
pub use page_token::{SecretKeys, TokenKeySource};
pub use record::Record;
pub use request::ApiRequest;
#[cfg(fuzzing)]
pub use request::read_questions;
pub use settings::{
    ANSWER_BYTES_MAX, ANSWER_TIME_MAX, BODY_BYTES_MAX, Grants, Limits, QUERY_STRING_BYTES_MAX,
    READ_UNITS_MAX_DEFAULT, Settings,
};
