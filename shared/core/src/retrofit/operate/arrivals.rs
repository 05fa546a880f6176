//! What is still to arrive: the items that the streams name, looked up as their records are read.
//!
//! Memory is bounded by the number of items, not by their size: records of the closed table are kept with both images until they are
//! examined, before the stop too. A change that has arrived stays so: of the items that lack nothing only those of late are kept, because the last
//! look asks again whether the closed table's stream has shown the retrofit's last write to them. Beyond [`LACKING_MAX`] items that lack
//! something, the replicator is too far behind for a stop. Of the closed table's records a digest of a few bytes is kept; where these are too
//! many, that stream is read once more for the items that still lack something.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::effect::{Effect, Reply, StreamedChange};
use super::known::Known;
use super::outcome::BacklogReport;
use super::parts::Turn;
use crate::retrofit::control::{self, RetrofitState};
use crate::retrofit::drain::{CLOCK_SECONDS_MAX, Newest, Sides, Sign};
use crate::retrofit::job::Job;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::protocol::LedgerRow;
use crate::retrofit::quarantine::{Quarantined, accepted_key};
use crate::retrofit::record::{ChangeKind, ChangeRecord};
use crate::retrofit::request::TableRole;
use crate::retrofit::source_key::SourceKey;
use crate::retrofit::task::ItemTask;
use crate::value::Item;

/// The most items that may lack something: beyond them a stop would take too long, and memory too much.
pub(super) const LACKING_MAX: usize = 200_000;
/// Beyond so many items, those that lack nothing are forgotten unless they changed lately.
const KEPT_MAX: usize = 200_000;
/// What counts as lately, in seconds.
const KEPT_SECONDS: u64 = 300;
/// The most digests of the closed table's records.
const SIGNS_MAX: usize = 8_000_000;
/// Items that are looked up at once. An acceptance takes two keys.
const LOOK_ITEMS: usize = 500;
/// Before the stop, items are carried over while the streams are read once more than so many lack something.
pub(super) const LACKING_AHEAD_MAX: usize = 10_000;
/// Items that are carried at once.
pub(super) const CARRY_ITEMS: usize = 100;
/// How many items a report names.
const NAMED_MAX: usize = 5;

/// What an item is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Lack {
    Nothing,
    /// It was not looked up since its last record.
    Look,
    Arrival,
    /// Somebody has to accept that it stays out.
    Acceptance,
    Agreement,
    Sight,
}

#[derive(Debug, Clone, PartialEq)]
struct Pending {
    key: Item,
    /// `None` of an item that only somebody who is late wrote to.
    newest: Option<Newest>,
    /// The second of its newest change.
    seconds: u64,
    /// Did a time to live delete it last?
    expired: bool,
    /// Must the closed table's stream show the retrofit's last write to it? Not of what changed before the writers moved last: the
    /// retrofit has not written it since.
    needs_sign: bool,
    lack: Lack,
}

/// Items that are being looked up.
#[derive(Debug, Clone, PartialEq)]
struct Look {
    keys: Vec<SourceKey>,
    rows: Option<Vec<Option<Item>>>,
    sources: Option<Vec<Option<Item>>>,
    targets: Option<Vec<Option<Item>>>,
}

/// What the streams say, as far as it has not arrived.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrivals {
    job: Arc<Job>,
    /// Tables as the job has them: the one that changes are carried from, and the other one.
    roles: [TableRole; 2],
    /// The second at which the writers moved last; `None` if the other table was never open.
    turned_at: Option<u64>,
    pending: BTreeMap<SourceKey, Pending>,
    signs: HashSet<u64>,
    /// Digests were dropped: only those of items that lack something are kept.
    few_signs: bool,
    items: u64,
    look: Option<Look>,
    /// Records of the closed table that were not examined yet.
    pub(super) unexamined: Vec<ChangeRecord>,
}

impl Arrivals {
    pub(super) fn of(head: &RetrofitState, job: Arc<Job>) -> Arrivals {
        let roles = match job.mapping().is_reverse() {
            true => [TableRole::Target, TableRole::Source],
            false => [TableRole::Source, TableRole::Target],
        };
        Arrivals {
            job,
            roles,
            turned_at: turned_at(head),
            pending: BTreeMap::new(),
            signs: HashSet::new(),
            few_signs: false,
            items: 0,
            look: None,
            unexamined: Vec::new(),
        }
    }

