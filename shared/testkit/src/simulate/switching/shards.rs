//! Shards of the streams: they split, are listed late, and their pages can be empty although more is there.

use keyfold_core::retrofit::control::{Direction, Phase};
use keyfold_core::retrofit::operate::{
    Failure, FailureKind, Reply, Shard, ShardPage, ShardPosition, StreamedChange,
};

use super::super::mutant::Mutant;
use super::scene::{index, other};
use super::world::{Published, SimulatedShard, World, failure};

/// Shards of a page.
const LISTED_MAX: usize = 3;
/// The largest delay until readers see that a disabled stream has ended, in turns.
const ENDED_TURNS_MAX: usize = 100;
/// The largest delay until new shards are listed, in turns.
const LISTED_TURNS_MAX: usize = 6;

impl World {
    /// The open shard that has a key's records.
    pub(super) fn shard_of(&self, at: usize, place: usize) -> usize {
        let has = |shard: &SimulatedShard| !shard.closed && shard.numbers.contains(&place);
        self.shards[at].iter().rposition(has).unwrap_or(0)
    }

    /// This shard, and those that it goes on from.
    pub(super) fn lineage(&self, at: usize, shard: usize) -> Vec<usize> {
        std::iter::successors(Some(shard), |shard| self.shards[at][*shard].parent).collect()
    }

    /// A shard ends, and one or two go on.
    pub(super) fn split_a_shard(&mut self) {
        let at = if self.is_filling() { 0 } else { self.random.below(2) };
        let open: Vec<usize> = self
            .shards_of(at, self.stream_count(at))
            .filter(|shard| !self.shards[at][*shard].closed)
            .collect();
        let Some(&shard) = self.random.any(&open) else { return };
        self.shards[at][shard].closed = true;
        let numbers = self.shards[at][shard].numbers.clone();
        let cut = self.random.below(numbers.len() + 1);
        let listed_at = self.turns + self.random.below(LISTED_TURNS_MAX) as u64;
        let halves = [&numbers[..cut], &numbers[cut..]];
        for half in halves.into_iter().filter(|half| !half.is_empty()) {
            let (parent, numbers) = (Some(shard), half.to_vec());
            self.shards[at].push(SimulatedShard { parent, numbers, closed: false, ended_at: 0, listed_at });
        }
    }

    /// The shards of a table's stream, which is its first, second and so on.
    pub(super) fn shards_of(&self, at: usize, stream: usize) -> std::ops::Range<usize> {
        let begins = &self.shard_begins[at];
        begins[stream - 1]..begins.get(stream).copied().unwrap_or(self.shards[at].len())
    }

    /// Ends a stream that was disabled. Readers see that later.
    pub(super) fn end_stream(&mut self, at: usize) {
        let shards = self.shards_of(at, self.stream_count(at));
        let ended_at = self.turns + self.random.below(ENDED_TURNS_MAX) as u64;
        for shard in self.shards[at][shards].iter_mut().filter(|shard| !shard.closed) {
            (shard.closed, shard.ended_at) = (true, ended_at);
        }
    }

    pub(super) fn list_shards(
        &mut self,
        side: Direction,
        stream: &str,
        after: Option<&str>,
    ) -> Result<Reply, Failure> {
        let at = index(side);
        // A disabled stream can still be read.
        let is_now = stream == self.stream_name(side);
        let number = if is_now { Some(self.stream_count(at)) } else { stream[1..].parse().ok() };
        let Some(number) = number.filter(|number| *number <= self.stream_count(at)) else {
            return Err(failure(FailureKind::Gone, "stream-not-found"));
        };
        let shards = self.shards_of(at, number);
        let from = after.and_then(|name| name.parse::<usize>().ok()).map_or(shards.start, |after| after + 1);
        let listed = |shard: &usize| self.shards[at][*shard].listed_at <= self.turns;
        let all: Vec<usize> = (from..shards.end).filter(listed).collect();
        let page = &all[..all.len().min(LISTED_MAX)];
        let last = (all.len() > page.len()).then(|| page.last().map(ToString::to_string)).flatten();
        self.note(|| {
            format!("an operator lists shards of {stream} after {after:?}: {page:?}, then {last:?}")
        });
        let shard = |name: &usize| Shard {
            name: name.to_string(),
            parent: self.shards[at][*name].parent.map(|parent| parent.to_string()),
        };
        Ok(Reply::Shards { shards: page.iter().map(shard).collect(), last })
    }

