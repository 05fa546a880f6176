//! The state of one history: tables, stream, and everything under way. Here requests are carried out.

use std::collections::BTreeMap;

use keyfold_core::model::Table;
use keyfold_core::retrofit::{Action, Job, Outcome, Place, Request, Seen, Write};
use keyfold_core::value::Item;

use super::fault::{Fault, Faults};
use super::mutant::{Mutant, weakened};
use super::scene::{REFUSED, Scene, text};
use super::store::{Store, key_in};
use super::stream::Stream;
use super::work::{Invocation, Kind, Late, Run, Work, line, writes};
use crate::generate::Random;

/// How many older states of the source an eventually consistent scan can still see.
const STALE_MAX: usize = 3;

/// A history under way.
pub(super) struct World<'s> {
    /// The retrofit.
    pub(super) scene: &'s Scene,
    /// All choices.
    pub(super) random: Random,
    /// What goes wrong.
    pub(super) faults: Faults,
    /// How the protocol is weakened.
    pub(super) mutant: Option<Mutant>,
    /// The source's table, and in place the target's.
    pub(super) source: Store,
    /// Older states of it, the newest last; only kept for a weakened scan.
    pub(super) stale: Vec<Store>,
    /// The target's table.
    pub(super) target: Store,
    /// The control table.
    pub(super) control: Store,
    /// The source's stream.
    pub(super) stream: Stream,
    /// Which job is at work.
    pub(super) epoch: usize,
    /// How many source keys there are.
    pub(super) keys: usize,
    /// Tasks under way.
    pub(super) works: Vec<Work>,
    /// Batches under way.
    pub(super) invocations: BTreeMap<u64, Invocation>,
    /// Segments under way.
    pub(super) runs: BTreeMap<u64, Run>,
    /// Requests whose senders have gone.
    pub(super) late: Vec<Late>,
    /// Records given up, whose note is not yet made.
    pub(super) notes: Vec<usize>,
    /// Records given up, by a protocol that replays them.
    pub(super) given_up: Vec<usize>,
    /// The next number of an invocation or a run.
    pub(super) next_id: u64,
    /// What happened, if anybody wants to know.
    pub(super) trace: Option<Vec<String>>,
}

impl<'s> World<'s> {
    /// Nothing has happened yet.
    pub(super) fn new(scene: &'s Scene, seed: u64, mutant: Option<Mutant>, trace: bool) -> World<'s> {
        let mut random = Random::new(seed);
        let faults = Faults::drawn(&mut random);
        let keys = random.between(2, super::scene::KEYS_MAX);
        World {
            scene,
            random,
            faults,
            mutant,
            source: Store::default(),
            stale: Vec::new(),
            target: Store::default(),
            control: Store::default(),
            stream: Stream::new(),
            epoch: 0,
            keys,
            works: Vec::new(),
            invocations: BTreeMap::new(),
            runs: BTreeMap::new(),
            late: Vec::new(),
            notes: Vec::new(),
            given_up: Vec::new(),
            next_id: 0,
            trace: trace.then(Vec::new),
        }
    }

    /// The job at work.
    pub(super) fn job(&self) -> &'s Job {
        self.job_of(self.epoch)
    }

