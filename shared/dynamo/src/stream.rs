//! The shards of a table's stream, and pages of their records.

use std::collections::HashMap;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::error::ProvideErrorMetadata;
use aws_sdk_dynamodbstreams::types::{OperationType, Record, ShardIteratorType};
use keyfold_core::retrofit::operate::StreamedChange;
use keyfold_core::retrofit::{ChangeKind, ChangeRecord, SequenceNumber};
use keyfold_core::value::{AttributeValue, Item};

use crate::Settings;
use crate::client::streams_client;
use crate::error::{Call, DynamoError};

/// DynamoDB's code for an expired iterator.
const EXPIRED: &str = "ExpiredIteratorException";
/// DynamoDB's code for a position whose records were trimmed.
const TRIMMED: &str = "TrimmedDataAccessException";

/// Reads streams.
#[derive(Debug)]
pub(crate) struct Streams {
    client: Client,
}

/// The start of a shard's page.
#[derive(Debug, Clone)]
pub(crate) struct ShardStart<'s> {
    pub(crate) shard: &'s str,
    /// The record before the page; `None`: start with the oldest.
    pub(crate) after: Option<&'s str>,
    /// DynamoDB's iterator for the same position, while it is known.
    pub(crate) iterator: Option<String>,
}

/// A page of a shard.
#[derive(Debug, Default)]
pub(crate) struct RecordPage {
    pub(crate) changes: Vec<StreamedChange>,
    /// The number of the last record; `None` without records.
    pub(crate) last: Option<String>,
    /// The start of the next page.
    pub(crate) next: NextPage,
}

/// The position of a shard's next page.
#[derive(Debug, Default)]
pub(crate) enum NextPage {
    /// At this iterator.
    At(String),
    /// After the last known record.
    #[default]
    Unknown,
    /// Nowhere: the shard has ended.
    Ended,
}

/// A shard's name, and its parent's.
type Found = (String, Option<String>);

impl Streams {
    pub(crate) async fn open(settings: &Settings) -> Streams {
        Streams { client: streams_client(settings).await }
    }

    /// A page of a stream's shards, and the shard after which the next page starts.
    pub(crate) async fn shards(
        &self,
        table: &str,
        stream: &str,
        after: Option<String>,
    ) -> Result<(Vec<Found>, Option<String>), DynamoError> {
        let call = || Call::new("DescribeStream", table);
        let asked = self.client.describe_stream().stream_arn(stream).set_exclusive_start_shard_id(after);
        let described = asked.send().await.map_err(|error| DynamoError::of_stream(call(), error))?;
        let description =
            described.stream_description.ok_or_else(|| DynamoError::Unreadable { call: call() })?;
        let found = description.shards.unwrap_or_default().into_iter();
        let found = found.filter_map(|shard| Some((shard.shard_id?, shard.parent_shard_id)));
        Ok((found.collect(), description.last_evaluated_shard_id))
    }

    /// One page of a shard.
    pub(crate) async fn page(
        &self,
        table: &str,
        stream: &str,
        start: ShardStart<'_>,
    ) -> Result<RecordPage, DynamoError> {
        let call = || Call::new("GetRecords", table);
        let iterator = match start.iterator {
            Some(iterator) => iterator,
            None => match self.position(table, stream, start.shard, start.after).await? {
                Some(iterator) => iterator,
                // The records at the position were trimmed: the oldest remaining record is next.
                None => self
                    .position(table, stream, start.shard, None)
                    .await?
                    .ok_or_else(|| DynamoError::Unreadable { call: call() })?,
            },
        };
        let got = match self.client.get_records().shard_iterator(iterator).send().await {
            Ok(got) => got,
            Err(error) if matches!(error.code(), Some(EXPIRED | TRIMMED)) => return Ok(RecordPage::default()),
            Err(error) => return Err(DynamoError::of_stream(call(), error)),
        };
        let records = got.records.unwrap_or_default();
        let last = records.last().and_then(|record| record.dynamodb.as_ref()?.sequence_number.clone());
        let changes: Option<Vec<_>> = records.into_iter().map(change).collect();
        let changes = changes.ok_or_else(|| DynamoError::Unreadable { call: call() })?;
        Ok(RecordPage { changes, last, next: got.next_shard_iterator.map_or(NextPage::Ended, NextPage::At) })
    }

    /// An iterator; `None` if the position was trimmed.
    async fn position(
        &self,
        table: &str,
        stream: &str,
        shard: &str,
        after: Option<&str>,
    ) -> Result<Option<String>, DynamoError> {
        let call = || Call::new("GetShardIterator", table);
        let kind = match after {
            Some(_) => ShardIteratorType::AfterSequenceNumber,
            None => ShardIteratorType::TrimHorizon,
        };
        let asked = self.client.get_shard_iterator().stream_arn(stream).shard_id(shard);
        let asked = asked.shard_iterator_type(kind).set_sequence_number(after.map(str::to_owned));
        match asked.send().await {
            Ok(got) => Ok(got.shard_iterator),
            Err(error) if after.is_some() && error.code() == Some(TRIMMED) => Ok(None),
            Err(error) => Err(DynamoError::of_stream(call(), error)),
        }
    }
}

/// A record as a change, if it is complete.
fn change(record: Record) -> Option<StreamedChange> {
    let told = record.dynamodb?;
    let kind = match record.event_name? {
        OperationType::Insert => ChangeKind::Insert,
        OperationType::Modify => ChangeKind::Modify,
        OperationType::Remove => ChangeKind::Remove { expired: record.user_identity.is_some() },
        _ => return None,
    };
    let item = |image: HashMap<String, _>| {
        let members = image.into_iter().map(|(name, value)| (name, AttributeValue::from(value)));
        Item::from(members.collect::<HashMap<_, _>>())
    };
    let record = ChangeRecord {
        sequence: SequenceNumber::parse(&told.sequence_number?).ok()?,
        key: item(told.keys?),
        kind,
        old: told.old_image.map(item),
        new: told.new_image.map(item),
    };
    let seconds = told.approximate_creation_date_time.map_or(0, |time| time.secs().max(0).unsigned_abs());
    Some(StreamedChange { record, seconds })
}
