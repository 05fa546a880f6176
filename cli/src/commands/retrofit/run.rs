//! `keyfold retrofit run`: starts the retrofit, carries over the existing items, and compares both sides. What is done already is not
//! done again, so the command can be repeated until both sides are the same. In AWS, the state machine does the same with functions.

use std::process::ExitCode;

use keyfold_core::retrofit::control::{Phase, RetrofitState};
use keyfold_core::retrofit::{CompletedStep, Protocol};
use serde_json::{Value, json};

use super::env::{Env, RetrofitName, WaitsGiven, explained};
use super::execution::{self, HereArgs};
use super::passes::{CompareOptions, PassReport, RetrofitWork, backfill, compare};
use super::start::{RetrofitStartArgs, known, start};
use super::texts::next_line;
use crate::support::{INTERRUPTED, exit_code, stop_flag};

/// What the segments of a run in AWS are when it says nothing else.
const SEGMENTS_DEFAULT: u32 = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitRunArgs {
    #[command(flatten)]
    retrofit: RetrofitName,
    /// End after this stage.
    #[arg(long, value_enum, default_value_t = Stage::Compare, value_name = "STAGE")]
    until: Stage,
    /// Correct the target where it differs, then compare again. What is in quarantine is tried again first.
    #[arg(long)]
    repair: bool,
    /// Carry over all items again, from the beginning. Items that are right already are only read.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    start: RetrofitStartArgs,
    #[command(flatten)]
    work: RetrofitWork,
    /// How far behind the replicator may be: a difference is checked again for twice as long. 0 if there are no writers [default: 60;
    /// 5 if DynamoDB is on this machine].
    #[arg(long, value_name = "SECONDS")]
    lag: Option<u64>,
    /// How many differences to list, by their keys.
    #[arg(long, default_value_t = 20, value_name = "N")]
    show: usize,
    #[command(flatten)]
    here: HereArgs,
    /// With a state machine: a name for the execution. The same name with the same input gives the same execution.
    #[arg(long, value_name = "NAME")]
    execution: Option<String>,
    #[command(flatten)]
    waits: WaitsGiven,
}

/// The stages of a run, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Stage {
    /// Check the tables and the stream, and record the retrofit in the control table.
    Start,
    /// Carry over the existing items.
    Backfill,
    /// Compare both sides, in both directions.
    Compare,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitRunArgs) -> anyhow::Result<ExitCode> {
    let mut shown = Shown::begin(env);
    if may_start(env, &args.retrofit).await? {
        let head = start(env, &args.retrofit, &args.start).await?;
        let mapping = env.mapping(&args.retrofit)?;
        shown.step(&head, &CompletedStep::Started.message(&head, &mapping));
    }
    if args.until == Stage::Start {
        return shown.end(&args.retrofit, ExitCode::SUCCESS).await;
    }
    if let Some(machine) = args.here.machine() {
        return in_aws(env, machine, args).await;
    }
    let stop = stop_flag(env.out);
    let (sender, head) = env.started(&args.retrofit).await?;
    let sender = sender.paced(args.work.rate);
    if head.phase.direction().is_none() {
        return Err(explained(head.closed()));
    }
    let fills = head.check_filling(sender.job().mapping());
    // Once the target has writers of its own, both sides are only compared.
    if args.repair || args.again || args.until == Stage::Backfill {
        fills.clone().map_err(explained)?;
    }
    if fills.is_ok()
        && let Some(report) = backfill(&sender, &args.work, args.again, &stop, env.out).await?
        && !shown.pass("backfill", report)
    {
        return shown.end(&args.retrofit, ExitCode::from(INTERRUPTED)).await;
    }
    if args.until == Stage::Backfill {
        return shown.end(&args.retrofit, ExitCode::SUCCESS).await;
    }
    let lag = args.lag.unwrap_or(env.waits(&args.waits)?.lag);
    let mut options = CompareOptions { repair: args.repair, lag, show: args.show };
    if args.repair {
        let report = compare(&sender, &args.work, &options, &stop, env.out).await?;
        if !shown.pass("repair", report) {
            return shown.end(&args.retrofit, ExitCode::from(INTERRUPTED)).await;
        }
        options.repair = false;
    }
    let report = compare(&sender, &args.work, &options, &stop, env.out).await?;
    let same = report.differences == 0;
    let code = if shown.pass("comparison", report) { exit_code(same) } else { ExitCode::from(INTERRUPTED) };
    shown.end(&args.retrofit, code).await
}

/// The state machine's functions do the rest.
async fn in_aws(env: &Env<'_>, machine: &str, args: &RetrofitRunArgs) -> anyhow::Result<ExitCode> {
    let mapping = env.mapping(&args.retrofit)?;
    let in_place = mapping.protocol() == Protocol::InPlace;
    let segments = args.work.segments.unwrap_or(SEGMENTS_DEFAULT);
    let mut input = json!({ "retrofit": mapping.name(), "segments": segments });
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            input[name] = value;
        }
    };
    add("concurrency", args.work.concurrency.map(Value::from));
    add("rate", args.work.rate.map(Value::from));
    add("sides", in_place.then(|| json!(["source"])));
    add("stream", args.start.no_stream.then_some(json!(false)));
    add("repair", args.repair.then_some(json!(true)));
    execution::started(env, &args.retrofit, machine, args.execution.as_deref(), &input).await
}

/// Is there something to start? Not once readers or writers have moved.
async fn may_start(env: &Env<'_>, retrofit: &RetrofitName) -> anyhow::Result<bool> {
    let sender = env.unstarted(retrofit).await?;
    let head = known(env, &sender).await?;
    Ok(head.is_none_or(|head| head.phase.is_filling() || head.phase == Phase::Abandoned))
}

/// What the stages did: for people one after the other, for programs one document at the end.
struct Shown<'e> {
    env: &'e Env<'e>,
    value: Value,
}

impl<'e> Shown<'e> {
    fn begin(env: &'e Env<'e>) -> Shown<'e> {
        Shown { env, value: json!({}) }
    }

    fn step(&mut self, head: &RetrofitState, said: &str) {
        self.value["said"] = said.into();
        self.text(&format!("retrofit `{}` is {} ({said})\n", head.retrofit, head.phase.name()));
    }

    /// Was the pass not interrupted?
    fn pass(&mut self, name: &str, report: PassReport) -> bool {
        self.text(&report.text);
        self.value[name] = report.value;
        report.done
    }

    fn text(&self, text: &str) {
        if !self.env.out.json {
            self.env.out.text(text);
        }
    }

    /// Says what comes next.
    async fn end(mut self, retrofit: &RetrofitName, code: ExitCode) -> anyhow::Result<ExitCode> {
        let (sender, head) = self.env.started(retrofit).await?;
        let status = sender.status(head).await.map_err(explained)?;
        let next = status.head.next_command(&status.gates);
        for (name, value) in [
            ("retrofit", json!(status.head.retrofit)),
            ("phase", json!(status.head.phase.name())),
            ("epoch", json!(status.head.epoch.number())),
            ("next", json!(next)),
        ] {
            self.value[name] = value;
        }
        self.env.out.show(&self.value, next_line(next.as_deref()))?;
        Ok(code)
    }
}
