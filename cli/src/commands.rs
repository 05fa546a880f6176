//! The commands, one file each.

mod answer;
mod ask;
mod audit;
mod check;
mod completions;
mod demo;
mod explain;
mod fold;
mod index;
mod init;
mod local;
mod plan;
mod query;
mod request;
mod retrofit;
mod schema;
mod template;
mod types;
mod unfold;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use keyfold_dynamo::{Endpoint, Settings};

use crate::args::{Args, Command};
use crate::output::Output;

/// Runs one command.
pub(crate) fn run(args: &Args, out: &Output) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Check(check) => check::run(&args.manifest, check, out),
        Command::Fold(fold) => fold::run(&args.manifest, fold, out),
        Command::Unfold(unfold) => unfold::run(&args.manifest, unfold, out),
        Command::Schema => schema::run(out),
        Command::Types(types) => types::run(&args.manifest, types, out),
        Command::Completions { shell } => completions::run(*shell, out),
        Command::Plan(plan) => plan::run(&args.manifest, plan, out),
        Command::Ask(ask) => ask::run(&args.manifest, ask, out),
        Command::Query(query) => query::run(&args.manifest, query, out),
        Command::Explain(request) => explain::run(&args.manifest, request, out),
        Command::Retrofit(retrofit) => retrofit::run(&args.manifest, retrofit, out),
        Command::Index(index) => index::run(&args.manifest, index, out),
        Command::Audit(audit) => audit::run(&args.manifest, audit, out),
        Command::Template(template) => template::run(&args.manifest, template, out),
        Command::Init(init) => init::run(&args.manifest, init, out),
        Command::Local(local) => local::run(&args.manifest, local, out),
        Command::Demo(demo) => demo::run(demo, out),
    }
}

/// How to reach DynamoDB: at this endpoint, or as the environment configures AWS.
fn settings(endpoint: Option<&str>) -> anyhow::Result<Settings> {
    match endpoint {
        Some(url) => Ok(Settings::at(Endpoint::parse(url)?).trusting(&|name| std::env::var(name).ok())?),
        None => Ok(Settings::from_env()?),
    }
}

/// Seconds since 1970.
fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
