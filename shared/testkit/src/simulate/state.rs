//! The state of one history: tables, stream, what writers know, and everything under way.

use std::collections::BTreeMap;

use keyfold_core::model::Table;
use keyfold_core::retrofit::control::RetrofitState;
use keyfold_core::retrofit::verify::{Check, CheckResult, CheckStep};
use keyfold_core::retrofit::{Job, Mapping, Pass, TableRole};
use keyfold_core::value::Item;

use super::fault::{Fault, Faults};
use super::mutant::Mutant;
use super::scenario::{KEYS_MAX, Scenario, number_of};
use super::store::ItemStore;
use super::stream::{SimulatedStream, SourceChange};
use super::truth::{Truth, Violation};
use super::work::{Invocation, LateRequest, PendingRequest, SegmentRun, Version};
use crate::generate::Random;

/// A look at the retrofit's row that said yes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) process: usize,
    /// The number of the stream that was asked about.
    pub(super) stream: usize,
    /// The job that it allowed.
    pub(super) version: Version,
    /// The row's version.
    pub(super) row: u64,
    pub(super) turn: u64,
}

/// The current throttling.
#[derive(Debug, Default)]
pub(super) struct Throttles {
    pub(super) account_until: u64,
    pub(super) index_until: u64,
    pub(super) key_until: u64,
    pub(super) key: usize,
}

/// A comparison of one side with the other.
pub(super) struct Verification {
    pub(super) pass: Pass,
    /// Repairs what it finds.
    pub(super) repairs: bool,
    /// How often it pauses before it calls something a difference.
    pub(super) looks_again: usize,
    /// The place of the last item that was scanned.
    pub(super) after: String,
    pub(super) looking: Option<Looking>,
    /// Nothing else goes on.
    pub(super) alone: bool,
    pub(super) findings: Vec<CheckResult>,
}

/// An item that is being compared.
pub(super) struct Looking {
    pub(super) check: Check,
    pub(super) step: CheckStep,
    pub(super) number: Option<usize>,
    /// What there was when the check began: writes of the item, and records.
    pub(super) writes: u32,
    pub(super) records: usize,
    /// How often it has paused, and the turn in which its pause ends.
    pub(super) paused: usize,
    pub(super) due: u64,
    /// Was the item right when its target was last read?
    pub(super) right: Option<bool>,
    pub(super) steps: usize,
    /// A hasty verifier's memory of both sides.
    pub(super) source: Option<Item>,
    pub(super) target: Option<Item>,
}

