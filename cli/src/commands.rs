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
mod load;
mod local;
mod plan;
mod query;
mod request;
mod retrofit;
mod schema;
mod shell;
mod tables;
mod template;
mod types;
mod unfold;
mod write;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use keyfold_dynamo::{Endpoint, Settings};
use keyfold_edge::Problem;

use crate::args::{Args, Command};
use crate::output::Output;
use crate::refusal::Refusal;

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
        Command::Put(put) => write::put(&args.manifest, put, out),
        Command::Update(update) => write::update(&args.manifest, update, out),
        Command::Delete(delete) => write::delete(&args.manifest, delete, out),
        Command::Load(load) => load::run(&args.manifest, load, out),
        Command::Explain(request) => explain::run(&args.manifest, request, out),
        Command::Retrofit(retrofit) => retrofit::run(&args.manifest, retrofit, out),
        Command::Tables(tables) => tables::run(&args.manifest, tables, out),
        Command::Index(index) => index::run(&args.manifest, index, out),
        Command::Audit(audit) => audit::run(&args.manifest, audit, out),
        Command::Template(template) => template::run(&args.manifest, template, out),
        Command::Init(init) => init::run(&args.manifest, init, out),
        Command::Local(local) => local::run(&args.manifest, local, out),
        Command::Shell(shell) => shell::run(&args.manifest, shell, out),
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

/// Runs one command that talks to DynamoDB. One thread is enough.
fn on_this_thread<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// An error with its code and its hint.
fn explained(
    error: impl std::error::Error + Send + Sync + 'static,
    code: &'static str,
    hint: Option<&str>,
) -> anyhow::Error {
    Refusal::of(Problem::new(500, code, with_causes(&error)).maybe_hint(hint))
}

/// What happened, and why.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    anyhow::Chain::new(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Seconds since 1970.
fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
