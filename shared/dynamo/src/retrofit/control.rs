//! The control table's rows: a retrofit's head, and its quarantine.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt;
use keyfold_core::condition::{Comparison, Condition, Path};
use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::retrofit::control::{self, RetrofitState};
use keyfold_core::retrofit::progress::{ComparisonResult, ComparisonStart};
use keyfold_core::retrofit::quarantine::{Acceptance, entries};
use keyfold_core::retrofit::{
    Action, ChangeRecord, Checkpoint, Guard, Lag, Lease, Pass, Protocol, Quarantined, Request, Response,
    SegmentId, SourceKey, TableRole, TaskResult, WorkerRate, Write, progress,
};
use keyfold_core::value::{AttributeValue, Item};

use super::backfill::unblock;
use super::clock::{now_ms, now_seconds};
use super::{RequestSender, RetrofitError};
use crate::{Page, PageRequest, QueryPage, query_page};

impl RequestSender {
    /// The retrofit's row. An error if it was never started.
    pub async fn head(&self) -> Result<RetrofitState, RetrofitError> {
        let retrofit = self.job().mapping().name();
        let row = self.read(TableRole::Control, vec![control::head_key(retrofit)]).await?;
        Ok(RetrofitState::read(retrofit, row.first())?)
    }

    /// Stores the retrofit's row over the previous one, if that is still there.
    pub async fn store(
        &self,
        head: &RetrofitState,
        before: Option<&RetrofitState>,
    ) -> Result<(), RetrofitError> {
        match self.send(&Request::Write(head.store(before))).await? {
            Response::Written => Ok(()),
            Response::Rejected(code) => {
                Err(RetrofitError::Refused { table: self.table(TableRole::Control).id.clone(), code })
            }
            _ => Err(RetrofitError::Raced { retrofit: head.retrofit.clone() }),
        }
    }

    /// Notes that a batch of records was given up, and where it was set aside. Comparisons that were started before count no
    /// more, also when its items have left the quarantine.
    pub async fn set_aside(&self, place: &str) -> Result<(), RetrofitError> {
        self.begin_writing().await?;
        match self.carry(&mut self.job().set_aside(place)).await? {
            TaskResult::Unrecorded(code) => {
                Err(RetrofitError::Refused { table: self.table(TableRole::Control).id.clone(), code })
            }
            _ => Ok(()),
        }
    }

    /// Brings the items of records that were given up to the right state: each is read again. True if all are right.
    pub async fn redrive(&self, records: &[ChangeRecord]) -> Result<bool, RetrofitError> {
        let mut newest: BTreeMap<SourceKey, &ChangeRecord> = BTreeMap::new();
        for record in records {
            let Some(key) = SourceKey::of(self.job().mapping().source(), &record.key) else {
                return Ok(false);
            };
            let known = newest.entry(key).or_insert(record);
            if known.sequence < record.sequence {
                *known = record;
            }
        }
        for record in newest.values() {
            // In quarantine first: the repair is then newer than the record, which a late worker may still write.
            self.carry(&mut self.job().discard(record)).await?;
        }
        let mut all = true;
        for entry in self.quarantine().await? {
            let ours = entry.key.as_ref().and_then(|key| SourceKey::of(self.job().mapping().source(), key));
            if ours.is_some_and(|key| newest.contains_key(&key)) {
                all &= self.release(&entry).await?;
            }
        }
        Ok(all)
    }

    /// All entries of the quarantine.
    pub async fn quarantine(&self) -> Result<Vec<Quarantined>, RetrofitError> {
        self.quarantine_of(self.job().mapping().rows_name()).await
    }

    /// The entries of the other direction: what could not be carried before the writers moved last. Its items are compared, and
    /// nothing else takes them out.
    pub async fn other_quarantine(&self) -> Result<Vec<Quarantined>, RetrofitError> {
        self.quarantine_of(&self.job().mapping().other_rows_name()).await
    }

    async fn quarantine_of(&self, rows_name: &str) -> Result<Vec<Quarantined>, RetrofitError> {
        let rows = self.rows(control::quarantine_partition(rows_name)).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let notes = self.rows(control::accepted_partition(rows_name)).await?;
        Ok(entries(&rows, &notes))
    }

    /// Accepts an item, or takes that back.
    pub async fn accept(
        &self,
        entry: &Quarantined,
        acceptance: Option<&Acceptance>,
    ) -> Result<(), RetrofitError> {
        self.note(entry.accept(self.job().mapping(), acceptance)).await
    }

