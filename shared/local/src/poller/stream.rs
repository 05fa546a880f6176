//! Reads a stream in process: unlike the SDK's client, the database's own reader shows which deletes are expirations.
//!
//! There is one shard. It has an ending sequence number even while it is open: that of its last record.

use dynoxide::Database;
use dynoxide::actions::describe_stream::DescribeStreamRequest;
use dynoxide::actions::get_records::GetRecordsRequest;
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use dynoxide::actions::list_streams::ListStreamsRequest;
use keyfold_core::retrofit::SequenceNumber;
use serde_json::Value;

use super::options::Start;
use super::progress::PollerError;

/// A table's stream.
pub(super) struct Stream {
    database: Database,
    table: String,
    arn: String,
    shard: String,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("arn", &self.arn).finish_non_exhaustive()
    }
}

/// A position in a stream.
#[derive(Debug, Clone)]
pub(super) struct Reader(String);

/// A record in Lambda's form, with the data needed here.
#[derive(Debug, Clone)]
pub(super) struct StreamRecord {
    /// The record's JSON.
    pub(super) json: String,
    /// Its sequence number, as answers name it.
    pub(super) sequence: String,
    /// The item's key, the same text for the same item.
    pub(super) key: String,
    /// When it was written, in seconds since 1970.
    pub(super) seconds: f64,
}

impl Stream {
    pub(super) async fn open(database: Database, table: String) -> Result<Stream, PollerError> {
        let request = ListStreamsRequest { table_name: Some(table.clone()), ..ListStreamsRequest::default() };
        let listed = blocking(&database, &table, move |database| database.list_streams(request)).await?;
        let Some(stream) = listed.streams.into_iter().next() else {
            return Err(PollerError::NoStream { table });
        };
        let mut opened = Stream { database, table, arn: stream.stream_arn, shard: String::new() };
        opened.shard = opened.shards().await?.into_iter().next().map(|(id, _)| id).unwrap_or_default();
        Ok(opened)
    }

    pub(super) fn table(&self) -> &str {
        &self.table
    }

    pub(super) fn arn(&self) -> &str {
        &self.arn
    }

    pub(super) fn shard(&self) -> &str {
        &self.shard
    }

    /// The current last record.
    pub(super) async fn end(&self) -> Result<Option<SequenceNumber>, PollerError> {
        let end = self.shards().await?.into_iter().next().and_then(|(_, end)| end);
        Ok(end.and_then(|text| SequenceNumber::parse(&text).ok()))
    }

    /// A reader from this position.
    pub(super) async fn reader(&self, start: &Start) -> Result<Reader, PollerError> {
        let (kind, sequence_number) = match start {
            Start::Oldest => ("TRIM_HORIZON", None),
            Start::Latest => ("LATEST", None),
            Start::After(sequence) => ("AFTER_SEQUENCE_NUMBER", Some(sequence.to_string())),
        };
        let request = GetShardIteratorRequest {
            stream_arn: self.arn.clone(),
            shard_id: self.shard.clone(),
            shard_iterator_type: kind.to_owned(),
            sequence_number,
        };
        let got = self.call(move |database| database.get_shard_iterator(request)).await?;
        Ok(Reader(got.shard_iterator.unwrap_or_default()))
    }

    /// The next records, up to `most`.
    pub(super) async fn read(
        &self,
        reader: &mut Reader,
        most: usize,
    ) -> Result<Vec<StreamRecord>, PollerError> {
        let request = GetRecordsRequest { shard_iterator: reader.0.clone(), limit: Some(most) };
        let got = self.call(move |database| database.get_records(request)).await?;
        if let Some(next) = got.next_shard_iterator {
            reader.0 = next;
        }
        got.records.iter().map(|record| self.record(record)).collect()
    }

    fn record(&self, record: &dynoxide::actions::get_records::Record) -> Result<StreamRecord, PollerError> {
        let unreadable = |error: serde_json::Error| self.unreadable(&error.to_string());
        let mut json = serde_json::to_value(record).map_err(unreadable)?;
        json["eventSourceARN"] = Value::from(self.arn.as_str());
        let mut keys: Vec<_> = record.dynamodb.keys.iter().collect();
        keys.sort_by_key(|(name, _)| *name);
        Ok(StreamRecord {
            json: json.to_string(),
            sequence: record.dynamodb.sequence_number.clone(),
            key: serde_json::to_string(&keys).map_err(unreadable)?,
            seconds: record.dynamodb.approximate_creation_date_time,
        })
    }

    /// Each shard with the number of its last record.
    async fn shards(&self) -> Result<Vec<(String, Option<String>)>, PollerError> {
        let request =
            DescribeStreamRequest { stream_arn: self.arn.clone(), ..DescribeStreamRequest::default() };
        let described = self.call(move |database| database.describe_stream(request)).await?;
        let shards = described.stream_description.shards.into_iter();
        Ok(shards.map(|shard| (shard.shard_id, shard.sequence_number_range.ending_sequence_number)).collect())
    }

    fn unreadable(&self, reason: &str) -> PollerError {
        PollerError::Unreadable { table: self.table.clone(), reason: reason.to_owned() }
    }

    async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> dynoxide::Result<T> + Send + 'static,
    ) -> Result<T, PollerError> {
        blocking(&self.database, &self.table, call).await
    }
}

/// Runs a blocking call of the database.
async fn blocking<T: Send + 'static>(
    database: &Database,
    table: &str,
    call: impl FnOnce(&Database) -> dynoxide::Result<T> + Send + 'static,
) -> Result<T, PollerError> {
    let shared = database.clone();
    let unreadable = |reason: String| PollerError::Unreadable { table: table.to_owned(), reason };
    match tokio::task::spawn_blocking(move || call(&shared)).await {
        Ok(result) => result.map_err(|error| unreadable(error.to_string())),
        Err(error) => Err(unreadable(error.to_string())),
    }
}