    /// The job of this epoch.
    pub(super) fn job_of(&self, epoch: usize) -> &'s Job {
        let epoch = if self.mutant == Some(Mutant::EpochIgnored) { 0 } else { epoch };
        &self.scene.jobs[epoch]
    }

    /// Is the protocol weakened in this way?
    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// A number for an invocation or a run.
    pub(super) fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Takes a line down.
    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// The model and the items of a table.
    pub(super) fn table(&self, place: Place) -> (&'s Table, &Store) {
        let mapping = self.scene.mapping();
        match place {
            Place::Source => (mapping.source(), &self.source),
            Place::Target if self.scene.is_in_place() => (mapping.source(), &self.source),
            Place::Target => (mapping.target(), &self.target),
            Place::Control => (&self.scene.control, &self.control),
        }
    }

    /// The item with this key.
    pub(super) fn get(&self, place: Place, key: &Item) -> Option<&Item> {
        let (table, store) = self.table(place);
        store.get(table, key)
    }

    /// Changes a table; the source's stream takes it down.
    pub(super) fn set(&mut self, place: Place, key: &Item, item: Option<Item>, expired: bool) {
        let mapping = self.scene.mapping();
        match place {
            Place::Control => self.control.set(&self.scene.control, key, item),
            Place::Target if !self.scene.is_in_place() => self.target.set(mapping.target(), key, item),
            Place::Source | Place::Target => {
                let table = mapping.source();
                if self.has(Mutant::EventualScan) {
                    self.stale.push(self.source.clone());
                    if self.stale.len() > STALE_MAX {
                        self.stale.remove(0);
                    }
                }
                let old = self.source.get(table, key);
                let as_text = self.mutant == Some(Mutant::TextSequence);
                let Some(key) = table.key_of(key) else { unreachable!("whoever writes checks the key") };
                self.stream.push(&mut self.random, &key, old, item.as_ref(), expired, as_text);
                self.source.set(table, &key, item);
            }
        }
    }

    /// Carries a request out.
    pub(super) fn send(&mut self, request: &Request, kind: Kind) -> Outcome {
        let outcome = match request {
            Request::Get { place, key } => return Outcome::Got(self.get(*place, key).cloned()),
            Request::Write(write) => self.write(write, kind),
            Request::Transact(writes) => self.transact(writes, kind),
        };
        self.note(|| format!("    {kind:?} {} -> {}", line(request), outcome_name(&outcome)));
        outcome
    }

    fn write(&mut self, write: &Write, kind: Kind) -> Outcome {
        let Some(write) = self.weaken(write, kind) else { return Outcome::Written };
        if self.is_refused(&write) {
            return Outcome::Rejected("refused-by-table".to_owned());
        }
        if self.holds(&write) {
            self.apply(&write);
            return Outcome::Written;
        }
        // The response may or may not carry the item that was met.
        let there = self.get(write.place, key_in(&write.action)).cloned();
        Outcome::Refused(match (self.random.chance(50), there) {
            (true, _) => Seen::Unknown,
            (false, None) => Seen::Nothing,
            (false, Some(item)) => Seen::Item(Box::new(item)),
        })
    }

    fn transact(&mut self, sent: &[Write], kind: Kind) -> Outcome {
        let weak: Vec<Option<Write>> = sent.iter().map(|write| self.weaken(write, kind)).collect();
        if weak.iter().flatten().any(|write| self.is_refused(write)) {
            return Outcome::Rejected("refused-by-table".to_owned());
        }
        let held: Vec<bool> =
            weak.iter().map(|write| write.as_ref().is_none_or(|write| self.holds(write))).collect();
        let all = held.iter().all(|held| *held);
        for (write, held) in weak.iter().zip(&held) {
            if let (Some(write), true) = (write, all || (self.has(Mutant::NotAtomic) && *held)) {
                self.apply(write);
            }
        }
        if all { Outcome::Written } else { Outcome::Cancelled(held) }
    }

    fn weaken(&self, write: &Write, kind: Kind) -> Option<Write> {
        match self.mutant {
            Some(mutant) => weakened(mutant, write, kind),
            None => Some(write.clone()),
        }
    }

    fn is_refused(&self, write: &Write) -> bool {
        let Action::Put(item) = &write.action else { return false };
        write.place == Place::Target && item.get("v") == Some(&text(REFUSED))
    }

    fn holds(&self, write: &Write) -> bool {
        write.guard.holds(self.get(write.place, key_in(&write.action)))
    }

    fn apply(&mut self, write: &Write) {
        let (table, store) = self.table(write.place);
        let item = store.after(table, &write.action);
        self.set(write.place, key_in(&write.action), item, false);
    }

    /// Carries out a request whose sender has gone.
    pub(super) fn send_late(&mut self, at: usize) {
        let late = self.late.swap_remove(at);
        self.note(|| "  a late request is carried out".to_owned());
        self.send(&late.request, late.kind);
    }

    /// Sends what a task wants sent, with all that can go wrong; `None` if the task hears nothing now.
    pub(super) fn exchange(&mut self, at: usize) -> Exchange {
        let (request, kind) = (self.works[at].request.clone(), self.works[at].kind);
        let write = writes(&request);
        let random = &mut self.random;
        if self.faults.strikes(Fault::Throttle, random, 8) {
            if write && self.mutant == Some(Mutant::ThrottledIsWritten) {
                return Exchange::Heard(Outcome::Written);
            }
            return Exchange::Again;
        }
        if matches!(request, Request::Transact(_)) && self.faults.strikes(Fault::Conflict, random, 10) {
            return Exchange::Again;
        }
        if self.faults.strikes(Fault::CrashBefore, random, 2) {
            return Exchange::Crashed;
        }
        if write && self.faults.strikes(Fault::Zombie, random, 4) {
            self.late.push(Late { request, kind });
            return Exchange::Crashed;
        }
        let mut outcome = self.send(&request, kind);
        if write && self.faults.strikes(Fault::LostResponse, &mut self.random, 6) {
            self.note(|| "  the response is lost; sent again".to_owned());
            // A transaction's token makes the second one the first one, for ten minutes.
            if !matches!(request, Request::Transact(_)) || self.random.chance(50) {
                outcome = self.send(&request, kind);
            }
        }
        if self.faults.strikes(Fault::CrashAfter, &mut self.random, 3) {
            return Exchange::Crashed;
        }
        Exchange::Heard(outcome)
    }
}

/// What a task hears.
pub(super) enum Exchange {
    /// This.
    Heard(Outcome),
    /// Nothing: the request is sent again.
    Again,
    /// Nothing: it is no more.
    Crashed,
}

fn outcome_name(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Got(_) => "got".to_owned(),
        Outcome::Written => "written".to_owned(),
        Outcome::Refused(_) => "refused".to_owned(),
        Outcome::Cancelled(held) => format!("cancelled {held:?}"),
        Outcome::Rejected(code) => format!("rejected {code}"),
    }
}
