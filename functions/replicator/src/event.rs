//! A batch as Lambda's event source mapping delivers it. What is wrong with one record is that record's business; what is
//! wrong with the batch fails all of it.
//!
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html>

use std::borrow::Cow;

use keyfold_core::retrofit::batch::BATCH_RECORDS_MAX;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Refusal;

/// The view type that carries all that is needed.
const VIEW: &str = "NEW_AND_OLD_IMAGES";

#[derive(Deserialize)]
struct Event<'t> {
    #[serde(rename = "Records", borrow)]
    records: Vec<&'t RawValue>,
}

/// A record's members, each still to be read: one that cannot be read hides no other. `D`: as what its inner object is read.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "D: Deserialize<'de>"))]
struct Outer<'t, D> {
    #[serde(rename = "eventID", borrow, default)]
    event_id: Option<&'t RawValue>,
    #[serde(borrow, default)]
    event_name: Option<&'t RawValue>,
    #[serde(rename = "eventSourceARN", borrow, default)]
    stream: Option<&'t RawValue>,
    #[serde(borrow, default)]
    user_identity: Option<&'t RawValue>,
    #[serde(default)]
    dynamodb: Option<D>,
}

impl<D> Default for Outer<'_, D> {
    fn default() -> Self {
        Outer { event_id: None, event_name: None, stream: None, user_identity: None, dynamodb: None }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inner<'t> {
    #[serde(borrow, default)]
    keys: Option<&'t RawValue>,
    #[serde(borrow, default)]
    new_image: Option<&'t RawValue>,
    #[serde(borrow, default)]
    old_image: Option<&'t RawValue>,
    #[serde(borrow, default)]
    sequence_number: Option<&'t RawValue>,
    #[serde(borrow, default)]
    stream_view_type: Option<&'t RawValue>,
    #[serde(borrow, default)]
    approximate_creation_date_time: Option<&'t RawValue>,
}

/// One record, as text.
#[derive(Debug, Clone, Copy)]
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
        let malformed = |reason| Refusal::Malformed { reason };
        let event: Event<'_> =
            serde_json::from_str(event).map_err(|_| malformed("it has no list `Records`"))?;
        if event.records.len() > BATCH_RECORDS_MAX {
            return Err(malformed("it has more records than Lambda delivers at once"));
        }
        let records: Vec<_> = event.records.into_iter().map(RawRecord::read).collect();
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
        self.inner()?.keys.map(RawValue::get)
    }

    pub(crate) fn new_image(&self) -> Option<&'t str> {
        self.inner()?.new_image.map(RawValue::get)
    }

    pub(crate) fn old_image(&self) -> Option<&'t str> {
        self.inner()?.old_image.map(RawValue::get)
    }

    pub(crate) fn user_identity(&self) -> Option<&'t str> {
        self.outer.user_identity.map(RawValue::get)
    }

    /// When the change happened, in seconds since 1970.
    pub(crate) fn seconds(&self) -> Option<f64> {
        serde_json::from_str(self.inner()?.approximate_creation_date_time?.get()).ok()
    }

    fn view(&self) -> Option<Cow<'t, str>> {
        text(self.inner()?.stream_view_type)
    }
}

/// The text that a value is. It is a copy only if something in it is escaped.
fn text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let json = raw?.get();
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