    /// All rows of a partition of the control table.
    pub(super) async fn rows(&self, partition: String) -> Result<Vec<Item>, RetrofitError> {
        let mut rows = Vec::new();
        let mut start_key = None;
        loop {
            let page = self.page_of_rows(partition.clone(), start_key, None).await?;
            rows.extend(page.items);
            start_key = page.last_key;
            if start_key.is_none() {
                return Ok(rows);
            }
        }
    }

    /// One page of them.
    pub(super) async fn page_of_rows(
        &self,
        partition: String,
        start_key: Option<Item>,
        limit: Option<u32>,
    ) -> Result<Page, RetrofitError> {
        let is = Condition::Is(
            Path::attribute(control::PARTITION),
            Comparison::Equal(AttributeValue::S(partition)),
        );
        let condition = ConditionExpression::of(&is);
        let page = PageRequest {
            table: self.table(TableRole::Control).name.clone(),
            names: condition.names,
            values: condition.values,
            consistent: true,
            start_key,
            limit,
            ..PageRequest::default()
        };
        let query = QueryPage { page, key_condition: condition.text, forward: true };
        let page = self.with_retries(|| query_page(self.client(), &query).boxed()).await?;
        self.has_read(&page.consumed);
        self.check_format("Query", &page.items)?;
        Ok(page)
    }

    /// How far a segment is, as it was stored; the beginning if nothing was.
    pub async fn checkpoint(&self, pass: Pass, segment: SegmentId) -> Result<Checkpoint, RetrofitError> {
        let key = progress::segment_key(self.job(), pass, segment);
        let rows = self.read(TableRole::Control, vec![key]).await?;
        let stored = match rows.first() {
            Some(row) => progress::read_checkpoint(self.job(), pass, segment, row)?,
            None => None,
        };
        Ok(stored.unwrap_or_else(|| Checkpoint::start(self.job(), pass, segment)))
    }

