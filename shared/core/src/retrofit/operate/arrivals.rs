//! The backlog: the items that the streams name, looked up as their records are read.
//!
//! Memory is bounded by the number of items, not by their size: records of the closed table are kept with both images until they are
//! examined, before the stop too. A change that has arrived stays so: of the items that lack nothing only those of late are kept, because the last
//! look asks again whether the closed table's stream has shown the retrofit's last write to them. Beyond [`LACKING_MAX`] items that lack
//! something, the replicator is too far behind for a stop. Of the closed table's records a digest of a few bytes is kept; where these are too
//! many, that stream is read once more for the items that still lack something.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::context::OperationContext;
use super::effect::{Effect, Reply, StreamedChange};
use super::outcome::BacklogReport;
use super::sides::SidesLookup;
use crate::retrofit::control::{self, RetrofitState};
use crate::retrofit::drain::{CLOCK_SECONDS_MAX, Newest, Sides, Sign, is_before_rows};
use crate::retrofit::fence::Fence;
use crate::retrofit::generation::Generation;
use crate::retrofit::job::Job;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::protocol::LedgerRow;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::quarantine::{Quarantined, accepted_key};
use crate::retrofit::record::{ChangeKind, ChangeRecord};
use crate::retrofit::request::TableRole;
use crate::retrofit::source_key::SourceKey;
use crate::retrofit::task::ItemTask;
use crate::value::Item;

/// The most items that may lack something: beyond them a stop would take too long, and memory too much.
pub(super) const LACKING_MAX: usize = 200_000;
/// Beyond this number of items, those that are not pending are dropped unless they changed recently.
const KEPT_MAX: usize = 200_000;
/// The age of a recent change, in seconds.
const KEPT_SECONDS: u64 = 300;
/// The most digests of the closed table's records.
const SEEN_WRITES_MAX: usize = 8_000_000;
/// Items that are looked up at once. An acceptance takes two keys.
const LOOK_ITEMS: usize = 500;
/// Before the stop, items are carried over while the streams are read once more than this number are pending.
pub(super) const LACKING_AHEAD_MAX: usize = 10_000;
/// Items that are carried at once.
pub(super) const CARRY_ITEMS: usize = 100;
/// How many items a report names.
const NAMED_MAX: usize = 5;

/// The open question about an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Pending {
    Nothing,
    /// It was not looked up since its last record.
    Unchecked,
    NotArrived,
    /// It does not fit, and may stay out if that is accepted.
    NotAccepted,
    /// It has arrived, and is not the same on both sides.
    Different,
    /// The closed table's stream has not shown the retrofit's last write to it.
    OwnWriteUnseen,
}

#[derive(Debug, Clone, PartialEq)]
struct StreamItem {
    key: Item,
    /// `None` if its only writes came late, to the closed table.
    newest: Option<Newest>,
    /// The newest change that is not a deletion by time to live.
    written: Option<Newest>,
    /// The second of its newest change.
    seconds: u64,
    /// Must the closed table's stream show the retrofit's last write to it? Not of what changed before the writers moved last: the
    /// retrofit has not written it since.
    needs_own_write: bool,
    /// This stop has written it, or writes it now. The fence of that write can be lower than that of the item's newest change, which the stop had
    /// not read yet.
    written_now: bool,
    pending: Pending,
}

/// A key of the closed table, where keys can move: the retrofit's last write there is looked for, whichever item it was of.
#[derive(Debug, Clone, PartialEq)]
struct ClosedPlace {
    key: Item,
    /// The items that had or have it: while a change of one of them has not arrived, the retrofit will write here.
    of: Vec<SourceKey>,
    pending: Pending,
}

/// Places that are being looked up.
#[derive(Debug, Clone, PartialEq)]
struct PlaceLookup {
    names: Vec<SourceKey>,
    rows: Option<Vec<Option<Item>>>,
}

