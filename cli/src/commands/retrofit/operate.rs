//! Drives an operation in this terminal: shows what it is doing, and prints how it ended.

use std::process::ExitCode;

use keyfold_core::retrofit::control::{Direction, Phase};
use keyfold_core::retrofit::gates::Gate;
use keyfold_core::retrofit::operate::{Command, End, OpenTable, Outcome};
use keyfold_core::retrofit::{CompletedStep, Mapping, Protocol};
use keyfold_dynamo::retrofit::{Operator, PassOptions};
use keyfold_edge::Problem;
use serde_json::{Value, json};

use super::env::{Env, RetrofitName, RetrofitWork};
use super::progress::{Progress, Stage};
use super::texts::policy_json;
use crate::refusal::Refusal;
use crate::support::{INTERRUPTED, exit_code, stop_flag};

/// The default number of differences that are listed.
pub(super) const SHOW_DEFAULT: usize = 20;

/// How an operation ended, and what its passes did.
pub(super) struct Ended {
    pub(super) mapping: Mapping,
    pub(super) outcome: Outcome,
    pub(super) stages: Vec<Stage>,
}

/// Drives the operation of a command to its end, and prints that.
pub(super) async fn operate(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    work: &RetrofitWork,
    command: Command,
) -> anyhow::Result<ExitCode> {
    let passes = work.options(env.waits(retrofit)?.lag);
    perform(env, retrofit, command, passes, SHOW_DEFAULT).await?.report(env)
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
    let is_switch = matches!(command, Command::Switch(_) | Command::Readers(_));
    let passes = PassOptions { stop: stop_flag(env.out), ..passes };
    let operator = Operator::new(&env.globals.settings()?, &mapping, &env.globals.control, passes).await;
    let progress = Progress::new(env.out, show);
    let Ok(mut outcome) = progress.during(operator.drive(command, &progress)).await else {
        unreachable!("a command has no deadline")
    };
    if let Some(message) = switched_in_place(&outcome, &mapping).filter(|_| is_switch) {
        outcome.message = message;
    }
    Ok(Ended { mapping, outcome, stages: progress.stages() })
}

/// The effect of a switch in place on queries and writers.
fn switched_in_place(outcome: &Outcome, mapping: &Mapping) -> Option<String> {
    let head = outcome.head.as_ref().filter(|head| head.protocol == Protocol::InPlace)?;
    let step = match (outcome.end, head.phase) {
        (End::Done, Phase::CutOver) => CompletedStep::CutOver,
        (End::Done, Phase::Running) => CompletedStep::Undone,
        _ => return None,
    };
    Some(step.message(head, mapping))
}

impl Ended {
    /// Prints how it ended. A refusal and a stop that was taken back are errors; so are differences.
    pub(super) fn report(&self, env: &Env<'_>) -> anyhow::Result<ExitCode> {
        let outcome = &self.outcome;
        let stages: String = self.stages.iter().map(Stage::text).collect();
        if outcome.end == End::Interrupted || outcome.code == "interrupted" {
            if !self.stages.is_empty() {
                env.out.show(&self.document(), stages)?;
            }
            env.out.note(format!("{}\n", outcome.text()));
            return Ok(ExitCode::from(INTERRUPTED));
        }
        // A run that ends with differences, or with other gates closed, is a report.
        let ran = outcome.end == End::Failed && matches!(&*outcome.code, "differences" | "gates-closed");
        if !ran && !outcome.is_success() {
            return Err(self.refusal());
        }
        let verb = if outcome.end == End::Checked { "would become" } else { "was changed" };
        let policies = self.policies().map(|(table, policy)| {
            format!("the policy of table `{table}` {verb}: {}\n", policy.unwrap_or("no policy"))
        });
        let text = stages + &outcome.text() + "\n" + &policies.collect::<String>();
        env.out.show(&self.document(), text)?;
        Ok(exit_code(outcome.code != "differences"))
    }

    fn refusal(&self) -> anyhow::Error {
        let Outcome { code, message, hint, notes, open_text, next, .. } = &self.outcome;
        let detail: Vec<&str> =
            [message].into_iter().chain(notes).chain([open_text]).map(String::as_str).collect();
        let problem = Problem::new(409, code.clone().leak(), detail.join("\n"));
        let next = next.as_ref().map(|next| format!("next: {next}"));
        let hint: Vec<String> = hint.iter().cloned().chain(next).collect();
        Refusal::of(problem.maybe_hint((!hint.is_empty()).then(|| hint.join("; "))))
    }

    /// The policies that were changed or, after a check, would be, each with the name of its table.
    fn policies(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.outcome.policies.iter().map(|(side, policy)| {
            let forward = *side == Direction::Forward;
            let table = if forward { self.mapping.source() } else { self.mapping.target() };
            (&*table.name, policy.as_deref())
        })
    }

    fn document(&self) -> Value {
        let outcome = &self.outcome;
        let open = match outcome.open {
            OpenTable::Source => Some(&self.mapping.source().name),
            OpenTable::Target => Some(&self.mapping.target().name),
            OpenTable::Neither | OpenTable::Unknown => None,
        };
        let head = outcome.head.as_ref();
        let mut value = json!({
            "retrofit": self.mapping.name(), "said": outcome.message, "open": open, "next": outcome.next, "code": outcome.code,
            "phase": head.map(|head| head.phase.name()), "epoch": head.map(|head| head.epoch.number()),
            "counts": outcome.counts, "gates": outcome.gates.iter().map(Gate::code).collect::<Vec<_>>(),
            "policies": self.policies().map(|(table, policy)| policy_json(table, policy)).collect::<Vec<_>>(),
            "notes": outcome.notes,
        });
        for stage in &self.stages {
            value[stage.name] = stage.json();
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
