//! What is still to arrive while writers are stopped: both streams, read from their oldest record, and the rows of the items that
//! they name. `keyfold_core::retrofit::drain` says what counts as arrived.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use keyfold_core::retrofit::control::{Delivery, Direction, RetrofitState};
use keyfold_core::retrofit::drain::{Newest, Sides, Sign};
use keyfold_core::retrofit::{ChangeRecord, LedgerRow, Mapping, SourceKey, TableRole, TaskResult};
use keyfold_core::value::Item;

use super::backfill::unblock;
use super::late::one;
use super::{IN_FLIGHT_DEFAULT, RequestSender, RetrofitError};
use crate::read::BATCH_GET_KEYS_MAX;
use crate::{DynamoError, StreamReader, StreamedChange};

/// Both streams of a retrofit, as far as they were read.
#[derive(Debug)]
pub struct Drain {
    mapping: Mapping,
    /// Of the table that changes are carried from.
    open: StreamReader,
    /// Of the other one, if it ever had writers of its own.
    closed: Option<StreamReader>,
    seen: Seen,
}

/// What the records say.
#[derive(Debug, Default)]
struct Seen {
    /// Items of the table that changes are carried from, by their keys.
    newest: BTreeMap<SourceKey, Change>,
    /// What the other table's records show of the same items.
    signs: BTreeMap<SourceKey, Vec<Sign>>,
    /// Items to which somebody else wrote in the other table, by their keys in this one. What the retrofit put in its place may
    /// have gone over more of that, which the stream has not shown yet.
    late: BTreeMap<SourceKey, Item>,
    /// The other table's records that were not looked at yet.
    unexamined: Vec<ChangeRecord>,
}

/// The newest change of an item that was seen.
#[derive(Debug, Clone)]
struct Change {
    key: Item,
    newest: Newest,
    /// The second since 1970 of the change.
    seconds: u64,
}

/// How much there is still to arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Items with changes that the streams still have.
    pub items: u64,
    /// Of them, those whose newest change has not arrived.
    pub waiting: u64,
    /// Those that have arrived, and are not the same on both sides.
    pub differing: u64,
    /// Those whose last write the other table's stream has not shown.
    pub unseen: u64,
    /// The first of all these, by their keys in the table that changes are carried from.
    pub first: Vec<SourceKey>,
}

impl Backlog {
    /// Is there nothing to wait for?
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}

/// What an item is waited for.
#[derive(Debug, Clone, Copy)]
enum Lack {
    Arrival,
    /// Somebody has to accept that it stays out.
    Acceptance,
    Agreement,
    Sight,
}

/// How many items a backlog names.
const NAMED_MAX: usize = 5;

impl Drain {
    /// Reads these streams: that of the table that changes are carried from, and that of the other one, if it ever had writers
    /// of its own.
    pub fn new(mapping: Mapping, open: StreamReader, closed: Option<StreamReader>) -> Drain {
        Drain { mapping, open, closed, seen: Seen::default() }
    }

    /// Reads on in both streams until there is nothing more for now; says how many records came.
    pub async fn read(&mut self, sender: &RequestSender, head: &RetrofitState) -> Result<u64, DynamoError> {
        let seen = &mut self.seen;
        let opened = self.open.read(&mut |change| seen.opened(sender, head, change)).await?;
        let closed = match &mut self.closed {
            Some(reader) => reader.read(&mut |change| seen.closed(sender, head, change)).await?,
            None => 0,
        };
        Ok(opened + closed)
    }

