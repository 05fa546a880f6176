//! The first answer of a process, and those after it.

use std::ffi::OsStr;
use std::process::Child;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use futures_util::stream;
use keyfold_core::model::Model;
use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::{Epoch, Job, Mapping, TableRole};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{CONTROL_TABLE_DEFAULT, Head, RequestSender};
use keyfold_dynamo::{TableOptions, ensure_table, load};
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::{InvocationResult, RuntimeApi};
use serde_json::{Value, json};

use super::subject::Subject;
use crate::report::{Bars, Table};
use crate::start::cpu;
use crate::{Setting, Spread, data, figure};

/// How many items the answer has.
const LIMIT: usize = 20;
/// The resource that is asked about.
const RESOURCE: &str = "r0007";
/// The events that are drawn, and which of the others are loaded: every so many-th.
const EVENTS: usize = 20_000;
const OTHERS: usize = 20;
/// What the variable with the Runtime API's place is called.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

/// What the answers of one function took, one of each for each process.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) name: String,
    is_keyfold: bool,
    /// Milliseconds from the start of the process to its first answer.
    first: Vec<f64>,
    /// Microseconds for an answer after that.
    warm: Vec<f64>,
    /// Of them, what the process's threads worked.
    cpu: Vec<f64>,
    /// The most memory, in MB.
    peak: Vec<f64>,
}