    pub(super) fn read_shard(
        &mut self,
        at: usize,
        side: Direction,
        position: &ShardPosition,
    ) -> Result<ShardPage, Failure> {
        if self.faults.throttles && self.random.chance(2) {
            return Err(failure(FailureKind::Passing, "throttled"));
        }
        let Ok(shard) = position.shard.parse::<usize>() else { unreachable!("shards have numbers here") };
        let after = position.after.as_ref().and_then(|after| after.parse::<usize>().ok());
        let first = after.map_or(0, |after| after + 1);
        let name = format!("{side:?} {shard}");
        if self.sees_nothing(at, side) {
            self.operators[at].reads.insert(name, self.turns);
            return Ok(ShardPage::default());
        }
        let stream = &self.streams[index(side)];
        let of_shard = |record: &usize| stream[*record].shard == shard;
        let all: Vec<usize> = (first..stream.len()).filter(of_shard).collect();
        let differs =
            |record: &usize| self.is_seen(side, *record) != (stream[*record].visible_at <= self.turns);
        let weakened = self.mutant.is_some() && all.iter().any(differs);
        let skips = matches!(self.mutant, Some(Mutant::OwnUnseen | Mutant::LateUnseen));
        // A weakened operator sees a record that is behind one that is not published yet.
        let in_shard = all.len();
        let all: Vec<usize> =
            all.into_iter().filter(|record| !skips || self.is_seen(side, *record)).collect();
        let seen = all.iter().take_while(|record| self.is_seen(side, **record)).count();
        self.bites += u64::from(weakened);
        let (all, seen) = (all[..seen].to_vec(), seen == in_shard);
        let is_empty = self.faults.empty_pages && self.random.chance(20);
        let most = if is_empty { 0 } else { self.random.between(1, 4) };
        let page: Vec<usize> = all.iter().copied().take(most).collect();
        // The time counts only for a page that leaves no record unread.
        let read = if page.len() == all.len() { self.turns } else { 0 };
        let known = self.operators[at].reads.entry(name.clone()).or_default();
        *known = read.max(*known);
        let SimulatedShard { closed, ended_at, .. } = self.shards[index(side)][shard];
        let ended = closed && ended_at <= self.turns && seen && page.len() == all.len();
        if ended {
            self.operators[at].reads.remove(&name);
        }
        self.note(|| format!("operator {at} reads {name}: {page:?}{}", if ended { ", its end" } else { "" }));
        let change = |record: &usize| StreamedChange {
            record: (*self.streams[index(side)][*record].record).clone(),
            seconds: self.streams[index(side)][*record].written_at,
        };
        Ok(ShardPage {
            changes: page.iter().map(change).collect(),
            last: page.last().map(ToString::to_string),
            ended,
        })
    }

    /// Is a record in the stream, as an operator sees it?
    fn is_seen(&self, side: Direction, record: usize) -> bool {
        let published = &self.streams[index(side)][record];
        let is_open = self.head.phase.direction() == Some(side);
        let visible = published.visible_at <= self.turns && !(is_open && self.is_too_young(side, record));
        let closed = self.head.phase.direction() != Some(side);
        let own = !self.leaked.contains(&(index(side), record));
        match self.mutant {
            Some(Mutant::OwnUnseen) => visible || (closed && own),
            Some(Mutant::LateUnseen) => {
                let since = self.head.turned_at.unwrap_or(0);
                let named =
                    |record: &Published| record.number == published.number && record.written_at >= since;
                visible || (closed && own && !self.told(other(side)).any(|(_, record)| named(record)))
            }
            _ => visible,
        }
    }

    /// Does a weakened operator skip this shard?
    fn sees_nothing(&mut self, at: usize, side: Direction) -> bool {
        let open = self.head.phase.direction() == Some(side);
        let stop = self.head.phase.is_stop() && self.operators[at].switches;
        let blind = match self.mutant {
            Some(Mutant::NotDrained) => stop && open,
            Some(Mutant::SecondLookSkipped) => self.operators[at].stale.is_some(),
            _ => false,
        };
        let blind = blind && self.head.phase != Phase::Tidy;
        self.bites += u64::from(blind);
        blind
    }
}
