//! A batch as Lambda's event source mapping delivers it. What is wrong with one record is that record's business; what is
//! wrong with the batch fails all of it.
//!
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html>

use std::borrow::Cow;

use keyfold_core::json::{JsonError, JsonKind, JsonReason, Reader};
use keyfold_core::retrofit::batch::BATCH_RECORDS_MAX;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::Refusal;

/// The view type that carries all that is needed.
const VIEW: &str = "NEW_AND_OLD_IMAGES";

#[derive(Deserialize)]
struct Event<'t> {
    #[serde(rename = "Records", borrow)]
    records: Vec<&'t RawValue>,
}

/// The texts of a record's members, each still to be read: one that cannot be read hides no other. `D`: as what its inner object
/// is read.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "D: Deserialize<'de>"))]
struct Outer<'t, D> {
    #[serde(rename = "eventID", borrow, default, deserialize_with = "raw")]
    event_id: Option<&'t str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    event_name: Option<&'t str>,
    #[serde(rename = "eventSourceARN", borrow, default, deserialize_with = "raw")]
    stream: Option<&'t str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    user_identity: Option<&'t str>,
    #[serde(default)]
    dynamodb: Option<D>,
}

impl<D> Default for Outer<'_, D> {
    fn default() -> Self {
        Outer { event_id: None, event_name: None, stream: None, user_identity: None, dynamodb: None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inner<'t> {
    #[serde(borrow, default, deserialize_with = "raw")]
    keys: Option<&'t str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    new_image: Option<&'t str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    old_image: Option<&'t str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    sequence_number: Option<&'t str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    stream_view_type: Option<&'t str>,
    #[serde(borrow, default, deserialize_with = "raw")]
    approximate_creation_date_time: Option<&'t str>,
}

fn raw<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de str>, D::Error> {
    Ok(Option::<&RawValue>::deserialize(value)?.map(RawValue::get))
}

/// One record, as text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RawRecord<'t> {
    /// All of it.
    pub(crate) text: &'t str,
    outer: Outer<'t, Inner<'t>>,
}

/// A batch that may be worked on: all of one stream with both images.
pub(crate) struct RawBatch<'t> {
    pub(crate) records: Vec<RawRecord<'t>>,
    /// The stream that they are of; `None` only if there are no records, or none tells.
    pub(crate) stream: Option<String>,
}

impl<'t> RawBatch<'t> {
    /// Reads an event.
    pub(crate) fn read(event: &'t str) -> Result<RawBatch<'t>, Refusal> {
        let records = at_once(event).map_or_else(|| one_by_one(event), Ok)?;
        if let Some(view) = records.iter().filter_map(RawRecord::view).find(|view| view != VIEW) {
            return Err(Refusal::ViewType { view: view.into_owned() });
        }
        let mut streams = records.iter().filter_map(RawRecord::stream);
        let stream = streams.next();
        if streams.any(|other| Some(other) != stream) {
            return Err(malformed("its records come from several streams"));
        }
        if stream.is_none() && !records.is_empty() {
            return Err(malformed("no record names its stream"));
        }
        let stream = stream.map(Cow::into_owned);
        Ok(RawBatch { records, stream })
    }
}

fn malformed(reason: &'static str) -> Refusal {
    Refusal::Malformed { reason }
}

/// The records of an event that is written as Lambda writes it: all members are found in one pass. `None` for all others, and for
/// more records than are kept.
fn at_once(event: &str) -> Option<Vec<RawRecord<'_>>> {
    let (mut reader, mut records) = (Reader::new(event), None);
    let read = reader.object(|reader, name| match &*name {
        "Records" => reader.once(&mut records, list),
        _ => reader.skip(),
    });
    read.and_then(|()| reader.end()).ok()?;
    records
}

