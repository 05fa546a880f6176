//! Begins a retrofit, backfills and compares, as far as that is still to be done.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::{Limits, OperationContext, raced};
use super::effect::{Effect, Failure, PageSource, Reply};
use super::gate_check::{GateCheck, GateReport, leading};
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Passes, Rows, Store, Stored};
use crate::retrofit::attributes::OWN_ATTRIBUTES;
use crate::retrofit::control::{self, ControlError, Phase, RetrofitState};
use crate::retrofit::gates::Gate;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::progress;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::quarantine::Quarantined;
use crate::retrofit::request::{Response, TableRole};
use crate::retrofit::segment::{Checkpoint, Pass, SegmentId};
use crate::retrofit::step::CompletedStep;
use crate::value::Item;

/// Items of the target that are looked at for marks of a retrofit that has lost its row.
const TRACE_ITEMS: u32 = 100;

/// Entries of the quarantine that are tried again at once.
const ENTRIES_AT_ONCE: usize = 256;

/// The last stage of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunStage {
    /// The tables are checked, and the retrofit has its row.
    Start,
    /// The existing items are carried over.
    Backfill,
    /// Both sides are compared.
    #[default]
    Compare,
}

/// A run, as it was asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// It ends after this stage.
    pub until: RunStage,
    /// In place only: follows no stream, because every writer folds keys itself.
    pub no_stream: bool,
    /// Follows the source's stream, even if the retrofit was started without one.
    pub follow: bool,
    /// Carries over all items again.
    pub again: bool,
    /// Tries what is in quarantine again, corrects what a comparison finds, then compares once more.
    pub repair: bool,
    /// The number of segments of the backfill; `None` for the number that it began with.
    pub segments: Option<u32>,
    /// The other retrofits of the manifest.
    pub others: Vec<Mapping>,
    /// Its times.
    pub limits: Limits,
}

/// Passes that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Backfill,
    Repair,
    Compare,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// The rows of the other retrofits.
    Others,
    /// What shows that a retrofit without a row was at work: rows, then items.
    Traces {
        at: usize,
    },
    /// An abandoned retrofit restarts: its segments must not count.
    Forgetting(Box<RetrofitState>),
    Storing(Box<Store>),
    /// The gates decide what is left to do; after the passes, how the run ended.
    Gates {
        check: GateCheck,
        is_last: bool,
    },
    /// The backfill restarts, with this number of segments if it is known.
    Again(Option<u32>),
    /// Earlier comparisons are invalid. The number of segments of a backfill that restarts is stored too.
    Marking {
        work: Work,
        segments: Option<u32>,
    },
    /// The entries of the quarantine.
    Quarantine(Rows),
    Releasing(Vec<Quarantined>),
    /// Nothing may be in flight that a record of the source's former stream brought.
    Waiting,
    Passing {
        passes: Passes,
        work: Work,
    },
    Over(Box<Outcome>),
}

/// A run at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunMachine {
    options: Run,
    stage: Stage,
    ended: Vec<RetrofitState>,
    /// Until then a function can write what a record of the source's former stream brought. A run that continues another one waits its own
    /// time.
    former_stream_until_ms: u64,
    counts: BTreeMap<String, u64>,
    /// Items that the comparison found to differ; `None` before it.
    differing: Option<u64>,
}

impl RunMachine {
    pub(super) fn new(options: Run, context: &OperationContext) -> RunMachine {
        let mut running = RunMachine {
            options,
            stage: Stage::Others,
            ended: Vec::new(),
            former_stream_until_ms: former_stream_until_ms(context),
            counts: BTreeMap::new(),
            differing: None,
        };
        running.stage = running.begin(context);
        running
    }

    pub(super) fn status(&self, context: &OperationContext) -> String {
        match &self.stage {
            Stage::Waiting => format!(
                "waiting {} s more until no function writes what the source's former stream brought",
                self.former_stream_until_ms.saturating_sub(context.now_ms).div_ceil(1_000)
            ),
            Stage::Passing { passes, .. } => passes.status(),
            Stage::Quarantine(_) | Stage::Releasing(_) => "trying what is in quarantine again".to_owned(),
            _ => "checking how far the retrofit is".to_owned(),
        }
    }

