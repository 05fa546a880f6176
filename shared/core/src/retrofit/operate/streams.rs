//! A table's stream, read from its oldest record on, parents before their children.
//!
//! DynamoDB says of no open shard that one has reached its end: a page can be empty although more is there. So a round reads one page
//! of every shard, and who needs to know that nothing is missing waits until rounds have brought nothing for a while.
//!
//! Shards are listed when the reading begins, when a shard has ended, and before the last look: `DescribeStream` takes ten calls a second of
//! the whole account's readers. Calls have a rate of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::{Effect, Reply, Shard, ShardPage, ShardPosition, StreamedChange};
use super::known::Known;
use super::parts::Turn;
use crate::retrofit::record::ChangeKind;
use crate::retrofit::request::TableRole;

/// The shortest time between two listings of shards.
const LISTING_MS: u64 = 250;
/// The same while the child of a shard that has ended is not listed yet.
const CHILD_MS: u64 = 1_000;
/// Shards that are read at once.
const READS_AT_ONCE: usize = 32;

#[derive(Debug, Clone, PartialEq, Default)]
struct KnownShard {
    parent: Option<String>,
    after: Option<String>,
    ended: bool,
    /// Was its newest record as young as the reading, or were its pages empty for long enough?
    reached_now: bool,
    /// Since when its pages are empty: one empty page says nothing, records can follow it.
    empty_since_ms: Option<u64>,
}

/// A stream that is being read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StreamReading {
    table: TableRole,
    stream: String,
    shards: BTreeMap<String, KnownShard>,
    /// Shards that have a child.
    parents: BTreeSet<String>,
    /// Must the shards be listed? With the shard that the next page begins after.
    listing: Option<Option<String>>,
    listed_ms: Option<u64>,
    /// Shards that are still to be read in this round, the last first.
    round: Vec<String>,
    /// Records of this round, without deletions by time to live.
    came: u64,
    /// A shard ended in this round.
    ended: bool,
    /// A page was read in this round.
    has_read: bool,
    /// The second at which the reading began.
    begun_seconds: u64,
}

impl StreamReading {
    pub(super) fn of(table: TableRole, stream: &str, now_seconds: u64) -> StreamReading {
        StreamReading {
            table,
            stream: stream.to_owned(),
            shards: BTreeMap::new(),
            parents: BTreeSet::new(),
            listing: Some(None),
            listed_ms: None,
            round: Vec::new(),
            came: 0,
            ended: false,
            has_read: false,
            begun_seconds: now_seconds,
        }
    }

    /// The table whose stream it is.
    pub(super) fn table(&self) -> TableRole {
        self.table
    }

    pub(super) fn stream(&self) -> &str {
        &self.stream
    }

    /// Begins a round: one page of each shard whose turn it is.
    pub(super) fn begin_round(&mut self) {
        (self.came, self.ended, self.has_read) = (0, false, false);
        let is_over = |name: &String| self.shards.get(name).is_none_or(|parent| parent.ended);
        let ready = |shard: &KnownShard| !shard.ended && shard.parent.as_ref().is_none_or(is_over);
        self.round =
            self.shards.iter().filter(|(_, shard)| ready(shard)).map(|(name, _)| name.clone()).collect();
    }

    /// The shards are listed once more in this round.
    pub(super) fn list_again(&mut self) {
        self.listing.get_or_insert(None);
    }

    /// Reads from the oldest record again.
    pub(super) fn rewind(&mut self) {
        self.shards
            .values_mut()
            .for_each(|shard| *shard = KnownShard { parent: shard.parent.take(), ..KnownShard::default() });
        self.listing = Some(None);
    }

    /// Did this round bring nothing, and is no shard missing?
    pub(super) fn is_quiet(&self) -> bool {
        self.came == 0 && !self.ended && self.listing.is_none()
    }

    /// Has every shard been read up to about the time at which the reading began?
    pub(super) fn has_reached_now(&self) -> bool {
        self.listing.is_none() && self.shards.values().all(|shard| shard.ended || shard.reached_now)
    }

    /// The records of the round that an application or the retrofit wrote.
    pub(super) fn came(&self) -> u64 {
        self.came
    }

