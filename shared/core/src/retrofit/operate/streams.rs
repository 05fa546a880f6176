//! A table's stream, read from its oldest record on, parents before their children.
//!
//! DynamoDB says of no open shard that one has reached its end: a page can be empty although more is there. So a round reads one page
//! of every shard, and an idle stream is only known by several empty rounds.
//!
//! Shards are listed when the reading begins, when a shard has ended, and before the last look: `DescribeStream` takes ten calls a second of
//! the whole account's readers. Calls have a rate of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::context::OperationContext;
use super::effect::{Effect, Reply, Shard, ShardPage, ShardPosition, StreamedChange};
use super::parts::PartStep;
use crate::retrofit::record::ChangeKind;
use crate::retrofit::request::TableRole;

/// The shortest time between two listings of shards.
const LISTING_MS: u64 = 250;
/// The same while the child of a shard that has ended is not listed yet.
const CHILD_MS: u64 = 1_000;
/// Shards that are read at once.
const READS_AT_ONCE: usize = 32;

#[derive(Debug, Clone, PartialEq, Default)]
struct ShardReading {
    parent: Option<String>,
    after: Option<String>,
    ended: bool,
    /// Was its newest record as young as the reading, or were its pages empty for long enough?
    is_caught_up: bool,
    /// Since when its pages are empty: one empty page says nothing, records can follow it.
    empty_since_ms: Option<u64>,
}

/// The listing of a stream's shards.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Listing {
    Done,
    FromStart,
    /// After the shard of this name.
    After(String),
}

