//! The source's stream: shards that split, records with sequence numbers that rise.

use keyfold_core::retrofit::{ChangeKind, ChangeRecord, SequenceNumber};
use keyfold_core::value::Item;

use super::scenario::key;
use crate::generate::Random;

/// Splits go so deep.
const DEPTH_MAX: u32 = 3;

/// A record, the epoch of its stream, and the item it is of.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    /// The record.
    pub(super) record: ChangeRecord,
    /// The number of its job.
    pub(super) epoch: usize,
    /// The number of its source item.
    pub(super) number: usize,
    /// The turn in which it was written.
    pub(super) turn: u64,
    /// Was it dealt with, or given up, at least once?
    pub(super) dealt_with: bool,
}

/// What happens to an item.
pub(super) struct SourceChange<'i> {
    pub(super) number: usize,
    pub(super) turn: u64,
    pub(super) old: Option<&'i Item>,
    pub(super) new: Option<&'i Item>,
    /// Its time to live is over.
    pub(super) expired: bool,
}

/// A shard: the records of those keys whose digest ends in these bits.
#[derive(Debug, Clone)]
pub(super) struct Shard {
    parent: Option<usize>,
    depth: u32,
    bits: usize,
    closed: bool,
    /// Its records, by their places in the stream.
    pub(super) records: Vec<usize>,
    /// Up to where it was dealt with.
    pub(super) at: usize,
    /// An invocation has it.
    pub(super) busy: bool,
    /// How often the batch at this place has failed.
    pub(super) attempts: usize,
    /// The most records of the next batch, after a failure; and how many the failed one had.
    pub(super) halved: Option<(usize, usize)>,
    /// It stands still until this turn.
    pub(super) lags_until: u64,
}

/// The stream of one table.
#[derive(Debug, Clone)]
pub(super) struct SimulatedStream {
    /// Does it take changes down?
    pub(super) on: bool,
    /// Every record there ever was.
    pub(super) records: Vec<Delivered>,
    /// The shards of the stream that is on.
    pub(super) shards: Vec<Shard>,
    sequence: u64,
    epoch: usize,
}

impl SimulatedStream {
    /// A stream that is off.
    pub(super) fn new() -> SimulatedStream {
        SimulatedStream { on: false, records: Vec::new(), shards: Vec::new(), sequence: 0, epoch: 0 }
    }

    /// A new stream: its numbers are independent of the previous stream's.
    pub(super) fn begin(&mut self, random: &mut Random, epoch: usize) {
        self.on = true;
        self.epoch = epoch;
        // Near the powers of ten, where numbers get longer.
        self.sequence = *random.pick(&[1, 6, 92, 990]);
        self.shards = vec![Shard::new(None, 0, 0)];
    }

    /// Its records are of another epoch from now on.
    pub(super) fn goes_on_in(&mut self, before: usize, epoch: usize) {
        self.epoch = epoch;
        let own = self.records.iter_mut().filter(|record| record.epoch == before);
        own.for_each(|record| record.epoch = epoch);
    }

    /// Takes a change down, if it is one. `as_text` makes numbers that only a comparison of texts would order so.
    pub(super) fn push(&mut self, random: &mut Random, change: &SourceChange<'_>, as_text: bool) -> bool {
        if !self.on || change.old == change.new {
            return false;
        }
        self.sequence += random.between(1, 5) as u64;
        let digits = if as_text { format!("{:0<40}", self.sequence) } else { self.sequence.to_string() };
        let Ok(sequence) = SequenceNumber::parse(&digits) else { unreachable!("these are digits") };
        let kind = match (change.old, change.new) {
            (None, _) => ChangeKind::Insert,
            (_, None) => ChangeKind::Remove { expired: change.expired },
            _ => ChangeKind::Modify,
        };
        let number = change.number;
        let (old, new) = (change.old.cloned(), change.new.cloned());
        let record = ChangeRecord { sequence, key: key(number), kind, old, new };
        let takes = |shard: &Shard| !shard.closed && number & ((1 << shard.depth) - 1) == shard.bits;
        let Some(leaf) = self.shards.iter_mut().find(|shard| takes(shard)) else {
            unreachable!("the open shards have every key")
        };
        leaf.records.push(self.records.len());
        self.records.push(Delivered {
            record,
            epoch: self.epoch,
            number,
            turn: change.turn,
            dealt_with: false,
        });
        true
    }

    /// Splits an open shard, if there is one that may.
    pub(super) fn split(&mut self, random: &mut Random) -> bool {
        let open = |at: &usize| !self.shards[*at].closed && self.shards[*at].depth < DEPTH_MAX;
        let open: Vec<usize> = (0..self.shards.len()).filter(open).collect();
        let Some(&parent) = random.any(&open) else { return false };
        let (depth, bits) = (self.shards[parent].depth, self.shards[parent].bits);
        self.shards[parent].closed = true;
        self.shards.push(Shard::new(Some(parent), depth + 1, bits));
        self.shards.push(Shard::new(Some(parent), depth + 1, bits | (1 << depth)));
        true
    }

    /// The shards from which a batch can be taken.
    pub(super) fn ready(&self, turn: u64) -> impl Iterator<Item = usize> {
        let over = |at: usize| self.shards[at].at == self.shards[at].records.len() && !self.shards[at].busy;
        (0..self.shards.len()).filter(move |at| {
            let shard = &self.shards[*at];
            let waits = shard.busy || shard.at == shard.records.len() || shard.lags_until > turn;
            !waits && shard.parent.is_none_or(over)
        })
    }

    /// Is the newest record's number smaller than that of the record before?
    pub(super) fn is_inverted(&self) -> bool {
        let [.., before, last] = self.records.as_slice() else { return false };
        before.epoch == last.epoch && last.record.sequence < before.record.sequence
    }

    /// Was it switched off?
    pub(super) fn is_off(&self) -> bool {
        !self.on && !self.shards.is_empty()
    }

    /// Moves a shard on.
    pub(super) fn pass(&mut self, shard: usize, count: usize) {
        let shard = &mut self.shards[shard];
        let end = (shard.at + count).min(shard.records.len());
        for record in &shard.records[shard.at..end] {
            self.records[*record].dealt_with = true;
        }
        shard.at = end;
    }

    /// Since which turn is a record of this item, of those before this place, still to be dealt with for the first time?
    pub(super) fn under_way_since(&self, number: usize, before: usize) -> Option<u64> {
        let open = |at: &&usize| {
            **at < before && self.records[**at].number == number && !self.records[**at].dealt_with
        };
        let left = self.shards.iter().flat_map(|shard| shard.records[shard.at..].iter().filter(open));
        left.map(|at| self.records[*at].turn).min()
    }

    /// Has everything been dealt with?
    pub(super) fn is_drained(&self) -> bool {
        self.shards.iter().all(|shard| !shard.busy && shard.at == shard.records.len())
    }
}

impl Shard {
    fn new(parent: Option<usize>, depth: u32, bits: usize) -> Shard {
        Shard {
            parent,
            depth,
            bits,
            closed: false,
            records: Vec::new(),
            at: 0,
            busy: false,
            attempts: 0,
            halved: None,
            lags_until: 0,
        }
    }
}