/// A history under way.
pub(super) struct SimulationState<'s> {
    /// The retrofit.
    pub(super) scenario: &'s Scenario,
    /// All choices.
    pub(super) random: Random,
    /// The faults.
    pub(super) faults: Faults,
    /// The current throttling.
    pub(super) throttles: Throttles,
    /// How the protocol is weakened.
    pub(super) mutant: Option<Mutant>,
    /// How often that made a difference.
    pub(super) bites: u64,
    /// The first thing that was seen to be wrong before the end.
    pub(super) wrong: Option<Violation>,
    /// What writers wrote.
    pub(super) truth: Truth,
    /// The source's table, and in place the target's.
    pub(super) source: ItemStore,
    /// The target's table.
    pub(super) target: ItemStore,
    /// The control table, but for the retrofit's row.
    pub(super) control: ItemStore,
    /// The retrofit's row.
    pub(super) head: RetrofitState,
    /// The source's stream.
    pub(super) stream: SimulatedStream,
    /// No stream is followed, and every writer folds.
    pub(super) unfollowed: bool,
    /// The number of the stream that is followed.
    pub(super) epoch: usize,
    /// How many source keys there are.
    pub(super) keys: usize,
    /// Another program's items in the target.
    pub(super) foreign: Vec<Item>,
    /// The target keys at which another program's item has been.
    pub(super) obstructed: [bool; KEYS_MAX],
    /// Of which items a stream took records with it when it was switched off.
    pub(super) unseen: [bool; KEYS_MAX],
    /// Records that do not tell their item: its number, and the row that they have in quarantine.
    pub(super) unreadable: Vec<(usize, String)>,
    /// Tasks under way.
    pub(super) works: Vec<PendingRequest>,
    /// Batches under way.
    pub(super) invocations: BTreeMap<u64, Invocation>,
    /// Segments under way.
    pub(super) runs: BTreeMap<u64, SegmentRun>,
    /// Comparisons under way.
    pub(super) verifications: Vec<Verification>,
    /// Requests that timed out and are still to be carried out.
    pub(super) late: Vec<LateRequest>,
    /// Records given up, whose note is not yet made.
    pub(super) notes: Vec<usize>,
    /// Records given up, by a protocol that replays them.
    pub(super) given_up: Vec<usize>,
    /// The next number of an invocation or a run.
    pub(super) next_id: u64,
    /// Was the manifest mended? Then the other version of the mapping is the retrofit's.
    pub(super) revised: bool,
    /// Was it abandoned and started again? Then what was not carried over meanwhile is found by a comparison.
    pub(super) restarted: bool,
    /// What replicators remember of the retrofit's row.
    pub(super) looks: Vec<Look>,
    /// How many turns there were.
    pub(super) turns: u64,
    /// How often an item of the source or the target changed.
    pub(super) changes: u64,
    /// What happened, if anybody wants to know.
    pub(super) trace: Option<Vec<String>>,
}

