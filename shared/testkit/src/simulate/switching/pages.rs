//! Passes over segments while a target is filled: pages are read item by item, as DynamoDB reads them, so that writes fall between.

use std::collections::BTreeMap;
use std::rc::Rc;

use keyfold_core::retrofit::control::{self, Direction};
use keyfold_core::retrofit::operate::{Failure, FailureKind, Reply};
use keyfold_core::retrofit::progress;
use keyfold_core::retrofit::verify::LOOKS_AGAIN_MIN;
use keyfold_core::retrofit::{Checkpoint, Job, Pass, Request, SegmentId, Slice, TaskResult, Write};
use keyfold_core::value::Item;

use super::super::fault::Fault;
use super::super::mutant::Mutant;
use super::super::scenario::key;
use super::super::work::TaskOrigin;
use super::checks::PAUSE_TURNS;
use super::fill::{PageRead, SegmentRun};
use super::scene::KEYS;
use super::work::{Errand, Waiter};
use super::world::{PassRun, World, failure, number_of};

/// The most items of a page.
const PAGE_MAX: usize = 3;
/// The most pages of one run that are under way.
const PAGES_OPEN_MAX: usize = 2;
/// The most segments of a backfill.
const SEGMENTS_MAX: usize = 2;

impl World {
    /// One step of a pass: of one of its segments, or its end.
    pub(super) fn step_pass(&mut self, at: usize, pass: Pass, repair: bool) -> Result<Reply, Failure> {
        let known = self.operators[at].pass.take();
        let of_pass = |run: &PassRun| run.pass == pass && self.has_run(run, repair);
        let run = match known.filter(of_pass) {
            Some(run) => run,
            None => self.begin_segments(pass, repair)?,
        };
        let mut jobs = run.segments.iter().filter_map(|id| self.fill().runs.get(id));
        let is_open = |run: &SegmentRun| self.head.check_filling(run.job.mapping()).is_ok();
        if !jobs.all(is_open) || self.head.epoch != run.head.epoch {
            self.forget_runs(&run.segments);
            return Err(failure(FailureKind::Other, "retrofit-closed"));
        }
        let open: Vec<u64> = run.segments.iter().copied().filter(|id| !self.is_segment_over(*id)).collect();
        self.operators[at].pass = Some(run);
        if let Some(&id) = self.random.any(&open) {
            match pass {
                Pass::Backfill => self.advance_segment(id),
                _ => self.advance_check(id),
            }
            return Ok(Reply::Pass { done: false, counts: BTreeMap::new() });
        }
        let Some(run) = self.operators[at].pass.take() else { unreachable!("it was put there") };
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for id in &run.segments {
            let Some(segment) = self.fill_mut().runs.remove(id) else { continue };
            let checkpoint = segment.slice.checkpoint();
            for (name, count) in checkpoint.counts() {
                *counts.entry(name.clone()).or_default() += count;
            }
            // A repair changes what it compares, so only comparisons without one are recorded.
            if !repair {
                self.store_row(progress::begin_segment(&segment.job, checkpoint));
            }
            if self.fill().is_quiet && pass != Pass::Backfill && !repair {
                self.fill_mut().findings.extend(segment.findings);
            }
        }
        Ok(Reply::Pass { done: true, counts })
    }

    fn has_run(&self, run: &PassRun, repair: bool) -> bool {
        let of = |id: &u64| self.fill().runs.get(id).is_some_and(|segment| segment.repair == repair);
        run.segments.iter().all(of)
    }

    pub(super) fn forget_runs(&mut self, ids: &[u64]) {
        let fill = self.fill_mut();
        ids.iter().for_each(|id| drop(fill.runs.remove(id)));
    }

    /// The rows of a pass say no longer how far its segments are.
    pub(super) fn forget_segments(&mut self, pass: Pass) {
        for row in self.segment_rows(&format!("{}#", pass.name())) {
            self.control.set(&self.scene.control_table, &row, None);
        }
    }

    fn segment_rows(&self, prefix: &str) -> Vec<Item> {
        let partition = control::segments_partition(self.scene.mapping.rows_name());
        self.control.within(&format!("{partition}|{prefix}")).cloned().collect()
    }

    /// Do the rows say that the backfill of this stream is complete?
    pub(super) fn is_backfilled(&self) -> bool {
        let rows = self.segment_rows(&format!("{}#{:04}#", Pass::Backfill.name(), self.head.epoch.number()));
        if rows.is_empty() {
            return false;
        }
        let job = self.head.job(self.mapping_now().clone());
        let known = progress::read_checkpoints(&job, Pass::Backfill, &rows).unwrap_or_default();
        let (done, total) = progress::filled(&known);
        total > 0 && done == total
    }

