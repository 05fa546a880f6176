//! What one answer costs in read units: by the index that serves it, by a filter over another, by a scan.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::ensure;
use keyfold_core::cost::Prices;
use keyfold_core::value::AttributeValue;
use keyfold_dynamo::{PageRequest, QueryPage, ScanPage, query_page, scan_page};

use super::requests::RESOURCE;
use super::stage::{Answered, QueryStage, Spent};
use crate::data::{self, BUSY_USER};
use crate::report::{Bars, Plot, Table};
use crate::{Report, Scale, Spread, figure};

const IN_WORDS: &str = "\"When did joe1 view r0007 in 2017?\"";
const YEAR: &str = "2017";

/// A way to ask, and what it took.
struct WayToRead {
    name: &'static str,
    is_ours: bool,
    answered: Answered,
    read: u64,
    milliseconds: Vec<f64>,
}

/// Adds table, plot and note.
pub(super) async fn add(stage: &QueryStage, scale: Scale, report: &mut Report) -> anyhow::Result<()> {
    let mut ways = [
        WayToRead::new("Keyfold: the folded index", true),
        WayToRead::new("a filter over the index by user", false),
        WayToRead::new("a filter over a scan", false),
    ];
    for _ in 0..scale.of(3, 15) {
        for (at, way) in ways.iter_mut().enumerate() {
            let begun = Instant::now();
            let (answered, read) = match at {
                0 => by_index(stage).await?,
                1 => by_filter(stage).await?,
                _ => by_scan(stage).await?,
            };
            way.milliseconds.push(begun.elapsed().as_secs_f64() * 1e3);
            (way.answered, way.read) = (answered, read);
        }
    }
    let [first, others @ ..] = &ways;
    for other in others {
        ensure!(sorted(&other.answered.ids) == sorted(&first.answered.ids), "{}: another answer", other.name);
    }
    tell(&ways, report);
    Ok(())
}

impl WayToRead {
    fn new(name: &'static str, is_ours: bool) -> WayToRead {
        WayToRead { name, is_ours, answered: Answered::default(), read: 0, milliseconds: Vec::new() }
    }
}

fn tell(ways: &[WayToRead], report: &mut Report) {
    let columns =
        ["", "items", "items read", "requests", "read units", "wall ms", "dollars for a million answers"];
    let mut table = Table::new(format!("{IN_WORDS}, one answer."), columns);
    let read_million = Prices::default().read_million;
    let mut bars = Bars::new("read-units", &format!("{IN_WORDS}: read units"), "read units of one answer");
    bars.is_log = true;
    for way in ways {
        let Spent { requests, units } = way.answered.spent;
        table.row([
            way.name.to_owned(),
            figure::count(way.answered.ids.len() as u64),
            figure::count(way.read),
            requests.to_string(),
            units.to_string(),
            figure::spread(Spread::of(&way.milliseconds)),
            figure::number(units * read_million),
        ]);
        let value = Spread::exact(units);
        if way.is_ours { bars.ours(way.name, value) } else { bars.peer(way.name, value) }
    }
    report.tables.push(table);
    report.plots.push(Plot::Bars(bars));
    report.notes.push(
        "Read units are those that the embedded DynamoDB reports, by the documented formulas. Those of the scan grow with the table, those of the filter with everything the user ever did, those of the index with the answer."
            .to_owned(),
    );
}

async fn by_index(stage: &QueryStage) -> anyhow::Result<(Answered, u64)> {
    let request = format!(
        r#"{{"table":"events","where":{{"resourceId":"{RESOURCE}","action":"viewed","accessedBy":"{BUSY_USER}",
"timestamp":{{"beginsWith":"{YEAR}"}}}},"order":"timestamp","limit":1000}}"#
    );
    let answered = stage.ask(&request).await?;
    let read = answered.ids.len() as u64;
    Ok((answered, read))
}

async fn by_filter(stage: &QueryStage) -> anyhow::Result<(Answered, u64)> {
    let mut sum = Sum::default();
    loop {
        let query = QueryPage {
            page: PageRequest { index: Some("byUser".to_owned()), ..sum.page("resourceId = :r AND #a = :a") },
            key_condition: "accessedBy = :u AND begins_with(#t, :t)".to_owned(),
            forward: true,
        };
        if sum.add(query_page(&stage.client, &query).await?) {
            return Ok(sum.done());
        }
    }
}

async fn by_scan(stage: &QueryStage) -> anyhow::Result<(Answered, u64)> {
    let filter = "resourceId = :r AND #a = :a AND accessedBy = :u AND begins_with(#t, :t)";
    let mut sum = Sum::default();
    loop {
        let page = ScanPage { page: sum.page(filter), segment: None };
        if sum.add(scan_page(&stage.client, &page).await?) {
            return Ok(sum.done());
        }
    }
}

/// The pages of one answer.
#[derive(Default)]
struct Sum {
    answered: Answered,
    read: u64,
    start_key: Option<keyfold_core::value::Item>,
}

impl Sum {
    /// The request of the next page.
    fn page(&self, filter: &str) -> PageRequest {
        let text = |name: &str, text: &str| (name.to_owned(), AttributeValue::S(text.to_owned()));
        let name = |name: &str, attribute: &str| (name.to_owned(), attribute.to_owned());
        PageRequest {
            table: "benchEvents".to_owned(),
            filter: Some(filter.to_owned()),
            names: BTreeMap::from([name("#a", "action"), name("#t", "timestamp")]),
            values: BTreeMap::from([
                text(":r", RESOURCE),
                text(":a", "viewed"),
                text(":u", BUSY_USER),
                text(":t", YEAR),
            ]),
            start_key: self.start_key.clone(),
            ..PageRequest::default()
        }
    }

    /// Was this the last one?
    fn add(&mut self, page: keyfold_dynamo::Page) -> bool {
        self.answered.ids.extend(page.items.iter().map(|item| data::text(item, "id").to_owned()));
        self.answered.spent.requests += 1;
        self.answered.spent.units += page.consumed.units;
        self.read += page.scanned;
        self.start_key = page.last_key;
        self.start_key.is_none()
    }

    fn done(self) -> (Answered, u64) {
        (self.answered, self.read)
    }
}

fn sorted(ids: &[String]) -> Vec<&String> {
    let mut sorted: Vec<_> = ids.iter().collect();
    sorted.sort_unstable();
    sorted
}
