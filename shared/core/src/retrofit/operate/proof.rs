//! The way back, proven before anybody is stopped: the replicator is asked, by an item that is written once more, whether it follows the
//! stream of the table that opens, and may write to the closing table.

use std::sync::Arc;

use super::context::OperationContext;
use super::effect::{Effect, PageSource, Reply};
use super::outcome::Outcome;
use super::parts::{Part, PartStep, one_row};
use crate::retrofit::job::Job;
use crate::retrofit::request::TableRole;
use crate::retrofit::result::TaskResult;
use crate::retrofit::reverse::{Reverse, ReverseAnswer};
use crate::retrofit::task::ItemTask;
use crate::value::Item;

/// When it is asked again: a policy that was taken off a moment ago may have denied what was tried first.
const ASK_AGAIN_MS: u64 = 15_000;
/// The pause between two reads of the answer.
const POLL_MS: u64 = 200;
/// Items that are tried for one that can be written once more.
const ITEMS_MAX: u32 = 100;

/// A question and the wait for its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Proving {
    job: Arc<Job>,
    /// The table that opens, and its stream.
    opens: TableRole,
    stream: String,
    step: ProofStep,
    asked: u64,
    asked_ms: u64,
    started_ms: u64,
    has_item: bool,
    /// Items of the table that opens whose rows have changed.
    rewritten: Vec<Item>,
    last: Option<ReverseAnswer>,
    end: Option<Result<(), Box<Outcome>>>,
}

#[derive(Debug, Clone, PartialEq)]
enum ProofStep {
    Asking,
    /// Looks for an item that can be written once more.
    Finding,
    Rewriting(Vec<(Item, ItemTask)>),
    Looking,
    Waiting(u64),
}

impl Proving {
    /// `job` carries items in the direction of now; `stream` is that of the table that opens.
    pub(super) fn of(context: &OperationContext, job: Arc<Job>, opens: TableRole, stream: &str) -> Proving {
        Proving {
            job,
            opens,
            stream: stream.to_owned(),
            step: ProofStep::Asking,
            asked: 0,
            asked_ms: context.now_ms,
            started_ms: context.now_ms,
            has_item: false,
            rewritten: Vec::new(),
            last: None,
            end: None,
        }
    }

    /// Keys of the items that were written once more, in the table that changes are carried from. Each has a row from now on, and what
    /// had arrived without one is to be looked at again.
    pub(super) fn rewritten(&self) -> impl Iterator<Item = Item> {
        let source = self.job.mapping().source();
        self.rewritten.iter().filter_map(|item| self.job.owner(item)?.item(source))
    }

    fn question(&self) -> String {
        format!("{}", self.asked)
    }

    fn check_answer(&mut self, context: &OperationContext, row: Option<&Item>) -> ProofStep {
        let question = format!("{}-{}", context.nonce, self.question());
        // The answer to an earlier question may be from before the stream was replaced.
        let there = row.and_then(Reverse::read).filter(|there| there.question == question);
        let answer = there.and_then(|there| there.answer);
        // A replicator that follows the table's former stream answers too, but no change after the turn would reach it.
        if answer.as_ref().is_some_and(|answer| answer.allowed && answer.stream == self.stream) {
            self.end = Some(Ok(()));
            return ProofStep::Looking;
        }
        // A new question has no answer yet: the message after the time limit uses the former answer.
        self.last = answer.or(self.last.take());
        if context.now_ms >= self.started_ms + context.limits.proof_max_ms {
            self.end = Some(Err(Box::new(self.unproven(context))));
            return ProofStep::Looking;
        }
        if context.now_ms >= self.asked_ms + ASK_AGAIN_MS {
            self.asked += 1;
            // The record of the former rewrite is consumed by now: without another record no replicator would read the new question.
            self.has_item = false;
            return ProofStep::Asking;
        }
        ProofStep::Waiting(context.now_ms + POLL_MS)
    }

