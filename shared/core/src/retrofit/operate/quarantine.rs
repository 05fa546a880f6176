//! The quarantine: entries are tried again, removed once a comparison has answered them, or accepted. Late changes are forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::{OnFailure, OperationContext, failure_outcome, raced};
use super::effect::{Effect, Failure, FailureKind, Reply};
use super::examine::wave;
use super::gate_check::{GateCheck, GateReport, leading, open_entries, quarantine_rows};
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Rows, advance, at_end, check_row, drop_at_end};
use super::releasing::{Released, Releasing};
use crate::condition::Condition;
use crate::retrofit::control::{self, Delivery, Direction};
use crate::retrofit::fence::Epoch;
use crate::retrofit::gates::Gate;
use crate::retrofit::job::Job;
use crate::retrofit::late::LateChange;
use crate::retrofit::progress;
use crate::retrofit::quarantine::{Acceptance, Quarantined, entries};
use crate::retrofit::record::ChangeRecord;
use crate::retrofit::request::{Action, Guard, Response, TableRole, Write};
use crate::value::Item;

/// An action on the quarantine.
#[derive(Debug, Clone, PartialEq)]
pub enum QuarantineAction {
    /// Every entry is tried again, and the items of discarded batches are read again.
    Retry,
    /// Entries are removed that only a comparison can answer: those that name no item, and those from before the last switch.
    Release,
    /// These items stay out, and close no gate until they change to another misfit.
    Accept {
        /// Which.
        selection: EntrySelection,
        /// Why.
        because: String,
        /// Who says so.
        by: String,
    },
    /// Acceptances of these items are withdrawn.
    Reopen(EntrySelection),
    /// The late change of this name was dealt with.
    Forget(String),
}

/// Entries of the quarantine: all that match every given member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntrySelection {
    /// Their items' keys; empty for any.
    pub keys: Vec<Item>,
    /// The attribute that does not fit.
    pub attribute: Option<String>,
    /// The index whose key cannot be made.
    pub index: Option<String>,
    /// The code of the misfit.
    pub code: Option<String>,
}

impl EntrySelection {
    fn has(&self, entry: &Quarantined) -> bool {
        let is = |wanted: &Option<String>, is: Option<&str>| wanted.is_none() || wanted.as_deref() == is;
        let misfit = &entry.misfit;
        let is_named = self.keys.is_empty() || entry.key.as_ref().is_some_and(|key| self.keys.contains(key));
        is_named
            && is(&self.attribute, misfit.attribute.as_deref())
            && is(&self.index, misfit.index.as_deref())
            && is(&self.code, Some(&misfit.code))
    }
}

#[derive(Debug, Clone, PartialEq)]
enum QuarantineStage {
    /// The entries of both directions, with their acceptances.
    Entries(Rows),
    /// After the entries: a new one makes the comparisons invalid that began before it.
    Verdict {
        check: GateCheck,
        entries: [Vec<Quarantined>; 2],
    },
    Late(Rows),
    /// A comparison that runs meanwhile must not count.
    Marking,
    /// The last of the batches is read.
    Batch,
    /// Its records are handled as the phase of the row says: is that still the known one?
    Checking {
        lead: Direction,
        records: Vec<ChangeRecord>,
    },
    Records {
        job: Arc<Job>,
        /// The epoch of the records' stream, if their table follows the other one.
        late: Option<Epoch>,
        records: Vec<ChangeRecord>,
    },
    /// Entries that are answered leave, by the job of their direction.
    Dismissing(Vec<(Arc<Job>, Vec<Quarantined>)>),
    /// The batch has no entry now. An object without an entry would enter the quarantine again.
    Deleting,
    Releasing(Releasing),
    Writing(Vec<Write>),
    Over(Box<Outcome>),
}

/// A command on the quarantine at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QuarantineMachine {
    action: QuarantineAction,
    stage: QuarantineStage,
    /// Batches that are still to be read, the last first.
    batches: Vec<Quarantined>,
    /// The failures of batches.
    failures: Vec<Failure>,
    counts: BTreeMap<String, u64>,
}