/// A name, and the figures that it stands for.
type Figure = (&'static str, fn(&Answers) -> &[f64]);

/// Of what the functions are compared.
pub(super) const FIGURES: [Figure; 4] = [
    ("First answer", |answers| &answers.first),
    ("A warm answer", |answers| &answers.warm),
    ("CPU of a warm answer", |answers| &answers.cpu),
    ("Memory", |answers| &answers.peak),
];

/// Measures those that answer the question.
pub(super) fn measure(setting: &Setting, subjects: &[Subject]) -> anyhow::Result<Vec<Answers>> {
    let (rounds, warm) = setting.scale.of((2, 20), (20, 200));
    super::super::one_thread()?.block_on(async {
        let dynamo = stage().await?;
        let subjects: Vec<&Subject> = subjects.iter().filter(|subject| subject.asks).collect();
        let mut answers: Vec<Answers> = subjects.iter().map(|subject| Answers::of(subject)).collect();
        let mut agreed = None;
        for _ in 0..rounds {
            for (subject, answers) in subjects.iter().zip(&mut answers) {
                let ids = one_process(setting, subject, dynamo.endpoint(), warm, answers)
                    .await
                    .with_context(|| format!("function `{}`", subject.name))?;
                let expected = agreed.get_or_insert_with(|| ids.clone());
                ensure!(*expected == ids, "`{}` has another answer", subject.name);
            }
        }
        Ok(answers)
    })
}

impl Answers {
    fn of(subject: &Subject) -> Answers {
        Answers { name: subject.name.clone(), is_keyfold: subject.is_keyfold, ..Answers::default() }
    }
}

/// The sample's table, with all events about the resource that is asked about, and some others.
async fn stage() -> anyhow::Result<EmbeddedDynamo> {
    let model = data::model(data::SAMPLE_MANIFEST)?;
    let dynamo = EmbeddedDynamo::memory()?;
    let table = data::table(&model, "audit")?;
    dynamo.create_tables([table], TableOptions { stream: false }).await?;
    let is_loaded = |(at, event): &(usize, Item)| {
        data::text(event, "resourceId") == RESOURCE || at.is_multiple_of(OTHERS)
    };
    let events = (0..EVENTS).map(data::event).enumerate().filter(is_loaded);
    load(&dynamo.client(), table, stream::iter(events.map(|(_, event)| event))).await?;
    cut_over(&dynamo, &model).await?;
    Ok(dynamo)
}

/// The retrofit that fills the table's indexes is over: otherwise the function would not read them.
async fn cut_over(dynamo: &EmbeddedDynamo, model: &Model) -> anyhow::Result<()> {
    let job = Job::new(Mapping::of(model, "auditInPlace")?, Epoch::FIRST);
    let sender = RequestSender::new(dynamo.client(), job, CONTROL_TABLE_DEFAULT);
    ensure_table(&dynamo.client(), sender.table(TableRole::Control), TableOptions::default()).await?;
    let begun = Head::begun(sender.job().mapping(), None);
    sender.store(&Head { phase: Phase::CutOver, ..begun }, None).await?;
    Ok(())
}

/// One process: its first answer, and so many after it. The ids of the items.
async fn one_process(
    setting: &Setting,
    subject: &Subject,
    endpoint: &str,
    warm: u32,
    answers: &mut Answers,
) -> anyhow::Result<Vec<String>> {
    let api = RuntimeApi::start().await?;
    let mut command = subject.here(setting, &address(&api)?, endpoint);
    let begun = Instant::now();
    let process = Process(command.spawn()?);
    let ids = ask(&api).await?;
    answers.first.push(begun.elapsed().as_secs_f64() * 1e3);
    let (begun, before) = (Instant::now(), cpu(process.0.id())?);
    for _ in 0..warm {
        ask(&api).await?;
    }
    let worked = cpu(process.0.id())?.saturating_sub(before);
    answers.warm.push(begun.elapsed().as_secs_f64() * 1e6 / f64::from(warm));
    answers.cpu.push(worked.as_secs_f64() * 1e6 / f64::from(warm));
    answers.peak.push(peak_mb(process.0.id()));
    Ok(ids)
}

/// A process that ends with its round.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the Runtime API is, as it tells the processes that it starts.
fn address(api: &RuntimeApi) -> anyhow::Result<String> {
    let command = api.command("function");
    let mut variables = command.get_envs().filter(|(name, _)| *name == OsStr::new(RUNTIME_API));
    let value = variables.next().and_then(|(_, value)| value);
    Ok(value.context("the Runtime API has no place")?.to_string_lossy().into_owned())
}

async fn ask(api: &RuntimeApi) -> anyhow::Result<Vec<String>> {
    let InvocationResult::Response(answer) = api.invoke(event()).await else { bail!("there is no answer") };
    let answer: Value = serde_json::from_str(&answer)?;
    ensure!(answer["statusCode"] == 200, "the answer's status is {}", answer["statusCode"]);
    let body: Value = serde_json::from_str(answer["body"].as_str().context("an answer without a body")?)?;
    let items = body["items"].as_array().context("an answer without items")?;
    ensure!(items.len() == LIMIT, "the answer has {} items", items.len());
    Ok(items.iter().map(|item| item["id"].as_str().unwrap_or_default().to_owned()).collect())
}

/// The question, as an HTTP API sends it.
fn event() -> String {
    let question = json!({
        "table": "audit",
        "where": {
            "resourceId": RESOURCE, "action": "viewed", "accessedBy": data::BUSY_USER,
            "timestamp": { "beginsWith": "201" },
        },
        "order": "timestamp",
        "limit": LIMIT,
    });
    json!({
        "version": "2.0",
        "routeKey": "POST /query",
        "rawPath": "/query",
        "rawQueryString": "",
        "headers": { "content-type": "application/json", "host": "api.example.com" },
        "requestContext": {
            "accountId": "123456789012", "apiId": "api", "domainName": "api.example.com", "domainPrefix": "api",
            "http": {
                "method": "POST", "path": "/query", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "bench",
            },
            "requestId": "request", "routeKey": "POST /query", "stage": "$default",
            "time": "01/Mar/2017:08:00:00 +0000", "timeEpoch": 1_488_355_200_000_u64,
        },
        "isBase64Encoded": false,
        "body": question.to_string(),
    })
    .to_string()
}

/// The most memory that a process ever had; no number if the system does not tell.
fn peak_mb(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    crate::machine::peak_kb(&status).map_or(f64::NAN, |kb| kb as f64 / 1024.0)
}

pub(super) fn table(all: &[Answers]) -> Table {
    let columns = ["", "first answer, ms", "warm answer, µs", "CPU of a warm one, µs", "memory, MB"];
    let mut table =
        Table::new(format!("A question with {LIMIT} items, asked over the Runtime API."), columns);
    for answers in all {
        let figures = FIGURES.iter().map(|(_, of)| figure::spread(Spread::of(of(answers))));
        table.row([answers.name.clone()].into_iter().chain(figures));
    }
    table
}

pub(super) fn bars(all: &[Answers]) -> Bars {
    let mut bars = Bars::new("first-answer", "Start of the process to its first answer", "milliseconds");
    for answers in all {
        let first = Spread::of(&answers.first);
        if answers.is_keyfold { bars.ours(&answers.name, first) } else { bars.peer(&answers.name, first) }
    }
    bars
}
