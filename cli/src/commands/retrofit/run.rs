//! `keyfold retrofit run`: starts the state machine that runs a retrofit in AWS, or prints the input for it.

use std::process::ExitCode;

use anyhow::anyhow;
use aws_config::BehaviorVersion;
use aws_sdk_sfn::Client;
use aws_sdk_sfn::error::DisplayErrorContext;
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Mapping, Protocol};
use serde_json::{Value, json};

use super::hinted;
use crate::args::RetrofitRunArgs;
use crate::output::Output;

pub(super) async fn run(model: &Model, args: &RetrofitRunArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let mapping = Mapping::of(model, &args.name).map_err(|error| hinted(error.to_string(), error.hint()))?;
    let input = input(&mapping, args)?;
    let Some(machine) = &args.state_machine else {
        out.value(&input)?;
        return Ok(ExitCode::SUCCESS);
    };
    let config = aws_config::defaults(BehaviorVersion::latest()).load().await;
    let started = Client::new(&config)
        .start_execution()
        .state_machine_arn(machine)
        .set_name(args.execution.clone())
        .input(input.to_string())
        .send()
        .await
        .map_err(|error| anyhow!("the state machine was not started: {}", DisplayErrorContext(&error)))?;
    if out.json {
        out.value(&json!({ "execution": started.execution_arn, "input": input }))?;
    } else {
        out.text(format!("{}\n", started.execution_arn));
    }
    Ok(ExitCode::SUCCESS)
}

/// The input of statemachine/retrofit.asl.json.
fn input(mapping: &Mapping, args: &RetrofitRunArgs) -> anyhow::Result<Value> {
    let in_place = mapping.protocol() == Protocol::InPlace;
    if args.no_stream && !in_place {
        return Err(anyhow!(
            "retrofit `{}` goes into another table: without a stream, what changes meanwhile is lost",
            mapping.name()
        ));
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