fn list<'t>(reader: &mut Reader<'t>) -> Result<Vec<RawRecord<'t>>, JsonError> {
    let mut records = Vec::new();
    reader.list(|reader| {
        if records.len() == BATCH_RECORDS_MAX {
            return Err(reader.error(JsonReason::Syntax));
        }
        let (text, outer) = reader.with_text(outer)?;
        records.push(RawRecord { text, outer });
        Ok(())
    })?;
    Ok(records)
}

fn outer<'t>(reader: &mut Reader<'t>) -> Result<Outer<'t, Inner<'t>>, JsonError> {
    let mut outer = Outer::default();
    reader.object(|reader, name| {
        let place = match &*name {
            "eventID" => &mut outer.event_id,
            "eventName" => &mut outer.event_name,
            "eventSourceARN" => &mut outer.stream,
            "userIdentity" => &mut outer.user_identity,
            "dynamodb" => return reader.once(&mut outer.dynamodb, inner),
            _ => return reader.skip(),
        };
        reader.once(place, member)
    })?;
    Ok(outer)
}

fn inner<'t>(reader: &mut Reader<'t>) -> Result<Inner<'t>, JsonError> {
    let mut inner = Inner::default();
    reader.object(|reader, name| {
        let place = match &*name {
            "Keys" => &mut inner.keys,
            "NewImage" => &mut inner.new_image,
            "OldImage" => &mut inner.old_image,
            "SequenceNumber" => &mut inner.sequence_number,
            "StreamViewType" => &mut inner.stream_view_type,
            "ApproximateCreationDateTime" => &mut inner.approximate_creation_date_time,
            _ => return reader.skip(),
        };
        reader.once(place, member)
    })?;
    Ok(inner)
}

/// The text of a member. `null` is for the slower reader.
fn member<'t>(reader: &mut Reader<'t>) -> Result<&'t str, JsonError> {
    match reader.kind()? {
        JsonKind::Null => Err(reader.error(JsonReason::Syntax)),
        _ => reader.with_text(Reader::skip).map(|(text, ())| text),
    }
}

/// The records of any event that has a list of them. It is counted before a record is read: the members take ten times the memory.
fn one_by_one(event: &str) -> Result<Vec<RawRecord<'_>>, Refusal> {
    let event: Event<'_> = serde_json::from_str(event).map_err(|_| malformed("it has no list `Records`"))?;
    if event.records.len() > BATCH_RECORDS_MAX {
        return Err(malformed("it has more records than Lambda delivers at once"));
    }
    Ok(event.records.into_iter().map(RawRecord::read).collect())
}

/// Is the event read in one pass?
///
/// # Panics
/// If the slower reader finds something else in it.
#[cfg(any(test, fuzzing))]
pub(crate) fn check_readers(event: &str) -> bool {
    let records = at_once(event);
    if records.is_some() {
        assert_eq!(records, one_by_one(event).ok(), "{event}");
    }
    records.is_some()
}

impl<'t> RawRecord<'t> {
    fn read(raw: &'t RawValue) -> RawRecord<'t> {
        let text = raw.get();
        let outer = serde_json::from_str(text).unwrap_or_else(|_| RawRecord::part_by_part(text));
        RawRecord { text, outer }
    }

    /// A record whose inner object is perhaps none.
    fn part_by_part(text: &'t str) -> Outer<'t, Inner<'t>> {
        let Outer { event_id, event_name, stream, user_identity, dynamodb }: Outer<'t, &'t RawValue> =
            serde_json::from_str(text).unwrap_or_default();
        let dynamodb = dynamodb.and_then(|inner| serde_json::from_str(inner.get()).ok());
        Outer { event_id, event_name, stream, user_identity, dynamodb }
    }

    fn inner(&self) -> Option<&Inner<'t>> {
        self.outer.dynamodb.as_ref()
    }

