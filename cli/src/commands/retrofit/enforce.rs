//! `keyfold retrofit enforce`: applies the policies of the retrofit's row to both tables, in case they were overwritten, or a command was
//! killed before it had applied them.

use std::process::ExitCode;

use keyfold_core::retrofit::control::ControlError;
use keyfold_dynamo::DynamoError;
use keyfold_dynamo::retrofit::{PolicyChange, RequestSender, RetrofitError, RetrofitState};
use serde_json::{Value, json};

use super::env::{Env, RetrofitName, explained};
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::exit_code;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitEnforceArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// Show what would be changed. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Remove the denials from both tables. From then on you stop the writers yourself.
    #[arg(long, conflicts_with = "check")]
    pub(crate) lift: bool,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitEnforceArgs) -> anyhow::Result<ExitCode> {
    if args.lift {
        return lift(&env.unstarted(&args.retrofit).await?, env.out).await;
    }
    let (sender, head) = env.started(&args.retrofit).await?;
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
    report(&head.retrofit, Some(&head), &changes, verb, env.out)?;
    Ok(exit_code(!args.check || changes.is_empty()))
}

/// The row first: after a kill in between, the next command does not apply the policies again. Without a row or a control table, the
/// writers are allowed all the same.
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
    report(sender.job().mapping().name(), head.as_ref(), &changes, "was changed", out)?;
    Ok(ExitCode::SUCCESS)
}

fn report(
    retrofit: &str,
    head: Option<&RetrofitState>,
    changes: &[PolicyChange],
    verb: &str,
    out: &Output,
) -> anyhow::Result<()> {
    let policies: Vec<Value> = changes.iter().map(document).collect();
    let phase = head.map(|head| head.phase.name());
    let value = json!({ "retrofit": retrofit, "phase": phase, "policies": policies });
    let text = match changes.is_empty() {
        true => format!("retrofit `{retrofit}`: the policies of both tables are correct\n"),
        false => changes.iter().map(|change| line(change, verb)).collect(),
    };
    out.show(&value, text)
}

/// The change of a table's policy, as a line.
pub(super) fn line(change: &PolicyChange, verb: &str) -> String {
    let policy = change.policy.as_deref().unwrap_or("no policy");
    format!("the policy of table `{}` {verb}: {policy}\n", change.table)
}

/// The change as JSON.
pub(super) fn document(change: &PolicyChange) -> Value {
    let policy = change.policy.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({ "table": change.table, "policy": policy })
}
