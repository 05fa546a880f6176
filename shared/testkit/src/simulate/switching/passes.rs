//! Passes over all segments, as the functions of a backfill and of a comparison do them, and pages of tables and of the control table.

use std::collections::BTreeMap;
use std::rc::Rc;

use keyfold_core::retrofit::control::{Direction, Phase, RetrofitState};
use keyfold_core::retrofit::operate::{Failure, FailureKind, PageSource, Reply};
use keyfold_core::retrofit::progress::{self, ComparisonStart};
use keyfold_core::retrofit::verify::{Check, CheckOptions, CheckStep, Class};
use keyfold_core::retrofit::{
    Action, Checkpoint, ItemSeen, Job, Pass, Request, Response, SegmentId, Slice, Write, finalise,
};
use keyfold_core::value::Item;

use super::super::mutant::Mutant;
use super::super::work::TaskOrigin;
use super::scene::{Jobs, KEYS, index};
use super::work::Zombie;
use super::world::{PassRun, World, failure};

/// May a function begin this pass?
fn may_run(pass: Pass, repair: bool, head: &RetrofitState) -> bool {
    match pass {
        // It writes nothing.
        Pass::VerifySource | Pass::VerifyTarget if !repair => head.phase.carries_over(),
        Pass::Backfill | Pass::VerifySource | Pass::VerifyTarget => head.phase.is_filling(),
        Pass::Tidy => head.phase == Phase::Tidy,
        Pass::Finalise | Pass::EmptyLedger => head.phase == Phase::Finalising,
    }
}

impl World {
    /// A page of a table or of a partition of the control table.
    pub(super) fn page(&mut self, of: &PageSource, after: Option<&Item>) -> Reply {
        let (items, model): (Vec<Item>, _) = match of {
            PageSource::Partition(partition) => {
                let prefix = format!("{partition}|");
                (self.control.within(&prefix).cloned().collect(), &self.scene.control_table)
            }
            PageSource::Scan(role) => {
                let side = self.side(*role);
                (self.table(side).iter().map(|(_, item)| item.clone()).collect(), self.model(side))
            }
        };
        let from = after.map_or(0, |after| {
            items.iter().position(|item| model.key_of(item).as_ref() == Some(after)).map_or(0, |at| at + 1)
        });
        let most = self.random.between(1, 3);
        let page: Vec<Item> = items[from.min(items.len())..].iter().take(most).cloned().collect();
        let more = from + page.len() < items.len();
        let last = page.last().filter(|_| more).and_then(|item| model.key_of(item));
        Reply::Page { items: page, last }
    }

    /// The next item of a pass; at the end the checkpoint of its only segment.
    pub(super) fn go_on_with(&mut self, at: usize, pass: Pass, repair: bool) -> Result<Reply, Failure> {
        if self.is_filling() {
            return self.step_pass(at, pass, repair);
        }
        let known = self.operators[at].pass.take().filter(|run| run.pass == pass);
        // A function reads the row when it begins, and sometimes later.
        let looks = known.is_none() || self.random.chance(10);
        if looks && !may_run(pass, repair, &self.head) {
            return Err(failure(FailureKind::Other, "retrofit-closed"));
        }
        let mut run = known.unwrap_or_else(|| self.begun_pass(pass));
        let jobs = Jobs::of(&run.head);
        let lead = run.head.phase.direction().unwrap_or(Direction::Forward);
        let Some(job) = jobs.leading(lead) else { unreachable!("each direction that carries has a job") };
        if run.at < KEYS {
            if let Some(name) = self.pass_item(&job, lead, &mut run, repair) {
                *run.counts.entry(name.to_owned()).or_default() += 1;
                run.at += 1;
            }
            let counts = run.counts.clone();
            self.operators[at].pass = Some(run);
            return Ok(Reply::Pass { done: false, counts });
        }
        let Ok(segment) = SegmentId::new(0, 1) else { unreachable!("there is one") };
        let mark = (pass != Pass::Backfill).then(|| run.started.text());
        let mut slice = Slice::from(Checkpoint::start(&job, pass, segment).marked(mark));
        let page = slice.page(KEYS, None);
        for (name, count) in &run.counts {
            (0..*count).for_each(|_| slice.counted(page, name));
        }
        let store = progress::begin_segment(&job, slice.checkpoint());
        self.carry_out(Direction::Forward, &Request::Write(store));
        Ok(Reply::Pass { done: true, counts: run.counts })
    }

    fn begun_pass(&mut self, pass: Pass) -> PassRun {
        let jobs = Jobs::of(&self.head);
        if pass == Pass::Backfill {
            let store = progress::store_mark(&jobs.there, &format!("m{}", self.turns));
            self.carry_out(Direction::Forward, &Request::Write(store));
        }
        self.begun(pass, &jobs.there)
    }

    /// A pass that begins now.
    pub(super) fn begun(&self, pass: Pass, job: &Job) -> PassRun {
        let mark = self.row(&progress::mark_key(job)).and_then(progress::read_mark).unwrap_or_default();
        let started = ComparisonStart { mark, version: self.head.version, seconds: self.seconds() };
        PassRun {
            pass,
            head: self.head.clone(),
            started,
            at: 0,
            cleaning: Vec::new(),
            counts: BTreeMap::new(),
            segments: Vec::new(),
        }
    }

