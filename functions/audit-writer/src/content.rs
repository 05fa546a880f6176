//! A body: one audit event, or a list of them.

use keyfold_edge::Problem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::{BODY_BYTES_MAX, EVENTS_MAX};
use crate::problem;

/// The events of a body, as they are written.
pub(crate) struct Content<'t> {
    pub(crate) events: Vec<&'t RawValue>,
    /// Was it a list?
    pub(crate) listed: bool,
}

pub(crate) fn content(text: &str) -> Result<Content<'_>, Problem> {
    if text.len() > BODY_BYTES_MAX {
        return Err(Problem::body_too_large(BODY_BYTES_MAX));
    }
    if !text.trim_start().starts_with('[') {
        return Ok(Content { events: vec![read(text)?], listed: false });
    }
    let events: Vec<&RawValue> = read(text)?;
    match events.len() {
        0 => Err(Problem::new(400, "empty-batch", "the list has no audit events")),
        1..=EVENTS_MAX => Ok(Content { events, listed: true }),
        many => {
            let detail = format!("the list has {many} audit events; at most {EVENTS_MAX} are accepted");
            Err(problem::over_limit(detail).hint("send them in several requests"))
        }
    }
}

/// What is wrong is said by its place, never by its text.
fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Problem::malformed(format!("this is not the JSON of an audit event ({place})"))
    })
}
