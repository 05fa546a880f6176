//! How fast a worker may go: by the capacity units that it really consumed, and by what DynamoDB says when it is too much.
//!
//! A worker asks [`Rate::wait`] before each page and says with [`Rate::consumed`] what the page has cost. It may go into
//! debt and waits it off before the next page. The rate is cut by a factor when something is throttled and grows slowly
//! afterwards: live writers come first. There is no clock here; every call gets the time since the worker began.

use std::time::Duration;

/// Units per second at the start, if no rate was given: what one partition of a table allows.
pub const RATE_START: f64 = 1000.0;
/// The least: a worker goes on, however slowly.
pub const RATE_MIN: f64 = 5.0;
/// The most: no table takes more from one worker.
pub const RATE_MAX: f64 = 1_000_000.0;

/// Unused units that are kept for later, in seconds of the rate.
pub const BURST_SECONDS: f64 = 2.0;
/// A page should not cost more than this, in seconds of the rate.
pub const PAGE_SECONDS: f64 = 1.0;
/// The fewest items of a page, however low the rate.
pub const PAGE_ITEMS_MIN: u32 = 10;

/// The assumed units of an item before one is known.
pub const ITEM_UNITS_UNKNOWN: f64 = 5.0;

/// How often the rate may grow.
pub const GROWTH_PERIOD: Duration = Duration::from_secs(10);
/// Once something was throttled: by this part of what the rate was then.
pub const GROWTH_SHARE: f64 = 0.05;
/// Until something is throttled for the first time.
pub const GROWTH_FIRST: f64 = 2.0;
/// The used share above which the rate grows.
pub const USED_SHARE: f64 = 0.5;

/// Many requests meet one shortage: after a cut, no other of the same kind for so long.
pub const CUT_PERIOD: Duration = Duration::from_secs(1);
/// An account at its limit is left alone for so long.
pub const ACCOUNT_PAUSE: Duration = Duration::from_secs(30);
/// The shortest time over which consumption says something.
const MEASURED_SECONDS_MIN: f64 = 1.0;

/// The exhausted resource, from the least to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThrottledBy {
    /// Nothing was, but the replicator is behind: it carries what is new, and must not wait for what is old.
    Replicator,
    /// One range of keys of the table: the others have room.
    Range,
    /// The table, or it was not said what.
    Table,
    /// An index: the table's live writers are refused too.
    Index,
    /// The account: all its tables.
    Account,
}

impl ThrottledBy {
    /// Reads a reason as DynamoDB writes it: `IndexWriteKeyRangeThroughputExceeded`.
    ///
    /// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing.html>
    pub fn of_reason(reason: &str) -> ThrottledBy {
        if reason.contains("AccountLimit") {
            ThrottledBy::Account
        } else if reason.starts_with("Index") {
            ThrottledBy::Index
        } else if reason.contains("KeyRange") {
            ThrottledBy::Range
        } else {
            ThrottledBy::Table
        }
    }

    /// The remaining share of the rate.
    fn share(self) -> f64 {
        match self {
            ThrottledBy::Replicator | ThrottledBy::Range => 0.75,
            ThrottledBy::Table => 0.5,
            ThrottledBy::Index => 0.25,
            ThrottledBy::Account => 0.1,
        }
    }

    /// Each with its name in logs and rows, and in words.
    const NAMES: [(ThrottledBy, &'static str, &'static str); 5] = [
        (ThrottledBy::Replicator, "replicator", "the replicator's lag, of more than a minute"),
        (ThrottledBy::Range, "range", "throttling of one range of keys of the table"),
        (ThrottledBy::Table, "table", "throttling of the table"),
        (ThrottledBy::Index, "index", "throttling of an index"),
        (ThrottledBy::Account, "account", "the account's limit of throughput"),
    ];

    fn names(self) -> (&'static str, &'static str) {
        let mut all = ThrottledBy::NAMES.iter();
        all.find(|(by, ..)| *by == self).map_or(("", ""), |(_, name, words)| (name, words))
    }

    /// Its name in logs and rows.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// The same for people.
    pub fn words(self) -> &'static str {
        self.names().1
    }

    /// The cause with this name.
    pub fn named(name: &str) -> Option<ThrottledBy> {
        ThrottledBy::NAMES.iter().find(|(_, known, _)| *known == name).map(|(by, ..)| *by)
    }
}

/// The rate of one worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    units_per_second: f64,
    most: f64,
    /// Units that may be consumed now; below zero, the debt.
    balance: f64,
    /// Up to when the balance is made up.
    at: Duration,
    /// Nothing goes out before.
    held_until: Duration,
    /// The rate at the last throttling; `None` before the first.
    cut_from: Option<f64>,
    /// The rate at which it first yielded to the replicator; `None` once it is back there.
    yielded_from: Option<f64>,
    last_cut: Option<(ThrottledBy, Duration)>,
    period: Period,
    throttles: u64,
    items: u64,
    units: f64,
}

/// The units consumed since the rate could last grow.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Period {
    began: Duration,
    units: f64,
    throttled: bool,
}

