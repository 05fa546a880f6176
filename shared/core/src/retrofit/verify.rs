//! Is the target what the source says? Both ways, item by item, so that a write under way is not called a difference.
//!
//! A [`Check`] is a state machine like the retrofit's tasks: it says what it wants read, and ends with a [`CheckResult`]. A
//! first difference means nothing while writers go on: both sides are read again, strongly consistent, for as long as the
//! replicator can be behind. If the target stays as it was all that time, it is a difference. If it moved, the item is being
//! carried over just now, and nothing can be said of it. Nothing is ever written here; a repair is a separate task.
//!
//! [`expiry`] knows which items a table's time to live may delete any time: those are no drift.

pub mod expiry;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::attributes::{OWN_ATTRIBUTES, TOMBSTONE_ATTRIBUTE};
use super::control;
use super::job::Job;
use super::mapping::same_item;
use super::protocol_choice::Protocol;
use super::quarantine::{QuarantineReason, Quarantined, accepted_key};
use super::request::{Request, Response, TableRole};
use super::source_key::SourceKey;
use crate::model::KeySource;
use crate::value::{Item, equal};

/// The pauses, in seconds, after which a difference is looked at again.
pub const PAUSES_SECONDS: [u64; 4] = [2, 8, 30, 120];
/// The fewest looks that must show a difference, after the first.
pub const LOOKS_AGAIN_MIN: u32 = 2;

/// How many looks it takes, after the first, where the replicator is at most this far behind: the pauses between them are
/// together at least twice as long, or as long as they can be.
pub fn looks_again(lag_seconds: u64) -> u32 {
    let mut waited = 0;
    let enough = PAUSES_SECONDS.iter().take_while(|pause| {
        let wanted = waited < lag_seconds.saturating_mul(2);
        waited += **pause;
        wanted
    });
    u32::try_from(enough.count()).unwrap_or(LOOKS_AGAIN_MIN).max(LOOKS_AGAIN_MIN)
}

/// What all checks of a comparison have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOptions {
    /// The current second since 1970. Without it, nothing counts as expired.
    pub now_seconds: Option<u64>,
    /// Is the time to live of the source's table switched on? The manifest names its attribute; only the table knows.
    pub source_expires: bool,
    /// The same of the target's table.
    pub target_expires: bool,
    /// How many looks must show a difference, after the first: see [`looks_again`].
    pub looks_again: u32,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions {
            now_seconds: None,
            source_expires: true,
            target_expires: true,
            looks_again: LOOKS_AGAIN_MIN,
        }
    }
}

impl CheckOptions {
    /// Does the source's time to live end this source item? That of the target may end what is made of it, which is for
    /// `ends_target_item` to say. The target's current item proves nothing: the source's item may have been given more time, and
    /// then the target's copy must not go.
    fn ends_source_item(self, job: &Job, item: &Item) -> bool {
        let over = |now| expiry::is_over(job.mapping().source(), item, now);
        self.source_expires && self.now_seconds.is_some_and(over)
    }

    /// Does a time to live end this item of the target? One that the source no longer has is reached by the target's alone: without
    /// a record in the stream it would stay for ever.
    fn ends_target_item(self, job: &Job, item: &Item) -> bool {
        let over = |now| expiry::is_over(job.mapping().target(), item, now);
        self.target_expires && self.now_seconds.is_some_and(over)
    }

    /// Does the table's time to live end this item, as it is or as it will be? In place there is one table.
    fn ends_item_in_place(self, job: &Job, item: &Item) -> bool {
        let mapped = || job.mapping().target_item(item).ok().flatten();
        self.ends_source_item(job, item) || mapped().is_some_and(|mapped| self.ends_target_item(job, &mapped))
    }
}