    fn begin(&mut self, context: &OperationContext) -> Stage {
        match &context.head {
            Some(head) if head.phase != Phase::Abandoned => self.go_on(context, head),
            // Only a retrofit that begins can meet another one.
            head => match self.unfit(context, head.as_ref()) {
                Some(refused) if head.is_none() => over(not_started(context, refused)),
                Some(refused) => over(refused),
                None if self.options.others.is_empty() => self.others_known(context),
                None => Stage::Others,
            },
        }
    }

    fn go_on(&self, context: &OperationContext, head: &RetrofitState) -> Stage {
        if let Err(error) = head.check(&context.mapping) {
            return over(context.control_error(&error));
        }
        // Nothing follows the other table any longer: a comparison would report each newer change as a difference.
        if head.phase.direction().is_none() {
            return over(context.control_error(&head.closed()));
        }
        if head.phase.is_filling() {
            if let Some(refused) = self.unfit(context, Some(head)) {
                return over(refused);
            }
            return match self.restarted(context, head) {
                Ok(next) if next == *head => gates(context, false),
                Ok(next) => Stage::Storing(Box::new(Store::of(context, next))),
                Err(error) => over(context.control_error(&error)),
            };
        }
        if head.phase.is_stop() {
            return over(context.control_error(&head.wrong_phase(Phase::Running)));
        }
        // Once the target has writers of its own, both sides are only compared.
        let fills = self.options.again || self.options.repair || self.options.until == RunStage::Backfill;
        match head.check_filling(&context.mapping) {
            Err(error) if fills => over(context.control_error(&error)),
            _ => gates(context, false),
        }
    }

    /// Why the tables or the options do not fit.
    fn unfit(&self, context: &OperationContext, head: Option<&RetrofitState>) -> Option<Outcome> {
        let (mapping, retrofit) = (&context.mapping, context.mapping.name());
        let target = mapping.target();
        if let Some(differences) = &context.table(TableRole::Target).differences {
            let message = format!("table `{}` differs from the manifest: {differences}", target.id);
            return Some(Outcome::refused("table-differs", message).hinted(format!(
                "`keyfold index add {0} --all` adds missing global indexes; `keyfold tables diff {0}` shows every difference",
                target.id
            )));
        }
        let follows = self.follows(head);
        if !follows && mapping.protocol() != Protocol::InPlace {
            let message = format!(
                "retrofit `{retrofit}` writes to another table: without a stream, changes during the retrofit would be lost"
            );
            let refused = Outcome::refused("stream-required", message);
            return Some(refused.hinted("leave out --no-stream, which is for retrofits in place"));
        }
        // A change during the backfill would be in no record, and the target would keep the former item.
        if follows && context.tables[0].stream.is_none() {
            let message = format!("table `{}` has no stream with both images", mapping.source().name);
            return Some(Outcome::refused("source-without-stream", message).hinted(
                "enable the source's stream with NEW_AND_OLD_IMAGES (`--enable-stream` does it); in place, you can use --no-stream instead",
            ));
        }
        None
    }

    /// Is a stream followed? A retrofit that was started without one stays without, unless that is asked for.
    fn follows(&self, head: Option<&RetrofitState>) -> bool {
        let without = head.is_some_and(|head| head.phase != Phase::Abandoned && head.stream.is_none());
        !self.options.no_stream && (self.options.follow || !without)
    }