    /// What the round wants next; over when each shard had its page.
    pub(super) fn next(&self, known: &Known) -> Turn<()> {
        if let Some(after) = &self.listing
            && let Some(due) = self.listing_due()
        {
            if due <= known.now_ms {
                let (table, stream, after) = (self.table, self.stream.clone(), after.clone());
                return Turn::Ask(Effect::Shards { table, stream, after });
            }
            // A listing goes on before anything is read; one for a missing child does not hold the round up, unless the round has
            // nothing else to read.
            if self.shards.is_empty() || after.is_some() || (self.round.is_empty() && !self.has_read) {
                return Turn::Ask(Effect::Wait { until_ms: due });
            }
        }
        if self.round.is_empty() {
            return Turn::Over(());
        }
        let from = self.round.iter().rev().take(READS_AT_ONCE);
        let position = |name: &String| ShardPosition {
            shard: name.clone(),
            after: self.shards.get(name).and_then(|shard| shard.after.clone()),
        };
        let (table, stream) = (self.table, self.stream.clone());
        Turn::Ask(Effect::Records { table, stream, from: from.map(position).collect() })
    }

    fn listing_due(&self) -> Option<u64> {
        let Some(listed) = self.listed_ms else { return Some(0) };
        let waits_for_child = self.listing == Some(None) && self.lacks_child();
        Some(listed + if waits_for_child { CHILD_MS } else { LISTING_MS })
    }

    /// A shard has ended, and what goes on from it is not known.
    fn lacks_child(&self) -> bool {
        self.shards.iter().any(|(name, shard)| shard.ended && !self.parents.contains(name))
    }

    /// Takes a page of shards or of records; the records go to `seen`.
    pub(super) fn take(&mut self, known: &mut Known, reply: Reply, seen: &mut impl FnMut(StreamedChange)) {
        match reply {
            Reply::Done => {}
            Reply::Shards { shards, last } => self.listed(known, shards, last),
            Reply::Records(pages) => {
                self.has_read = true;
                let at = self.round.len() - pages.len().min(self.round.len());
                let names = self.round.split_off(at);
                // The last of the round was asked first.
                for (name, page) in names.into_iter().rev().zip(pages) {
                    match page {
                        Ok(page) => self.page(known, &name, page, seen),
                        Err(failure) => {
                            self.round.push(name);
                            known.failure.get_or_insert(failure);
                        }
                    }
                }
            }
            reply => unreachable!("{reply:?} does not answer the reading of a stream"),
        }
    }

    fn listed(&mut self, known: &Known, shards: Vec<Shard>, last: Option<String>) {
        self.listed_ms = Some(known.now_ms);
        for Shard { name, parent } in shards {
            self.parents.extend(parent.clone());
            self.shards.entry(name).or_insert_with(|| KnownShard { parent, ..KnownShard::default() });
        }
        self.listing = match last {
            Some(last) => Some(Some(last)),
            None if self.lacks_child() => Some(None),
            None => None,
        };
        if self.listing.is_none() || self.listing == Some(None) {
            self.begin_round_of_new();
        }
    }

    /// Shards that were not read in this round, as they were not known.
    fn begin_round_of_new(&mut self) {
        let (came, ended) = (self.came, self.ended);
        self.begin_round();
        (self.came, self.ended) = (came, ended);
    }

    fn page(&mut self, known: &Known, name: &str, page: ShardPage, seen: &mut impl FnMut(StreamedChange)) {
        let ShardPage { changes, last, ended } = page;
        // Time to live goes on during a stop: its deletions do not show that somebody writes.
        let expired =
            |change: &&StreamedChange| matches!(change.record.kind, ChangeKind::Remove { expired: true });
        self.came += changes.iter().filter(|change| !expired(change)).count() as u64;
        let Some(shard) = self.shards.get_mut(name) else { return };
        match changes.last() {
            Some(newest) => {
                shard.empty_since_ms = None;
                shard.reached_now |= newest.seconds >= self.begun_seconds;
            }
            None => {
                let since = *shard.empty_since_ms.get_or_insert(known.now_ms);
                shard.reached_now |= known.now_ms >= since + known.limits.quiet_ms;
            }
        }
        shard.after = last.or(shard.after.take());
        shard.ended = ended;
        if ended {
            // Its children are read in the next round.
            self.ended = true;
            if !self.parents.contains(name) {
                self.listing.get_or_insert(None);
            }
        }
        changes.into_iter().for_each(seen);
    }
}