/// The class of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Source and target agree.
    Same,
    /// The target lacks it.
    Missing,
    /// The target has it, and the source does not, or no longer there.
    Extra,
    /// The target has other attributes.
    Different,
    /// The target changed between the looks, and did not agree at the last of them: it is carried over just now.
    InFlight,
    /// They do not agree, and the table's time to live may delete it any time.
    Expired,
    /// It is in the quarantine.
    Quarantined,
    /// It is in the quarantine, and accepted.
    Accepted,
    /// Something else stands at its place in the target.
    Collision,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 9] = [
        Class::Same,
        Class::Missing,
        Class::Extra,
        Class::Different,
        Class::InFlight,
        Class::Expired,
        Class::Quarantined,
        Class::Accepted,
        Class::Collision,
    ];

    /// Its name in counts and logs.
    pub fn name(self) -> &'static str {
        match self {
            Class::Same => "same",
            Class::Missing => "missing",
            Class::Extra => "extra",
            Class::Different => "different",
            Class::InFlight => "in-flight",
            Class::Expired => "expired",
            Class::Quarantined => "quarantined",
            Class::Accepted => "accepted",
            Class::Collision => "collision",
        }
    }

    /// Does it keep the two sides from agreeing?
    pub fn is_drift(self) -> bool {
        !matches!(self, Class::Same | Class::Expired | Class::InFlight | Class::Accepted)
    }

    /// Can a repair change it?
    pub fn is_repairable(self) -> bool {
        matches!(
            self,
            Class::Missing
                | Class::Extra
                | Class::Different
                | Class::InFlight
                | Class::Quarantined
                | Class::Accepted
        )
    }
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckResult {
    /// The class of the difference.
    pub class: Class,
    /// The source item's key; `None` for one that is the same, and for a target item that names none.
    pub key: Option<Item>,
}

/// The next step of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckStep {
    /// Read this.
    Send(Request),
    /// Wait a little, then call [`Check::paused`].
    Pause,
    /// The check is over.
    Done(CheckResult),
}

/// The comparison of one item.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The source item that it is of.
    of: Option<SourceKey>,
    /// Where a scan of the target found it.
    found_at: Option<Item>,
    options: CheckOptions,
    source: Source,
    target: Option<Item>,
    phase: CheckPhase,
    looks: u32,
    /// The target's item at the previous read.
    before: Option<Option<Item>>,
    carried: bool,
}

/// The result of a read of the source.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    /// No item.
    Nothing,
    /// In place, the item itself: it is both sides.
    Stored(Item),
    /// An item that the retrofit does not take.
    NotTaken,
    /// An item that has no form in the target, and whether a time to live may delete it any time.
    Unmappable { expires: bool },
    /// The expected target item, and the same.
    Wanted { item: Item, expires: bool },
}

/// The item that is read.
#[derive(Debug, Clone, PartialEq)]
enum CheckPhase {
    Source,
    Target,
    Quarantine(Class),
    /// Of an entry: does its item stay out?
    Accepted(Box<Quarantined>),
}

impl Source {
    /// Of the item that was read. It is consumed, and becomes the expected target item.
    fn of(job: &Job, item: Option<Item>, options: CheckOptions) -> Source {
        let mapping = job.mapping();
        let Some(item) = item else { return Source::Nothing };
        if mapping.protocol() == Protocol::InPlace {
            return Source::Stored(item);
        }
        let expires = options.ends_source_item(job, &item);
        match mapping.mapped(Cow::Owned(item)) {
            Ok(Some(item)) => {
                Source::Wanted { expires: expires || options.ends_target_item(job, &item), item }
            }
            Ok(None) => Source::NotTaken,
            Err(_) => Source::Unmappable { expires },
        }
    }
}

impl Check {
    /// A scanned source item, to be looked for in the target.
    pub fn of_source(job: &Job, item: Item, options: CheckOptions) -> (Check, CheckStep) {
        let mut check = Check::new(SourceKey::of(job.mapping().source(), &item), None, options);
        check.source = Source::of(job, Some(item), options);
        let step = check.after_source(job);
        (check, step)
    }

