//! Questions by Keyfold and by the SDK alone; and the cost of a plan, a filter and a scan.

mod raw;

use std::time::Instant;

use anyhow::ensure;
use futures_util::stream;
use keyfold_core::cost::Prices;
use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::{Readiness, check, plan};
use keyfold_dynamo::{Client, RunOptions, TableOptions, load, run as run_plan};
use keyfold_local::EmbeddedDynamo;

use crate::data::{self, BUSY_USER};
use crate::goal::{Goal, PAGE_OF_1, PAGE_OF_20, PAGE_OF_100};
use crate::report::{Report, Table};
use crate::sdk::sdk_alone;
use crate::setting::{Scale, Setting};
use crate::spread::{Spread, count, number};
use crate::turns::{Compared, Rounds, Way, Work, one_thread};
use raw::{Answer, LIMIT, Question, RESOURCE};

const READ_UNITS: &str = "Read units are those that the embedded DynamoDB reports, by the documented formulas. Those of the scan grow \
with the table, those of the filter with everything the user ever did, those of the index with the answer.";

/// Each question, its request and its goal.
const QUESTIONS: [(&str, Question, &str, Option<Goal>); 7] = [
    ("a page of 1", Question::Latest(1), LATEST, Some(PAGE_OF_1)),
    ("a page of 10", Question::Latest(10), LATEST, None),
    ("a page of 20", Question::Latest(20), LATEST, Some(PAGE_OF_20)),
    ("a page of 100", Question::Latest(100), LATEST, Some(PAGE_OF_100)),
    ("20 of a folded index", Question::Folded, FOLDED, Some(PAGE_OF_20)),
    (
        "20 merged from 10 shards",
        Question::FanOut,
        r#""where":{"action":"viewed"},"order":"-timestamp""#,
        None,
    ),
    (
        "20 through a keys-only index",
        Question::Hydration,
        r#""where":{"resourceId":"r0007"},"order":"timestamp""#,
        None,
    ),
];
const LATEST: &str = r#""where":{"accessedBy":"joe1"},"order":"-timestamp""#;
const FOLDED: &str =
    r#""where":{"resourceId":"r0007","action":"viewed","accessedBy":"joe1"},"order":"timestamp""#;
const IN_2017: &str = r#""where":{"resourceId":"r0007","action":"viewed","accessedBy":"joe1","timestamp":{"beginsWith":"2017"}},"order":"timestamp""#;

/// The table of events, and both clients.
struct Stage {
    model: Model,
    client: Client,
    sdk: Client,
    _dynamo: EmbeddedDynamo,
}

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let events = setting.scale.of(2000, 20_000);
    let about = format!(
        "One question about {} events on the embedded DynamoDB: by the SDK alone, with code written by hand for the right index, and by \
         Keyfold from a request, which it checks, plans, runs, merges and completes. The CPU is that of the client's thread; the server \
         has its own. A plan takes microseconds; a network takes milliseconds.",
        count(events)
    );
    let mut report = Report::new("3. Queries", &about);
    one_thread()?.block_on(async {
        let stage = Stage::new(events).await?;
        let table = stage.questions(setting.scale, &mut report).await?;
        report.add(table);
        report.add(stage.read_units(setting.scale).await?);
        report.add(READ_UNITS);
        Ok(report)
    })
}

impl Stage {
    async fn new(events: u64) -> anyhow::Result<Stage> {
        let model = data::model(data::MANIFEST)?;
        let dynamo = EmbeddedDynamo::memory()?;
        let table = data::table(&model, "events")?;
        dynamo.create_tables([table], TableOptions::default()).await?;
        let client = dynamo.client();
        load(&client, table, stream::iter((0..events as usize).map(data::event))).await?;
        Ok(Stage { sdk: sdk_alone(&client), model, client, _dynamo: dynamo })
    }

