//! The codec's laws, for any text, with `serde_json` as the reference.

use serde_json::value::RawValue;

use super::error::{JsonError, JsonReason};
use super::item::read_item;
use super::plain::read_plain;
use super::reader::Bounds;
use super::tree::Json;
use super::write;
use crate::value::Item;

/// Which readers accept the text: as a tree, as an item in DynamoDB's notation, as a plain value.
///
/// # Panics
/// If a reader accepts invalid JSON, refuses valid JSON within its bounds, reads something else than `serde_json`, or
/// cannot read back its own output.
pub fn check_laws(text: &str) -> [bool; 3] {
    [tree(text), item(text), plain(text)]
}

fn tree(text: &str) -> bool {
    let theirs = serde_json::from_str::<serde_json::Value>(text).ok();
    let ours = match (Json::parse(text), &theirs) {
        (Ok(ours), _) => ours,
        (Err(error), theirs) => {
            assert!(theirs.is_none() || is_bound(&error), "{error}: {text}");
            return false;
        }
    };
    // A `Value` has no number beyond a double's magnitudes, and a level less.
    assert!(serde_json::from_str::<&RawValue>(text).is_ok(), "{text}");
    let written = ours.to_string();
    if let Some(theirs) = &theirs {
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).ok().as_ref(), Some(theirs), "{text}");
    }
    assert_eq!(Json::parse(&written), Ok(ours), "{text}");
    true
}

fn item(text: &str) -> bool {
    let theirs = serde_json::from_str::<Item>(text).ok();
    let ours = match read_item(text) {
        Ok(ours) => ours,
        Err(error) => {
            assert!(theirs.is_none() || is_bound(&error), "{error}: {text}");
            return false;
        }
    };
    assert_eq!(theirs.as_ref(), Some(&ours), "{text}");
    let mut written = String::new();
    write::item(&mut written, &ours);
    assert_eq!(read_item(&written), Ok(ours), "{text}");
    true
}

fn plain(text: &str) -> bool {
    let Ok(value) = read_plain(text, Bounds::DEFAULT) else { return false };
    let mut written = String::new();
    write::plain(&mut written, &value);
    assert_eq!(read_plain(&written, Bounds::DEFAULT), Ok(value), "{text}");
    true
}

fn is_bound(error: &JsonError) -> bool {
    matches!(error.reason, JsonReason::Duplicate | JsonReason::TooDeep(_) | JsonReason::TooManyValues(_))
}