    /// A scanned target item, to be looked for in the source.
    pub fn of_target(job: &Job, item: Item, options: CheckOptions) -> (Check, CheckStep) {
        let mapping = job.mapping();
        let of = job.owner(&item);
        let key = of.as_ref().and_then(|of| of.item(mapping.source()));
        let mut check = Check::new(key.as_ref().and(of), mapping.target().key_of(&item), options);
        // On the way back: it never was carried over.
        let is_no_item = item.contains_key(TOMBSTONE_ATTRIBUTE) || !mapping.may_own(&item);
        check.target = Some(item);
        let step = match key {
            _ if is_no_item => check.done(job, Class::Same),
            // This retrofit did not write it.
            None => check.done(job, check.or_expired(job, Class::Extra)),
            Some(key) => CheckStep::Send(Request::Get { role: TableRole::Source, key }),
        };
        (check, step)
    }

    fn new(of: Option<SourceKey>, found_at: Option<Item>, options: CheckOptions) -> Check {
        Check {
            of,
            found_at,
            options,
            source: Source::Nothing,
            target: None,
            phase: CheckPhase::Source,
            looks: 0,
            before: None,
            carried: false,
        }
    }

    /// Reads both sides again, after a pause.
    pub fn paused(&mut self, job: &Job) -> CheckStep {
        match self.key(job) {
            Some(key) => {
                self.phase = CheckPhase::Source;
                CheckStep::Send(Request::Get { role: TableRole::Source, key })
            }
            None => self.done(job, Class::Extra),
        }
    }

    /// Goes on with what was read.
    pub fn respond(&mut self, job: &Job, response: Response) -> CheckStep {
        let Response::Item(item) = response else { unreachable!("a check only reads") };
        match &self.phase {
            CheckPhase::Source => {
                self.source = Source::of(job, item, self.options);
                // The first look at a scanned target item has that item.
                if self.looks == 0 && self.found_at.is_some() {
                    self.judge(job)
                } else {
                    self.after_source(job)
                }
            }
            CheckPhase::Target => {
                self.target = item;
                self.judge(job)
            }
            CheckPhase::Quarantine(class) => match item.as_ref().and_then(Quarantined::read) {
                Some(entry) => self.ask_accepted(job, entry),
                None => self.done(job, *class),
            },
            CheckPhase::Accepted(entry) => {
                let entry = entry.as_ref().clone().noted(item.as_ref());
                let class = match entry.accepted {
                    Some(_) => Class::Accepted,
                    None if QuarantineReason::is_collision(&entry.code) => Class::Collision,
                    None => Class::Quarantined,
                };
                self.done(job, class)
            }
        }
    }

    /// The source item's key.
    fn key(&self, job: &Job) -> Option<Item> {
        self.of.as_ref()?.item(job.mapping().source())
    }

    /// Is the item accepted?
    fn ask_accepted(&mut self, job: &Job, entry: Quarantined) -> CheckStep {
        let key = accepted_key(job.mapping(), &entry.row);
        self.phase = CheckPhase::Accepted(Box::new(entry));
        CheckStep::Send(Request::Get { role: TableRole::Control, key })
    }

    /// In place, the item that was read is all there is.
    fn after_source(&mut self, job: &Job) -> CheckStep {
        match job.mapping().protocol() {
            Protocol::InPlace => self.judge(job),
            Protocol::Fenced | Protocol::Ledger => self.read_target(job),
        }
    }

    /// Reads the place where the item was found, or else where it should be.
    fn read_target(&mut self, job: &Job) -> CheckStep {
        self.phase = CheckPhase::Target;
        let wanted = || match &self.source {
            Source::Wanted { item, .. } => job.mapping().target().key_of(item),
            _ => None,
        };
        match self.found_at.clone().or_else(wanted) {
            Some(key) => CheckStep::Send(Request::Get { role: TableRole::Target, key }),
            // Gone from the source, not selected, or not to be mapped: it has no place to look at.
            None => {
                self.target = None;
                self.judge(job)
            }
        }
    }

    /// Compares the two sides as this look shows them.
    fn judge(&mut self, job: &Job) -> CheckStep {
        let class = self.or_expired(job, self.compare(job));
        if class == Class::Same {
            return self.done(job, Class::Same);
        }
        let now = self.written_by_retrofit(job);
        self.carried |= self.before.as_ref().is_some_and(|before| *before != now);
        self.before = Some(now);
        self.looks += 1;
        if self.looks <= self.options.looks_again {
            return CheckStep::Pause;
        }
        // A source that alone moves is no excuse: what was different at the first look had time to arrive.
        self.ask_quarantine(job, if self.carried { Class::InFlight } else { class })
    }