    fn is_segment_over(&self, id: u64) -> bool {
        self.fill()
            .runs
            .get(&id)
            .is_none_or(|run| run.slice.checkpoint().is_done() && run.open == 0 && run.looking.is_none())
    }

    /// A write of the control table by a worker.
    fn store_row(&mut self, write: Write) {
        self.origin = TaskOrigin::Verify;
        self.carry_out(Direction::Forward, &Request::Write(write));
    }

    /// The segments of a pass: a backfill goes on where its rows say, a comparison starts again.
    fn begin_segments(&mut self, pass: Pass, repair: bool) -> Result<PassRun, Failure> {
        let mapping = self.mapping_now();
        if self.head.check_filling(mapping).is_err() {
            return Err(failure(FailureKind::Other, "retrofit-closed"));
        }
        let job = self.job(false);
        let rows = self.segment_rows("");
        let checkpoints = progress::read_checkpoints(&job, pass, &rows).unwrap_or_default();
        let total = match (pass, checkpoints.first()) {
            (Pass::Backfill, Some(known)) => known.segment().total(),
            (Pass::Backfill, None) => self.random.between(1, SEGMENTS_MAX) as u32,
            _ => 1,
        };
        let mut begun = self.begun(pass, &job);
        let looks_again = match self.fill().is_quiet {
            true => PAUSE_TURNS.len(),
            // It may be given little lag.
            false => *self.random.pick(&[LOOKS_AGAIN_MIN as usize, PAUSE_TURNS.len()]),
        };
        if pass == Pass::VerifySource {
            self.hit(Fault::Verify);
            self.fill_mut().findings.clear();
        }
        for number in 0..total {
            let Ok(segment) = SegmentId::new(number, total) else { continue };
            let mark = (pass != Pass::Backfill && !repair).then(|| begun.started.text());
            let known = checkpoints.iter().find(|known| known.segment() == segment).cloned();
            let fresh = Checkpoint::start(&job, pass, segment).marked(mark);
            let slice = Slice::from(known.filter(|_| pass == Pass::Backfill).unwrap_or(fresh));
            let run = SegmentRun {
                pass,
                repair,
                job: Rc::clone(&job),
                slice,
                reading: None,
                open: 0,
                looks_again,
                looking: None,
                after: String::new(),
                findings: Vec::new(),
            };
            let id = self.fill_mut().id();
            self.fill_mut().runs.insert(id, run);
            begun.segments.push(id);
            let skips = match pass {
                Pass::Backfill => self.head.epoch.number() > 1 && self.bites(Mutant::NoRescan),
                Pass::VerifyTarget => self.bites(Mutant::OneSided),
                _ => false,
            };
            if skips && let Some(run) = self.fill_mut().runs.get_mut(&id) {
                run.slice.page(0, None);
            }
        }
        self.note(|| format!("pass {} begins, repair: {repair}, {total} segments", pass.name()));
        Ok(begun)
    }