impl QuarantineMachine {
    pub(super) fn new(action: QuarantineAction, context: &OperationContext) -> QuarantineMachine {
        let head = context.head();
        let stage = match head.check(&context.mapping) {
            Err(error) => over(context.control_error(&error)),
            Ok(()) if action == QuarantineAction::Retry && head.phase.direction().is_none() => {
                over(context.control_error(&head.closed()))
            }
            Ok(()) => match action {
                QuarantineAction::Forget(_) => {
                    let partition = control::late_partition(context.mapping.name());
                    QuarantineStage::Late(Rows::of(vec![partition]))
                }
                // The batches of both tables are in the quarantine of the forward direction.
                QuarantineAction::Retry => {
                    let partition = control::quarantine_partition(context.mapping.rows_name());
                    QuarantineStage::Entries(Rows::of(vec![partition]))
                }
                _ => QuarantineStage::Entries(quarantine_rows(context)),
            },
        };
        QuarantineMachine {
            action,
            stage,
            batches: Vec::new(),
            failures: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    pub(super) fn doing(&self) -> String {
        match &self.stage {
            QuarantineStage::Batch | QuarantineStage::Records { .. } => {
                format!("reading discarded batches again: {} are left", self.batches.len())
            }
            QuarantineStage::Releasing(_) => "trying what is in quarantine again".to_owned(),
            _ => "reading the quarantine".to_owned(),
        }
    }

    fn count(&mut self, name: &str, more: usize) {
        *self.counts.entry(name.to_owned()).or_default() += more as u64;
    }

    fn entries_read(&mut self, context: &OperationContext, rows: &[Vec<Item>]) -> QuarantineStage {
        match self.action.clone() {
            QuarantineAction::Retry => {
                self.batches = rows.iter().flatten().filter_map(Quarantined::read).collect();
                self.batches.retain(|entry| entry.place().is_some());
                self.count("batches", self.batches.len());
                QuarantineStage::Marking
            }
            QuarantineAction::Accept { selection, because, by } => {
                let acceptance = Acceptance { because, by, at: context.seconds() };
                self.selected(context, &selection, Some(&acceptance), &entries(&rows[0], &rows[1]))
            }
            QuarantineAction::Reopen(selection) => {
                self.selected(context, &selection, None, &entries(&rows[0], &rows[1]))
            }
            QuarantineAction::Release | QuarantineAction::Forget(_) => {
                let [mut own, other] = open_entries(rows);
                own.retain(|entry| entry.key.is_none());
                self.count("released", own.len() + other.len());
                match own.is_empty() && other.is_empty() {
                    true => over(self.ended(context)),
                    false => {
                        QuarantineStage::Verdict { check: GateCheck::of(context), entries: [own, other] }
                    }
                }
            }
        }
    }

    /// Only a complete comparison without differences shows that every item is right.
    fn judged(
        &self,
        context: &OperationContext,
        report: &GateReport,
        [own, other]: [Vec<Quarantined>; 2],
    ) -> QuarantineStage {
        let (head, retrofit) = (context.head(), context.mapping.name());
        if report.verdict.is_none_or(|verdict| verdict.differences > 0) {
            let message = format!(
                "retrofit `{retrofit}` has a quarantine entry that only a comparison can answer: is an item missing or wrong?"
            );
            let hint = format!("run `keyfold retrofit run {retrofit}` first; it must find no difference");
            return over(Outcome::refused("needs-comparison", message).hinted(hint));
        }
        let leading = leading(context);
        let opposite = match leading.mapping().is_reverse() {
            true => Some(head.job(context.mapping.clone())),
            false => head.reverse_job(&context.mapping),
        };
        let mut answered = vec![(Arc::new(leading), own)];
        answered.extend(opposite.map(|job| (Arc::new(job), other)));
        answered.retain(|(_, entries)| !entries.is_empty());
        match answered.is_empty() {
            true => over(self.ended(context)),
            false => QuarantineStage::Dismissing(answered),
        }
    }

    fn selected(
        &mut self,
        context: &OperationContext,
        selection: &EntrySelection,
        acceptance: Option<&Acceptance>,
        entries: &[Quarantined],
    ) -> QuarantineStage {
        let retrofit = context.mapping.name();
        let is_entry = |key: &Item| entries.iter().any(|entry| entry.key.as_ref() == Some(key));
        if let Some(key) = selection.keys.iter().find(|key| !is_entry(key)) {
            let key = serde_json::to_string(key).unwrap_or_default();
            let message = format!("the quarantine of retrofit `{retrofit}` has no entry of this key: {key}");
            let hint = format!("`keyfold retrofit quarantine {retrofit}` lists the entries");
            return over(Outcome::refused("unknown-entry", message).hinted(hint));
        }
        let chosen = entries.iter().filter(|entry| selection.has(entry));
        let (fit, open): (Vec<&Quarantined>, Vec<&Quarantined>) =
            chosen.partition(|entry| entry.is_acceptable());
        self.count("noted", fit.len());
        self.count("notKnown", open.len());
        let job = leading(context);
        self.writing(context, fit.iter().map(|entry| entry.accept(job.mapping(), acceptance)).collect())
    }

    fn forgotten(&mut self, context: &OperationContext, name: &str, rows: &[Vec<Item>]) -> QuarantineStage {
        let retrofit = context.mapping.name();
        let changes: Vec<LateChange> = rows.iter().flatten().filter_map(LateChange::read).collect();
        let Some(change) = changes.iter().find(|change| change.name() == name) else {
            let message = format!("retrofit `{retrofit}` has no late change with this name");
            return over(Outcome::refused("unknown-late-change", message));
        };
        self.count("lateLeft", changes.len() - 1);
        let write = Write {
            role: TableRole::Control,
            action: Action::Delete(change.row_key(retrofit)),
            guard: Guard::Present(Condition::always()),
        };
        self.writing(context, vec![write])
    }

    fn writing(&self, context: &OperationContext, writes: Vec<Write>) -> QuarantineStage {
        if writes.is_empty() { over(self.ended(context)) } else { QuarantineStage::Writing(writes) }
    }

    fn next_batch(&self, context: &OperationContext) -> QuarantineStage {
        match self.batches.is_empty() {
            true => QuarantineStage::Releasing(Releasing::of(context)),
            false => QuarantineStage::Batch,
        }
    }

    /// The batch cannot be dealt with now: the next one.
    fn batch_left(&mut self, context: &OperationContext) -> QuarantineStage {
        self.batches.pop();
        self.count("batchesLeft", 1);
        self.next_batch(context)
    }

    /// A discarded batch is old, so the values in its records are not written: each item enters the quarantine, is read again, and leaves.
    /// Of a table that follows the other one, late changes are noted with both images.
    fn records(
        &self,
        context: &OperationContext,
        lead: Direction,
        records: Vec<ChangeRecord>,
    ) -> QuarantineStage {
        let (job, late) = match context.head().delivery(&context.mapping, lead) {
            Delivery::Carry(job) => (job, None),
            Delivery::Late { job, epoch } => (job, Some(epoch)),
            Delivery::Nothing => return self.dismissing(context),
        };
        match records.is_empty() {
            true => self.dismissing(context),
            false => QuarantineStage::Records { job: Arc::new(job), late, records },
        }
    }

    /// Each item of the batch is right, or has an entry of its own.
    fn dismissing(&self, context: &OperationContext) -> QuarantineStage {
        let batch = self.batches.last().cloned().into_iter().collect();
        QuarantineStage::Dismissing(vec![(Arc::new(context.head().job(context.mapping.clone())), batch)])
    }

    /// The others can still be read.
    pub(super) fn on_failure(&mut self, context: &OperationContext, failure: &Failure) -> OnFailure {
        let is_batch = matches!(self.stage, QuarantineStage::Batch | QuarantineStage::Deleting);
        let Some(batch) = self.batches.last().filter(|_| is_batch && failure.kind != FailureKind::Passing)
        else {
            return match failure.kind {
                FailureKind::Passing => OnFailure::Retry,
                _ => OnFailure::End(Box::new(failure_outcome(failure))),
            };
        };
        let (place, retrofit) = (batch.place().unwrap_or_default(), context.mapping.name());
        let (code, message, hint) = match &self.stage {
            QuarantineStage::Batch => (
                "batch-not-read",
                format!("the batch `{place}` was not read: {}", failure.message),
                format!(
                    "if the bucket has deleted it, run `keyfold retrofit run {retrofit} --repair`, then `keyfold retrofit quarantine \
                     {retrofit} --release`"
                ),
            ),
            _ => (
                "batch-not-deleted",
                format!("the batch `{place}` was read again, and was not deleted: {}", failure.message),
                format!(
                    "allow s3:DeleteObject on the bucket, or delete it: `aws s3 rm {place}`; otherwise the next run enters it in the \
                     quarantine again"
                ),
            ),
        };
        self.failures.push(Failure { kind: failure.kind, code: code.to_owned(), message, hint: Some(hint) });
        self.stage = self.batch_left(context);
        OnFailure::Handled
    }

    fn ended(&self, context: &OperationContext) -> Outcome {
        let count = |name: &str| self.counts.get(name).copied().unwrap_or(0);
        let retrofit = context.mapping.name();
        let message = match &self.action {
            QuarantineAction::Retry => format!(
                "{} batches with {} records read again, {} batches left; {} items left the quarantine, {} stay",
                count("batches"),
                count("records"),
                count("batchesLeft"),
                count("released"),
                count("left")
            ),
            QuarantineAction::Release => format!(
                "removed {} entries that name no item, or are from before the writers moved",
                count("released")
            ),
            QuarantineAction::Accept { .. } => {
                format!("{} items stay out; the next comparison counts them separately", count("noted"))
            }
            QuarantineAction::Reopen(_) => format!("{} items count again", count("noted")),
            QuarantineAction::Forget(_) => format!("forgotten; {} late writes are left", count("lateLeft")),
        };
        let mut outcome = Outcome::new(End::Done, context.head().phase.name(), message);
        if count("left") + count("batchesLeft") > 0 {
            outcome = Outcome { end: End::Failed, code: "quarantine-not-empty".to_owned(), ..outcome };
        }
        if let [first, ..] = &*self.failures {
            let messages: Vec<&str> = self.failures.iter().map(|failure| &*failure.message).collect();
            let message = format!("{}; {}", outcome.message, messages.join("; "));
            outcome = Outcome { code: first.code.clone(), message, hint: first.hint.clone(), ..outcome };
        } else if count("notKnown") > 0 {
            outcome = outcome.hinted(format!(
                "{} entries cannot be accepted: their items may fit; `keyfold retrofit quarantine {retrofit} --retry` finds out",
                count("notKnown")
            ));
        }
        // The written items have to be compared.
        let writes = matches!(self.action, QuarantineAction::Retry | QuarantineAction::Accept { .. });
        let gates: &[Gate] = if writes { &[Gate::NotVerified] } else { &[] };
        Outcome { next: context.head().next_command(gates), counts: self.counts.clone(), ..outcome }
    }

    /// The stage that follows the reply; `None` if it is not over yet.
    fn next_stage(&mut self, context: &mut OperationContext, reply: Reply) -> Option<QuarantineStage> {
        Some(match (&mut self.stage, reply) {
            (QuarantineStage::Entries(rows), reply) => {
                let rows = advance(rows, context, reply)?;
                self.entries_read(context, &rows)
            }
            (QuarantineStage::Verdict { check, entries }, reply) => match advance(check, context, reply)? {
                Ok(report) => {
                    let entries = entries.clone();
                    self.judged(context, &report, entries)
                }
                Err(error) => over(context.control_error(&error)),
            },
            (QuarantineStage::Late(rows), reply) => {
                let rows = advance(rows, context, reply)?;
                let QuarantineAction::Forget(name) = self.action.clone() else {
                    unreachable!("late changes are read for nothing else")
                };
                self.forgotten(context, &name, &rows)
            }
            (QuarantineStage::Marking, Reply::Responses(responses)) => {
                written(context, "the mark of a comparison", &responses)?;
                self.next_batch(context)
            }
            (QuarantineStage::Dismissing(answered), Reply::Results(_)) => {
                let (_, entries) = answered.last_mut()?;
                drop_at_end(entries)?;
                answered.pop();
                match (answered.is_empty(), &self.action) {
                    (false, _) => return None,
                    (true, QuarantineAction::Retry) => QuarantineStage::Deleting,
                    (true, _) => over(self.ended(context)),
                }
            }
            (QuarantineStage::Releasing(releasing), reply) => match advance(releasing, context, reply)? {
                Released::Raced(there) => over(raced(context, there.as_deref())),
                Released::Done { released, left } => {
                    self.count("released", released);
                    self.count("left", left);
                    over(self.ended(context))
                }
            },
            (QuarantineStage::Writing(writes), Reply::Responses(responses)) => {
                written(context, "a note on an entry", &responses)?;
                drop_at_end(writes)?;
                over(self.ended(context))
            }
            (_, reply) => return self.next_stage_of_batch(context, reply),
        })
    }

    /// The rest of [`next_stage`](Self::next_stage): stages of a batch that was given up.
    fn next_stage_of_batch(
        &mut self,
        context: &mut OperationContext,
        reply: Reply,
    ) -> Option<QuarantineStage> {
        Some(match (&mut self.stage, reply) {
            (QuarantineStage::Batch, Reply::Batch { lead, records }) => {
                self.count("records", records.len());
                QuarantineStage::Checking { lead, records }
            }
            (QuarantineStage::Checking { lead, records }, Reply::Items(items)) => {
                let (lead, records) = (*lead, std::mem::take(records));
                match check_row(context, &items) {
                    Ok(()) => self.records(context, lead, records),
                    Err(there) => over(raced(context, there.as_deref())),
                }
            }
            (QuarantineStage::Records { job, late, records }, Reply::Results(results)) => {
                if !results.iter().all(crate::retrofit::TaskResult::is_done) {
                    return Some(self.batch_left(context));
                }
                let done: BTreeSet<usize> = first_of_each(job, *late, records).into_iter().collect();
                let mut at = 0..;
                records.retain(|_| at.next().is_some_and(|at| !done.contains(&at)));
                match records.is_empty() {
                    true => self.dismissing(context),
                    false => return None,
                }
            }
            (QuarantineStage::Deleting, Reply::Done) => {
                self.batches.pop();
                self.next_batch(context)
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        })
    }
}

impl Part for QuarantineMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        PartStep::Ask(match &self.stage {
            QuarantineStage::Over(outcome) => return PartStep::Over((**outcome).clone()),
            QuarantineStage::Entries(rows) | QuarantineStage::Late(rows) => {
                return rows.next(context).pending();
            }
            QuarantineStage::Verdict { check, .. } => return check.next(context).pending(),
            QuarantineStage::Releasing(releasing) => return releasing.next(context).pending(),
            QuarantineStage::Marking => Effect::Send(self.marks(context)),
            QuarantineStage::Batch => Effect::ReadBatch(self.place()),
            QuarantineStage::Deleting => Effect::DeleteBatch(self.place()),
            QuarantineStage::Checking { .. } => Effect::Read {
                table: TableRole::Control,
                keys: vec![control::head_key(&context.head().retrofit)],
            },
            QuarantineStage::Records { job, late, records } => {
                let task = |at: usize| match late {
                    Some(epoch) => job.late(&records[at], *epoch),
                    None => job.discard(&records[at]),
                };
                let tasks = first_of_each(job, *late, records).into_iter().map(task).collect();
                Effect::Carry { job: Arc::clone(job), tasks }
            }
            QuarantineStage::Dismissing(answered) => {
                let Some((job, entries)) = answered.last() else { unreachable!("left when it is empty") };
                let tasks = at_end(entries).iter().map(|entry| job.dismiss(entry)).collect();
                Effect::Carry { job: Arc::clone(job), tasks }
            }
            QuarantineStage::Writing(writes) => Effect::Send(at_end(writes).to_vec()),
        })
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        if let Some(stage) = self.next_stage(context, reply) {
            self.stage = stage;
        }
    }
}

impl QuarantineMachine {
    fn place(&self) -> String {
        self.batches.last().and_then(Quarantined::place).unwrap_or_default().to_owned()
    }

    fn marks(&self, context: &OperationContext) -> Vec<Write> {
        let mark = format!("{}-{}", context.nonce, context.now_ms);
        let leading = leading(context);
        let forward = (!self.batches.is_empty() && leading.mapping().is_reverse())
            .then(|| context.head().job(context.mapping.clone()));
        [Some(leading), forward].iter().flatten().map(|job| progress::store_mark(job, &mark)).collect()
    }
}

/// The places of the records that one effect takes: of each item the first one.
fn first_of_each(job: &Job, late: Option<Epoch>, records: &[ChangeRecord]) -> Vec<usize> {
    let mapping = job.mapping();
    let table = if late.is_some() { mapping.target() } else { mapping.source() };
    wave(table, records, &BTreeSet::new())
}

/// `None` if one of these was not: then it is tried again. A note that is gone needs no write.
fn written(context: &mut OperationContext, what: &str, responses: &[Response]) -> Option<()> {
    let refused = responses.iter().find(|response| matches!(response, Response::Rejected(_)));
    context.failure = refused.map(|response| Failure::refused(what, response));
    refused.is_none().then_some(())
}

fn over(outcome: Outcome) -> QuarantineStage {
    QuarantineStage::Over(Box::new(outcome))
}