/// A stream that is being read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StreamReading {
    table: TableRole,
    stream: String,
    shards: BTreeMap<String, ShardReading>,
    /// Shards that have a child.
    parents: BTreeSet<String>,
    listing: Listing,
    listed_ms: Option<u64>,
    /// Shards that are still to be read in this round, the last first.
    round: Vec<String>,
    /// Records of this round, without deletions by time to live.
    records: u64,
    /// A shard ended in this round.
    ended: bool,
    /// Records were read or shards listed in this round: it ends even if no shard is left to read.
    has_asked: bool,
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
            listing: Listing::FromStart,
            listed_ms: None,
            round: Vec::new(),
            records: 0,
            ended: false,
            has_asked: false,
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
        (self.records, self.ended, self.has_asked) = (0, false, false);
        // A parent that is not listed was trimmed after 24 hours: its child would wait for it for ever.
        let is_over = |name: &String| self.shards.get(name).is_none_or(|parent| parent.ended);
        // A child goes on from its parent. Read side by side, an item's newer record would be examined before an older one.
        let ready = |shard: &ShardReading| !shard.ended && shard.parent.as_ref().is_none_or(is_over);
        self.round =
            self.shards.iter().filter(|(_, shard)| ready(shard)).map(|(name, _)| name.clone()).collect();
    }

    /// The shards are listed once more in this round.
    pub(super) fn list_again(&mut self) {
        self.must_list();
    }

    fn must_list(&mut self) {
        // A listing in progress goes on. Restarted at each shard that ends, it would never reach the last page of a large stream.
        if self.listing == Listing::Done {
            self.listing = Listing::FromStart;
        }
    }

    /// Reads from the oldest record again.
    pub(super) fn rewind(&mut self) {
        self.shards.values_mut().for_each(|shard| {
            // The parent stays: a listing changes no shard that is known, so it would be lost for good.
            *shard = ShardReading { parent: shard.parent.take(), ..ShardReading::default() }
        });
        self.listing = Listing::FromStart;
    }

    /// Did this round bring nothing, and is no shard missing?
    pub(super) fn is_idle(&self) -> bool {
        // A shard that is not listed yet may have records: without the last condition the seals could come before them.
        self.records == 0 && !self.ended && self.listing == Listing::Done
    }

    /// Has every shard been read up to about the time at which the reading began?
    pub(super) fn is_caught_up(&self) -> bool {
        self.listing == Listing::Done && self.shards.values().all(|shard| shard.ended || shard.is_caught_up)
    }

    /// The records of the round that an application or the retrofit wrote.
    pub(super) fn records_read(&self) -> u64 {
        self.records
    }

    /// The next effect of the round; over when each shard had its page.
    pub(super) fn next(&self, context: &OperationContext) -> PartStep<()> {
        let after = match &self.listing {
            Listing::After(shard) => Some(shard.clone()),
            Listing::Done | Listing::FromStart => None,
        };
        if let Some(due) = self.listing_due() {
            if due <= context.now_ms {
                return PartStep::Ask(Effect::Shards {
                    table: self.table,
                    stream: self.stream.clone(),
                    after,
                });
            }
            // A listing goes on before anything is read; one for a missing child does not hold the round up, unless the round has
            // asked for nothing else.
            if self.shards.is_empty() || after.is_some() || (self.round.is_empty() && !self.has_asked) {
                return PartStep::Ask(Effect::Wait { until_ms: due });
            }
        }
        if self.round.is_empty() {
            return PartStep::Over(());
        }
        let from = self.round.iter().rev().take(READS_AT_ONCE);
        let position = |name: &String| ShardPosition {
            shard: name.clone(),
            after: self.shards.get(name).and_then(|shard| shard.after.clone()),
        };
        let (table, stream) = (self.table, self.stream.clone());
        PartStep::Ask(Effect::Records { table, stream, from: from.map(position).collect() })
    }

    /// When the next page of shards may be read; `None` if none is needed.
    fn listing_due(&self) -> Option<u64> {
        let pause = match self.listing {
            Listing::Done => return None,
            Listing::FromStart if self.lacks_child() => CHILD_MS,
            Listing::FromStart | Listing::After(_) => LISTING_MS,
        };
        Some(self.listed_ms.map_or(0, |listed| listed + pause))
    }

    /// A shard has ended, and what goes on from it is not known.
    fn lacks_child(&self) -> bool {
        self.shards.iter().any(|(name, shard)| shard.ended && !self.parents.contains(name))
    }

    /// Takes a page of shards or of records; the records go to `seen`.
    pub(super) fn take(
        &mut self,
        context: &mut OperationContext,
        reply: Reply,
        seen: &mut impl FnMut(StreamedChange),
    ) {
        match reply {
            Reply::Done => {}
            Reply::Shards { shards, last } => self.listed(context, shards, last),
            Reply::Records(pages) => {
                self.has_asked = true;
                let at = self.round.len() - pages.len().min(self.round.len());
                let names = self.round.split_off(at);
                // The last of the round was asked first.
                for (name, page) in names.into_iter().rev().zip(pages) {
                    match page {
                        Ok(page) => self.page(context, &name, page, seen),
                        Err(failure) => {
                            // The shard stays in the round: a page that failed would count as an empty one, and the stream as idle.
                            self.round.push(name);
                            context.failure.get_or_insert(failure);
                        }
                    }
                }
            }
            reply => unreachable!("{reply:?} does not answer the reading of a stream"),
        }
    }

    fn listed(&mut self, context: &OperationContext, shards: Vec<Shard>, last: Option<String>) {
        self.listed_ms = Some(context.now_ms);
        for Shard { name, parent } in shards {
            self.parents.extend(parent.clone());
            // A shard that is known keeps its place: replaced, it would be read from its oldest record again.
            self.shards.entry(name).or_insert_with(|| ShardReading { parent, ..ShardReading::default() });
        }
        self.listing = match last {
            Some(last) => Listing::After(last),
            None if self.lacks_child() => Listing::FromStart,
            None => Listing::Done,
        };
        // Not before the last page of the listing: a parent on a later page would be read after its child.
        if !matches!(self.listing, Listing::After(_)) {
            self.restart_round();
            self.has_asked = true;
        }
    }

    /// Shards that were not read in this round, as they were not known.
    fn restart_round(&mut self) {
        // The counts stay: a round that read records and listed shards after them would look idle.
        let (records, ended) = (self.records, self.ended);
        self.begin_round();
        (self.records, self.ended) = (records, ended);
    }

    fn page(
        &mut self,
        context: &OperationContext,
        name: &str,
        page: ShardPage,
        seen: &mut impl FnMut(StreamedChange),
    ) {
        let ShardPage { changes, last, ended } = page;
        // Time to live goes on during a stop: its deletions do not show that an application writes.
        let expired =
            |change: &&StreamedChange| matches!(change.record.kind, ChangeKind::Remove { expired: true });
        self.records += changes.iter().filter(|change| !expired(change)).count() as u64;
        let Some(shard) = self.shards.get_mut(name) else { return };
        match changes.last() {
            Some(newest) => {
                shard.empty_since_ms = None;
                shard.is_caught_up |= newest.seconds >= self.begun_seconds;
            }
            None => {
                let since = *shard.empty_since_ms.get_or_insert(context.now_ms);
                shard.is_caught_up |= context.now_ms >= since + context.limits.quiet_ms;
            }
        }
        // An empty page has no last record: without the former place the shard would be read from its oldest record again.
        shard.after = last.or(shard.after.take());
        shard.ended = ended;
        if ended {
            // Its children are read in the next round.
            self.ended = true;
            // Records of a child that is not listed yet would be missed: the round is not idle before it is.
            if !self.parents.contains(name) {
                self.must_list();
            }
        }
        changes.into_iter().for_each(seen);
    }
}
