//! The source's stream: shards that split, records with sequence numbers that rise.

use keyfold_core::retrofit::{ChangeKind, ChangeRecord, SequenceNumber};
use keyfold_core::value::Item;

use crate::generate::Random;

/// Splits go so deep.
const DEPTH_MAX: u32 = 3;

/// A record, and the epoch of its stream.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    /// The record.
    pub(super) record: ChangeRecord,
    /// The number of its job.
    pub(super) epoch: usize,
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
}

/// The stream of one table.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    /// Does it take changes down?
    pub(super) on: bool,
    /// Every record there ever was.
    pub(super) records: Vec<Delivered>,
    /// The shards of the stream that is on.
    pub(super) shards: Vec<Shard>,
    sequence: u64,
    epoch: usize,
}

impl Stream {
    /// A stream that is off.
    pub(super) fn new() -> Stream {
        Stream { on: false, records: Vec::new(), shards: Vec::new(), sequence: 0, epoch: 0 }
    }

    /// A new stream: its numbers have nothing to do with those of the one before.
    pub(super) fn begin(&mut self, random: &mut Random, epoch: usize) {
        self.on = true;
        self.epoch = epoch;
        // Near the powers of ten, where numbers get longer.
        self.sequence = *random.pick(&[1, 6, 92, 990]);
        self.shards = vec![Shard::new(None, 0, 0)];
    }

    /// Takes a change down, if it is one.
    pub(super) fn push(
        &mut self,
        random: &mut Random,
        key: &Item,
        old: Option<&Item>,
        new: Option<&Item>,
        expired: bool,
        as_text: bool,
    ) {
        if !self.on || old == new {
            return;
        }
        self.sequence += random.between(1, 5) as u64;
        let digits = if as_text { format!("{:0<40}", self.sequence) } else { self.sequence.to_string() };
        let Ok(sequence) = SequenceNumber::parse(&digits) else { unreachable!("these are digits") };
        let kind = match (old, new) {
            (None, _) => ChangeKind::Insert,
            (_, None) => ChangeKind::Remove { expired },
            _ => ChangeKind::Modify,
        };
        let record = ChangeRecord { sequence, key: key.clone(), kind, old: old.cloned(), new: new.cloned() };
        let number = number_of(key);
        let takes = |shard: &Shard| !shard.closed && number & ((1 << shard.depth) - 1) == shard.bits;
        let Some(leaf) = self.shards.iter_mut().find(|shard| takes(shard)) else {
            unreachable!("the open shards have every key")
        };
        leaf.records.push(self.records.len());
        self.records.push(Delivered { record, epoch: self.epoch });
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
    pub(super) fn ready(&self) -> Vec<usize> {
        let over = |at: usize| self.shards[at].at == self.shards[at].records.len() && !self.shards[at].busy;
        let ready = |at: &usize| {
            let shard = &self.shards[*at];
            !shard.busy && shard.at < shard.records.len() && shard.parent.is_none_or(over)
        };
        (0..self.shards.len()).filter(ready).collect()
    }

    /// Has everything been dealt with?
    pub(super) fn is_drained(&self) -> bool {
        self.shards.iter().all(|shard| !shard.busy && shard.at == shard.records.len())
    }
}

impl Shard {
    fn new(parent: Option<usize>, depth: u32, bits: usize) -> Shard {
        Shard { parent, depth, bits, closed: false, records: Vec::new(), at: 0, busy: false, attempts: 0 }
    }
}

/// The number of a source key.
pub(super) fn number_of(key: &Item) -> usize {
    match key.get("id") {
        Some(keyfold_core::value::AttributeValue::S(id)) => id[1..].parse().unwrap_or(0),
        _ => 0,
    }
}