    /// Looks at what came to the closed table, as the replicator does; is nothing left of it?
    pub async fn examine(
        &mut self,
        sender: &RequestSender,
        head: &RetrofitState,
    ) -> Result<bool, RetrofitError> {
        let records_lead = match sender.job().mapping().is_reverse() {
            true => Direction::Forward,
            false => Direction::Reverse,
        };
        let Delivery::Late { epoch, .. } = head.delivery(&self.mapping, records_lead) else {
            self.seen.unexamined.clear();
            return Ok(true);
        };
        if self.seen.unexamined.is_empty() {
            return Ok(true);
        }
        // After the records were read: what came while the table was open is not late.
        if sender.head().await?.version != head.version {
            return Err(RetrofitError::Raced { retrofit: head.retrofit.clone() });
        }
        let table = sender.table(TableRole::Target);
        let mut items: BTreeMap<Option<SourceKey>, Vec<ChangeRecord>> = BTreeMap::new();
        for record in std::mem::take(&mut self.seen.unexamined) {
            items.entry(SourceKey::of(table, &record.key)).or_default().push(record);
        }
        let looked: Vec<(Option<Item>, Vec<ChangeRecord>)> = stream::iter(items.into_values())
            .map(|records| async move {
                let mut records = records.into_iter();
                let mut late = None;
                while let Some(record) = records.next() {
                    let result = one(sender, &record, epoch).await?;
                    if !result.is_done() {
                        return Ok((late, std::iter::once(record).chain(records).collect()));
                    }
                    late = late.or_else(|| result.is_late().then(|| record.key.clone()));
                }
                Ok::<_, RetrofitError>((late, Vec::new()))
            })
            .buffer_unordered(IN_FLIGHT_DEFAULT)
            .try_collect()
            .await?;
        for (late, left) in looked {
            let key = late.and_then(|key| sender.job().mapping().origin(&key));
            if let Some(key) = key
                && let Some(source) = SourceKey::of(sender.table(TableRole::Source), &key)
            {
                self.seen.late.insert(source, key);
            }
            self.seen.unexamined.extend(left);
        }
        Ok(self.seen.unexamined.is_empty())
    }

    /// Looks at every item that was changed, or to which somebody wrote late: has its newest change arrived, and do both sides agree?
    pub async fn backlog(
        &self,
        sender: &RequestSender,
        head: &RetrofitState,
    ) -> Result<Backlog, RetrofitError> {
        let mut backlog = Backlog { items: self.seen.newest.len() as u64, ..Backlog::default() };
        for (key, lack) in self.lacking(sender, head).await? {
            *match lack {
                Lack::Arrival | Lack::Acceptance => &mut backlog.waiting,
                Lack::Agreement => &mut backlog.differing,
                Lack::Sight => &mut backlog.unseen,
            } += 1;
            if backlog.first.len() < NAMED_MAX {
                backlog.first.push(key.clone());
            }
        }
        Ok(backlog)
    }

    /// Carries over what has not arrived, where the change was before this second: a replicator that is behind or stuck holds nobody
    /// up. Who carries a change twice does no harm. The changes that the former direction itself made go this way too: nobody else
    /// carries them.
    pub async fn carry(
        &self,
        sender: &RequestSender,
        head: &RetrofitState,
        before_seconds: u64,
    ) -> Result<(), RetrofitError> {
        let lacking = self.lacking(sender, head).await?.into_iter();
        let late = lacking.filter(|(_, lack)| matches!(lack, Lack::Arrival | Lack::Acceptance));
        let changes = late.filter_map(|(key, _)| self.seen.newest.get(key));
        stream::iter(changes.filter(|change| change.seconds < before_seconds).map(Ok))
            .try_for_each_concurrent(IN_FLIGHT_DEFAULT, |change| async move {
                let mut task = sender.job().carry_now(&change.key, change.newest.sequence.clone());
                if let TaskResult::Blocked = sender.carry(&mut task).await? {
                    unblock(sender, &mut task).await?;
                }
                Ok(())
            })
            .await
    }

    async fn lacking(
        &self,
        sender: &RequestSender,
        head: &RetrofitState,
    ) -> Result<Vec<(&SourceKey, Lack)>, RetrofitError> {
        let changed = self.seen.newest.iter().map(|(key, change)| (key, &change.key, Some(&change.newest)));
        let late = self.seen.late.iter().filter(|(key, _)| !self.seen.newest.contains_key(key));
        let items: Vec<_> = changed.chain(late.map(|(key, item)| (key, item, None))).collect();
        let parts: Vec<Vec<(&SourceKey, Lack)>> = stream::iter(items.chunks(BATCH_GET_KEYS_MAX))
            .map(|part| self.lacking_of(sender, head, part))
            .buffered(IN_FLIGHT_DEFAULT)
            .try_collect()
            .await?;
        let mut lacking: Vec<(&SourceKey, Lack)> = parts.into_iter().flatten().collect();
        if lacking.iter().any(|(_, lack)| matches!(lack, Lack::Acceptance)) {
            let accepted = self.accepted(sender).await?;
            lacking.retain(|(key, lack)| !matches!(lack, Lack::Acceptance) || !accepted.contains(key));
        }
        Ok(lacking)
    }