    fn stream<'k>(&self, context: &'k OperationContext) -> Option<&'k str> {
        context.tables[0].stream.as_deref().filter(|_| self.follows(context.head.as_ref()))
    }

    fn restarted(
        &self,
        context: &OperationContext,
        head: &RetrofitState,
    ) -> Result<RetrofitState, ControlError> {
        let target_stream = context.table(TableRole::Target).stream.as_deref();
        head.restarted(&context.mapping, self.stream(context), target_stream)
    }

    fn others_read(&mut self, context: &OperationContext, rows: &[Option<Item>]) -> Stage {
        for (other, row) in self.options.others.iter().zip(rows) {
            let head = match RetrofitState::read(other.name(), row.as_ref()) {
                Ok(head) => head,
                // A retrofit of the manifest that was never started writes nothing that could collide with this one.
                Err(ControlError::NotStarted { .. }) => continue,
                Err(error) => return over(context.control_error(&error)),
            };
            if let Err(error) = head.check_apart(other, &context.mapping) {
                return over(context.control_error(&error));
            }
            let same = other.target().name == context.mapping.target().name;
            // Their epochs are known, so this retrofit can begin above all fences that they left in the target.
            let is_over = matches!(head.phase, Phase::Abandoned | Phase::Finalised);
            self.ended.extend((same && is_over).then_some(head));
        }
        self.others_known(context)
    }

    fn others_known(&self, context: &OperationContext) -> Stage {
        if let Err(error) = RetrofitState::check_begin(&context.mapping) {
            return over(context.control_error(&error));
        }
        let Some(head) = &context.head else { return Stage::Traces { at: 0 } };
        match self.restarted(context, head) {
            // In the same epoch they would count as backfilled. Before the row is written: a killed run then does it again.
            Ok(next) => Stage::Forgetting(Box::new(next)),
            Err(error) => over(context.control_error(&error)),
        }
    }

    fn trace_source(&self, context: &OperationContext, at: usize) -> Option<PageSource> {
        let name = context.mapping.name();
        match at {
            0 => Some(PageSource::Partition(control::segments_partition(name))),
            1 => Some(PageSource::Partition(control::quarantine_partition(name))),
            2 if context.mapping.protocol() != Protocol::InPlace => Some(PageSource::Scan(TableRole::Target)),
            _ => None,
        }
    }

    fn traced(&self, context: &OperationContext, at: usize, items: &[Item]) -> Stage {
        // A new row begins with the first epoch: the fences of an earlier retrofit would be newer, and refuse the changes of this one.
        let marked = |item: &Item| OWN_ATTRIBUTES.iter().any(|name| item.contains_key(*name));
        let found = match self.trace_source(context, at) {
            Some(PageSource::Partition(partition)) if !items.is_empty() => {
                Some(format!("rows under `{partition}` are left"))
            }
            Some(PageSource::Scan(_)) if items.iter().any(marked) => {
                Some(format!("items of table `{}` carry its marks", context.mapping.target().id))
            }
            _ => None,
        };
        if found.is_none() && self.trace_source(context, at + 1).is_some() {
            return Stage::Traces { at: at + 1 };
        }
        match RetrofitState::started(&context.mapping, self.stream(context)).after(&self.ended, found) {
            Ok(next) => Stage::Storing(Box::new(Store::of(context, next))),
            Err(error) => over(context.control_error(&error)),
        }
    }
}

impl Part for RunMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        if let Stage::Over(outcome) = &self.stage {
            return PartStep::Over((**outcome).clone());
        }
        let effect = match &self.stage {
            Stage::Others => {
                let keys = self.options.others.iter().map(|other| control::head_key(other.name())).collect();
                Some(Effect::Read { table: TableRole::Control, keys })
            }
            Stage::Traces { at } => {
                self.trace_source(context, *at).map(|of| Effect::Page { of, after: None, limit: TRACE_ITEMS })
            }
            Stage::Forgetting(_) | Stage::Again(_) => Some(Effect::ForgetSegments(Pass::Backfill)),
            Stage::Storing(store) => store.next(context).effect(),
            Stage::Gates { check, .. } => check.next(context).effect(),
            Stage::Marking { segments, .. } => Some(marking(context, *segments)),
            Stage::Quarantine(rows) => rows.next(context).effect(),
            Stage::Releasing(entries) => Some(releasing(context, entries)),
            Stage::Waiting => Some(Effect::Wait { until_ms: self.former_stream_until_ms }),
            Stage::Passing { passes, .. } => passes.next(context).effect(),
            Stage::Over(_) => unreachable!("returned above"),
        };
        match effect {
            Some(effect) => PartStep::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        let stage = std::mem::replace(&mut self.stage, Stage::Others);
        self.stage = match (stage, reply) {
            (Stage::Others, Reply::Items(rows)) => self.others_read(context, &rows),
            (Stage::Traces { at }, Reply::Page { items, .. }) => self.traced(context, at, &items),
            (Stage::Forgetting(next), Reply::Done) => Stage::Storing(Box::new(Store::of(context, *next))),
            (Stage::Storing(mut store), reply) => {
                store.take(context, reply);
                match store.next(context) {
                    PartStep::Ask(_) => Stage::Storing(store),
                    PartStep::Over(Stored::Raced(there)) => over(raced(context, there.as_deref())),
                    PartStep::Over(Stored::Done) => {
                        // Until this row was stored, functions could begin with records of the former stream: their time counts from now.
                        self.former_stream_until_ms = former_stream_until_ms(context);
                        gates(context, false)
                    }
                }
            }
            // An interruption ends a wait early, and proves nothing about what is in flight.
            (Stage::Waiting, Reply::Done) if context.now_ms < self.former_stream_until_ms => Stage::Waiting,
            (Stage::Waiting, Reply::Done) => {
                Stage::Storing(Box::new(Store::of(context, context.head().restreamed())))
            }
            (Stage::Gates { mut check, is_last }, reply) => {
                check.take(context, reply);
                match check.next(context) {
                    PartStep::Ask(_) => Stage::Gates { check, is_last },
                    PartStep::Over(Err(error)) => over(context.control_error(&error)),
                    PartStep::Over(Ok(report)) if is_last => over(self.ended(context, report.gates)),
                    PartStep::Over(Ok(report)) => self.planned(context, report),
                }
            }
            (Stage::Again(segments), Reply::Done) => Stage::Marking { work: Work::Backfill, segments },
            (Stage::Marking { work, segments }, Reply::Responses(responses)) => {
                marked(context, work, segments, &responses)
            }
            (Stage::Quarantine(mut rows), reply) => {
                rows.take(context, reply);
                match rows.next(context) {
                    PartStep::Ask(_) => Stage::Quarantine(rows),
                    PartStep::Over(rows) => {
                        released(context, rows.iter().flatten().filter_map(Quarantined::read).collect())
                    }
                }
            }
            (Stage::Releasing(mut entries), Reply::Results(results)) => {
                entries.drain(..results.len().min(entries.len()));
                released(context, entries)
            }
            (Stage::Passing { mut passes, work }, reply) => {
                passes.take(context, reply);
                match passes.next(context) {
                    PartStep::Ask(_) => Stage::Passing { passes, work },
                    PartStep::Over(counts) => self.passed(context, work, counts),
                }
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        };
    }
}

