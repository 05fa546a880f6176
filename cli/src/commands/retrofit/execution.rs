//! Runs of a retrofit's state machine in AWS: started, and followed until they end.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use keyfold_core::retrofit::Protocol;
use keyfold_dynamo::{ServiceError, StateMachineRun, StateMachines};
use serde_json::{Value, json};

use super::env::{Env, RetrofitName};
use super::texts::{run_json, run_text};
use super::watch::{self, History};
use crate::line::Line;
use crate::support::exit_code;

/// The pause between two samples of a run.
const SAMPLE_PAUSE: Duration = Duration::from_secs(2);

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

/// Starts a run of the retrofit with this input, and follows it to its end.
pub(super) async fn run(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    machine: &str,
    name: Option<&str>,
    mut input: Value,
) -> anyhow::Result<ExitCode> {
    input["retrofit"] = json!(retrofit.name);
    if env.mapping(retrofit)?.protocol() == Protocol::InPlace {
        input["sides"] = json!(["source"]);
    }
    let states = StateMachines::open(&env.globals.settings()?).await?;
    let execution = states.start(machine, name, &input).await?;
    env.out.note(format!(
        "started {execution}\nctrl-C ends this view, not the run; anybody can follow it: keyfold retrofit status {} --watch\n",
        retrofit.name
    ));
    let run = followed(&states, env, retrofit, &execution).await?;
    env.out.show(&run_json(&run, &retrofit.name), run_text(&run))?;
    Ok(exit_code(run.has_succeeded()))
}

/// Shows the progress until the run has ended. A sample without an answer does not end it.
async fn followed(
    states: &StateMachines,
    env: &Env<'_>,
    retrofit: &RetrofitName,
    execution: &str,
) -> anyhow::Result<StateMachineRun> {
    let (line, mut history, started) = (Line::new(env.out), History::new(), Instant::now());
    loop {
        match states.run(execution).await {
            Ok(run) if !run.is_running() => return Ok(run),
            Ok(_) | Err(ServiceError::NotReached { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let sample = watch::sample(env, retrofit, &mut history).await;
        let sample = sample.map_or_else(|_| "no answer of DynamoDB".to_owned(), |sample| sample.line());
        let shown = format!("{} s: {sample}", started.elapsed().as_secs());
        line.during(tokio::time::sleep(SAMPLE_PAUSE), || shown.clone()).await;
    }
}
