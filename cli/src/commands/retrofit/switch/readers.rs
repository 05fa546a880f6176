//! A switch that moves readers alone: in place, queries use the filled indexes; into another table, readers use the target, and the
//! source's changes are still carried over.

use std::process::ExitCode;

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::gates::closed;
use keyfold_core::retrofit::{CompletedStep, Protocol};
use serde_json::json;

use super::super::env::{Env, explained};
use super::super::texts::{listed, report, step};
use super::prepared;
use super::state::RetrofitSwitchArgs;
use crate::refusal::refuse;

pub(super) async fn run(env: &Env<'_>, args: &RetrofitSwitchArgs) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(&args.retrofit).await?;
    if args.back {
        return step(&sender, &head, head.undone(), env.out, CompletedStep::Undone).await;
    }
    let in_place = head.protocol == Protocol::InPlace;
    if !in_place
        && head.phase != Phase::CutOver
        && let Some(code) = prepared(env, args).await?
    {
        return Ok(code);
    }
    let (sender, head) = env.started(&args.retrofit).await?;
    let evidence = sender.evidence().await.map_err(explained)?;
    let gates = closed(&head, &evidence);
    if args.check {
        let value = json!({
            "retrofit": head.retrofit, "phase": head.phase.name(),
            "gates": gates.iter().map(|gate| gate.code()).collect::<Vec<_>>(),
        });
        env.out.show(&value, format!("retrofit `{}` is blocked by: {}\n", head.retrofit, listed(&gates)))?;
        return Ok(crate::support::exit_code(gates.is_empty()));
    }
    if !gates.is_empty() {
        refuse!("gates-closed", "retrofit `{}` cannot switch: {}", head.retrofit, listed(&gates));
    }
    let mapping = sender.job().mapping();
    if head.phase == Phase::CutOver && in_place {
        let next = head.filled_again(mapping);
        sender.store(&next, Some(&head)).await.map_err(explained)?;
        return report(env.out, &next, &CompletedStep::CutOver.message(&next, mapping));
    }
    step(&sender, &head, Phase::CutOver, env.out, CompletedStep::CutOver).await
}
