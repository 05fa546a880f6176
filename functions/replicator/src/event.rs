//! A batch in the form of Lambda's event source mapping, and its answer. An error in one record concerns only that
//! record; an error in the batch fails all of it.
//!
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html>

use std::time::SystemTime;

use aws_lambda_events::dynamodb::{EventRecord, StreamViewType};
use keyfold_core::retrofit::batch::BATCH_RECORDS_MAX;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Refusal;

/// The records of an event, still unparsed: with the crate's own `Event`, one unreadable record would hide all others.
#[derive(Deserialize)]
struct RawEvent<'t> {
    #[serde(rename = "Records", borrow)]
    records: Vec<&'t RawValue>,
}

/// One record.
#[derive(Debug)]
pub(crate) struct StreamRecord<'t> {
    /// Its JSON.
    pub(crate) text: &'t str,
    /// Its members. An incomplete, unreadable record has defaults.
    pub(crate) members: EventRecord,
    /// Was all of it readable?
    pub(crate) is_complete: bool,
}

/// A valid batch: all records are of one stream with both images.
#[derive(Debug)]
pub(crate) struct StreamBatch<'t> {
    pub(crate) records: Vec<StreamRecord<'t>>,
    /// The records' stream; `None` only for a batch without records.
    pub(crate) stream: Option<String>,
}