    /// The items of which somebody said that they stay out, as they were changed last.
    async fn accepted(&self, sender: &RequestSender) -> Result<BTreeSet<SourceKey>, RetrofitError> {
        let table = sender.table(TableRole::Source);
        let entries = sender.quarantine().await?.into_iter();
        let accepted = entries.filter_map(|entry| {
            let key = SourceKey::of(table, entry.key.as_ref()?)?;
            let newest = self.seen.newest.get(&key).map(|change| &change.newest);
            sender.job().is_accepted(&entry, newest).then_some(key)
        });
        Ok(accepted.collect())
    }

    /// Of these items, those that are not as they must be. Rows are read first: a row that has risen stays risen.
    async fn lacking_of<'s>(
        &self,
        sender: &RequestSender,
        head: &RetrofitState,
        part: &[(&'s SourceKey, &'s Item, Option<&'s Newest>)],
    ) -> Result<Vec<(&'s SourceKey, Lack)>, RetrofitError> {
        let mapping = sender.job().mapping();
        let rows: Vec<Item> = part.iter().map(|(key, ..)| LedgerRow::key(mapping, key)).collect();
        let keys: Vec<Item> = part.iter().map(|(_, item, _)| (*item).clone()).collect();
        let rows = sender.look_up(TableRole::Control, rows).await?;
        // An item without a place in the other table has none that could be read.
        let places: Vec<Option<Item>> =
            keys.iter().zip(&rows).map(|(key, row)| sender.job().place(key, row.as_ref())).collect();
        let there: Vec<Item> = places.iter().flatten().cloned().collect();
        let sources = sender.look_up(TableRole::Source, keys).await?;
        let mut targets = sender.look_up(TableRole::Target, there).await?.into_iter();
        let mut lacking = Vec::new();
        for (at, (key, _, newest)) in part.iter().enumerate() {
            let target = places[at].as_ref().and_then(|_| targets.next().flatten());
            let sides =
                Sides { row: rows[at].as_ref(), source: sources[at].as_ref(), target: target.as_ref() };
            let job = sender.job();
            let signs = self.seen.signs.get(key).map_or(&[][..], Vec::as_slice);
            let shown = !head.was_reversed() || job.shows_last_write(sides, signs);
            let arrived = newest.is_none_or(|newest| job.has_arrived(newest, sides));
            let lack = match (arrived, job.agrees(sides), shown) {
                _ if job.is_out(sides) => Lack::Acceptance,
                (false, _, _) => Lack::Arrival,
                (_, false, _) => Lack::Agreement,
                (_, _, false) => Lack::Sight,
                (true, true, true) => continue,
            };
            lacking.push((*key, lack));
        }
        Ok(lacking)
    }
}

impl Seen {
    fn opened(&mut self, sender: &RequestSender, head: &RetrofitState, change: StreamedChange) {
        let StreamedChange { record, seconds } = change;
        let Some(key) = SourceKey::of(sender.table(TableRole::Source), &record.key) else { return };
        let newest = Newest::of(head, record.sequence, seconds);
        let change = Change { key: record.key, newest, seconds };
        match self.newest.get_mut(&key) {
            Some(known) if known.newest.sequence >= change.newest.sequence => {}
            Some(known) => *known = change,
            None => drop(self.newest.insert(key, change)),
        }
    }

    fn closed(&mut self, sender: &RequestSender, head: &RetrofitState, change: StreamedChange) {
        let StreamedChange { record, seconds } = change;
        let origin = sender.job().mapping().origin(&record.key);
        let key = origin.and_then(|key| SourceKey::of(sender.table(TableRole::Source), &key));
        if let Some(key) = key {
            self.signs.entry(key).or_default().push(Sign::of(&record));
        }
        // What is from before there were rows was carried over without one, by the former direction.
        if !Newest::of(head, record.sequence.clone(), seconds).may_lack_row {
            self.unexamined.push(record);
        }
    }
}