    fn unproven(&self, context: &OperationContext) -> Outcome {
        let (retrofit, seconds) = (context.mapping.name(), context.limits.proof_max_ms / 1_000);
        let (source, target) = (&context.mapping.source().name, &context.mapping.target().name);
        let (closes, opens, parameter) = match self.opens {
            TableRole::Target => (source, target, "FollowBack"),
            _ => (target, source, "FollowStream"),
        };
        let found = match &self.last {
            Some(answer) if answer.stream != self.stream => format!(
                "the replicator follows stream `{}` of table `{opens}`, and the table has another one now",
                answer.stream
            ),
            Some(_) => {
                let message = format!(
                    "retrofit `{retrofit}` is not moved: nothing could be carried back from table `{opens}`, because the replicator may not \
                     put and delete items of table `{closes}`"
                );
                return Outcome::refused("reverse-denied", message).hinted(format!(
                    "give its role these rights (the stack's parameter `{parameter}`), and see whether a policy on the table denies them; \
                     `--for-good` moves the writers all the same"
                ));
            }
            None if !self.has_item => {
                format!("table `{opens}` has no item of the retrofit that its stream could show")
            }
            None => format!(
                "in {seconds} s the replicator has not shown that it follows the stream of table `{opens}`"
            ),
        };
        let message = format!(
            "retrofit `{retrofit}` is not moved: nothing shows that changes of table `{opens}` would be carried back: {found}"
        );
        Outcome::refused("reverse-unproven", message).hinted(format!(
            "does the replicator's event source mapping of that stream exist (the stack's parameter `{parameter}`), is it enabled, and not far \
             behind? `--for-good` moves the writers all the same"
        ))
    }
}

impl Part for Proving {
    type End = Result<(), Box<Outcome>>;

    fn next(&self, context: &OperationContext) -> PartStep<Result<(), Box<Outcome>>> {
        if let Some(end) = &self.end {
            return PartStep::Over(end.clone());
        }
        PartStep::Ask(match &self.step {
            ProofStep::Asking => {
                // The nonce keeps two operators apart: the answer to another operator's question would count for this one.
                let question = format!("{}-{}", context.nonce, self.question());
                Effect::Send(vec![Reverse::asked(question, context.seconds()).store(&self.job)])
            }
            ProofStep::Finding => {
                Effect::Page { of: PageSource::Scan(self.opens), after: None, limit: ITEMS_MAX }
            }
            ProofStep::Rewriting(tasks) => {
                let tasks = tasks.last().map(|(_, task)| task.clone()).into_iter().collect();
                Effect::Carry { job: Arc::clone(&self.job), tasks }
            }
            ProofStep::Looking => {
                Effect::Read { table: TableRole::Control, keys: vec![Reverse::key(&self.job)] }
            }
            ProofStep::Waiting(until_ms) => Effect::Wait { until_ms: *until_ms },
        })
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        self.step = match (&mut self.step, reply) {
            (ProofStep::Asking, Reply::Responses(_)) => {
                // The question is stored before the item is written: a replicator that meets the record without it would not answer.
                // The write is needed because this table has no other writers yet: its stream would show nothing.
                self.asked_ms = context.now_ms;
                ProofStep::Finding
            }
            (ProofStep::Finding, Reply::Page { items, .. }) => {
                let task = |item: &Item| Some((item.clone(), self.job.rewrite(item)?));
                let tasks: Vec<(Item, ItemTask)> = items.iter().rev().filter_map(task).collect();
                if tasks.is_empty() { ProofStep::Looking } else { ProofStep::Rewriting(tasks) }
            }
            (ProofStep::Rewriting(tasks), Reply::Results(results)) => {
                self.rewritten.extend(tasks.pop().map(|(item, _)| item));
                // One written item is enough; one that changed meanwhile gives the stream no record of this question.
                self.has_item |= results.first() == Some(&TaskResult::Written);
                match tasks.is_empty() || self.has_item {
                    true => ProofStep::Looking,
                    false => ProofStep::Rewriting(std::mem::take(tasks)),
                }
            }
            (ProofStep::Looking, Reply::Items(items)) => self.check_answer(context, one_row(&items)),
            (ProofStep::Waiting(_), Reply::Done) => ProofStep::Looking,
            (_, reply) => unreachable!("{reply:?} does not answer a proof"),
        };
    }
}
