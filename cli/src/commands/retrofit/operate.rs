//! Drives an operation in this terminal: shows what it is doing, and prints how it ended.

use std::process::ExitCode;

use keyfold_core::retrofit::Mapping;
use keyfold_core::retrofit::operate::{Command, End, Limits, Outcome};
use keyfold_dynamo::retrofit::{Operator, PassOptions};
use keyfold_edge::Problem;
use serde_json::Value;

use super::env::{Env, RetrofitName, RetrofitWork};
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
}

/// Drives the operation of a command to its end, and prints that.
pub(super) async fn operate(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    work: &RetrofitWork,
    command: impl FnOnce(Limits) -> Command,
) -> anyhow::Result<ExitCode> {
    let (limits, lag) = env.waits(retrofit)?;
    perform(env, retrofit, command(limits), work.options(lag), SHOW_DEFAULT).await?.report(env)
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
    let passes = PassOptions { stop: stop_flag(env.out), ..passes };
    let operator = Operator::new(&env.globals.settings()?, &mapping, &env.globals.control, passes).await;
    let progress = Progress::new(env.out, show);
    let Ok(outcome) = progress.during(operator.drive(command, &progress)).await else {
        unreachable!("a command has no deadline")
    };
    Ok(Ended { mapping, outcome, stages: progress.stages() })
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
        env.out.show(&self.document(), stages + &outcome.text() + "\n")?;
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

    fn document(&self) -> Value {
        let mut document = self.outcome.document(&self.mapping);
        self.stages.iter().for_each(|stage| document[stage.name] = stage.json());
        document
    }
}
