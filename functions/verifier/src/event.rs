//! The event of the verifier.

use keyfold_core::retrofit::Pass;
use keyfold_edge::retrofit::{Failure, SliceEvent};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Every member that an event may have.
const MEMBERS: [&str; 10] = [
    "retrofit",
    "side",
    "segment",
    "totalSegments",
    "checkpoint",
    "repair",
    "rate",
    "pagesMax",
    "lagSeconds",
    "worker",
];

/// The table to scan; its items are looked up in the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// The source: finds items that are missing or different in the target.
    #[default]
    Source,
    /// The target: finds items without a source item.
    Target,
}

impl Side {
    /// The scan that it is.
    pub fn pass(self) -> Pass {
        match self {
            Side::Source => Pass::VerifySource,
            Side::Target => Pass::VerifyTarget,
        }
    }
}

/// A slice that is to be compared.
#[derive(Debug, Clone)]
pub struct VerifyEvent {
    /// The fields common to other slices.
    pub slice: SliceEvent,
    /// Which side is scanned.
    pub side: Side,
    /// Is the target corrected to match the source?
    pub repair: bool,
}

#[derive(Deserialize)]
struct VerifyOptions {
    #[serde(default)]
    side: Side,
    #[serde(default)]
    repair: bool,
}

impl VerifyEvent {
    /// Parses an event. An unknown member is an error: it would be ignored silently.
    pub fn read(text: &str) -> Result<VerifyEvent, Failure> {
        let bad = |error: serde_json::Error| Failure::bad_event(format!("the event is malformed: {error}"));
        let members: Map<String, Value> = serde_json::from_str(text).map_err(bad)?;
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(Failure::bad_event(format!("the event has an unknown member {unknown:?}")));
        }
        let members = Value::Object(members);
        let VerifyOptions { side, repair } = VerifyOptions::deserialize(&members).map_err(bad)?;
        let slice = SliceEvent::deserialize(&members).map_err(bad)?;
        Ok(VerifyEvent { slice, side, repair })
    }
}