impl RunMachine {
    /// The first work that is left.
    fn planned(&self, context: &OperationContext, report: GateReport) -> Stage {
        if self.options.until == RunStage::Start {
            return over(self.ended(context, report.gates));
        }
        let filling = context.head().check_filling(&context.mapping).is_ok();
        let backfill = report.gates.iter().find_map(|gate| match gate {
            Gate::Backfill { total, .. } if filling => Some(*total),
            _ => None,
        });
        let segments = self.options.segments;
        match backfill {
            _ if filling && self.options.again => {
                Stage::Again(segments.or(Some(report.segments).filter(|total| *total > 0)))
            }
            // Checkpoints belong to one number of segments. With another one all items would be carried over again, unasked.
            Some(total) if total > 0 && segments.is_some_and(|segments| segments != total) => {
                let message = format!(
                    "the backfill of retrofit `{}` started with {total} segments",
                    context.mapping.name()
                );
                let next = context.head().next_command(&report.gates);
                over(Outcome { next, ..Outcome::refused("other-segments", message) }.hinted(
                    "leave out --segments to continue with them, or carry over all items again with --again",
                ))
            }
            Some(_) => Stage::Marking { work: Work::Backfill, segments: None },
            None => self.after_backfill(context),
        }
    }

    fn after_backfill(&self, context: &OperationContext) -> Stage {
        match (self.options.until, self.options.repair) {
            // What such a function writes after the comparison would stay unseen.
            (RunStage::Compare, _) if context.head().restreaming => Stage::Waiting,
            (RunStage::Compare, true) => Stage::Marking { work: Work::Repair, segments: None },
            (RunStage::Compare, false) => passing(context, Work::Compare),
            _ => gates(context, true),
        }
    }

    fn passed(&mut self, context: &OperationContext, work: Work, counts: BTreeMap<String, u64>) -> Stage {
        if work == Work::Compare {
            self.differing = Some(progress::differences_in(&counts));
        }
        counts.into_iter().for_each(|(name, count)| *self.counts.entry(name).or_default() += count);
        // After a wait the gates are read once more: with `again` still set, the whole backfill would restart.
        self.options.again &= work != Work::Backfill;
        match work {
            Work::Backfill => self.after_backfill(context),
            // A repair says what it corrected, not that both sides agree now.
            Work::Repair => passing(context, Work::Compare),
            Work::Compare => gates(context, true),
        }
    }