impl Rate {
    /// A rate that begins at `most` units in a second and never exceeds it; without it, one that finds its own.
    pub fn new(most: Option<f64>, now: Duration) -> Rate {
        let within = |rate: f64| if rate.is_nan() { RATE_START } else { rate.clamp(RATE_MIN, RATE_MAX) };
        let (start, most) = match most {
            Some(most) => (within(most), within(most)),
            None => (RATE_START, RATE_MAX),
        };
        Rate {
            units_per_second: start,
            most,
            balance: start * BURST_SECONDS,
            at: now,
            held_until: Duration::ZERO,
            cut_from: None,
            yielded_from: None,
            last_cut: None,
            period: Period { began: now, units: 0.0, throttled: false },
            throttles: 0,
            items: 0,
            units: 0.0,
        }
    }

    /// The current units per second.
    pub fn units_per_second(&self) -> f64 {
        self.units_per_second
    }

    /// How often something was throttled.
    pub fn throttles(&self) -> u64 {
        self.throttles
    }

    /// How long to wait before the next page; zero to go on.
    pub fn wait(&mut self, now: Duration) -> Duration {
        self.make_up(now);
        let held = self.held_until.saturating_sub(self.at);
        let debt = if self.balance > 0.0 { 0.0 } else { -self.balance / self.units_per_second };
        held.max(Duration::try_from_secs_f64(debt).unwrap_or(ACCOUNT_PAUSE))
    }

    /// How many items the next page should have, if it may have `most`.
    pub fn page_items(&self, most: u32) -> u32 {
        let known = self.items > 0 && self.units > 0.0;
        let item_units = if known { self.units / self.items as f64 } else { ITEM_UNITS_UNKNOWN };
        let fits = self.units_per_second * PAGE_SECONDS / item_units;
        // Saturates, and a page has few items.
        (fits as u32).clamp(PAGE_ITEMS_MIN.min(most), most)
    }

    /// Notes that a page of items was dealt with.
    pub fn carried(&mut self, items: u64) {
        self.items += items;
    }

    /// Notes what was consumed.
    pub fn consumed(&mut self, units: f64, now: Duration) {
        self.make_up(now);
        self.balance -= units;
        self.units += units;
        self.period.units += units;
    }

    /// Notes that something was throttled.
    pub fn throttled(&mut self, by: ThrottledBy, now: Duration) {
        self.make_up(now);
        self.throttles += 1;
        self.period.throttled = true;
        let known = |(kind, at): (ThrottledBy, Duration)| kind >= by && now.saturating_sub(at) < CUT_PERIOD;
        if self.last_cut.is_some_and(known) {
            return;
        }
        self.last_cut = Some((by, now));
        // Unused allowance is no measure.
        let from = self.units_per_second.min(self.measured(now)).max(RATE_MIN);
        // A replicator that was behind says nothing of what the tables take: once it has caught up, the rate goes back to where it was.
        // Growing by shares of a rate that was cut many times would take hours.
        match by {
            ThrottledBy::Replicator => drop(self.yielded_from.get_or_insert(self.units_per_second)),
            _ => (self.cut_from, self.yielded_from) = (Some(from), None),
        }
        self.units_per_second = (from * by.share()).max(RATE_MIN);
        self.balance = self.balance.min(0.0);
        self.period = Period { began: now, units: 0.0, throttled: true };
        if by == ThrottledBy::Account {
            self.held_until = now + ACCOUNT_PAUSE;
        }
    }

    /// Units in a second, as they were consumed lately.
    fn measured(&self, now: Duration) -> f64 {
        let seconds = now.saturating_sub(self.period.began).as_secs_f64().max(MEASURED_SECONDS_MIN);
        if self.period.units > 0.0 { self.period.units / seconds } else { self.units_per_second }
    }

    /// Adds what may be consumed since the last call, and lets the rate grow if a period is over.
    fn make_up(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.at);
        self.at = self.at.max(now);
        let gained = self.units_per_second * passed.as_secs_f64();
        self.balance = (self.balance + gained).min(self.units_per_second * BURST_SECONDS);
        let period = now.saturating_sub(self.period.began);
        if period >= GROWTH_PERIOD {
            let used = self.period.units >= self.units_per_second * period.as_secs_f64() * USED_SHARE;
            if used && !self.period.throttled {
                self.grow();
            }
            self.period = Period { began: now, units: 0.0, throttled: false };
        }
    }

    /// What keeps the rate below its most: the last shortage. `None` if nothing does.
    pub fn limited_by(&self) -> Option<ThrottledBy> {
        let (by, _) = self.last_cut?;
        let yields = self.yielded_from.is_some() || by != ThrottledBy::Replicator;
        (yields && self.units_per_second < self.most).then_some(by)
    }

    fn grow(&mut self) {
        if let Some(from) = self.yielded_from {
            self.units_per_second = (self.units_per_second * GROWTH_FIRST).min(from);
            self.yielded_from = Some(from).filter(|from| self.units_per_second < *from);
            return;
        }
        let grown = match self.cut_from {
            None => self.units_per_second * GROWTH_FIRST,
            Some(from) => self.units_per_second + from * GROWTH_SHARE,
        };
        self.units_per_second = grown.min(self.most);
    }
}

#[cfg(test)]
mod tests;