    /// The result for the next item; `None` if it is not known yet.
    fn pass_item(
        &mut self,
        job: &Job,
        lead: Direction,
        run: &mut PassRun,
        repair: bool,
    ) -> Option<&'static str> {
        match run.pass {
            Pass::Backfill => {
                if let Some(item) = self.item(Direction::Forward, run.at).cloned() {
                    self.carry_to_the_end(job.backfill(item, false), job, lead);
                }
                Some("items")
            }
            Pass::Tidy | Pass::Finalise | Pass::EmptyLedger if run.cleaning.is_empty() => {
                run.cleaning = self.cleaning(run.pass, run.at);
                run.cleaning.is_empty().then_some("clean")
            }
            Pass::Tidy | Pass::Finalise | Pass::EmptyLedger => self.clean(run),
            Pass::VerifySource | Pass::VerifyTarget => {
                Some(self.compare_item(job, lead, (run.pass, run.at), repair))
            }
        }
    }

    /// The writes that clean an item as it is now. All rows of the ledger are read with the first item.
    fn cleaning(&self, pass: Pass, number: usize) -> Vec<Write> {
        let (name, target) = (self.scene.mapping.name(), self.scene.mapping.target());
        match pass {
            Pass::EmptyLedger if number > 0 => Vec::new(),
            Pass::EmptyLedger => {
                self.control.iter().filter_map(|(_, row)| finalise::forget(name, row)).collect()
            }
            Pass::Tidy => self.places(number).filter_map(|item| finalise::sweep(target, item)).collect(),
            _ => self.places(number).filter_map(|item| finalise::clean(target, item)).collect(),
        }
    }

    /// Cleans an item as it was read. As the functions do: an item that changed meanwhile is read again, a row is counted.
    fn clean(&mut self, run: &mut PassRun) -> Option<&'static str> {
        let mut changed = false;
        for write in std::mem::take(&mut run.cleaning) {
            let request = Request::Write(self.weakened_cleaning(run.pass, write));
            if self.faults.zombies && self.random.chance(8) {
                self.note(|| "  a request of the cleaning is under way for long".to_owned());
                let (lead, tracking) = (Direction::Forward, Some(self.head.tracking()));
                let until = self.turns + self.stands_still();
                let (job, origin) = (Rc::clone(&Jobs::of(&run.head).there), TaskOrigin::Repair);
                self.zombies.push(Zombie { lead, request, job, origin, tracking, by_cache: false, until });
                changed = true;
                continue;
            }
            changed |= self.carry_out(Direction::Forward, &request) != Response::Written;
        }
        match run.pass {
            Pass::EmptyLedger if changed => Some("changed"),
            _ => (!changed).then_some("cleaned"),
        }
    }

    /// The class that a comparison finds for an item, or for its items in the target.
    fn compare_item(
        &mut self,
        job: &Job,
        lead: Direction,
        (pass, number): (Pass, usize),
        repair: bool,
    ) -> &'static str {
        if repair {
            self.carry_to_the_end(job.repair(&self.key(lead, number)), job, lead);
        }
        // One look: no turn passes between two of them.
        let options = CheckOptions { looks_again: 0, ..CheckOptions::default() };
        let checks: Vec<_> = match pass {
            Pass::VerifySource => {
                let item = self.item(lead, number).cloned();
                item.into_iter().map(|item| Check::of_source(job, item, options)).collect()
            }
            _ => self.places(number).map(|item| Check::of_target(job, item.clone(), options)).collect(),
        };
        let classes = checks.into_iter().map(|(check, step)| self.checked(job, lead, check, step));
        let class = classes.filter(|class| class.is_drift()).last().unwrap_or(Class::Same);
        let waits =
            self.streams[index(lead)].iter().any(|record| record.number == number && !record.dealt_with);
        if waits && class.is_drift() { Class::InFlight.name() } else { class.name() }
    }

    fn checked(&mut self, job: &Job, lead: Direction, mut check: Check, mut step: CheckStep) -> Class {
        loop {
            step = match step {
                CheckStep::Done(result) => return result.class,
                CheckStep::Send(request) => check.respond(job, self.carry_out(lead, &request)),
                CheckStep::Pause => check.paused(job),
            };
        }
    }

    /// The retrofit's row as an item.
    pub(super) fn head_row(&self) -> Item {
        match self.head.store(None).action {
            Action::Put(row) => row,
            _ => unreachable!("a row is put"),
        }
    }

    /// Stores the retrofit's row as the operator sends it.
    pub(super) fn store_head(&mut self, at: usize, write: &Write, notes: &mut Vec<String>) -> Response {
        let Action::Put(row) = &write.action else { unreachable!("a row is put") };
        let there = self.head_row();
        if !write.guard.holds(Some(&there)) && !self.bites(Mutant::HeadUnguarded) {
            return Response::Refused(ItemSeen::Unknown);
        }
        let Ok(mut next) = RetrofitState::read(&self.head.retrofit, Some(row)) else {
            unreachable!("the core wrote it")
        };
        self.weaken_head(&mut next);
        if self.head.phase == Phase::Abandoned && self.has(Mutant::RestartAnew) {
            let epoch = next.epoch.next().unwrap_or(next.epoch);
            self.bites += u64::from(next.stream == self.head.stream);
            next.epoch = epoch;
        }
        notes.push(format!("the retrofit is {}, generation {:?}", next.phase.name(), next.generation));
        let before = std::mem::replace(&mut self.head, next);
        self.changed = true;
        match self.is_filling() {
            true => self.stored(&before),
            false => self.turned(at, &before),
        }
        Response::Written
    }
}
