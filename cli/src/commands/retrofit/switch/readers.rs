//! A switch that moves readers alone: they use the target, and the source's changes are still carried over.

use std::process::ExitCode;

use keyfold_core::retrofit::CompletedStep;
use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::gates::{Gate, closed};
use keyfold_core::retrofit::operate::{Command, Tidy};

use super::super::env::{Env, RetrofitName, WaitsGiven, explained};
use super::super::operate::{outcome, report};
use super::super::passes::{CompareOptions, RetrofitWork, compare, interrupted};
use super::super::texts::{listed, step};
use crate::refusal::refuse;
use crate::support::stop_flag;

pub(super) async fn run(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    back: bool,
    waits: &WaitsGiven,
) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(retrofit).await?;
    if back {
        return step(&sender, &head, head.undone(), env.out, CompletedStep::Undone).await;
    }
    let (waits, work) = (env.waits(waits)?, RetrofitWork::default());
    let tidy = Command::Tidy(Tidy { limits: waits.limits });
    let tidied = outcome(env, retrofit, tidy, work.options(waits.lag)).await?;
    if !tidied.is_success() {
        return report(env, sender.job().mapping().forward(), &tidied);
    }
    env.out.note(format!("{}\n", tidied.message));
    let (sender, head) = env.started(retrofit).await?;
    let gates = closed(&head, &sender.evidence().await.map_err(explained)?);
    if gates.iter().any(|gate| matches!(gate, Gate::NotVerified | Gate::Stale { .. })) {
        let options = CompareOptions { repair: false, lag: waits.lag, show: 20 };
        let compared = compare(&sender, &work, &options, &stop_flag(env.out), env.out).await?;
        env.out.note(&compared.text);
        if !compared.done {
            return interrupted(env.out);
        }
    }
    let gates = closed(&head, &sender.evidence().await.map_err(explained)?);
    if !gates.is_empty() {
        refuse!("gates-closed", "retrofit `{}` cannot switch: {}", head.retrofit, listed(&gates));
    }
    step(&sender, &head, Phase::CutOver, env.out, CompletedStep::CutOver).await
}
