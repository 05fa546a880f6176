//! Checks of the tables before a retrofit starts, and before it is switched.

use aws_sdk_dynamodb::types::{IndexStatus, StreamViewType, TableDescription};
use futures_util::FutureExt;
use keyfold_core::retrofit::gates::Evidence;
use keyfold_core::retrofit::{Pass, Protocol, Quarantined, TableRole, progress};

use super::{RequestSender, RetrofitError};
use crate::table::{TableOptions, describe, description, expires};

/// The bytes that one read unit reads in a strongly consistent scan.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>
const SCAN_UNIT_BYTES: u64 = 4_096;

impl RequestSender {
    /// Checks that both tables are there, that the target has the keys of the manifest, and that the source has a stream
    /// with both images, if it must have one. Returns the stream's ARN.
    pub async fn preflight(&self, stream: bool) -> Result<Option<String>, RetrofitError> {
        let source = self.table_there(TableRole::Source).await?;
        if self.job().mapping().protocol() != Protocol::InPlace {
            self.table_there(TableRole::Target).await?;
        }
        let target = self.table(TableRole::Target);
        let options = TableOptions::default();
        let difference = self.with_retries(|| describe(self.client(), target, options).boxed()).await?;
        if !difference.is_compatible() {
            let differences = difference.to_string();
            return Err(RetrofitError::WrongTable { table: target.id.clone(), differences });
        }
        if stream { self.stream_of(TableRole::Source, &source).map(Some) } else { Ok(None) }
    }

    /// The ARN of a table's stream; an error if it has none with both images.
    pub async fn stream(&self, role: TableRole) -> Result<String, RetrofitError> {
        self.stream_of(role, &self.table_there(role).await?)
    }

    /// The known facts for the gates of a switch.
    pub async fn evidence(&self) -> Result<Evidence, RetrofitError> {
        Ok(self.evidence_and_quarantine().await?.0)
    }

    /// The same, and what is in quarantine. Leases are read first: work that is over by then has entered what it could not do.
    pub(super) async fn evidence_and_quarantine(
        &self,
    ) -> Result<(Evidence, Vec<Quarantined>), RetrofitError> {
        let segments = self.segments(Pass::Backfill).await?;
        let (segments_done, segments_total) = progress::filled(&segments);
        let target = self.table_there(TableRole::Target).await?;
        let source = self.table_there(TableRole::Source).await?;
        let inactive = target
            .global_secondary_indexes()
            .iter()
            .filter(|index| index.index_status() != Some(&IndexStatus::Active))
            .filter_map(|index| index.index_name().map(str::to_owned));
        let (verdict, leases) = (self.verdict().await?, self.leases().await?);
        let mut entries = self.quarantine().await?;
        entries.extend(self.other_quarantine().await?);
        let accepted = entries.iter().filter(|entry| entry.accepted.is_some()).count();
        let evidence = Evidence {
            segments_done,
            segments_total,
            verdict,
            leases,
            quarantined: (entries.len() - accepted) as u64,
            accepted: accepted as u64,
            indexes_not_active: inactive.collect(),
            stream: self.stream_of(TableRole::Source, &source).ok(),
        };
        Ok((evidence, entries))
    }

    /// Is the time to live of this table switched on, for the attribute of the manifest?
    pub(super) async fn expires(&self, role: TableRole) -> Result<bool, RetrofitError> {
        let table = self.table(role);
        if table.ttl.is_none() {
            return Ok(false);
        }
        Ok(self.with_retries(|| expires(self.client(), table).boxed()).await?)
    }

    /// About how many items the source has, as DynamoDB counts them every few hours.
    pub async fn items_about(&self) -> Result<u64, RetrofitError> {
        let source = self.table_there(TableRole::Source).await?;
        Ok(source.item_count().unwrap_or(0).max(0).unsigned_abs())
    }

    /// About how many items the target has, and read units that a strongly consistent scan of it takes: as DynamoDB counts
    /// them every few hours.
    pub async fn target_about(&self) -> Result<(u64, u64), RetrofitError> {
        let target = self.table_there(TableRole::Target).await?;
        let whole = |number: Option<i64>| number.unwrap_or(0).max(0).unsigned_abs();
        Ok((whole(target.item_count()), whole(target.table_size_bytes()).div_ceil(SCAN_UNIT_BYTES)))
    }

    async fn table_there(&self, role: TableRole) -> Result<TableDescription, RetrofitError> {
        let table = self.table(role);
        Ok(self.with_retries(|| description(self.client(), table).boxed()).await?)
    }

    fn stream_of(&self, role: TableRole, there: &TableDescription) -> Result<String, RetrofitError> {
        let table = || self.table(role).id.clone();
        let specification = there.stream_specification().filter(|stream| stream.stream_enabled());
        let (Some(stream), Some(arn)) = (specification, there.latest_stream_arn()) else {
            return Err(RetrofitError::NoStream { table: table() });
        };
        match stream.stream_view_type() {
            Some(StreamViewType::NewAndOldImages) => Ok(arn.to_owned()),
            view => {
                let view = view.map_or("none", StreamViewType::as_str).to_owned();
                Err(RetrofitError::StreamViewType { table: table(), view })
            }
        }
    }
}

/// The ARN of a table's stream, if it has one with both images.
pub(super) fn stream_with_images(there: &TableDescription) -> Option<String> {
    let stream = there.stream_specification().filter(|stream| stream.stream_enabled())?;
    let both = stream.stream_view_type() == Some(&StreamViewType::NewAndOldImages);
    there.latest_stream_arn().filter(|_| both).map(str::to_owned)
}
