//! Converts a record into a change, or into an unreadable record.

use std::mem::take;

use aws_lambda_events::dynamodb::EventRecord;
use keyfold_core::model::Table;
use keyfold_core::retrofit::{ChangeKind, ChangeRecord, Received, SequenceNumber, UnreadableRecord};
use keyfold_core::value::{AttributeValue, Hex, Item, equal};
use sha2::{Digest, Sha256};

use crate::event::StreamRecord;

/// The service that deletes expired items.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html>
const EXPIRY_PRINCIPAL: &str = "dynamodb.amazonaws.com";
const EXPIRY_TYPE: &str = "Service";
/// Maximum length of an event id that is used as the name of an unreadable record.
const EVENT_ID_CHARS_MAX: usize = 100;

/// Reads a record of this table's stream, and takes its key and its images; the old image only on request.
pub(crate) fn received(source: &Table, record: &mut StreamRecord<'_>, with_old: bool) -> Received {
    let sequence = record.sequence().and_then(|text| SequenceNumber::parse(text).ok());
    let key = key(source, &take(&mut record.members.change.keys).into());
    match change(source, record, sequence.as_ref(), key.as_ref(), with_old) {
        Some(change) => Received::Change(change),
        None => Received::Unreadable(UnreadableRecord { sequence, key, name: name(record) }),
    }
}

/// The change, if the record is complete and consistent. Only the new image is copied.
fn change(
    source: &Table,
    record: &mut StreamRecord<'_>,
    sequence: Option<&SequenceNumber>,
    key: Option<&Item>,
    with_old: bool,
) -> Option<ChangeRecord> {
    let (sequence, key) = (sequence?.clone(), key?.clone());
    let members = Some(&mut record.members).filter(|_| record.is_complete)?;
    members.event_source_arn.as_ref()?;
    // The crate has an empty item instead of a missing image. An item is never empty, because it has its key.
    let image = |image: Item| Some(image).filter(|image| !image.is_empty());
    let new = image(take(&mut members.change.new_image).into());
    let old = if with_old { image(take(&mut members.change.old_image).into()) } else { None };
    let same_key = |item: &Item| {
        let same = |name: &String| Some(equal(item.get(name)?, key.get(name)?));
        source.key_attributes().all(|attribute| same(&attribute.name) == Some(true))
    };
    let kind = match (members.event_name.as_str(), &new) {
        ("INSERT", Some(item)) if same_key(item) => ChangeKind::Insert,
        ("MODIFY", Some(item)) if same_key(item) => ChangeKind::Modify,
        ("REMOVE", None) => ChangeKind::Remove { expired: has_expired(members) },
        _ => return None,
    };
    Some(ChangeRecord { sequence, key, kind, old, new })
}

/// The primary key, if it is valid: DynamoDB refuses requests with an empty value in a key.
fn key(source: &Table, keys: &Item) -> Option<Item> {
    let empty = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.is_empty(),
        AttributeValue::B(bytes) => bytes.is_empty(),
        _ => false,
    };
    source.key_of(keys).filter(|key| !key.values().any(empty))
}

fn has_expired(members: &EventRecord) -> bool {
    let identity = members.user_identity.as_ref();
    identity.is_some_and(|who| who.type_ == EXPIRY_TYPE && who.principal_id == EXPIRY_PRINCIPAL)
}

/// A name for a record that has neither a key nor a sequence number.
fn name(record: &StreamRecord<'_>) -> String {
    let id = &record.members.event_id;
    if (1..=EVENT_ID_CHARS_MAX).contains(&id.len()) && id.chars().all(|letter| letter.is_ascii_graphic()) {
        return format!("event-{id}");
    }
    format!("sha256-{}", Hex(&Sha256::digest(record.text)[..16]))
}
