//! A lease on a segment: one worker at a time carries it over.
//!
//! A lease saves units; it keeps nothing right. Two workers on one segment do no harm, because every write is
//! conditional: they only pay twice. So a lease may run out while its owner still writes, clocks may differ, and a worker
//! that finds its lease taken merely stops before its next page.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::control::{self, number, text, whole};
use super::job::Job;
use super::progress::segment_sort;
use super::rate::{Rate, ThrottledBy};
use super::request::{Action, Guard, TableRole, Write, is};
use super::segment::{Pass, SegmentId};
use crate::condition::{Comparison, Condition};
use crate::value::{AttributeValue, Item};

const OWNER: &str = "owner";
const UNTIL: &str = "until";
const RATE: &str = "unitsPerSecond";
const LIMITED_BY: &str = "limitedBy";

/// Which worker has a segment, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Which scan.
    pub pass: Pass,
    /// Which part of it.
    pub segment: SegmentId,
    /// Who has it. The same owner may take it again any time.
    pub owner: String,
    /// The millisecond since 1970 after which anybody may take it.
    pub until_ms: u64,
}

impl Lease {
    /// The write that takes it at this time: if no worker has it, or its time is over.
    pub fn take(&self, job: &Job, now_ms: u64) -> Write {
        let over = is(UNTIL, Comparison::Less(number(now_ms)));
        let free = Condition::Any(vec![over, is(OWNER, Comparison::Equal(self.owner_value()))]);
        Write { role: TableRole::Control, action: Action::Put(self.row(job)), guard: Guard::AbsentOr(free) }
    }

    /// The write that renews it, unless another worker has taken it. It notes how fast the worker goes.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate, never negative")]
    pub fn renew(&self, job: &Job, rate: Option<&Rate>) -> Write {
        let mut set = vec![(UNTIL.into(), number(self.until_ms))];
        if let Some(rate) = rate {
            let by = rate.limited_by().map_or("", ThrottledBy::name);
            set.push((RATE.into(), number(rate.units_per_second() as u64)));
            set.push((LIMITED_BY.into(), AttributeValue::S(by.to_owned())));
        }
        let action = Action::Update { key: Arc::new(self.key(job)), set, remove: Vec::new() };
        Write { role: TableRole::Control, action, guard: self.mine() }
    }

    /// The write that gives it back, unless another worker has taken it.
    pub fn release(&self, job: &Job) -> Write {
        Write { role: TableRole::Control, action: Action::Delete(self.key(job)), guard: self.mine() }
    }

    /// Who has a segment, as its row says.
    pub fn read(pass: Pass, segment: SegmentId, row: &Item) -> Option<Lease> {
        let owner = text(row, OWNER)?.to_owned();
        Some(Lease { pass, segment, owner, until_ms: whole(row, UNTIL)? })
    }

    /// Is the segment of this row still leased?
    pub fn is_held(row: &Item, now_ms: u64) -> bool {
        whole(row, UNTIL).is_some_and(|until| until >= now_ms)
    }

    fn mine(&self) -> Guard {
        Guard::equals(OWNER, self.owner_value())
    }

    fn owner_value(&self) -> AttributeValue {
        AttributeValue::S(self.owner.clone())
    }

    fn key(&self, job: &Job) -> Item {
        control::key(
            &control::leases_partition(job.mapping().rows_name()),
            &segment_sort(job, self.pass, self.segment),
        )
    }

    fn row(&self, job: &Job) -> Item {
        let mut row = control::row(self.key(job));
        row.insert(OWNER, self.owner_value());
        row.insert(UNTIL, number(self.until_ms));
        row
    }
}

/// How fast a worker goes, and what limits it, as it noted with its last page. All segments of one worker share its rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRate {
    /// The worker.
    pub owner: String,
    /// Capacity units per second that it may consume.
    pub units_per_second: u64,
    /// What keeps it from going faster; `None` if nothing does.
    pub limited_by: Option<ThrottledBy>,
}

impl WorkerRate {
    /// The rates of the workers that hold these leases now.
    pub fn of_leases(rows: &[Item], now_ms: u64) -> Vec<WorkerRate> {
        let mut rates: BTreeMap<String, WorkerRate> = BTreeMap::new();
        for row in rows.iter().filter(|row| Lease::is_held(row, now_ms)) {
            let (Some(owner), Some(units_per_second)) = (text(row, OWNER), whole(row, RATE)) else {
                continue;
            };
            let limited_by = text(row, LIMITED_BY).and_then(ThrottledBy::named);
            let rate = WorkerRate { owner: owner.to_owned(), units_per_second, limited_by };
            rates.insert(owner.to_owned(), rate);
        }
        rates.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::retrofit::tests::job;

    fn lease(owner: &str, until_ms: u64) -> Lease {
        Lease { pass: Pass::Backfill, segment: SegmentId::WHOLE, owner: owner.to_owned(), until_ms }
    }

    fn row(lease: &Lease) -> Item {
        match lease.take(&job("moved"), 0).action {
            Action::Put(row) => row,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_lease_is_taken_where_nobody_has_it_or_its_time_is_over() {
        let job = job("moved");
        let theirs = row(&lease("them", 1000));
        assert_eq!(Lease::read(Pass::Backfill, SegmentId::WHOLE, &theirs), Some(lease("them", 1000)));
        let takes = |owner: &str, now_ms| lease(owner, now_ms + 1000).take(&job, now_ms).guard;
        assert!(takes("me", 500).holds(None));
        assert!(!takes("me", 500).holds(Some(&theirs)));
        assert!(!takes("me", 1000).holds(Some(&theirs)), "to the last millisecond");
        assert!(takes("me", 1001).holds(Some(&theirs)));
        assert!(takes("them", 500).holds(Some(&theirs)), "its holder may take it again");
        assert!(Lease::is_held(&theirs, 1000) && !Lease::is_held(&theirs, 1001));
    }

    #[test]
    fn a_lease_that_somebody_else_has_is_neither_kept_nor_given_back() {
        let job = job("moved");
        let (mine, theirs) = (lease("me", 1000), row(&lease("them", 2000)));
        for write in [mine.renew(&job, None), mine.release(&job)] {
            assert!(!write.guard.holds(Some(&theirs)) && !write.guard.holds(None));
            assert!(write.guard.holds(Some(&row(&lease("me", 0)))), "its own, even if its time is over");
        }
    }

    #[test]
    fn a_lease_says_how_fast_its_worker_goes_and_what_limits_it() {
        let job = job("moved");
        let mut rate = Rate::new(None, Duration::ZERO);
        rate.throttled(ThrottledBy::Replicator, Duration::ZERO);
        let Action::Update { set, .. } = lease("me", 1000).renew(&job, Some(&rate)).action else { panic!() };
        let mut held = row(&lease("me", 1000));
        held.extend(set.iter().map(|(path, value)| (path.to_string(), value.clone())));
        let others = [held, row(&lease("no-page-yet", 1000))];
        let noted = WorkerRate {
            owner: "me".to_owned(),
            units_per_second: 750,
            limited_by: Some(ThrottledBy::Replicator),
        };
        assert_eq!(WorkerRate::of_leases(&others, 1000), [noted]);
        assert_eq!(WorkerRate::of_leases(&others, 1001), [], "nobody works any more");
    }
}
