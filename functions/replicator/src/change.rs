//! From a record's text to a change, or to what is left of a record that cannot be read.

use std::borrow::Cow;

use keyfold_core::json::read_item;
use keyfold_core::model::Table;
use keyfold_core::retrofit::{ChangeKind, ChangeRecord, Received, SequenceNumber, UnreadableRecord};
use keyfold_core::value::{AttributeValue, Hex, Item, equal};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::event::RawRecord;
use crate::limits::NAME_CHARS_MAX;

/// Who deletes what has expired.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html>
const EXPIRY_PRINCIPAL: &str = "dynamodb.amazonaws.com";
const EXPIRY_TYPE: &str = "Service";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserIdentity {
    r#type: String,
    principal_id: String,
}

/// Reads a record of this table's stream. The image before the change is read where somebody looks at it.
pub(crate) fn received(source: &Table, raw: &RawRecord<'_>, with_old: bool) -> Received {
    let sequence = raw.sequence().and_then(|text| SequenceNumber::parse(&text).ok());
    let key = raw.keys().and_then(|keys| key(source, keys));
    match change(source, raw, sequence.as_ref(), key.as_ref(), with_old) {
        Some(change) => Received::Change(change),
        None => Received::Unreadable(UnreadableRecord { sequence, key, name: name(raw) }),
    }
}

/// The change, if the record tells all of it and does not contradict itself. What is carried over depends on the new image
/// alone.
fn change(
    source: &Table,
    raw: &RawRecord<'_>,
    sequence: Option<&SequenceNumber>,
    key: Option<&Item>,
    with_old: bool,
) -> Option<ChangeRecord> {
    let (sequence, key) = (sequence?.clone(), key?.clone());
    raw.stream()?;
    let image = |image: Option<&str>| -> Option<Option<Item>> {
        image.map_or(Some(None), |image| item(image).map(Some))
    };
    let new = image(raw.new_image())?;
    let old = if with_old { image(raw.old_image())? } else { None };
    let same_key = |item: &Item| {
        let same = |name: &String| Some(equal(item.get(name)?, key.get(name)?));
        source.key_attributes().all(|attribute| same(&attribute.name) == Some(true))
    };
    let kind = match (&*raw.event_name()?, &new) {
        ("INSERT", Some(item)) if same_key(item) => ChangeKind::Insert,
        ("MODIFY", Some(item)) if same_key(item) => ChangeKind::Modify,
        ("REMOVE", None) => ChangeKind::Remove { expired: has_expired(raw) },
        _ => return None,
    };
    Some(ChangeRecord { sequence, key, kind, old, new })
}

/// The primary key, if it can be one: an empty value would be refused wherever it is sent.
fn key(source: &Table, keys: &str) -> Option<Item> {
    let keys = item(keys)?;
    let key = source.key_of(&keys)?;
    let empty = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.is_empty(),
        AttributeValue::B(bytes) => bytes.is_empty(),
        _ => false,
    };
    (!key.values().any(empty)).then_some(key)
}

/// An item of a record.
fn item(text: &str) -> Option<Item> {
    read_item(text).ok()
}

fn has_expired(raw: &RawRecord<'_>) -> bool {
    let identity = raw.user_identity().and_then(|text| serde_json::from_str::<UserIdentity>(text).ok());
    identity.is_some_and(|who| who.r#type == EXPIRY_TYPE && who.principal_id == EXPIRY_PRINCIPAL)
}

/// A name for a record that says neither its key nor its number.
fn name(raw: &RawRecord<'_>) -> String {
    let usable = |id: &Cow<'_, str>| {
        (1..=NAME_CHARS_MAX).contains(&id.len()) && id.chars().all(|letter| letter.is_ascii_graphic())
    };
    match raw.event_id().filter(usable) {
        Some(id) => format!("event-{id}"),
        None => format!("sha256-{}", Hex(&Sha256::digest(raw.text)[..16])),
    }
}