    /// Stores how far a segment is. One that is further on stays.
    pub async fn store_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), RetrofitError> {
        self.note(progress::store_checkpoint(self.job(), checkpoint)).await
    }

    /// The segments of a pass that were started in this epoch.
    pub async fn segments(&self, pass: Pass) -> Result<Vec<Checkpoint>, RetrofitError> {
        let rows = self.rows(control::segments_partition(self.job().mapping().rows_name())).await?;
        Ok(progress::read_checkpoints(self.job(), pass, &rows)?)
    }

    /// Deletes the progress of a pass's segments, so that it starts again.
    pub async fn forget_segments(&self, pass: Pass) -> Result<(), RetrofitError> {
        for checkpoint in self.segments(pass).await? {
            let key = progress::segment_key(self.job(), pass, checkpoint.segment());
            let write = Write {
                role: TableRole::Control,
                action: Action::Delete(key),
                guard: Guard::Present(Condition::always()),
            };
            self.note(write).await?;
        }
        Ok(())
    }

    /// The beginning of a segment of a comparison, under what holds at this moment; what an earlier one found there is
    /// forgotten.
    pub async fn begin_comparison(
        &self,
        pass: Pass,
        segment: SegmentId,
    ) -> Result<Checkpoint, RetrofitError> {
        let checkpoint =
            Checkpoint::start(self.job(), pass, segment).marked(Some(self.moment().await?.text()));
        self.note(progress::begin_segment(self.job(), &checkpoint)).await?;
        Ok(checkpoint)
    }

    /// Notes that something will be written: earlier comparisons are void.
    pub async fn begin_writing(&self) -> Result<(), RetrofitError> {
        self.note(progress::store_mark(self.job(), &unique())).await
    }

    /// Notes how far behind the replicator is.
    pub async fn note_lag(&self, behind: Duration) -> Result<(), RetrofitError> {
        let behind_ms = u64::try_from(behind.as_millis()).unwrap_or(u64::MAX);
        self.note(Lag { behind_ms, told: now_seconds() }.store(self.job())).await
    }

    /// How far behind the replicator said it was; `None` if it said nothing yet.
    pub async fn lag(&self) -> Result<Option<Lag>, RetrofitError> {
        let rows = self.read(TableRole::Control, vec![Lag::key(self.job())]).await?;
        Ok(rows.first().and_then(Lag::read))
    }

    /// The mark for a comparison that starts now.
    async fn moment(&self) -> Result<ComparisonStart, RetrofitError> {
        let rows = self.read(TableRole::Control, vec![progress::mark_key(self.job())]).await?;
        let mark = rows.first().and_then(progress::read_mark).unwrap_or_default();
        Ok(ComparisonStart { mark, version: self.head().await?.version, seconds: now_seconds() })
    }

    /// What comparisons of both sides found since something last voided them. `None` if none is complete.
    pub async fn verdict(&self) -> Result<Option<ComparisonResult>, RetrofitError> {
        let protocol = self.job().mapping().protocol();
        let now = self.moment().await?;
        let mut segments = Vec::new();
        for pass in progress::comparison(protocol) {
            segments.extend(self.segments(*pass).await?);
        }
        Ok(progress::verdict(protocol, &now, &segments))
    }

    /// Is the retrofit still in a phase in which items are written as this sender writes them?
    pub(super) async fn check_tracking(&self) -> Result<(), RetrofitError> {
        // In place, items are written in one way.
        let one_way = self.job().mapping().protocol() == Protocol::InPlace;
        if one_way || !self.head().await?.outdates(self.job()) {
            return Ok(());
        }
        Err(RetrofitError::PhaseChanged { retrofit: self.job().mapping().name().to_owned() })
    }

    /// The number of leased segments.
    pub async fn leases(&self) -> Result<u64, RetrofitError> {
        let (rows, now) = (self.lease_rows().await?, now_ms());
        Ok(rows.iter().filter(|row| Lease::is_held(row, now)).count() as u64)
    }

    /// How fast the workers go that are at work.
    pub async fn worker_rates(&self) -> Result<Vec<WorkerRate>, RetrofitError> {
        Ok(WorkerRate::of_leases(&self.lease_rows().await?, now_ms()))
    }

    async fn lease_rows(&self) -> Result<Vec<Item>, RetrofitError> {
        self.rows(control::leases_partition(self.job().mapping().rows_name())).await
    }

    /// A write of a row that another worker may have written already.
    pub(super) async fn note(&self, write: Write) -> Result<(), RetrofitError> {
        match self.send(&Request::Write(write)).await? {
            Response::Rejected(code) => {
                Err(RetrofitError::Refused { table: self.table(TableRole::Control).id.clone(), code })
            }
            _ => Ok(()),
        }
    }

    /// Tries each entry that names an item again: how many are out now, and how many stay.
    pub async fn release_all(&self) -> Result<(u64, u64), RetrofitError> {
        let (mut out, mut left) = (0, 0);
        for entry in self.quarantine().await?.iter().filter(|entry| entry.key.is_some()) {
            *(if self.release(entry).await? { &mut out } else { &mut left }) += 1;
        }
        Ok((out, left))
    }

    /// Removes the entries that name no item, and those of the other direction, and returns how many. Such an entry is a record that could
    /// not be read, or an item that may still be wrong. Only a complete comparison without differences shows that every item is right:
    /// `None` without one. A new entry cancels the comparisons that started before it.
    pub async fn release_compared(&self, head: &RetrofitState) -> Result<Option<usize>, RetrofitError> {
        let (entries, former) = (self.quarantine().await?, self.other_quarantine().await?);
        let nameless =
            entries.iter().filter(|entry| entry.key.is_none()).map(|entry| self.job().dismiss(entry));
        let other = head.other_job(self.job());
        let former = other.iter().flat_map(|other| former.iter().map(|entry| other.dismiss(entry)));
        let mut tasks: Vec<_> = nameless.chain(former).collect();
        let is_clean = |verdict: ComparisonResult| verdict.differences == 0;
        if !tasks.is_empty() && !self.verdict().await?.is_some_and(is_clean) {
            return Ok(None);
        }
        for task in &mut tasks {
            self.carry(task).await?;
        }
        Ok(Some(tasks.len()))
    }

    /// Tries to bring an item of the quarantine to where it should be; is it out?
    pub async fn release(&self, entry: &Quarantined) -> Result<bool, RetrofitError> {
        let Some(mut task) = self.job().release(entry) else { return Ok(false) };
        self.check_tracking().await?;
        let verdict = match self.carry(&mut task).await? {
            TaskResult::Blocked => unblock(self, &mut task).await?,
            verdict => verdict,
        };
        Ok(matches!(verdict, TaskResult::Written | TaskResult::Unchanged | TaskResult::NotSelected))
    }
}

/// A unique text.
pub(super) fn unique() -> String {
    format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}
