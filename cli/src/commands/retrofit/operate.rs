//! Drives an operation in this terminal: performs its effects, shows what it is doing, and prints how it ended.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use keyfold_core::retrofit::control::{Direction, Phase};
use keyfold_core::retrofit::gates::Gate;
use keyfold_core::retrofit::operate::{Command, Doing, End, OpenTable, Operation, Outcome, Step};
use keyfold_core::retrofit::{Checkpoint, CompletedStep, Mapping, Pass, Protocol, SegmentId};
use keyfold_dynamo::retrofit::{Operator, PassOptions, PassWatch, PolicyChange};
use keyfold_edge::Problem;
use serde_json::{Value, json};

use super::env::{Env, RetrofitName};
use super::line::Line;
use super::policies;
use crate::refusal::Refusal;
use crate::support::{INTERRUPTED, stop_flag};

/// Drives the operation of a command to its end, and prints that.
pub(super) async fn operate(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    command: Command,
    passes: PassOptions,
) -> anyhow::Result<ExitCode> {
    let ended = outcome(env, retrofit, command, passes).await?;
    report(env, &env.mapping(retrofit)?, &ended)
}

/// Drives the operation of a command to its end.
pub(super) async fn outcome(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    command: Command,
    passes: PassOptions,
) -> anyhow::Result<Outcome> {
    let mapping = env.mapping(retrofit)?;
    let stop = stop_flag(env.out);
    let passes = PassOptions { stop: Arc::clone(&stop), ..passes };
    let nonce = passes.owner.clone();
    let operator = Operator::new(&env.globals.settings()?, &mapping, &env.globals.control, passes).await;
    let mut operation = Operation::new(mapping, command, nonce, operator.now_ms());
    let (line, shown) = (Line::new(env.out), Shown::default());
    Ok(line.during(drive(&operator, &mut operation, &stop, &shown), || shown.text()).await)
}

async fn drive(operator: &Operator, operation: &mut Operation, stop: &AtomicBool, shown: &Shown) -> Outcome {
    loop {
        // Taken once: what follows an interruption waits as it has to.
        if stop.swap(false, Ordering::Relaxed) {
            operation.interrupt();
        }
        let effect = match operation.next() {
            Step::Over(outcome) => return *outcome,
            Step::Ask(effect) => effect,
        };
        shown.doing(operation.doing());
        let reply = operator.perform(&effect, shown).await;
        operation.answer(operator.now_ms(), reply);
    }
}

/// What the operation is doing, for the line that shows it.
#[derive(Default)]
struct Shown {
    doing: Mutex<Option<Doing>>,
    items: Mutex<BTreeMap<(Pass, SegmentId), u64>>,
    waits: Mutex<usize>,
}

impl Shown {
    fn doing(&self, doing: Doing) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = Some(doing);
    }

    fn text(&self) -> String {
        let doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Doing { text, paused_ms, failure }) = doing else { return String::new() };
        let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = items.keys().map(|(pass, _)| *pass).next_back();
        let count: u64 =
            items.iter().filter(|((pass, _), _)| Some(*pass) == newest).map(|(_, items)| items).sum();
        let waits = *self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = [
            paused_ms.map(|paused| format!("stopped for {} s", paused / 1_000)),
            Some(text),
            newest.map(|pass| format!("{count} items ({})", pass.name())),
            (waits > 0).then(|| format!("another worker has {waits} segments")),
            failure.map(|failure| format!("trying again: {}", failure.message)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn note(&self, checkpoint: &Checkpoint) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        items.insert((checkpoint.pass(), checkpoint.segment()), checkpoint.count("items"));
    }
}

impl PassWatch for Shown {
    fn begins(&self, checkpoint: &Checkpoint) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = 0;
        self.note(checkpoint);
    }

    fn page(&self, checkpoint: &Checkpoint) {
        self.note(checkpoint);
    }

    fn waits(&self, segments: usize) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = segments;
    }
}

/// Prints how an operation ended. What was refused, or taken back, is an error.
pub(super) fn report(env: &Env<'_>, mapping: &Mapping, outcome: &Outcome) -> anyhow::Result<ExitCode> {
    if outcome.end == End::Interrupted || outcome.code == "interrupted" {
        env.out.note(format!("{}\n", outcome.text()));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if !outcome.is_success() {
        let mut detail = vec![outcome.message.clone()];
        detail.extend(outcome.notes.iter().cloned());
        detail.push(outcome.open_text.clone());
        let problem = Problem::new(409, outcome.code.clone().leak(), detail.join("\n"));
        let next = outcome.next.as_ref().map(|next| format!("next: {next}"));
        let hint: Vec<String> = outcome.hint.iter().cloned().chain(next).collect();
        return Err(Refusal::of(problem.maybe_hint((!hint.is_empty()).then(|| hint.join("; ")))));
    }
    let said = said(mapping, outcome);
    let mut text = format!("{}\n", outcome.text().replacen(&outcome.message, &said, 1));
    let changes = policy_changes(mapping, outcome);
    text.extend(changes.iter().map(|change| policies::line(change, "would become")));
    env.out.show(&document(mapping, outcome, &said, &changes), text)?;
    Ok(ExitCode::SUCCESS)
}

/// What happened. In place, what it means for queries and writers.
fn said(mapping: &Mapping, outcome: &Outcome) -> String {
    let step = match (&outcome.head, outcome.end) {
        (Some(head), End::Done) if head.protocol == Protocol::InPlace => match head.phase {
            Phase::CutOver => Some(CompletedStep::CutOver.message(head, mapping)),
            Phase::Running => Some(CompletedStep::Undone.message(head, mapping)),
            _ => None,
        },
        _ => None,
    };
    step.unwrap_or_else(|| outcome.message.clone())
}

fn policy_changes(mapping: &Mapping, outcome: &Outcome) -> Vec<PolicyChange> {
    let change = |(side, policy): &(Direction, Option<String>)| {
        let table = if *side == Direction::Forward { mapping.source() } else { mapping.target() };
        PolicyChange { table: table.name.clone(), policy: policy.clone() }
    };
    outcome.policies.iter().map(change).collect()
}

fn document(mapping: &Mapping, outcome: &Outcome, said: &str, changes: &[PolicyChange]) -> Value {
    let open = match outcome.open {
        OpenTable::Source => Some(&mapping.source().name),
        OpenTable::Target => Some(&mapping.target().name),
        OpenTable::Neither | OpenTable::Unknown => None,
    };
    let mut value = json!({
        "retrofit": mapping.name(), "said": said, "open": open, "next": outcome.next, "code": outcome.code,
        "phase": outcome.head.as_ref().map(|head| head.phase.name()), "counts": outcome.counts,
        "gates": outcome.gates.iter().map(Gate::code).collect::<Vec<_>>(),
        "policies": changes.iter().map(policies::document).collect::<Vec<_>>(), "notes": outcome.notes,
    });
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