/// Items that are being looked up.
#[derive(Debug, Clone, PartialEq)]
struct ItemLookup {
    keys: Vec<SourceKey>,
    sides: SidesLookup,
}

/// The items that the streams name, as far as they are not known to have arrived.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrivals {
    job: Arc<Job>,
    /// The tables that changes are carried from and to.
    roles: [TableRole; 2],
    /// The second at which the writers moved last; `None` if the other table was never open.
    turned_at: Option<u64>,
    items: BTreeMap<SourceKey, StreamItem>,
    /// Where keys can move: the places that items of the streams had or have.
    places: BTreeMap<SourceKey, ClosedPlace>,
    /// The generation that began when the writers were moved last.
    turned_in: Option<Generation>,
    seen_writes: HashSet<u64>,
    /// Digests were dropped: only those of items that lack something are kept.
    seen_writes_dropped: bool,
    /// Items that the streams named so far.
    items_named: u64,
    look: Option<ItemLookup>,
    place_look: Option<PlaceLookup>,
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
            items: BTreeMap::new(),
            places: BTreeMap::new(),
            turned_in: head.turned_in,
            seen_writes: HashSet::new(),
            seen_writes_dropped: false,
            items_named: 0,
            look: None,
            place_look: None,
            unexamined: Vec::new(),
        }
    }

    /// From now on by the job of this row.
    pub(super) fn carry_by(&mut self, head: &RetrofitState, job: Arc<Job>) {
        (self.job, self.turned_at, self.turned_in) = (job, turned_at(head), head.turned_in);
    }

    /// The table whose writers are to be stopped, and the table that follows it.
    pub(super) fn roles(&self) -> [TableRole; 2] {
        self.roles
    }

    pub(super) fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// A record of the open table.
    pub(super) fn add_open_record(&mut self, head: &RetrofitState, change: StreamedChange) {
        let StreamedChange { record, seconds } = change;
        let Some(key) = SourceKey::of(self.job.mapping().source(), &record.key) else { return };
        let newest = Newest::of(head, record.sequence, seconds);
        let expired = record.kind == ChangeKind::Remove { expired: true };
        // The turn has the second of an operator's clock, which may be minutes ahead: a change just after it would count as older.
        let needs_own_write = self.turned_at.is_some_and(|turned| seconds + CLOCK_SECONDS_MAX >= turned);
        if needs_own_write && self.has_moving_keys() {
            for image in [&record.old, &record.new].into_iter().flatten() {
                let mapped = self.job.mapping().carried(Cow::Borrowed(image));
                mapped.ok().flatten().iter().for_each(|mapped| self.look_at_place(mapped, Some(&key)));
            }
        }
        match self.items.get_mut(&key) {
            Some(item) => {
                // Also if it had arrived: its newer change has not.
                item.pending = Pending::Unchecked;
                item.needs_own_write |= needs_own_write;
                if item.newest.as_ref().is_none_or(|before| before.sequence < newest.sequence) {
                    if !expired {
                        item.written = Some(newest.clone());
                    }
                    (item.newest, item.seconds) = (Some(newest), seconds);
                }
            }
            None => {
                self.items_named += 1;
                let written = (!expired).then(|| newest.clone());
                let (newest, pending) = (Some(newest), Pending::Unchecked);
                let item = StreamItem {
                    key: record.key,
                    newest,
                    written,
                    seconds,
                    needs_own_write,
                    written_now: false,
                    pending,
                };
                self.items.insert(key, item);
            }
        }
    }

    /// A record of the closed table.
    pub(super) fn add_closed_record(&mut self, head: &RetrofitState, change: StreamedChange) {
        let StreamedChange { record, seconds } = change;
        let mapping = self.job.mapping();
        let key = match self.has_moving_keys() {
            true => SourceKey::of(mapping.target(), &record.key),
            false => mapping.origin(&record.key).and_then(|key| SourceKey::of(mapping.source(), &key)),
        };
        // After the digests were dropped only those of known items are kept: all of them would be too many again.
        if let Some(key) = key.filter(|key| !self.seen_writes_dropped || self.is_named(key)) {
            self.seen_writes.insert(digest(&key, &Sign::of(&record)));
        }
        // Changes from before every change left a row were carried over without one, by the former direction. With a ledger, those of the
        // source have left one from the beginning.
        let has_row = self.has_moving_keys() && self.job.mapping().is_reverse();
        if has_row || !is_before_rows(head, seconds) {
            self.unexamined.push(record);
        }
    }

    fn has_moving_keys(&self) -> bool {
        self.job.mapping().protocol() == Protocol::Ledger
    }

    /// Is this key waited for? Where keys can move, it is one of the closed table.
    fn is_named(&self, key: &SourceKey) -> bool {
        if self.has_moving_keys() { self.places.contains_key(key) } else { self.items.contains_key(key) }
    }

    /// Until the stream shows the retrofit's last write to this place, an application's write before it may be unread.
    fn look_at_place(&mut self, item: &Item, of: Option<&SourceKey>) {
        let target = self.job.mapping().target();
        if let (Some(name), Some(key)) = (SourceKey::of(target, item), target.key_of(item)) {
            let new = ClosedPlace { key, of: Vec::new(), pending: Pending::Unchecked };
            let place = self.places.entry(name).or_insert(new);
            place.pending = Pending::Unchecked;
            if let Some(of) = of.filter(|of| !place.of.contains(of)) {
                place.of.push(of.clone());
            }
        }
    }

    /// This key of the closed table was written by a program that should not write.
    pub(super) fn look_at_late(&mut self, key: &Item) {
        match self.has_moving_keys() {
            true => self.look_at_place(key, None),
            false => self.job.mapping().origin(key).iter().for_each(|origin| self.look_at(origin)),
        }
    }

    /// The item of this key was written by a program that should not write, or once more for the proof: what was known of it may hold no
    /// longer.
    pub(super) fn look_at(&mut self, key: &Item) {
        let Some(source) = SourceKey::of(self.job.mapping().source(), key) else { return };
        let (key, pending) = (key.clone(), Pending::Unchecked);
        let new = StreamItem {
            key,
            newest: None,
            written: None,
            seconds: 0,
            needs_own_write: true,
            written_now: true,
            pending,
        };
        let item = self.items.entry(source).or_insert(new);
        // The retrofit has written it just now. Until the stream shows that write, an application's write before it may be unread.
        (item.pending, item.needs_own_write, item.written_now) = (Pending::Unchecked, true, true);
    }

    /// Too many digests: they are dropped, and the closed table's stream has to be read once more. True if so.
    pub(super) fn drops_writes(&mut self) -> bool {
        // Memory is bounded before it is used up: an operator that dies in a stop leaves the writers stopped.
        let drops = self.seen_writes.len() > SEEN_WRITES_MAX;
        if drops {
            // `clear` would keep the memory.
            self.seen_writes = HashSet::new();
            self.seen_writes_dropped = true;
        }
        drops
    }

    /// Is an item still to be seen whose sign may have been dropped?
    pub(super) fn needs_writes_again(&self) -> bool {
        let unseen = |pending: Pending| pending == Pending::OwnWriteUnseen;
        let any = self.items.values().any(|item| unseen(item.pending));
        self.seen_writes_dropped && (any || self.places.values().any(|place| unseen(place.pending)))
    }

    pub(super) fn is_too_far_behind(&self) -> bool {
        self.unexamined.len() > LACKING_MAX || self.lacks_more_than(LACKING_MAX)
    }

    pub(super) fn lacks_more_than(&self, count: usize) -> bool {
        self.lacking().map(|_| ()).chain(self.lacking_places().map(|_| ())).nth(count).is_some()
    }

    fn lacking_places(&self) -> impl Iterator<Item = (&SourceKey, &ClosedPlace)> {
        self.places.iter().filter(|(_, place)| place.pending != Pending::Nothing)
    }

    fn lacking(&self) -> impl Iterator<Item = (&SourceKey, &StreamItem)> {
        self.items.iter().filter(|(_, item)| item.pending != Pending::Nothing)
    }

    /// Everything that lacks something is looked up again.
    pub(super) fn look_again(&mut self) {
        let lacking = self.items.values_mut().filter(|item| item.pending != Pending::Nothing);
        lacking.for_each(|item| item.pending = Pending::Unchecked);
        let lacking = self.places.values_mut().filter(|place| place.pending != Pending::Nothing);
        lacking.for_each(|place| place.pending = Pending::Unchecked);
    }

    /// Everything that is known is looked up again.
    pub(super) fn look_at_all(&mut self) {
        self.items.values_mut().for_each(|item| item.pending = Pending::Unchecked);
        self.places.values_mut().for_each(|place| place.pending = Pending::Unchecked);
    }

    /// Forgets items that lack nothing, if there are too many.
    pub(super) fn forget(&mut self) {
        if self.places.len() > KEPT_MAX {
            self.places.retain(|_, place| place.pending != Pending::Nothing);
        }
        if self.items.len() <= KEPT_MAX {
            return;
        }
        let newest = self.items.values().map(|item| item.seconds).max().unwrap_or(0);
        let late = |item: &StreamItem| item.seconds.saturating_add(KEPT_SECONDS) >= newest;
        self.items.retain(|_, item| item.pending != Pending::Nothing || late(item));
        if self.items.len() > KEPT_MAX {
            self.items.retain(|_, item| item.pending != Pending::Nothing);
        }
    }

    /// Starts a lookup of unchecked items if there are enough, or of all of them. True if a lookup is in progress.
    pub(super) fn begin_look(&mut self, all: bool) -> bool {
        if self.look.is_some() || self.place_look.is_some() {
            return true;
        }
        let fresh = self.items.iter().filter(|(_, item)| item.pending == Pending::Unchecked).take(LOOK_ITEMS);
        let (keys, items): (Vec<_>, Vec<_>) =
            fresh.map(|(key, item)| (key.clone(), item.key.clone())).unzip();
        // While a stream is being read, only full lookups start: one for each page would make a round of many shards slow.
        if keys.len() == LOOK_ITEMS || (all && !keys.is_empty()) {
            self.look = Some(ItemLookup { keys, sides: SidesLookup::of(items) });
            return true;
        }
        let fresh = self.places.iter().filter(|(_, place)| place.pending == Pending::Unchecked);
        let names: Vec<_> = fresh.take(LOOK_ITEMS).map(|(name, _)| name.clone()).collect();
        if names.len() == LOOK_ITEMS || (all && !names.is_empty()) {
            self.place_look = Some(PlaceLookup { names, rows: None });
        }
        self.place_look.is_some()
    }

    fn next_of_places(&self, look: &PlaceLookup) -> Effect {
        match &look.rows {
            None => {
                let key = |name| LedgerRow::place_key(self.job.mapping(), name);
                Effect::Read { table: TableRole::Control, keys: look.names.iter().map(key).collect() }
            }
            Some(_) => {
                let key = |name| self.places.get(name).map(|place: &ClosedPlace| place.key.clone());
                Effect::Read { table: self.roles[1], keys: look.names.iter().filter_map(key).collect() }
            }
        }
    }

    /// Did the closed table's stream show the retrofit's last write to each of these places, if it wrote there since the writers moved?
    fn take_places(&mut self, mut look: PlaceLookup, items: Vec<Option<Item>>) {
        let Some(rows) = &look.rows else {
            look.rows = Some(items);
            self.place_look = Some(look);
            return;
        };
        for ((name, row), item) in look.names.iter().zip(rows).zip(&items) {
            let row = row.as_ref().and_then(LedgerRow::read).filter(|row| row.generation >= self.turned_in);
            let sign = row.and_then(|row| match item {
                Some(item) => Fence::on(item).map(|fence| Sign::Fence(Some(fence))),
                None => row.removed.map(|fence| Sign::Removed(Some(fence))),
            });
            let is_shown = sign.is_none_or(|sign| self.seen_writes.contains(&digest(name, &sign)));
            let is_lacking =
                |of: &SourceKey| self.items.get(of).is_some_and(|item| item.pending != Pending::Nothing);
            if let Some(place) = self.places.get_mut(name) {
                let is_settled = is_shown && !place.of.iter().any(is_lacking);
                place.pending = if is_settled { Pending::Nothing } else { Pending::OwnWriteUnseen };
            }
        }
    }

    /// The next effect of the lookup in progress.
    pub(super) fn next(&self) -> Option<Effect> {
        if let Some(look) = &self.place_look {
            return Some(self.next_of_places(look));
        }
        let look = self.look.as_ref()?;
        Some(look.sides.next(&self.job, self.roles).unwrap_or_else(|| {
            // Entries of the quarantine with their acceptances, for the items that are out or differ.
            let keys = self.unaccepted(look).flat_map(|key| entry_keys(self.job.mapping(), key)).collect();
            Effect::Read { table: TableRole::Control, keys }
        }))
    }

    fn unaccepted<'l>(&'l self, look: &'l ItemLookup) -> impl Iterator<Item = &'l SourceKey> {
        let pending = |key: &&SourceKey| self.items.get(*key).map(|item| item.pending);
        let may_be_accepted = [Some(Pending::NotAccepted), Some(Pending::Different)];
        look.keys.iter().filter(move |key| may_be_accepted.contains(&pending(key)))
    }

    pub(super) fn take(&mut self, context: &OperationContext, reply: Reply) {
        let Reply::Items(items) = reply else { unreachable!("{reply:?} does not answer a look") };
        if let Some(look) = self.place_look.take() {
            return self.take_places(look, items);
        }
        let Some(mut look) = self.look.take() else { unreachable!("a look asked for it") };
        if look.sides.next(&self.job, self.roles).is_none() {
            return self.accept(&look, &items);
        }
        look.sides.take(&self.job, items);
        if look.sides.next(&self.job, self.roles).is_none() {
            for (key, (open, sides)) in look.keys.iter().zip(look.sides.sides()) {
                let Some(item) = self.items.get(key) else { continue };
                let needs_own_write = item.needs_own_write && self.turned_at.is_some();
                self.now_pending(key, self.pending(context, key, item, sides));
                // Written for the proof or by this stop, it has no recent record that names its place.
                if needs_own_write && self.has_moving_keys() {
                    let place = self.job.place(open, sides.row);
                    place.iter().for_each(|place| self.look_at_place(place, Some(key)));
                }
            }
            if self.unaccepted(&look).next().is_none() {
                return;
            }
        }
        self.look = Some(look);
    }

    fn now_pending(&mut self, key: &SourceKey, pending: Pending) {
        if let Some(item) = self.items.get_mut(key) {
            item.pending = pending;
        }
    }

    fn pending(
        &self,
        context: &OperationContext,
        key: &SourceKey,
        item: &StreamItem,
        sides: Sides<'_>,
    ) -> Pending {
        let wanted = self.job.last_write(sides);
        let is_shown = || wanted.as_ref().is_none_or(|sign| self.seen_writes.contains(&digest(key, sign)));
        let expires = self.roles.map(|role| context.table(role).expires);
        let is_expired = self.job.is_expired(sides, expires, context.seconds());
        let is_gone = sides.source.is_none() && (sides.target.is_none() || is_expired);
        let arrived = |change: &Option<Newest>| {
            change.as_ref().is_none_or(|change| self.job.has_arrived(change, sides))
        };
        // A table that was never open has only the retrofit's writes, and its stream is not read: the stop would wait for ever.
        // Where keys can move, this is asked of each place.
        let is_unseen =
            || self.turned_at.is_some() && !self.has_moving_keys() && item.needs_own_write && !is_shown();
        match () {
            // Time to live goes on during a stop. The other table's own deletes what is left there. Changes before that have to
            // arrive: its record would be noted as late.
            () if item.written != item.newest
                && is_gone
                && arrived(&item.written)
                && !((item.written_now || self.has_deleted_since(item, sides)) && is_unseen()) =>
            {
                Pending::Nothing
            }
            // Before the next line: an item that does not fit never arrives, and its acceptance is only looked up for this state.
            () if self.job.is_out(sides) => Pending::NotAccepted,
            () if !arrived(&item.newest) => Pending::NotArrived,
            () if !self.job.agrees(sides) && !is_expired => Pending::Different,
            () if is_unseen() => Pending::OwnWriteUnseen,
            () => Pending::Nothing,
        }
    }

    /// Did the retrofit delete something that was written to the closed table after the item's newest change that is no deletion by time to
    /// live? An earlier deletion may have left the stream already, and would be waited for until the limit of the stop.
    fn has_deleted_since(&self, item: &StreamItem, sides: Sides<'_>) -> bool {
        let removed = sides.row.and_then(LedgerRow::read).and_then(|row| row.removed);
        let sequence = item.written.as_ref().or(item.newest.as_ref()).map(|change| change.sequence.clone());
        removed >= sequence.map(|sequence| Fence::of_record(self.job.epoch(), sequence))
    }

    fn accept(&mut self, look: &ItemLookup, items: &[Option<Item>]) {
        let unaccepted: Vec<SourceKey> = self.unaccepted(look).cloned().collect();
        for (key, pair) in unaccepted.iter().zip(items.chunks(2)) {
            let newest = self.items.get(key).and_then(|item| item.newest.as_ref());
            // An acceptance counts up to the change that was looked at: a newer one of the same item would be left out unseen.
            if entry(pair).is_some_and(|entry| self.job.is_accepted(&entry, newest)) {
                self.now_pending(key, Pending::Nothing);
            }
        }
    }

    /// Does nothing lack anything? Only once all was looked up.
    pub(super) fn is_empty(&self) -> bool {
        let is_looking = self.look.is_some() || self.place_look.is_some();
        !is_looking && self.lacking().next().is_none() && self.lacking_places().next().is_none()
    }

    /// Items that have not arrived, whose newest change was before this second: tasks that carry them over. A replicator that is behind
    /// or stuck holds no writers up; carrying a change twice does no harm.
    pub(super) fn carry_tasks(&mut self, before_seconds: u64) -> Vec<ItemTask> {
        let late = |item: &&mut StreamItem| {
            matches!(item.pending, Pending::NotArrived | Pending::NotAccepted)
                && item.seconds < before_seconds
        };
        let job = Arc::clone(&self.job);
        let task = |item: &mut StreamItem| {
            // By this task the retrofit writes the item after the turn, whenever the change itself was.
            (item.needs_own_write, item.written_now) = (true, true);
            Some(job.carry_now(&item.key, item.newest.as_ref()?.sequence.clone()))
        };
        self.items.values_mut().filter(late).filter_map(task).collect()
    }

    pub(super) fn report(&self) -> BacklogReport {
        let count = |kinds: &[Pending]| {
            self.items.values().filter(|item| kinds.contains(&item.pending)).count() as u64
        };
        let names = self.lacking().map(|(key, _)| key).chain(self.lacking_places().map(|(key, _)| key));
        BacklogReport {
            items: self.items_named,
            waiting: count(&[Pending::NotArrived, Pending::NotAccepted, Pending::Unchecked]),
            differing: count(&[Pending::Different]),
            unseen: count(&[Pending::OwnWriteUnseen]) + self.lacking_places().count() as u64,
            first: names.take(NAMED_MAX).cloned().collect(),
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