    /// The part that the retrofit writes: the target's item, in place the folded keys.
    fn written_by_retrofit(&self, job: &Job) -> Option<Item> {
        let mapping = job.mapping();
        if mapping.protocol() != Protocol::InPlace {
            return self.target.clone();
        }
        let Source::Stored(item) = &self.source else { return None };
        let folded =
            mapping.written_table().every_key().filter(|(_, key)| matches!(key.source, KeySource::Folded(_)));
        Some(folded.filter_map(|(_, key)| Some((key.name.clone(), item.get(&key.name)?.clone()))).collect())
    }

    /// The difference, or that a time to live makes an end of it without anybody's doing.
    fn or_expired(&self, job: &Job, class: Class) -> Class {
        let over = match class {
            Class::Extra => self.target.as_ref().is_some_and(|item| self.options.ends_target_item(job, item)),
            Class::Missing | Class::Different => match &self.source {
                Source::Nothing | Source::NotTaken => false,
                Source::Unmappable { expires } | Source::Wanted { expires, .. } => *expires,
                Source::Stored(item) => self.options.ends_item_in_place(job, item),
            },
            _ => false,
        };
        if over { Class::Expired } else { class }
    }

    /// A difference that is known is called by its name.
    fn ask_quarantine(&mut self, job: &Job, class: Class) -> CheckStep {
        let Some(of) = &self.of else { return self.done(job, class) };
        self.phase = CheckPhase::Quarantine(class);
        let partition = control::quarantine_partition(job.mapping().rows_name());
        CheckStep::Send(Request::Get {
            role: TableRole::Control,
            key: control::key(&partition, &of.row_key()),
        })
    }

    fn done(&self, job: &Job, class: Class) -> CheckStep {
        // Most are the same, and then the key is not needed.
        let key = if class == Class::Same { None } else { self.key(job) };
        CheckStep::Done(CheckResult { class, key })
    }

    /// What two sides of one item say, at one look.
    fn compare(&self, job: &Job) -> Class {
        let mapping = job.mapping();
        let at_target = self.found_at.is_some();
        let wanted = match &self.source {
            Source::Stored(item) => {
                let lacks = !matches!(mapping.in_place_update(Cow::Borrowed(item)), Ok(None));
                return if lacks { Class::Different } else { Class::Same };
            }
            // It is in the quarantine, or is missing there.
            Source::Unmappable { .. } => return Class::Missing,
            Source::Nothing | Source::NotTaken => None,
            Source::Wanted { item, .. } => Some(item),
        };
        let target = self.target.as_ref().filter(|item| !item.contains_key(TOMBSTONE_ATTRIBUTE));
        let theirs = target.is_some_and(|item| job.owner(item) != self.of);
        match (wanted, target) {
            (None, None) => Class::Same,
            // Another source item has taken the place over since the scan.
            (_, Some(_)) if theirs && at_target => Class::Same,
            (None, Some(item)) if !mapping.may_own(item) => Class::Same,
            (None, Some(_)) => Class::Extra,
            (Some(wanted), Some(item)) if at_target && !same_key(job, wanted, item) => Class::Extra,
            // It has left this place since the scan, and the source's side looks for it where it should be.
            (Some(_), None) if at_target => Class::Same,
            (Some(_), None) => Class::Missing,
            (Some(_), Some(_)) if theirs => Class::Collision,
            (Some(wanted), Some(item)) if same_item(wanted, item, &OWN_ATTRIBUTES) => Class::Same,
            (Some(_), Some(_)) => Class::Different,
        }
    }
}

fn same_key(job: &Job, a: &Item, b: &Item) -> bool {
    let target = job.mapping().target();
    target.key_attributes().all(|key| match (a.get(&key.name), b.get(&key.name)) {
        (Some(a), Some(b)) => equal(a, b),
        _ => false,
    })
}