impl<'s> SimulationState<'s> {
    /// Nothing has happened yet.
    pub(super) fn new(
        scenario: &'s Scenario,
        seed: u64,
        mutant: Option<Mutant>,
        trace: bool,
    ) -> SimulationState<'s> {
        let mut random = Random::new(seed);
        let faults = Faults::drawn(&mut random);
        let keys = random.between(2, KEYS_MAX);
        SimulationState {
            scenario,
            random,
            faults,
            throttles: Throttles::default(),
            mutant,
            bites: 0,
            wrong: None,
            truth: Truth::default(),
            source: ItemStore::default(),
            target: ItemStore::default(),
            control: ItemStore::default(),
            head: RetrofitState::started(scenario.mapping(), Some(&stream_name(0))),
            stream: SimulatedStream::new(),
            unfollowed: false,
            epoch: 0,
            keys,
            foreign: Vec::new(),
            obstructed: [false; KEYS_MAX],
            unseen: [false; KEYS_MAX],
            unreadable: Vec::new(),
            works: Vec::new(),
            invocations: BTreeMap::new(),
            runs: BTreeMap::new(),
            verifications: Vec::new(),
            late: Vec::new(),
            notes: Vec::new(),
            given_up: Vec::new(),
            next_id: 0,
            revised: false,
            restarted: false,
            looks: Vec::new(),
            turns: 0,
            changes: 0,
            trace: trace.then(Vec::new),
        }
    }

    /// The job at work.
    pub(super) fn job(&self) -> &'s Job {
        self.job_of(self.version())
    }

    /// The version of the job at work.
    pub(super) fn version(&self) -> Version {
        self.version_of(self.epoch, false)
    }

    /// The version of this epoch that begins to work now.
    pub(super) fn version_of(&self, epoch: usize, other: bool) -> Version {
        Version { epoch, other: other != self.revised }
    }

    /// The mapping by which items are right.
    pub(super) fn mapping(&self) -> &'s Mapping {
        self.scenario.job(0, self.revised).mapping()
    }

    /// The manifest is mended. Workers continue by the previous one; a comparison starts again.
    pub(super) fn revise(&mut self) {
        let mended = self.scenario.job(0, true).mapping();
        match self.head.revised(mended) {
            Ok(head) => (self.head, self.revised) = (head.revision_done(), true),
            Err(error) => self.fail(Violation::new(error.to_string())),
        }
        for number in 0..KEYS_MAX {
            let wanted = self.truth.item(number).map(|item| self.wanted(item));
            wanted.into_iter().for_each(|wanted| self.truth.judged(number, wanted));
        }
        self.verify_anew();
        self.note(|| "the manifest is mended".to_owned());
    }

    /// The job of this version.
    pub(super) fn job_of(&self, version: Version) -> &'s Job {
        let epoch = if self.has(Mutant::EpochIgnored) { 0 } else { version.epoch };
        self.scenario.job(epoch, version.other)
    }

    /// Is the protocol weakened in this way?
    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The same; and then it makes a difference now.
    pub(super) fn bites(&mut self, mutant: Mutant) -> bool {
        let bites = self.has(mutant);
        if bites {
            self.bitten();
        }
        bites
    }

    /// The weakened protocol makes a difference.
    pub(super) fn bitten(&mut self) {
        self.bites += 1;
        let name = self.mutant.map_or("", Mutant::name);
        self.note(|| format!("  !! {name}"));
    }

    /// Something is wrong before the end.
    pub(super) fn fail(&mut self, wrong: Violation) {
        self.wrong.get_or_insert(wrong);
    }

    /// A number for an invocation or a run.
    pub(super) fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Takes a line down.
    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:4} {}", self.turns, line()));
        }
    }

    /// The model and the items of a table.
    pub(super) fn table(&self, place: TableRole) -> (&'s Table, &ItemStore) {
        let (at, table) = self.scenario.table(place);
        let store = match at {
            TableRole::Source => &self.source,
            TableRole::Target => &self.target,
            TableRole::Control => &self.control,
        };
        (table, store)
    }

    /// The item with this key.
    pub(super) fn get(&self, place: TableRole, key: &Item) -> Option<&Item> {
        let (table, store) = self.table(place);
        store.get(table, key)
    }

    /// Changes a table; the source's stream takes it down.
    pub(super) fn set(&mut self, place: TableRole, key: &Item, item: Option<Item>, expired: bool) {
        if self.get(place, key) == item.as_ref() {
            return;
        }
        self.changes += u64::from(place != TableRole::Control);
        let (at, table) = self.scenario.table(place);
        match at {
            TableRole::Control => self.control.set(table, key, item),
            TableRole::Target => self.target.set(table, key, item),
            TableRole::Source => {
                self.take_down(key, item.as_ref(), expired);
                self.source.set(table, key, item);
            }
        }
    }

    /// A change of the source, before it is made.
    fn take_down(&mut self, key: &Item, new: Option<&Item>, expired: bool) {
        let number = number_of(key);
        let old = self.source.get(self.scenario.mapping().source(), key);
        if self.mutant.is_some() {
            self.truth.replaced(number, self.turns, old);
        }
        if self.stream.is_off() {
            self.unseen[number] = true;
        }
        let as_text = self.mutant == Some(Mutant::TextSequence);
        let change = SourceChange { number, turn: self.turns, old, new, expired };
        if !self.stream.push(&mut self.random, &change, as_text) {
            return;
        }
        if as_text && self.stream.is_inverted() {
            self.bitten();
        }
        if self.faults.strikes(Fault::Unreadable, &mut self.random, 4) {
            self.blot();
        }
    }

    /// The newest record does not tell its item.
    fn blot(&mut self) {
        let Some(last) = self.stream.records.last_mut() else { return };
        let record = &mut last.record;
        (record.key, record.old, record.new) = (Item::default(), None, None);
        let (number, sequence) = (last.number, record.sequence.clone());
        let fence = keyfold_core::retrofit::Fence::of_record(self.job().epoch(), sequence);
        let row = keyfold_core::retrofit::Quarantined::record(fence).row;
        self.note(|| format!("a record of k{number} cannot be read"));
        self.unreadable.push((number, row));
    }
}

/// The name of the stream of an epoch.
pub(super) fn stream_name(epoch: usize) -> String {
    format!("stream-{epoch}")
}
