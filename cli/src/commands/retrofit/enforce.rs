//! `keyfold retrofit enforce`: makes the policies of both tables what the retrofit's row says. Somebody may have written over them,
//! or a command was killed before it had applied them.

use std::process::ExitCode;

use keyfold_core::model::Model;
use keyfold_core::retrofit::control::ControlError;
use keyfold_dynamo::DynamoError;
use keyfold_dynamo::retrofit::{Head, PolicyChange, RequestSender, RetrofitError};
use serde_json::{Value, json};

use super::{explained, started, unstarted};
use crate::args::RetrofitEnforceArgs;
use crate::output::Output;
use crate::refusal::refuse;

pub(super) async fn run(model: &Model, args: &RetrofitEnforceArgs, out: &Output) -> anyhow::Result<ExitCode> {
    if args.lift {
        return lift(&unstarted(model, &args.target).await?, out).await;
    }
    let (sender, head) = started(model, &args.target).await?;
    if head.exempt.is_empty() {
        refuse!(
            "no-policy",
            "retrofit `{0}` stops no writers by policies\n\
             hint: `keyfold retrofit switch {0} --writers policy` does; `enforce --lift` takes away what an earlier one left",
            head.retrofit
        );
    }
    let changes = match args.check {
        true => sender.policy_changes(&head).await,
        false => sender.enforce(&head).await,
    };
    let changes = changes.map_err(explained)?;
    let verb = if args.check { "would be changed" } else { "was changed" };
    said(&head.retrofit, Some(&head), &changes, verb, out)?;
    Ok(ExitCode::from(u8::from(args.check && !changes.is_empty())))
}

/// The row first: whoever is killed in between is followed by one who does not apply the policies again. Where there is no row, or no
/// control table any more, its writers must be let in all the same.
async fn lift(sender: &RequestSender, out: &Output) -> anyhow::Result<ExitCode> {
    let head = match sender.head().await {
        Ok(head) => Some(head),
        Err(
            RetrofitError::Control(ControlError::NotStarted { .. })
            | RetrofitError::Dynamo(DynamoError::NotFound { .. }),
        ) => None,
        Err(error) => return Err(explained(error)),
    };
    if let Some(head) = head.as_ref().filter(|head| !head.exempt.is_empty()) {
        sender.store(&head.exempting(&[]), Some(head)).await.map_err(explained)?;
    }
    let changes = sender.open_doors().await.map_err(explained)?;
    said(sender.job().mapping().name(), head.as_ref(), &changes, "was changed", out)?;
    Ok(ExitCode::SUCCESS)
}

fn said(
    retrofit: &str,
    head: Option<&Head>,
    changes: &[PolicyChange],
    verb: &str,
    out: &Output,
) -> anyhow::Result<()> {
    if out.json {
        let policies: Vec<Value> = changes.iter().map(document).collect();
        let phase = head.map(|head| head.phase.name());
        return out.value(&json!({ "retrofit": retrofit, "phase": phase, "policies": policies }));
    }
    if changes.is_empty() {
        out.text(format!("retrofit `{retrofit}`: the policies of both tables are as they must be\n"));
    }
    for change in changes {
        out.text(line(change, verb));
    }
    Ok(())
}

/// What becomes of a table's policy, as a line.
pub(super) fn line(change: &PolicyChange, verb: &str) -> String {
    let policy = change.policy.as_deref().unwrap_or("no policy");
    format!("the policy of table `{}` {verb}: {policy}\n", change.table)
}

/// The same for machines.
pub(super) fn document(change: &PolicyChange) -> Value {
    let policy = change.policy.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({ "table": change.table, "policy": policy })
}