    pub(crate) fn event_id(&self) -> Option<Cow<'t, str>> {
        text(self.outer.event_id)
    }

    pub(crate) fn event_name(&self) -> Option<Cow<'t, str>> {
        text(self.outer.event_name)
    }

    pub(crate) fn stream(&self) -> Option<Cow<'t, str>> {
        text(self.outer.stream)
    }

    /// The number as the stream gave it: Lambda knows it by these very digits.
    pub(crate) fn sequence(&self) -> Option<Cow<'t, str>> {
        text(self.inner()?.sequence_number)
    }

    pub(crate) fn keys(&self) -> Option<&'t str> {
        self.inner()?.keys
    }

    pub(crate) fn new_image(&self) -> Option<&'t str> {
        self.inner()?.new_image
    }

    pub(crate) fn old_image(&self) -> Option<&'t str> {
        self.inner()?.old_image
    }

    pub(crate) fn user_identity(&self) -> Option<&'t str> {
        self.outer.user_identity
    }

    /// When the change happened, in seconds since 1970.
    pub(crate) fn seconds(&self) -> Option<f64> {
        serde_json::from_str(self.inner()?.approximate_creation_date_time?).ok()
    }

    fn view(&self) -> Option<Cow<'t, str>> {
        text(self.inner()?.stream_view_type)
    }
}

/// The text that a value is. It is a copy only if something in it is escaped.
fn text(json: Option<&str>) -> Option<Cow<'_, str>> {
    let json = json?;
    let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inside.filter(|inside| !inside.contains('\\')) {
        Some(plain) => Some(Cow::Borrowed(plain)),
        None => serde_json::from_str(json).ok().map(Cow::Owned),
    }
}

/// The place where Lambda has set a batch aside, if the event is EventBridge's of a new object in a bucket.
///
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html>
pub(crate) fn set_aside(event: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Created {
        source: String,
        #[serde(rename = "detail-type")]
        kind: String,
        detail: Detail,
    }
    #[derive(Deserialize)]
    struct Detail {
        bucket: Bucket,
        object: Object,
    }
    #[derive(Deserialize)]
    struct Bucket {
        name: String,
    }
    #[derive(Deserialize)]
    struct Object {
        key: String,
    }
    let event: Created = serde_json::from_str(event).ok()?;
    let created = event.source == "aws.s3" && event.kind == "Object Created";
    created.then(|| format!("s3://{}/{}", event.detail.bucket.name, event.detail.object.key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lambda_sends_is_read_in_one_pass() {
        let events = keyfold_harness::events("replicator");
        let left = events.iter().filter(|(_, event)| !check_readers(event)).map(|(name, _)| name);
        // One has a `null`, the other no list of records.
        assert_eq!(left.collect::<Vec<_>>(), ["13-no-sequence-number", "21-malformed-batch"]);
    }

    #[test]
    fn no_more_records_are_kept_than_lambda_delivers() {
        let of = |records: usize| format!(r#"{{"Records":[{}]}}"#, vec!["{}"; records].join(","));
        let (most, more) = (of(BATCH_RECORDS_MAX), of(BATCH_RECORDS_MAX + 1));
        assert_eq!([&most, &more].map(|event| check_readers(event)), [true, false]);
        assert_eq!(one_by_one(&most).unwrap().len(), BATCH_RECORDS_MAX);
        let refused = RawBatch::read(&more).map(drop).unwrap_err().to_string();
        assert!(refused.contains("more records than Lambda delivers at once"), "{refused}");
    }

    #[test]
    fn what_is_read_in_one_pass_is_what_the_slower_reader_finds() {
        let (mut taken, mut left) = (0, 0);
        for (_, event) in keyfold_harness::events("replicator") {
            for (at, _) in event.char_indices() {
                let (cut, rest) = event.split_at(at);
                let token =
                    ["\"", "{", "}", ",", ":", "\\", "null", "1e2", "\"eventName\":7,", "[]"][at % 10];
                let behind = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
                for changed in [format!("{cut}{token}{rest}"), format!("{cut}{token}{behind}")] {
                    if check_readers(&changed) { taken += 1 } else { left += 1 }
                }
            }
        }
        // Else the changes say nothing.
        assert!(taken > 1000 && left > 1000, "{taken} taken, {left} left");
    }
}