    /// From now on by the job of this row.
    pub(super) fn carry_by(&mut self, head: &RetrofitState, job: Arc<Job>) {
        (self.job, self.turned_at) = (job, turned_at(head));
    }

    /// The table whose writers are to be stopped.
    pub(super) fn open(&self) -> TableRole {
        self.roles[0]
    }

    /// The table that follows it.
    pub(super) fn closed(&self) -> TableRole {
        self.roles[1]
    }

    pub(super) fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// A record of the open table.
    pub(super) fn opened(&mut self, head: &RetrofitState, change: StreamedChange) {
        let StreamedChange { record, seconds } = change;
        let Some(key) = SourceKey::of(self.job.mapping().source(), &record.key) else { return };
        let newest = Newest::of(head, record.sequence, seconds);
        let expired = record.kind == ChangeKind::Remove { expired: true };
        let needs_sign = self.turned_at.is_some_and(|turned| seconds + CLOCK_SECONDS_MAX >= turned);
        match self.pending.get_mut(&key) {
            Some(known) => {
                known.lack = Lack::Look;
                known.needs_sign |= needs_sign;
                if known.newest.as_ref().is_none_or(|known| known.sequence < newest.sequence) {
                    (known.newest, known.seconds, known.expired) = (Some(newest), seconds, expired);
                }
            }
            None => {
                self.items += 1;
                let (newest, lack) = (Some(newest), Lack::Look);
                let pending = Pending { key: record.key, newest, seconds, expired, needs_sign, lack };
                self.pending.insert(key, pending);
            }
        }
    }

    /// A record of the closed table.
    pub(super) fn closed_said(&mut self, head: &RetrofitState, change: StreamedChange) {
        let StreamedChange { record, seconds } = change;
        let origin = self.job.mapping().origin(&record.key);
        let key = origin.and_then(|key| SourceKey::of(self.job.mapping().source(), &key));
        if let Some(key) = key.filter(|key| !self.few_signs || self.pending.contains_key(key)) {
            self.signs.insert(digest(&key, &Sign::of(&record)));
        }
        // What is from before there were rows was carried over without one, by the former direction.
        if !Newest::of(head, record.sequence.clone(), seconds).may_lack_row {
            self.unexamined.push(record);
        }
    }

    /// The item of this key was written by somebody who should not write, or once more for the proof: what was known of it may hold no
    /// longer.
    pub(super) fn look_at(&mut self, key: &Item) {
        let Some(source) = SourceKey::of(self.job.mapping().source(), key) else { return };
        let (key, lack) = (key.clone(), Lack::Look);
        let new = Pending { key, newest: None, seconds: 0, expired: false, needs_sign: true, lack };
        let pending = self.pending.entry(source).or_insert(new);
        (pending.lack, pending.needs_sign) = (Lack::Look, true);
    }

    /// Too many digests: they are dropped, and the closed table's stream has to be read once more. True if so.
    pub(super) fn drops_signs(&mut self) -> bool {
        let drops = self.signs.len() > SIGNS_MAX;
        if drops {
            self.signs = HashSet::new();
            self.few_signs = true;
        }
        drops
    }

    /// Is an item still to be seen whose sign may have been dropped?
    pub(super) fn needs_signs_again(&self) -> bool {
        self.few_signs && self.pending.values().any(|pending| pending.lack == Lack::Sight)
    }

    pub(super) fn is_too_far_behind(&self) -> bool {
        self.unexamined.len() > LACKING_MAX || self.lacks_more_than(LACKING_MAX)
    }

    pub(super) fn lacks_more_than(&self, count: usize) -> bool {
        self.lacking().nth(count).is_some()
    }

    fn lacking(&self) -> impl Iterator<Item = (&SourceKey, &Pending)> {
        self.pending.iter().filter(|(_, pending)| pending.lack != Lack::Nothing)
    }

    /// Everything that lacks something is looked up again.
    pub(super) fn look_again(&mut self) {
        let lacking = self.pending.values_mut().filter(|pending| pending.lack != Lack::Nothing);
        lacking.for_each(|pending| pending.lack = Lack::Look);
    }

    /// Everything that is known is looked up again.
    pub(super) fn look_at_all(&mut self) {
        self.pending.values_mut().for_each(|pending| pending.lack = Lack::Look);
    }

