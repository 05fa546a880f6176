//! The entry points of fuzz targets that need no table, compiled only for them (`--cfg fuzzing`).

use keyfold_core::value::AttributeValue;
use keyfold_edge::Claims;
use serde_json::json;

use crate::event::{Origin, Received, ValuesLeft};
use crate::source::{Source, content};
use crate::{Writer, stamp};

/// Reads an event's text as an invocation's event, and as a body of a trusted caller and of one with claims.
///
/// # Panics
/// If an event that the writer takes has an attribute of Keyfold's own, or not the id that was read.
pub fn events(writer: &Writer, text: &str) {
    let _ = Source::of(text).name();
    let claims = Claims::of_authorizer(&json!({ "jwt": { "claims": { "sub": "joe1", "org": "acme" } } }));
    let Ok(content) = content(text) else { return };
    for claims in [None, Some(&claims)] {
        let received = Received { source: "direct", principal: None, request_id: "fuzz" };
        let origin = Origin { time: stamp::now(), claims, received };
        for draft in origin.drafts(writer, &content.events, &mut ValuesLeft::default()).into_iter().flatten()
        {
            assert_eq!(draft.item.get(&writer.id), Some(&AttributeValue::S(draft.id.clone())));
        }
    }
}
