//! Runs of a segment of the backfill: pages are read item by item, as DynamoDB reads them, so that writes fall between.

use keyfold_core::retrofit::{Checkpoint, Pass, SegmentId, Slice, TaskResult};
use keyfold_core::value::Item;

use super::fault::Fault;
use super::mutant::Mutant;
use super::scenario::{NAMES, key};
use super::state::SimulationState;
use super::truth::Violation;
use super::work::{BlockedTask, PageRead, PendingTask, SegmentRun, TaskOrigin, Version, Waiter};

/// The most items of a page.
const PAGE_MAX: usize = 3;
/// The most pages of one run that are under way.
const PAGES_OPEN_MAX: usize = 2;

impl SimulationState<'_> {
    /// Begins the backfill: one or two segments, perhaps each of them twice.
    pub(super) fn begin_backfill(&mut self) {
        let total = self.random.between(1, 2) as u32;
        let twice = self.faults.strikes(Fault::SegmentTwice, &mut self.random, 50);
        for number in 0..total {
            let Ok(segment) = SegmentId::new(number, total) else { continue };
            for _ in 0..if twice { 2 } else { 1 } {
                self.begin_run(segment);
            }
        }
    }

    fn begin_run(&mut self, segment: SegmentId) {
        let mut version = self.version();
        if self.faults.strikes(Fault::Versions, &mut self.random, 20) {
            let other = Version { other: !version.other, ..version };
            if self.is_open(other) {
                version = other;
            }
        }
        let returned = Checkpoint::start(self.job_of(version), Pass::Backfill, segment);
        let (id, slice) = (self.id(), Slice::from(returned.clone()));
        self.runs
            .insert(id, SegmentRun { slice, returned, reading: None, open: 0, blocked: Vec::new(), version });
    }

    /// One turn of a run.
    pub(super) fn advance_run(&mut self, id: u64) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if self.random.chance(40) {
            run.returned.clone_from(run.slice.checkpoint());
        }
        if run.reading.is_some() {
            return self.read_one(id);
        }
        if run.slice.checkpoint().is_done() {
            if run.open == 0 {
                self.runs.remove(&id);
            }
            return;
        }
        if run.slice.next().is_some() && run.slice.pages_open() < PAGES_OPEN_MAX {
            return self.begin_reading(id);
        }
        if run.open == 0 && !run.blocked.is_empty() {
            return self.unblock_run(id);
        }
        if self.faults.strikes(Fault::CheckpointRedrive, &mut self.random, 3) {
            self.note(|| format!("run {id} goes on from an older checkpoint"));
            self.restart_run(id);
        }
    }

    fn begin_reading(&mut self, id: u64) {
        if self.is_scan_throttled() {
            if self.bites(Mutant::ErrorIsEnd) {
                self.begin_page(id, &[], None);
            }
            return;
        }
        let limit = self.random.between(1, PAGE_MAX);
        let Some(run) = self.runs.get_mut(&id) else { return };
        let Some(after) = run.slice.next() else { return };
        let at = after.map_or(0, |after| super::scenario::number_of(after) + 1);
        run.reading = Some(PageRead { items: Vec::new(), at, limit });
    }

    /// Reads the next item of a page. A page may end early, and the last one may say that there is more.
    fn read_one(&mut self, id: u64) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let (segment, Some(mut reading)) = (run.returned.segment(), run.reading.take()) else { return };
        while reading.at < self.keys {
            let number = reading.at;
            reading.at += 1;
            if number as u32 % segment.total() != segment.number() {
                continue;
            }
            if let Some(item) = self.scanned(number) {
                reading.items.push(item);
                break;
            }
        }
        let last = reading.items.last().map(super::scenario::number_of);
        let full = reading.items.len() >= reading.limit;
        let is_over = reading.at >= self.keys;
        let early = !reading.items.is_empty() && self.random.chance(10);
        let more = full || early || (is_over && last.is_some() && self.random.chance(30));
        if more || is_over {
            let end = self.further(last.filter(|_| more)).map(key);
            return self.begin_page(id, &reading.items, end);
        }
        if let Some(run) = self.runs.get_mut(&id) {
            run.reading = Some(reading);
        }
    }

    /// Where a page ends; with a weakened protocol, one item further on.
    fn further(&mut self, end: Option<usize>) -> Option<usize> {
        let next = end? + 1;
        let skips = next < self.keys && self.has(Mutant::CheckpointFurther);
        if skips && self.source.at(NAMES[next]).is_some() {
            self.bitten();
        }
        if skips { Some(next) } else { end }
    }

    /// The state that the scan reads of this item.
    fn scanned(&mut self, number: usize) -> Option<Item> {
        if self.has(Mutant::EventualScan) && self.random.chance(50) {
            let stale = self.truth.stale(number, self.turns).cloned();
            if let Some(stale) = stale {
                self.bitten();
                self.note(|| format!("scan reads k{number} as it was"));
                return stale;
            }
        }
        let item = self.source.at(NAMES[number]).cloned();
        self.note(|| format!("scan reads k{number}: {}", if item.is_some() { "there" } else { "nothing" }));
        item
    }

    /// Starts the tasks of a page.
    fn begin_page(&mut self, id: u64, items: &[Item], end: Option<Item>) {
        self.note(|| format!("run {id}: a page of {}, more: {}", items.len(), end.is_some()));
        let ahead = !items.is_empty() && self.bites(Mutant::CheckpointFirst);
        let Some(run) = self.runs.get_mut(&id) else { return };
        let (page, version) = (run.slice.page(items.len(), end), run.version);
        let careful = run.slice.is_careful(page);
        run.open += items.len();
        if ahead {
            for _ in items {
                run.slice.item_done(page, &TaskResult::Written);
            }
        }
        let job = self.job_of(version);
        for item in items {
            self.start(
                job.backfill(item.clone(), careful),
                TaskOrigin::Scan,
                Waiter::SegmentRun(id, page),
                version,
            );
        }
    }

    /// Goes on from the last checkpoint that was given back.
    pub(super) fn restart_run(&mut self, id: u64) {
        self.works.retain(|work| !matches!(work.pending.owner, Waiter::SegmentRun(same, _) if same == id));
        let Some(mut run) = self.runs.remove(&id) else { return };
        if self.has(Mutant::CheckpointFirst) {
            run.returned.clone_from(run.slice.checkpoint());
        }
        let (json, segment) = (run.returned.json(), run.returned.segment());
        let other = Version { other: !run.version.other, ..run.version };
        if Checkpoint::resume(&json, self.job_of(other), Pass::Backfill, segment).is_ok() {
            self.fail(Violation::new("a checkpoint of another mapping is taken up"));
        }
        match Checkpoint::resume(&json, self.job_of(run.version), Pass::Backfill, segment) {
            Ok(read) => run.slice = Slice::from(read),
            Err(error) => return self.fail(Violation::new(format!("a checkpoint is refused: {error}"))),
        }
        (run.open, run.reading) = (0, None);
        run.blocked.clear();
        let id = self.id();
        self.runs.insert(id, run);
    }

    /// Tries the blocked items of a run once more.
    fn unblock_run(&mut self, id: u64) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let (waiting, version) = (std::mem::take(&mut run.blocked), run.version);
        run.open += waiting.len();
        for BlockedTask { at, task, blocked } in waiting {
            self.try_again(PendingTask {
                task,
                kind: TaskOrigin::Scan,
                owner: Waiter::SegmentRun(id, at),
                version,
                blocked,
            });
        }
    }
}