    /// Forgets items that lack nothing, if there are too many.
    pub(super) fn forget(&mut self) {
        if self.pending.len() <= KEPT_MAX {
            return;
        }
        let newest = self.pending.values().map(|pending| pending.seconds).max().unwrap_or(0);
        let late = |pending: &Pending| pending.seconds.saturating_add(KEPT_SECONDS) >= newest;
        self.pending.retain(|_, pending| pending.lack != Lack::Nothing || late(pending));
        if self.pending.len() > KEPT_MAX {
            self.pending.retain(|_, pending| pending.lack != Lack::Nothing);
        }
    }

    /// Is there enough that was not looked up, or must the rest be?
    pub(super) fn begin_look(&mut self, all: bool) {
        if self.look.is_some() {
            return;
        }
        let fresh = self.pending.iter().filter(|(_, pending)| pending.lack == Lack::Look);
        let keys: Vec<SourceKey> = fresh.take(LOOK_ITEMS).map(|(key, _)| key.clone()).collect();
        if keys.len() == LOOK_ITEMS || (all && !keys.is_empty()) {
            self.look = Some(Look { keys, rows: None, sources: None, targets: None });
        }
    }

    /// What a look wants next; over if none is at work.
    pub(super) fn next(&self) -> Turn<()> {
        let Some(look) = &self.look else { return Turn::Over(()) };
        let mapping = self.job.mapping();
        // Rows are read first: a row that has risen stays risen.
        let (table, keys) = match (&look.rows, &look.sources, &look.targets) {
            (None, ..) => {
                let keys = look.keys.iter().map(|key| LedgerRow::key(mapping, key));
                (TableRole::Control, keys.collect())
            }
            (Some(_), None, _) => (self.roles[0], self.keys(look).cloned().collect()),
            (Some(rows), Some(_), None) => {
                (self.roles[1], self.places(look, rows).into_iter().flatten().collect())
            }
            (Some(_), Some(_), Some(_)) => (TableRole::Control, self.acceptance_keys(look)),
        };
        Turn::Ask(Effect::Read { table, keys })
    }

    fn keys<'l>(&'l self, look: &'l Look) -> impl Iterator<Item = &'l Item> {
        look.keys.iter().filter_map(|key| self.pending.get(key)).map(|pending| &pending.key)
    }

    /// An item without a place in the other table has none that could be read.
    fn places(&self, look: &Look, rows: &[Option<Item>]) -> Vec<Option<Item>> {
        self.keys(look).zip(rows).map(|(key, row)| self.job.place(key, row.as_ref())).collect()
    }

    /// Entries of the quarantine and their acceptances, for the items that are out or differ: somebody may have accepted that.
    fn acceptance_keys(&self, look: &Look) -> Vec<Item> {
        let mapping = self.job.mapping();
        self.unaccepted(look).flat_map(|key| entry_keys(mapping, key)).collect()
    }

    fn unaccepted<'l>(&'l self, look: &'l Look) -> impl Iterator<Item = &'l SourceKey> {
        let lack = |key: &&SourceKey| self.pending.get(*key).map(|pending| pending.lack);
        look.keys.iter().filter(move |key| matches!(lack(key), Some(Lack::Acceptance | Lack::Agreement)))
    }

    pub(super) fn take(&mut self, known: &Known, reply: Reply) {
        let Reply::Items(items) = reply else { unreachable!("{reply:?} does not answer a look") };
        let Some(mut look) = self.look.take() else { unreachable!("a look asked for it") };
        if look.rows.is_none() {
            look.rows = Some(items);
        } else if look.sources.is_none() {
            look.sources = Some(items);
        } else if look.targets.is_none() {
            look.targets = Some(items);
            self.judge(known, &look);
            if self.unaccepted(&look).next().is_none() {
                return;
            }
        } else {
            return self.accept(&look, &items);
        }
        self.look = Some(look);
    }

    fn judge(&mut self, known: &Known, look: &Look) {
        let (Some(rows), Some(sources), Some(targets)) = (&look.rows, &look.sources, &look.targets) else {
            unreachable!("all were read")
        };
        let places = self.places(look, rows);
        let mut targets = targets.iter();
        for (at, key) in look.keys.iter().enumerate() {
            let target = places[at].as_ref().and_then(|_| targets.next()).and_then(Option::as_ref);
            let sides = Sides { row: rows[at].as_ref(), source: sources[at].as_ref(), target };
            if let Some(pending) = self.pending.get(key) {
                let lack = self.lack(known, key, pending, sides);
                self.now_lacks(key, lack);
            }
        }
    }