    /// One step of a segment of the backfill.
    fn advance_segment(&mut self, id: u64) {
        let stores = self.random.chance(40);
        let Some(run) = self.fill().runs.get(&id) else { return };
        if stores {
            let write = progress::store_checkpoint(&run.job, run.slice.checkpoint());
            self.store_row(write);
        }
        let Some(run) = self.fill().runs.get(&id) else { return };
        if run.reading.is_some() {
            return self.read_one(id);
        }
        if run.slice.next().is_some() && run.slice.pages_open() < PAGES_OPEN_MAX {
            return self.begin_reading(id);
        }
        if self.strikes(Fault::CheckpointRedrive, 3) {
            self.note(|| format!("run {id} goes on from an older checkpoint"));
            self.restart_segment(id);
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
        let Some(run) = self.fill_mut().runs.get_mut(&id) else { return };
        let Some(after) = run.slice.next() else { return };
        let at = after.map_or(0, |after| number_of(after) + 1);
        run.reading = Some(PageRead { items: Vec::new(), at, limit });
    }

    /// Reads the next item of a page. A page may end early, and the last one may say that there is more.
    fn read_one(&mut self, id: u64) {
        let Some(run) = self.fill_mut().runs.get_mut(&id) else { return };
        let (segment, Some(mut reading)) = (run.slice.checkpoint().segment(), run.reading.take()) else {
            return;
        };
        while reading.at < KEYS {
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
        let last = reading.items.last().map(number_of);
        let full = reading.items.len() >= reading.limit;
        let is_over = reading.at >= KEYS;
        let early = !reading.items.is_empty() && self.random.chance(10);
        let more = full || early || (is_over && last.is_some() && self.random.chance(30));
        if more || is_over {
            let end = self.further(last.filter(|_| more)).map(key);
            return self.begin_page(id, &reading.items, end);
        }
        if let Some(run) = self.fill_mut().runs.get_mut(&id) {
            run.reading = Some(reading);
        }
    }

    /// Where a page ends; with a weakened protocol, one item further on.
    fn further(&mut self, end: Option<usize>) -> Option<usize> {
        let next = end? + 1;
        let skips = next < KEYS && self.has(Mutant::CheckpointFurther);
        self.bites += u64::from(skips && self.item(Direction::Forward, next).is_some());
        if skips { Some(next) } else { end }
    }

    /// The state that the scan reads of this item.
    fn scanned(&mut self, number: usize) -> Option<Item> {
        let stale = self.fill().stale(number, self.turns).cloned();
        if let Some(stale) = stale
            && self.has(Mutant::EventualScan)
            && self.random.chance(50)
        {
            self.bites += 1;
            self.note(|| format!("scan reads k{number} as it was"));
            return stale;
        }
        let item = self.item(Direction::Forward, number).cloned();
        self.note(|| format!("scan reads k{number}: {}", if item.is_some() { "there" } else { "nothing" }));
        item
    }

    /// Starts the tasks of a page.
    fn begin_page(&mut self, id: u64, items: &[Item], end: Option<Item>) {
        self.note(|| format!("run {id}: a page of {}, more: {}", items.len(), end.is_some()));
        let ahead = !items.is_empty() && self.bites(Mutant::CheckpointFirst);
        let Some(run) = self.fill_mut().runs.get_mut(&id) else { return };
        let (page, job) = (run.slice.page(items.len(), end), Rc::clone(&run.job));
        let careful = run.slice.is_careful(page);
        run.open += items.len();
        if ahead {
            items.iter().for_each(|_| run.slice.item_done(page, &TaskResult::Written));
        }
        for item in items {
            let task = job.backfill(item.clone(), careful);
            self.start_for(id, page, task, &job, TaskOrigin::Scan);
        }
    }

    pub(super) fn start_for(
        &mut self,
        id: u64,
        page: keyfold_core::retrofit::segment::PageNumber,
        task: keyfold_core::retrofit::ItemTask,
        job: &Rc<Job>,
        origin: TaskOrigin,
    ) {
        let waiter = Waiter::Page(id, page);
        self.start(task, Errand { waiter, ..Errand::by(Rc::clone(job), origin) });
    }

    /// Goes on from the checkpoint that was stored last.
    pub(super) fn restart_segment(&mut self, id: u64) {
        let of = |waiter: Waiter| matches!(waiter, Waiter::Page(same, _) if same == id);
        self.works.retain(|work| !of(work.errand.waiter));
        self.fill_mut().blocked.retain(|(_, errand)| !of(errand.waiter));
        let is_ahead = self.has(Mutant::CheckpointFirst);
        let Some(mut run) = self.fill_mut().runs.remove(&id) else { return };
        let (pass, segment) = (run.pass, run.slice.checkpoint().segment());
        (run.open, run.reading, run.looking) = (0, None, None);
        if pass != Pass::Backfill {
            let mark = run.slice.checkpoint().mark().map(str::to_owned);
            run.slice = Slice::from(Checkpoint::start(&run.job, pass, segment).marked(mark));
            run.after.clear();
            run.findings.clear();
        } else {
            let row = self.row(&progress::segment_key(&run.job, pass, segment));
            let stored = row.map(|row| progress::read_checkpoint(&run.job, pass, segment, row));
            if Checkpoint::resume(&run.slice.checkpoint().json(), &run.job, pass, segment).is_err() {
                self.fail("a checkpoint is refused");
            }
            let checkpoint = match stored {
                _ if is_ahead => run.slice.checkpoint().clone(),
                Some(Ok(Some(stored))) => stored,
                _ => Checkpoint::start(&run.job, pass, segment),
            };
            let json = checkpoint.json();
            let mut other = [self.job(false), self.job(true)].into_iter();
            let other = other.find(|job| job.mapping().hash() != run.job.mapping().hash());
            if other.is_some_and(|other| Checkpoint::resume(&json, &other, pass, segment).is_ok()) {
                self.fail("a checkpoint of another mapping is taken up");
            }
            run.slice = Slice::from(checkpoint);
        }
        self.fill_mut().runs.insert(id, run);
    }
}
