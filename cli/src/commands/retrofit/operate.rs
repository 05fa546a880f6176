//! Drives an operation in this terminal: performs its effects, shows what it is doing, and prints how it ended.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyfold_core::retrofit::control::{Direction, Phase};
use keyfold_core::retrofit::gates::Gate;
use keyfold_core::retrofit::operate::{Command, End, OpenTable, Operation, Outcome, Step};
use keyfold_core::retrofit::{CompletedStep, Mapping, Protocol};
use keyfold_dynamo::retrofit::{Operator, PassOptions, PolicyChange};
use keyfold_edge::Problem;
use serde_json::{Value, json};

use super::env::{Env, RetrofitName};
use super::policies;
use super::progress::{Progress, Stage};
use crate::refusal::Refusal;
use crate::support::{INTERRUPTED, exit_code, stop_flag};

/// The default number of differences that are listed.
pub(super) const SHOW_DEFAULT: usize = 20;

/// How an operation ended, and what its passes did.
pub(super) struct Ended {
    pub(super) mapping: Mapping,
    pub(super) outcome: Outcome,
    pub(super) stages: Vec<Stage>,
    is_switch: bool,
}

/// Drives the operation of a command to its end, and prints that.
pub(super) async fn operate(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    command: Command,
    passes: PassOptions,
) -> anyhow::Result<ExitCode> {
    perform(env, retrofit, command, passes, SHOW_DEFAULT).await?.report(env, &json!({}))
}

/// Drives the operation of a command to its end.
pub(super) async fn perform(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    command: Command,
    passes: PassOptions,
    show: usize,
) -> anyhow::Result<Ended> {
    let mapping = env.mapping(retrofit)?;
    let stop = stop_flag(env.out);
    let passes = PassOptions { stop: Arc::clone(&stop), ..passes };
    let nonce = passes.owner.clone();
    let is_switch = matches!(command, Command::Switch(_) | Command::Readers(_));
    let operator = Operator::new(&env.globals.settings()?, &mapping, &env.globals.control, passes).await;
    let mut operation = Operation::new(mapping.clone(), command, nonce, operator.now_ms());
    let progress = Progress::new(env.out, show);
    let outcome = progress.during(drive(&operator, &mut operation, &stop, &progress)).await;
    Ok(Ended { mapping, outcome, stages: progress.stages(), is_switch })
}

async fn drive(
    operator: &Operator,
    operation: &mut Operation,
    stop: &AtomicBool,
    progress: &Progress,
) -> Outcome {
    loop {
        // Taken once: what follows an interruption waits as it has to.
        if stop.swap(false, Ordering::Relaxed) {
            operation.interrupt();
        }
        let effect = match operation.next() {
            Step::Over(outcome) => return *outcome,
            Step::Ask(effect) => effect,
        };
        progress.status(operation.status());
        let reply = operator.perform(&effect, progress).await;
        operation.answer(operator.now_ms(), reply);
    }
}

impl Ended {
    /// Prints how it ended. A refusal and a stop that was taken back are errors; so are differences.
    pub(super) fn report(&self, env: &Env<'_>, more: &Value) -> anyhow::Result<ExitCode> {
        let outcome = &self.outcome;
        let stages: String = self.stages.iter().map(Stage::text).collect();
        if outcome.end == End::Interrupted || outcome.code == "interrupted" {
            if !self.stages.is_empty() {
                env.out.show(&self.document(&[], more), stages)?;
            }
            env.out.note(format!("{}\n", outcome.text()));
            return Ok(ExitCode::from(INTERRUPTED));
        }
        // A run that ends with differences, or with other gates closed, is a report.
        let ran = outcome.end == End::Failed && matches!(&*outcome.code, "differences" | "gates-closed");
        if !ran && !outcome.is_success() {
            return Err(self.refusal());
        }
        let mut text = stages + &outcome.text().replacen(&outcome.message, &self.said(), 1) + "\n";
        let changes = self.policy_changes();
        let verb = if outcome.end == End::Checked { "would become" } else { "was changed" };
        text.extend(changes.iter().map(|change| policies::line(change, verb)));
        env.out.show(&self.document(&changes, more), text)?;
        Ok(exit_code(outcome.code != "differences"))
    }

    fn refusal(&self) -> anyhow::Error {
        let outcome = &self.outcome;
        let mut detail = vec![outcome.message.clone()];
        detail.extend(outcome.notes.iter().cloned());
        detail.push(outcome.open_text.clone());
        let problem = Problem::new(409, outcome.code.clone().leak(), detail.join("\n"));
        let next = outcome.next.as_ref().map(|next| format!("next: {next}"));
        let hint: Vec<String> = outcome.hint.iter().cloned().chain(next).collect();
        Refusal::of(problem.maybe_hint((!hint.is_empty()).then(|| hint.join("; "))))
    }

    /// What happened. In place, what it means for queries and writers.
    fn said(&self) -> String {
        let Outcome { head, end, message, .. } = &self.outcome;
        let in_place = head.as_ref().filter(|head| self.is_switch && head.protocol == Protocol::InPlace);
        let step = in_place.filter(|_| *end == End::Done).and_then(|head| match head.phase {
            Phase::CutOver => Some(CompletedStep::CutOver.message(head, &self.mapping)),
            Phase::Running => Some(CompletedStep::Undone.message(head, &self.mapping)),
            _ => None,
        });
        step.unwrap_or_else(|| message.clone())
    }

    fn policy_changes(&self) -> Vec<PolicyChange> {
        let change = |(side, policy): &(Direction, Option<String>)| {
            let forward = *side == Direction::Forward;
            let table = if forward { self.mapping.source() } else { self.mapping.target() };
            PolicyChange { table: table.name.clone(), policy: policy.clone() }
        };
        self.outcome.policies.iter().map(change).collect()
    }

    /// `more` is for the stages of a run.
    fn document(&self, changes: &[PolicyChange], more: &Value) -> Value {
        let outcome = &self.outcome;
        let open = match outcome.open {
            OpenTable::Source => Some(&self.mapping.source().name),
            OpenTable::Target => Some(&self.mapping.target().name),
            OpenTable::Neither | OpenTable::Unknown => None,
        };
        let head = outcome.head.as_ref();
        let mut value = json!({
            "retrofit": self.mapping.name(), "said": self.said(), "open": open, "next": outcome.next, "code": outcome.code,
            "phase": head.map(|head| head.phase.name()), "epoch": head.map(|head| head.epoch.number()),
            "counts": outcome.counts, "gates": outcome.gates.iter().map(Gate::code).collect::<Vec<_>>(),
            "policies": changes.iter().map(policies::document).collect::<Vec<_>>(), "notes": outcome.notes,
        });
        for stage in &self.stages {
            value[stage.name] = stage.json();
            if let Some(more) = more.get(stage.name).and_then(Value::as_object) {
                more.iter().for_each(|(name, more)| value[stage.name][name] = more.clone());
            }
        }
        if let Some(paused) = outcome.paused_ms {
            value["seconds"] = json!(std::time::Duration::from_millis(paused).as_secs_f64());
        }
        if let Some(backlog) = &outcome.backlog {
            value["items"] = json!(backlog.items);
            value["waiting"] = json!(backlog.waiting);
            value["differing"] = json!(backlog.differing);
            value["unseen"] = json!(backlog.unseen);
        }
        value
    }
}
