//! `keyfold retrofit run`: starts the state machine that runs a retrofit in AWS, or prints the input for it.

use std::process::ExitCode;

use anyhow::bail;
use keyfold_core::retrofit::{Mapping, Protocol};
use serde_json::{Value, json};

use super::aws_cli::aws;
use super::env::{Env, RetrofitName};

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitRunArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// The state machine's ARN: the stack's output, such as AuditV2StateMachineArn.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_STATE_MACHINE")]
    pub(crate) state_machine: Option<String>,
    /// A name for the execution. The same name with the same input gives the same execution.
    #[arg(long, value_name = "NAME")]
    pub(crate) execution: Option<String>,
    /// The number of segments of the source's scan.
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) segments: u32,
    /// How many segments are processed at the same time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: Option<u32>,
    /// The maximum capacity units per second, for all segments together.
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// Correct differences during the comparison.
    #[arg(long)]
    pub(crate) repair: bool,
    /// In place only: follow no stream, because every writer folds keys itself.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

pub(super) fn run(env: &Env<'_>, args: &RetrofitRunArgs) -> anyhow::Result<ExitCode> {
    let input = input(&env.mapping(&args.retrofit)?, args)?;
    let Some(machine) = &args.state_machine else {
        env.out.value(&input)?;
        return Ok(ExitCode::SUCCESS);
    };
    let started = start(machine, args.execution.as_deref(), &input)?;
    env.out.show(&json!({ "execution": started, "input": input }), format!("{started}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Starts an execution. Returns its ARN.
fn start(machine: &str, name: Option<&str>, input: &Value) -> anyhow::Result<String> {
    let input = input.to_string();
    let mut words = vec!["stepfunctions", "start-execution", "--output", "text", "--query", "executionArn"];
    words.extend(["--state-machine-arn", machine, "--input", &input]);
    words.extend(name.into_iter().flat_map(|name| ["--name", name]));
    let hint = "\nhint: leave out --state-machine to print the input, and start the execution elsewhere";
    Ok(aws(&words, "the state machine was not started", hint)?.trim().to_owned())
}

/// The input of statemachine/retrofit.asl.json.
fn input(mapping: &Mapping, args: &RetrofitRunArgs) -> anyhow::Result<Value> {
    let in_place = mapping.protocol() == Protocol::InPlace;
    if args.no_stream && !in_place {
        bail!(
            "retrofit `{}` writes to another table: without a stream, changes during the retrofit would be lost",
            mapping.name()
        );
    }
    let mut input = json!({ "retrofit": mapping.name(), "segments": args.segments });
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            input[name] = value;
        }
    };
    add("concurrency", args.concurrency.map(Value::from));
    add("rate", args.rate.map(Value::from));
    add("sides", in_place.then(|| json!(["source"])));
    add("stream", args.no_stream.then_some(json!(false)));
    add("repair", args.repair.then_some(json!(true)));
    Ok(input)
}
