//! Executions of a retrofit's state machine in AWS: started, and followed until they end.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use keyfold_core::retrofit::Protocol;
use serde_json::{Value, json};

use super::env::{Env, RetrofitName};
use super::line::Line;
use super::runs::{Execution, StateMachine, is_passing};
use super::watch::Looks;
use crate::support::exit_code;

/// The pause between two looks at a run.
const LOOK: Duration = Duration::from_secs(2);

/// Where a command runs.
#[derive(Debug, clap::Args)]
pub(crate) struct HereArgs {
    /// Run in this terminal, also where a state machine is deployed (`KEYFOLD_STATE_MACHINE`, the stack's output).
    #[arg(long)]
    here: bool,
    /// The state machine's ARN. With it, functions do the work.
    #[arg(long, hide = true, value_name = "ARN", env = "KEYFOLD_STATE_MACHINE")]
    state_machine: Option<String>,
}

impl HereArgs {
    /// The state machine that does the work; `None` if this program does it.
    pub(super) fn machine(&self) -> Option<&str> {
        self.state_machine.as_deref().filter(|machine| !self.here && !machine.is_empty())
    }
}

/// Lets the state machine carry out an operation, and follows it to its end.
pub(super) async fn operate(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    machine: &str,
    operation: &Value,
) -> anyhow::Result<ExitCode> {
    let mut operation = operation.clone();
    // What was not given is left out.
    if let Value::Object(members) = &mut operation {
        members.retain(|_, value| !value.is_null());
    }
    let mut input = json!({ "retrofit": retrofit.name, "operation": operation });
    if env.mapping(retrofit)?.protocol() == Protocol::InPlace {
        input["sides"] = json!(["source"]);
    }
    started(env, retrofit, machine, None, &input).await
}

/// Starts an execution with this input, and follows it to its end.
pub(super) async fn started(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    machine: &str,
    name: Option<&str>,
    input: &Value,
) -> anyhow::Result<ExitCode> {
    let states = StateMachine::open(env).await?;
    let mut request = json!({ "stateMachineArn": machine, "input": input.to_string() });
    if let Some(name) = name {
        request["name"] = name.into();
    }
    let answer = states.call("StartExecution", &request).await?;
    let execution = answer["executionArn"].as_str().unwrap_or_default().to_owned();
    env.out.note(format!(
        "started {execution}\nctrl-C ends this view, not the run; anybody can follow it: keyfold retrofit status {} --watch\n",
        retrofit.name
    ));
    let ended = followed(&states, env, retrofit, &execution).await?;
    let report = states.report(&execution, ended).await?;
    env.out.show(&report.value(&retrofit.name), report.text())?;
    Ok(exit_code(report.has_succeeded()))
}

/// Shows the progress until the run has ended. A look that gets no answer is no end.
async fn followed(
    states: &StateMachine,
    env: &Env<'_>,
    retrofit: &RetrofitName,
    execution: &str,
) -> anyhow::Result<Execution> {
    let (line, mut looks, begun) = (Line::new(env.out), Looks::default(), Instant::now());
    loop {
        match states.described(execution).await {
            Ok(run) if run.status != "RUNNING" => return Ok(run),
            Ok(_) => {}
            Err(error) if !is_passing(&error) => return Err(error),
            Err(_) => {}
        }
        let look = looks.look(env, retrofit).await;
        let look = look.map_or_else(|_| "no answer of DynamoDB".to_owned(), |look| look.plain());
        let shown = format!("{} s: {}", begun.elapsed().as_secs(), look.trim_end());
        line.during(tokio::time::sleep(LOOK), || shown.clone()).await;
    }
}
