//! Reads a table's stream from its oldest record to its end, shard by shard, parents before their children.
//!
//! DynamoDB says of no shard that one has reached its end: a read can come back empty although more is there. So a reader goes on
//! asking, and who needs to know that nothing is missing waits until nothing has come for a while.

use std::collections::BTreeMap;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::error::ProvideErrorMetadata;
use aws_sdk_dynamodbstreams::types::{OperationType, Record, ShardIteratorType};
use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{ChangeKind, ChangeRecord, SequenceNumber};
use keyfold_core::value::{AttributeValue, Item};

use crate::client::streams_client;
use crate::error::{Call, DynamoError};
use crate::{CONCURRENCY_DEFAULT, Settings};

/// What a shard says of a position that it no longer has, or that was left unused for too long: it is asked for again.
const LOST_POSITIONS: [&str; 2] = ["ExpiredIteratorException", "TrimmedDataAccessException"];

/// A change, and when it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamedChange {
    /// The change.
    pub record: ChangeRecord,
    /// The second since 1970.
    pub seconds: u64,
}

/// A reader of one stream.
#[derive(Debug)]
pub struct StreamReader {
    client: Client,
    table: String,
    stream: String,
    shards: BTreeMap<String, Shard>,
}

#[derive(Debug, Clone, Default)]
struct Shard {
    parent: Option<String>,
    /// Where the next read begins, while that is known.
    iterator: Option<String>,
    /// The last record that was read.
    last: Option<String>,
    /// Nothing comes after its last record.
    ended: bool,
}

impl StreamReader {
    /// Of this stream of a table, from the oldest record that it still has.
    pub async fn open(settings: &Settings, table: &str, stream: &str) -> StreamReader {
        let client = streams_client(settings).await;
        StreamReader { client, table: table.to_owned(), stream: stream.to_owned(), shards: BTreeMap::new() }
    }

    /// The stream's ARN.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// Reads on until no shard has anything to give for now; says how many records came. Those of one item come in their order.
    pub async fn read(&mut self, take: &mut impl FnMut(StreamedChange)) -> Result<u64, DynamoError> {
        let mut count = 0;
        loop {
            self.find_shards().await?;
            let ready: Vec<_> = self.ready().map(|(name, shard)| (name.clone(), shard.clone())).collect();
            let (client, call, stream) = (&self.client, self.call("GetRecords"), &self.stream);
            let mut reads = stream::iter(ready)
                .map(|(name, shard)| page(client, call.clone(), stream, name, shard))
                .buffer_unordered(CONCURRENCY_DEFAULT);
            let (mut came, mut ended, mut after) = (0, false, Vec::new());
            while let Some(read) = reads.next().await {
                let (name, shard, records) = read?;
                came += records.len() as u64;
                ended |= shard.ended;
                records.into_iter().for_each(&mut *take);
                after.push((name, shard));
            }
            drop(reads);
            self.shards.extend(after);
            count += came;
            // The children of a shard that has ended are still to be read.
            if came == 0 && !ended {
                return Ok(count);
            }
        }
    }

    /// The shards whose turn it is: they have not ended, and their parents have, or are gone.
    fn ready(&self) -> impl Iterator<Item = (&String, &Shard)> {
        let is_over = |name: &String| self.shards.get(name).is_none_or(|parent| parent.ended);
        self.shards.iter().filter(move |(_, shard)| !shard.ended && shard.parent.as_ref().is_none_or(is_over))
    }

    async fn find_shards(&mut self) -> Result<(), DynamoError> {
        let mut start = None;
        loop {
            let described = self
                .client
                .describe_stream()
                .stream_arn(&self.stream)
                .set_exclusive_start_shard_id(start)
                .send()
                .await
                .map_err(|error| DynamoError::of_stream(self.call("DescribeStream"), error))?;
            let Some(description) = described.stream_description else {
                return Err(DynamoError::Unreadable { call: self.call("DescribeStream") });
            };
            for shard in description.shards.unwrap_or_default() {
                let (Some(name), parent) = (shard.shard_id, shard.parent_shard_id) else { continue };
                self.shards.entry(name).or_insert_with(|| Shard { parent, ..Shard::default() });
            }
            start = description.last_evaluated_shard_id;
            if start.is_none() {
                return Ok(());
            }
        }
    }

    fn call(&self, operation: &'static str) -> Call {
        Call::new(operation, &self.table)
    }
}

/// Reads one page of a shard.
async fn page(
    client: &Client,
    call: Call,
    stream: &str,
    name: String,
    mut shard: Shard,
) -> Result<(String, Shard, Vec<StreamedChange>), DynamoError> {
    let iterator = match shard.iterator.take() {
        Some(iterator) => iterator,
        None => position(client, &call, stream, &name, &shard).await?,
    };
    let got = match client.get_records().shard_iterator(iterator).send().await {
        Ok(got) => got,
        // The shard is read on from its last record, or from its oldest if that is gone.
        Err(error) if error.code().is_some_and(|code| LOST_POSITIONS.contains(&code)) => {
            if error.code() == Some(LOST_POSITIONS[1]) {
                shard.last = None;
            }
            return Ok((name, shard, Vec::new()));
        }
        Err(error) => return Err(DynamoError::of_stream(call, error)),
    };
    let records = got.records.unwrap_or_default();
    if let Some(last) = records.last().and_then(|record| record.dynamodb.as_ref()) {
        shard.last.clone_from(&last.sequence_number);
    }
    shard.ended = got.next_shard_iterator.is_none();
    shard.iterator = got.next_shard_iterator;
    let changes: Option<Vec<_>> = records.into_iter().map(change).collect();
    let changes = changes.ok_or(DynamoError::Unreadable { call })?;
    Ok((name, shard, changes))
}

async fn position(
    client: &Client,
    call: &Call,
    stream: &str,
    name: &str,
    shard: &Shard,
) -> Result<String, DynamoError> {
    let kind = match &shard.last {
        Some(_) => ShardIteratorType::AfterSequenceNumber,
        None => ShardIteratorType::TrimHorizon,
    };
    let got = client
        .get_shard_iterator()
        .stream_arn(stream)
        .shard_id(name)
        .shard_iterator_type(kind)
        .set_sequence_number(shard.last.clone())
        .send()
        .await
        .map_err(|error| DynamoError::of_stream(call.clone(), error))?;
    got.shard_iterator.ok_or_else(|| DynamoError::Unreadable { call: call.clone() })
}

/// A record as a change, if it tells all of it.
fn change(record: Record) -> Option<StreamedChange> {
    let told = record.dynamodb?;
    let kind = match record.event_name? {
        OperationType::Insert => ChangeKind::Insert,
        OperationType::Modify => ChangeKind::Modify,
        OperationType::Remove => ChangeKind::Remove { expired: record.user_identity.is_some() },
        _ => return None,
    };
    let item = |image: std::collections::HashMap<String, _>| {
        Item::from(
            image
                .into_iter()
                .map(|(name, value)| (name, AttributeValue::from(value)))
                .collect::<std::collections::HashMap<_, _>>(),
        )
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
