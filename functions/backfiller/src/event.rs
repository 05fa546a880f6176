//! The event of the backfiller.

use keyfold_edge::retrofit::{Failure, SliceEvent};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Every member that an event may have.
const MEMBERS: [&str; 8] =
    ["retrofit", "segment", "totalSegments", "checkpoint", "rate", "pagesMax", "worker", "dryRun"];

/// A slice to copy, or a retrofit to estimate.
#[derive(Debug, Clone)]
pub enum BackfillEvent {
    /// Copy a slice.
    Slice(Box<SliceEvent>),
    /// Estimate the cost of the retrofit with this name; nothing is written.
    DryRun(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DryRun {
    retrofit: String,
    #[serde(default)]
    dry_run: bool,
}

impl BackfillEvent {
    /// Parses an event. An unknown member is an error: it would be ignored silently.
    pub fn read(text: &str) -> Result<BackfillEvent, Failure> {
        let bad = |error: serde_json::Error| Failure::bad_event(format!("the event is malformed: {error}"));
        let members: Map<String, Value> = serde_json::from_str(text).map_err(bad)?;
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(Failure::bad_event(format!("the event has an unknown member {unknown:?}")));
        }
        let members = Value::Object(members);
        let dry = DryRun::deserialize(&members).map_err(bad)?;
        if dry.dry_run {
            return Ok(BackfillEvent::DryRun(dry.retrofit));
        }
        SliceEvent::deserialize(&members).map(|event| BackfillEvent::Slice(Box::new(event))).map_err(bad)
    }

    /// The retrofit that it names.
    pub fn retrofit(&self) -> &str {
        match self {
            BackfillEvent::Slice(event) => &event.retrofit,
            BackfillEvent::DryRun(retrofit) => retrofit,
        }
    }
}