impl<'t> StreamBatch<'t> {
    /// Parses an event. The records are counted before they are parsed, which takes ten times their memory.
    pub(crate) fn read(event: &'t str) -> Result<StreamBatch<'t>, Refusal> {
        let event: RawEvent<'_> =
            serde_json::from_str(event).map_err(|_| malformed("it has no list `Records`"))?;
        if event.records.len() > BATCH_RECORDS_MAX {
            return Err(malformed("it has more records than Lambda delivers at once"));
        }
        let records: Vec<_> = event.records.into_iter().map(StreamRecord::read).collect();
        let mut views = records.iter().filter_map(|record| record.members.change.stream_view_type.as_ref());
        if let Some(view) = views.find(|view| **view != StreamViewType::NewAndOldImages) {
            return Err(Refusal::ViewType { view: view.to_string() });
        }
        let mut streams = records.iter().filter_map(|record| record.members.event_source_arn.as_ref());
        let stream = streams.next().cloned();
        if streams.any(|other| Some(other) != stream.as_ref()) {
            return Err(malformed("its records come from several streams"));
        }
        if stream.is_none() && !records.is_empty() {
            return Err(malformed("no record names its stream"));
        }
        Ok(StreamBatch { records, stream })
    }
}

fn malformed(reason: &'static str) -> Refusal {
    Refusal::Malformed { reason }
}

impl<'t> StreamRecord<'t> {
    fn read(raw: &'t RawValue) -> StreamRecord<'t> {
        let text = raw.get();
        let members = serde_json::from_str(text).ok();
        StreamRecord {
            text,
            is_complete: members.is_some(),
            members: members.unwrap_or_else(|| readable(text)),
        }
    }

    /// The number as the stream delivered it: Lambda compares these digits.
    pub(crate) fn sequence(&self) -> Option<&str> {
        self.members.change.sequence_number.as_deref()
    }

    /// When the change happened. The crate returns 1970 if the record has no time.
    pub(crate) fn happened(&self) -> Option<SystemTime> {
        let time = self.members.change.approximate_creation_date_time;
        (time.timestamp() != 0).then(|| time.into())
    }
}

#[derive(Default, Deserialize)]
struct RawMembers<'t> {
    #[serde(rename = "eventID", borrow)]
    event_id: Option<&'t RawValue>,
    #[serde(rename = "eventSourceARN", borrow)]
    stream: Option<&'t RawValue>,
    #[serde(borrow)]
    dynamodb: Option<&'t RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawChange<'t> {
    #[serde(borrow)]
    keys: Option<&'t RawValue>,
    #[serde(borrow)]
    sequence_number: Option<&'t RawValue>,
    #[serde(borrow)]
    stream_view_type: Option<&'t RawValue>,
}

/// The identity of a record that the crate's type refuses, parsed leniently: the quarantine needs the item's key and
/// the sequence number.
fn readable(text: &str) -> EventRecord {
    let raw: RawMembers<'_> = serde_json::from_str(text).unwrap_or_default();
    let inner = raw.dynamodb.and_then(|inner| serde_json::from_str(inner.get()).ok());
    let change: RawChange<'_> = inner.unwrap_or_default();
    let mut members = EventRecord::default();
    members.event_id = member(raw.event_id);
    members.event_source_arn = member(raw.stream);
    members.change.keys = member(change.keys);
    members.change.sequence_number = member(change.sequence_number);
    members.change.stream_view_type = member(change.stream_view_type);
    members
}

fn member<T: DeserializeOwned + Default>(raw: Option<&RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// The answer that names the first record to be redelivered, if there is one.
///
/// Lambda continues from the lowest named number, so naming more changes nothing. An empty list is a success; a null,
/// an empty text or another member name would fail the whole batch or, worse, look like a success.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html>
pub(crate) fn answer(first_failure: Option<&str>) -> Value {
    let failures: Vec<Value> =
        first_failure.into_iter().map(|sequence| json!({ "itemIdentifier": sequence })).collect();
    json!({ "batchItemFailures": failures })
}

/// The notice in a message of the queue for refused notices: in Lambda's own envelope, or as EventBridge's event.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html>
pub(crate) fn set_aside_again(event: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Messages {
        #[serde(rename = "Records")]
        records: Vec<Message>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Message {
        event_source: String,
        body: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Envelope<'b> {
        #[serde(borrow)]
        request_payload: &'b RawValue,
    }
    // A batch of a stream can be large, so it is not parsed twice.
    if !event.contains("\"messageId\"") {
        return None;
    }
    let [message] = <[Message; 1]>::try_from(serde_json::from_str::<Messages>(event).ok()?.records).ok()?;
    let envelope: Option<Envelope<'_>> = serde_json::from_str(&message.body).ok();
    let notice = envelope.map_or(message.body.as_str(), |envelope| envelope.request_payload.get());
    (message.event_source == "aws:sqs").then(|| set_aside(notice)).flatten()
}

/// The place of a batch that Lambda discarded, if the event is EventBridge's of a new object in a bucket.
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
    use keyfold_core::value::Item;

    use super::*;

    fn batch(event: &str) -> StreamBatch<'_> {
        StreamBatch::read(event).unwrap()
    }

    #[test]
    fn what_lambda_sends_is_read_as_a_whole() {
        let mut incomplete = Vec::new();
        for (name, event) in keyfold_harness::events("replicator") {
            let records = StreamBatch::read(&event).map(|batch| batch.records).unwrap_or_default();
            incomplete.extend(records.iter().filter(|record| !record.is_complete).map(|_| name.clone()));
        }
        // A value of an unknown type, and a text that is no record.
        assert_eq!(incomplete, ["12-malformed-record", "13-no-sequence-number"]);
    }

    #[test]
    fn a_member_that_cannot_be_read_hides_no_other_member_and_no_other_record() {
        let (_, event) = keyfold_harness::events("replicator").remove(0);
        let good: Value = serde_json::from_str(&event).unwrap();
        let wanted = &batch(&event).records[0].members;
        for place in
            ["/awsRegion", "/eventName", "/dynamodb/NewImage/id", "/dynamodb/SizeBytes", "/dynamodb/Keys"]
        {
            let mut event = good.clone();
            *event["Records"][0].pointer_mut(place).unwrap() = json!([7]);
            let text = event.to_string();
            let records = batch(&text).records;
            let (first, others) = records.split_first().unwrap();
            assert!(!first.is_complete && others.iter().all(|record| record.is_complete), "{place}");
            assert_eq!(
                (first.sequence(), &first.members.event_id),
                (wanted.change.sequence_number.as_deref(), &wanted.event_id)
            );
            let has_key = first.members.change.keys == wanted.change.keys;
            assert_eq!(has_key, place != "/dynamodb/Keys", "{place}");
        }
    }

    #[test]
    fn values_are_what_the_stream_says() {
        let image = r#"{"n":{"N":"-0.12345678901234567890123456789012345678E-9"},"ns":{"NS":["1.0","1E+2"]},"b":{"B":"AP8="},
            "bs":{"BS":["AP8=",""]},"none":{"NULL":true},"ss":{"SS":[]},"s":{"S":""},"l":{"L":[]},"m":{"M":{"x":{"BOOL":false}}}}"#;
        let event = format!(
            r#"{{"Records":[{{"eventID":"1","eventName":"INSERT","awsRegion":"r","eventSourceARN":"a","another":[],
            "dynamodb":{{"SizeBytes":1,"another":{{}},"NewImage":{image}}}}}]}}"#
        );
        let record = batch(&event).records.remove(0);
        assert!(record.is_complete && record.happened().is_none());
        assert_eq!(Item::from(record.members.change.new_image), serde_json::from_str::<Item>(image).unwrap());
    }

    #[test]
    fn no_more_records_are_kept_than_lambda_delivers() {
        let of = |records: usize| {
            let nameless = vec!["{}"; records - 1].join(",");
            format!(r#"{{"Records":[{{"eventSourceARN":"a"}},{nameless}]}}"#)
        };
        assert_eq!(batch(&of(BATCH_RECORDS_MAX)).records.len(), BATCH_RECORDS_MAX);
        let refused = StreamBatch::read(&of(BATCH_RECORDS_MAX + 1)).map(drop).unwrap_err().to_string();
        assert!(refused.contains("more records than Lambda delivers at once"), "{refused}");
    }

    #[test]
    fn a_notice_that_was_refused_is_read_from_its_queue() {
        let detail = json!({ "bucket": { "name": "failures" }, "object": { "key": "a/b" } });
        let notice = json!({ "source": "aws.s3", "detail-type": "Object Created", "detail": detail });
        let place = Some("s3://failures/a/b".to_owned());
        let message = |body: &Value, source: &str| {
            json!({ "Records": [{ "messageId": "1", "eventSource": source, "body": body.to_string() }] })
                .to_string()
        };
        let envelope = json!({ "version": "1.0", "requestPayload": notice, "responsePayload": {} });
        for body in [&envelope, &notice] {
            assert_eq!(set_aside_again(&message(body, "aws:sqs")), place);
            assert_eq!(set_aside_again(&message(body, "aws:sns")), None);
        }
        assert_eq!(set_aside_again(&message(&json!({}), "aws:sqs")), None);
    }

    #[test]
    fn the_answer_has_the_members_that_lambda_reads() {
        let text = |first: Option<&str>| answer(first).to_string();
        assert_eq!(text(None), r#"{"batchItemFailures":[]}"#);
        assert_eq!(text(Some("0042")), r#"{"batchItemFailures":[{"itemIdentifier":"0042"}]}"#);
    }
}