    fn now_lacks(&mut self, key: &SourceKey, lack: Lack) {
        if let Some(pending) = self.pending.get_mut(key) {
            pending.lack = lack;
        }
    }

    fn lack(&self, known: &Known, key: &SourceKey, pending: &Pending, sides: Sides<'_>) -> Lack {
        let wanted = self.job.last_write(sides);
        let is_shown = || wanted.is_none_or(|sign| self.signs.contains(&digest(key, &sign)));
        let expires = self.roles.map(|role| known.table(role).expires);
        let is_expired = self.job.is_expired(sides, expires, known.seconds());
        let is_gone = sides.source.is_none() && (sides.target.is_none() || is_expired);
        match () {
            // Time to live goes on during a stop. The other table's own deletes what is left there.
            () if pending.expired && is_gone => Lack::Nothing,
            () if self.job.is_out(sides) => Lack::Acceptance,
            () if pending.newest.as_ref().is_some_and(|newest| !self.job.has_arrived(newest, sides)) => {
                Lack::Arrival
            }
            () if !self.job.agrees(sides) && !is_expired => Lack::Agreement,
            () if self.turned_at.is_some() && pending.needs_sign && !is_shown() => Lack::Sight,
            () => Lack::Nothing,
        }
    }

    fn accept(&mut self, look: &Look, items: &[Option<Item>]) {
        let unaccepted: Vec<SourceKey> = self.unaccepted(look).cloned().collect();
        for (key, pair) in unaccepted.iter().zip(items.chunks(2)) {
            let newest = self.pending.get(key).and_then(|pending| pending.newest.as_ref());
            if entry(pair).is_some_and(|entry| self.job.is_accepted(&entry, newest)) {
                self.now_lacks(key, Lack::Nothing);
            }
        }
    }

    /// Does nothing lack anything? Only once all was looked up.
    pub(super) fn is_empty(&self) -> bool {
        self.look.is_none() && self.lacking().next().is_none()
    }

    /// Items that have not arrived, whose newest change was before this second: tasks that carry them over. A replicator that is behind
    /// or stuck holds nobody up; carrying a change twice does no harm.
    pub(super) fn to_carry(&mut self, before_seconds: u64) -> Vec<ItemTask> {
        let late = |pending: &&mut Pending| {
            matches!(pending.lack, Lack::Arrival | Lack::Acceptance) && pending.seconds < before_seconds
        };
        let job = Arc::clone(&self.job);
        let task = |pending: &mut Pending| {
            pending.needs_sign = true;
            Some(job.carry_now(&pending.key, pending.newest.as_ref()?.sequence.clone()))
        };
        self.pending.values_mut().filter(late).filter_map(task).collect()
    }

    pub(super) fn report(&self) -> BacklogReport {
        let count = |lacks: &[Lack]| {
            self.pending.values().filter(|pending| lacks.contains(&pending.lack)).count() as u64
        };
        BacklogReport {
            items: self.items,
            waiting: count(&[Lack::Arrival, Lack::Acceptance, Lack::Look]),
            differing: count(&[Lack::Agreement]),
            unseen: count(&[Lack::Sight]),
            first: self.lacking().take(NAMED_MAX).map(|(key, _)| key.clone()).collect(),
        }
    }
}

/// The second at which the writers moved last, if the other table was ever open.
fn turned_at(head: &RetrofitState) -> Option<u64> {
    head.was_reversed().then(|| head.turned_at.unwrap_or(0))
}

/// The keys of an item's entry in the quarantine and of its acceptance.
pub(super) fn entry_keys(mapping: &Mapping, key: &SourceKey) -> [Item; 2] {
    let row = key.row_key();
    [control::key(&control::quarantine_partition(mapping.rows_name()), &row), accepted_key(mapping, &row)]
}

/// The entry that was read by these two keys.
pub(super) fn entry(pair: &[Option<Item>]) -> Option<Quarantined> {
    let entry = Quarantined::read(pair.first()?.as_ref()?)?;
    Some(entry.noted(pair.get(1).and_then(Option::as_ref)))
}

fn digest(key: &SourceKey, sign: &Sign) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key.row_key(), format!("{sign:?}")).hash(&mut hasher);
    hasher.finish()
}