    fn ended(&self, context: &OperationContext, mut closed: Vec<Gate>) -> Outcome {
        let next = context.head().next_command(&closed);
        // A switch tidies by itself: that is no gate of a run.
        closed.retain(|gate| !matches!(gate, Gate::Tombstones | Gate::Tidying));
        let (head, retrofit) = (context.head(), context.mapping.name());
        let listed: Vec<String> = closed.iter().map(ToString::to_string).collect();
        let done = |message: String| (End::Done, head.phase.name(), message);
        let (end, code, message) = match self.differing {
            None if self.options.until == RunStage::Start => {
                done(CompletedStep::Started.message(head, &context.mapping))
            }
            None => done(format!("the existing items of retrofit `{retrofit}` are carried over")),
            Some(0) if closed.is_empty() => {
                done(format!("retrofit `{retrofit}` is filled and compared: both sides agree"))
            }
            // Not done, although both sides agree: these gates would refuse the switch.
            Some(0) => {
                let message = format!("retrofit `{retrofit}` is not ready to switch: {}", listed.join("; "));
                (End::Failed, "gates-closed", message)
            }
            Some(count) => {
                (End::Failed, "differences", format!("{count} items of retrofit `{retrofit}` differ"))
            }
        };
        let counts = self.counts.clone();
        Outcome { next, gates: closed, counts, ..Outcome::new(end, code, message) }
    }
}

fn former_stream_until_ms(context: &OperationContext) -> u64 {
    context.now_ms + context.limits.wait_ms()
}

fn gates(context: &OperationContext, is_last: bool) -> Stage {
    Stage::Gates { check: GateCheck::of(context), is_last }
}

fn passing(context: &OperationContext, work: Work) -> Stage {
    let comparison = progress::comparison(context.mapping.protocol());
    let passes = match work {
        Work::Backfill => Passes::of(&[Pass::Backfill], false),
        Work::Repair => Passes::of(comparison, true),
        Work::Compare => Passes::of(comparison, false),
    };
    Stage::Passing { passes, work }
}

/// A comparison that is at work while something is written says nothing: its mark is an older one.
fn marking(context: &OperationContext, segments: Option<u32>) -> Effect {
    let job = leading(context);
    let mut writes = vec![progress::store_mark(&job, &format!("{}-{}", context.nonce, context.now_ms))];
    // Stored before anything is carried over: after a kill the next command finds the number.
    if let Some(first) = segments.and_then(|total| SegmentId::new(0, total).ok()) {
        writes.push(progress::begin_segment(&job, &Checkpoint::start(&job, Pass::Backfill, first)));
    }
    Effect::Send(writes)
}

fn marked(
    context: &mut OperationContext,
    work: Work,
    segments: Option<u32>,
    responses: &[Response],
) -> Stage {
    if let Some(response) = responses.iter().find(|response| !matches!(response, Response::Written)) {
        context.failure = Some(Failure::refused("the mark of a comparison", response));
        return Stage::Marking { work, segments };
    }
    match work {
        Work::Repair => {
            let partition = control::quarantine_partition(leading(context).mapping().rows_name());
            Stage::Quarantine(Rows::of(vec![partition]))
        }
        work => passing(context, work),
    }
}

/// Each entry that names an item is tried again. A comparison answers the others.
fn released(context: &OperationContext, entries: Vec<Quarantined>) -> Stage {
    let entries: Vec<Quarantined> = entries.into_iter().filter(|entry| entry.key.is_some()).collect();
    match entries.is_empty() {
        true => passing(context, Work::Repair),
        false => Stage::Releasing(entries),
    }
}

fn releasing(context: &OperationContext, entries: &[Quarantined]) -> Effect {
    let job = leading(context);
    let tasks = entries.iter().take(ENTRIES_AT_ONCE).filter_map(|entry| job.release(entry)).collect();
    Effect::Carry { job: Arc::new(job), tasks }
}

/// A refusal before there is a row: no writer is stopped, and the same command starts the retrofit.
fn not_started(context: &OperationContext, refused: Outcome) -> Outcome {
    let retrofit = context.mapping.name();
    Outcome {
        open_text: format!("retrofit `{retrofit}` is not started: writers are not affected"),
        next: Some(format!("keyfold retrofit run {retrofit}")),
        ..refused
    }
}

fn over(outcome: Outcome) -> Stage {
    Stage::Over(Box::new(outcome))
}