    /// By Keyfold, from the request's text.
    async fn ask(&self, question: &str, limit: u32) -> anyhow::Result<Answer> {
        let request = serde_json::from_str(&format!(r#"{{"table":"events",{question},"limit":{limit}}}"#))?;
        let checked = check(&self.model, &request, &Caller::Trusted)?;
        let plan = plan(&checked, &Readiness::complete())?;
        let answer = run_plan(&self.client, checked.table, &plan, None, &RunOptions::default()).await?;
        let ids: Vec<_> = answer.items.iter().map(|item| data::text(item, "id").to_owned()).collect();
        let (read, requests, units) = (ids.len() as u64, answer.requests, answer.consumed_read_units);
        Ok(Answer { ids, read, requests, units })
    }

    /// Each question in both ways.
    async fn questions(&self, scale: Scale, report: &mut Report) -> anyhow::Result<Table> {
        let columns = [
            "",
            "SDK, CPU µs",
            "ours, CPU µs",
            "CPU",
            "SDK, wall µs",
            "ours, wall µs",
            "wall",
            "requests",
            "read units",
        ];
        let mut table = Table::new("One answer. Requests and read units: SDK / ours.", columns);
        let rounds = Rounds { warm_up: 20, measured: scale.of(50, 1000), items: 1 };
        for (name, question, request, goal) in QUESTIONS {
            let limit = if let Question::Latest(limit) = question { limit } else { LIMIT };
            let (by_sdk, by_us) = (raw::ask(&self.sdk, question).await?, self.ask(request, limit).await?);
            ensure!(by_sdk.ids == by_us.ids && !by_us.ids.is_empty(), "{name}: the two answers differ");
            let compared =
                rounds.measure(async |way, _| Ok(self.once(way, question, request, limit))).await?;
            let Compared { sdk, ours } = &compared;
            table.row([
                name.to_owned(),
                Spread::of(&sdk.cpu).figure(),
                Spread::of(&ours.cpu).figure(),
                compared.cpu().ratio(),
                Spread::of(&sdk.wall).figure(),
                Spread::of(&ours.wall).figure(),
                Spread::of_ratios(&ours.wall, &sdk.wall).ratio(),
                format!("{} / {}", by_sdk.requests, by_us.requests),
                format!("{} / {}", by_sdk.units, by_us.units),
            ]);
            if let Some(goal) = goal {
                report.judge(goal, name, compared.cpu());
            }
        }
        Ok(table)
    }

    fn once<'s>(&'s self, way: Way, question: Question, request: &'s str, limit: u32) -> Work<'s> {
        Box::pin(async move {
            match way {
                Way::Sdk => raw::ask(&self.sdk, question).await?,
                Way::Ours => self.ask(request, limit).await?,
            };
            Ok(())
        })
    }

    /// The cost of one answer: by the index that serves it, by a filter over another, by a scan.
    async fn read_units(&self, scale: Scale) -> anyhow::Result<Table> {
        let caption = format!("\"When did {BUSY_USER} view {RESOURCE} in 2017?\", one answer.");
        let columns =
            ["", "items", "items read", "requests", "read units", "wall ms", "dollars for a million answers"];
        let mut table = Table::new(&caption, columns);
        let names = ["Keyfold: the folded index", "a filter over the index by user", "a filter over a scan"];
        let mut milliseconds = names.map(|_| Vec::new());
        let mut answers = names.map(|_| Answer::default());
        for _ in 0..scale.of(3, 15) {
            for (way, times) in milliseconds.iter_mut().enumerate() {
                let started = Instant::now();
                answers[way] = match way {
                    0 => self.ask(IN_2017, 1000).await?,
                    1 => raw::by_filter(&self.sdk).await?,
                    _ => raw::by_scan(&self.sdk).await?,
                };
                times.push(started.elapsed().as_secs_f64() * 1e3);
                answers[way].ids.sort_unstable();
            }
        }
        for (way, name) in names.iter().enumerate() {
            let Answer { ids, read, requests, units } = &answers[way];
            ensure!(*ids == answers[0].ids, "{name}: another answer");
            table.row([
                (*name).to_owned(),
                ids.len().to_string(),
                count(*read),
                requests.to_string(),
                units.to_string(),
                Spread::of(&milliseconds[way]).figure(),
                number(units * Prices::default().read_million),
            ]);
        }
        Ok(table)
    }
}
