//! Disturbances while a target is filled: repeated records, pauses, other programs.

use keyfold_core::retrofit::control::{Direction, Phase};

use super::super::fault::Fault;
use super::super::scenario::{Flaw, item, key, text};
use super::super::work::TaskOrigin;
use super::scene::KEYS;
use super::work::Errand;
use super::world::World;

/// The most turns that a shard stands still.
const LAG_TURNS: usize = 60;
/// The most streams that one history follows, one after the other.
const STREAMS_MAX: usize = 3;

impl World {
    /// Something that can happen only while writers write, or anything else.
    pub(super) fn disturb(&mut self) {
        let (off, unfollowed) = (self.fill().off, self.fill().unfollowed);
        match self.random.below(12) {
            0 if self.is_on(Fault::Split) && !off => {
                self.hit(Fault::Split);
                self.split_a_shard();
            }
            1 if off && !unfollowed => self.enable_stream(),
            1 if !off && self.is_on(Fault::Reenable) && self.stream_count(0) < STREAMS_MAX => {
                self.hit(Fault::Reenable);
                self.note(|| "the stream is disabled".to_owned());
                self.fill_mut().off = true;
            }
            2 if self.is_on(Fault::Foreign) && !self.is_in_place() => self.foreign_item(),
            3 if self.is_on(Fault::Lag) && !off => {
                self.hit(Fault::Lag);
                let shard = *self.random.pick(&self.shards_of(0, self.stream_count(0)).collect::<Vec<_>>());
                let until = self.turns + self.random.between(5, LAG_TURNS) as u64;
                self.note(|| format!("shard {shard} stands still"));
                self.fill_mut().shard(shard).lags_until = until;
            }
            _ => self.disturb_quietly(),
        }
    }

    /// Something that can happen at any time.
    pub(super) fn disturb_quietly(&mut self) {
        match self.random.below(10) {
            0..3 if self.is_on(Fault::Duplicate) => self.redeliver(),
            3 if self.is_on(Fault::Redrive) => self.redrive(),
            4 | 5 if self.is_on(Fault::Repair) => {
                self.hit(Fault::Repair);
                // Of an item that changes just now, or of any.
                let newest = self.streams[0].last().filter(|_| self.random.chance(70));
                let number = newest.map(|newest| newest.number);
                let number = number.unwrap_or_else(|| self.random.below(KEYS));
                let other = self.strikes(Fault::Versions, 20);
                if self.is_open(other) {
                    let job = self.job(other);
                    self.start(job.repair(&key(number)), Errand::by(job, TaskOrigin::Repair));
                }
            }
            6 if self.is_on(Fault::Release) => self.release_one(),
            8 => self.begin_throttling(),
            _ => {}
        }
    }

    /// An old record comes once more: only one that was dealt with before.
    pub(super) fn redeliver(&mut self) {
        let again = self.told(Direction::Forward).filter(|(_, record)| record.dealt_with).map(|(at, _)| at);
        // A limit: what was given up for good must not come again.
        let again: Vec<usize> = again.filter(|at| !self.fill().gone.contains(at)).collect();
        if let Some(&at) = self.random.any(&again).filter(|_| self.is_followed(Direction::Forward)) {
            self.hit(Fault::Duplicate);
            self.invoke(None, vec![at], false);
        }
    }

    /// A shard is read again from an older place: records that were dealt with come once more, in their order.
    fn redrive(&mut self) {
        let shards: Vec<usize> = self.shards_of(0, self.stream_count(0)).collect();
        let shard = *self.random.pick(&shards);
        let comes = |at: &usize| self.streams[0][*at].dealt_with && !self.fill().gone.contains(at);
        let of_shard = |at: &usize| self.streams[0][*at].shard == shard && comes(at);
        let mut again: Vec<usize> = (0..self.streams[0].len()).filter(of_shard).collect();
        again.drain(..self.random.below(again.len() + 1));
        if !self.fill_mut().shard(shard).busy && !again.is_empty() {
            self.hit(Fault::Redrive);
            self.note(|| format!("shard {shard} is read again from record {}", again[0]));
            again.iter().for_each(|at| self.streams[0][*at].dealt_with = false);
            self.fill_mut().read_again.extend(again);
        }
    }

    fn release_one(&mut self) {
        let Some(entry) = self.entries().into_iter().next() else { return };
        if !self.is_open(false) {
            return;
        }
        self.hit(Fault::Release);
        let job = self.job(false);
        if let Some(task) = job.release(&entry) {
            self.start(task, Errand::by(job, TaskOrigin::Repair));
        }
    }

    /// Another program puts an item at a possible target key, or deletes it again.
    pub(super) fn foreign_item(&mut self) {
        if !self.fill().foreign.is_empty() && self.random.chance(60) {
            let gone = self.fill_mut().foreign.remove(0);
            self.note(|| "another program's item goes".to_owned());
            self.set(Direction::Reverse, &gone, None);
            return;
        }
        let number = self.random.below(KEYS);
        let collides = self.is_on(Fault::Collision);
        let made = item(&mut self.random, number, Flaw::None, collides);
        let Ok(Some(mut mapped)) = self.mapping_now().target_item(&made) else { return };
        if self.at(Direction::Reverse, &mapped).is_some() {
            return;
        }
        mapped.insert("foreign".to_owned(), text("yes"));
        self.hit(Fault::Foreign);
        self.note(|| format!("another program's item is at a target place of k{number}"));
        self.fill_mut().obstructed[number] = true;
        self.fill_mut().foreign.push(mapped.clone());
        self.set(Direction::Reverse, &mapped.clone(), Some(mapped));
    }

    /// The table has another stream. Records that the former one had not delivered are lost.
    pub(super) fn enable_stream(&mut self) {
        self.fill_mut().off = false;
        self.replace_stream(Direction::Forward);
    }

    /// Once: a second restart is as the first.
    pub(super) fn may_abandon(&self) -> bool {
        !self.is_in_place() && !self.fill().off && !self.fill().restarted && self.head.phase == Phase::Running
    }
}
