//! Planning alone, by the number of a table's indexes and of a request's conditions.

use std::hint::black_box;

use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::explain::explain;
use keyfold_core::query::{CheckedRequest, Readiness, check, plan};

use crate::micro::{self, Case};
use crate::report::{Report, Table};
use crate::setting::Setting;
use crate::spread::{Spread, count};
use crate::{data, goal};

const ABOUT: &str = "Planning turns a checked request into a plan: it tries every index, computes its price, and rejects or chooses it. \
This happens once per request, in the calling process; nothing is sent. There is nothing to compare it with: the other libraries we know \
leave the choice of the index to the caller.";

/// How many indexes the tables have.
const INDEXES: [usize; 3] = [1, 5, 20];

/// Attributes, some of which only some orders have.
const TABLE: &str = r#"
[tables.orders]
name = "benchedOrders"
partition = "id"
expect = { items = 5_000_000, items-per-partition = 200, item-bytes = 400 }
[tables.orders.attributes]
id = "string"
owner = { type = "string", required = true }
status = { type = "string", values = ["new", "paid", "sent", "done"], required = true }
region = { type = "string", required = true }
created = { type = "timestamp", required = true }
amount = { type = "number", required = true }
customer = { type = "string", required = true }
sender = "string"
warehouse = "string"
channel = { type = "string", values = ["web", "shop", "phone"], required = true }
campaign = "string"
currency = { type = "string", required = true }
updated = "timestamp"
due = "date"
note = "string"
"#;

/// The kinds of keys that manifests have: one attribute, folded, native, sharded, sparse. Four of these indexes can answer the
/// requests below; the others are rejected for reasons of every kind.
const INDEX_KEYS: [(&str, &str); 20] = [
    (r#""{owner}-{status}""#, r#""created""#),
    (r#""owner""#, r#""created""#),
    (r#"["owner", "region"]"#, r#"["status", "created"]"#),
    (r#""{status}.{id|shard:10}""#, r#""created""#),
    (r#""customer""#, r#""{status}#{created}""#),
    (r#""{region}-{owner}""#, r#""{status}#{created}""#),
    (r#""sender""#, r#""created""#),
    (r#""warehouse""#, r#""{sender}#{created}""#),
    (r#""{region}-{customer}""#, r#""created""#),
    (r#"["channel", "region"]"#, r#"["created"]"#),
    (r#""campaign""#, r#""created""#),
    (r#""{campaign}-{channel}""#, r#""updated""#),
    (r#"["currency", "region"]"#, r#"["amount"]"#),
    (r#""{currency}-{channel}""#, r#""amount""#),
    (r#""due""#, r#""owner""#),
    (r#"["warehouse", "status"]"#, r#"["due"]"#),
    (r#""{customer}-{channel}""#, r#""created""#),
    (r#""{warehouse}-{region}""#, r#""{status}#{updated}""#),
    (r#""customer""#, r#""amount""#),
    (r#"["sender", "region"]"#, r#"["status", "due"]"#),
];

const THREE: (&str, &str) = (
    "three conditions",
    r#"{"table":"orders","where":{"owner":"ann","status":"paid","created":{">=":"2017-03-01T00:00:00Z"}},
    "order":"-created","limit":20}"#,
);
const REQUESTS: [(&str, &str); 4] = [
    ("one condition", r#"{"table":"orders","where":{"owner":"ann"},"order":"-created","limit":20}"#),
    THREE,
    (
        "six conditions",
        r#"{"table":"orders","where":{"owner":"ann","status":"paid","created":{">=":"2017-03-01T00:00:00Z"},
    "region":"north","amount":{"between":[10,99]},"note":{"contains":"gift"}},"order":"-created","limit":20}"#,
    ),
    (
        "an `in` of three values",
        r#"{"table":"orders","where":{"owner":"ann","status":{"in":["new","paid","sent"]},
    "created":{">=":"2017-03-01T00:00:00Z"}},"order":"-created","limit":20}"#,
    ),
];

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new("2. Planning", ABOUT);
    let columns = ["", "1 index", "5 indexes", "20 indexes", "allocations at 20"];
    let mut table = Table::new("Microseconds of one thread.", columns);
    let models = INDEXES.map(model).into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let mut cases = Vec::new();
    for (name, request) in REQUESTS {
        for model in &models {
            let checked = checked(model, request)?;
            cases.push(Case::new(name, move || plan(black_box(&checked), &Readiness::complete())));
        }
    }
    for model in &models {
        let read = || checked(black_box(model), THREE.1).is_ok();
        cases.push(Case::new("read from JSON and checked, three conditions", read));
    }
    for model in &models {
        let plan = plan(&checked(model, THREE.1)?, &Readiness::complete())?;
        cases.push(Case::new("an explanation", move || explain(black_box(&plan))));
    }
    for row in micro::measure(cases, setting.scale).chunks(INDEXES.len()) {
        let last = &row[INDEXES.len() - 1];
        let times = row.iter().map(|case| Spread::of(&case.nanoseconds).times(1e-3));
        if last.name == THREE.0 {
            report.judge(
                goal::PLAN,
                "three conditions, 20 indexes",
                Spread::of(&last.nanoseconds).times(1e-3),
            );
        }
        let allocations = count(last.allocations.count);
        table.row([last.name.to_owned()].into_iter().chain(times.map(Spread::figure)).chain([allocations]));
    }
    report.add(table);
    Ok(report)
}

/// The table with only its first indexes.
fn model(indexes: usize) -> anyhow::Result<Model> {
    let index = |(number, (partition, sort)): (usize, &(&str, &str))| {
        format!("[tables.orders.indexes.by{number}]\npartition = {partition}\nsort = {sort}\n")
    };
    let indexes: String = INDEX_KEYS.iter().take(indexes).enumerate().map(index).collect();
    data::model(&format!("{TABLE}{indexes}"))
}

/// The request, read and checked.
fn checked<'m>(model: &'m Model, request: &str) -> anyhow::Result<CheckedRequest<'m>> {
    Ok(check(model, &serde_json::from_str(request)?, &Caller::Trusted)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times cannot be tested on a busy machine, but allocations, which make planning slow, can.
    #[test]
    fn three_conditions_over_twenty_indexes_take_fewer_than_sixty_allocations() {
        let model = model(20).unwrap();
        let checked = checked(&model, THREE.1).unwrap();
        // Facts of the model are computed with the first plan and cached.
        let _first = plan(&checked, &Readiness::complete()).unwrap();
        let complete = Readiness::complete();
        let counted = crate::allocations::during(|| plan(&checked, &complete));
        assert!((1..60).contains(&counted.count), "{counted:?}");
    }
}
