//! Planning alone: what a checked request costs until its plan stands, by the number of the table's indexes and of the
//! request's conditions. Nothing is read from the manifest or sent anywhere while the time runs.
//!
//! `cargo bench -p keyfold-core --bench plan`; an ordinary request is to be planned in 10 µs where there are 20 indexes.

use divan::{Bencher, black_box};
use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_core::query::advise::advise;
use keyfold_core::query::check::Caller;
use keyfold_core::query::explain::explain;
use keyfold_core::query::{CheckedRequest, check, plan};

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
carrier = "string"
warehouse = "string"
channel = { type = "string", values = ["web", "shop", "phone"], required = true }
campaign = "string"
currency = { type = "string", required = true }
updated = "timestamp"
due = "date"
note = "string"
"#;

/// The ways of a key that manifests have: one attribute, folded, native, sharded, sparse. Four of them answer the
/// requests below; the others are turned down for reasons of every kind.
const INDEX_KEYS: [(&str, &str); 20] = [
    (r#""{owner}-{status}""#, r#""created""#),
    (r#""owner""#, r#""created""#),
    (r#"["owner", "region"]"#, r#"["status", "created"]"#),
    (r#""{status}.{id|shard:10}""#, r#""created""#),
    (r#""customer""#, r#""{status}#{created}""#),
    (r#""{region}-{owner}""#, r#""{status}#{created}""#),
    (r#""carrier""#, r#""created""#),
    (r#""warehouse""#, r#""{carrier}#{created}""#),
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
    (r#"["carrier", "region"]"#, r#"["status", "due"]"#),
];

const QUESTION: &str = r#"
[questions.orders.ofOwner]
where = ["owner", "status", "created >="]
order = "-created"
limit = 20
"#;

const ONE: &str = r#"{"table":"orders","where":{"owner":"ann"},"order":"-created","limit":20}"#;
const THREE: &str = r#"{"table":"orders","where":{"owner":"ann","status":"paid","created":{">=":"2017-03-01T00:00:00Z"}},
    "order":"-created","limit":20}"#;
const SIX: &str = r#"{"table":"orders","where":{"owner":"ann","status":"paid","created":{">=":"2017-03-01T00:00:00Z"},
    "region":"north","amount":{"between":[10,99]},"note":{"contains":"gift"}},"order":"-created","limit":20}"#;
const FAN_OUT: &str = r#"{"table":"orders","where":{"owner":"ann","status":{"in":["new","paid","sent"]},
    "created":{">=":"2017-03-01T00:00:00Z"}},"order":"-created","limit":20}"#;

fn main() {
    divan::main();
}

fn model(indexes: usize) -> Model {
    let index = |(number, (partition, sort)): (usize, &(&str, &str))| {
        format!("[tables.orders.indexes.by{number}]\npartition = {partition}\nsort = {sort}\n")
    };
    let indexes: String = INDEX_KEYS[..indexes].iter().enumerate().map(index).collect();
    let parsed = manifest::parse("keyfold.toml", &format!("{TABLE}{indexes}{QUESTION}"));
    parsed.model.unwrap_or_else(|| unreachable!("the manifest is right: {:?}", parsed.diagnostics))
}

fn checked<'m>(model: &'m Model, request: &str) -> CheckedRequest<'m> {
    let request = serde_json::from_str(request).unwrap_or_else(|error| unreachable!("{error}"));
    check(model, &request, &Caller::Trusted).unwrap_or_else(|error| unreachable!("{error}"))
}

fn planned(bencher: Bencher, indexes: usize, request: &str) {
    let model = model(indexes);
    let checked = checked(&model, request);
    bencher.bench_local(|| plan(black_box(&checked)).is_ok());
}

#[divan::bench(args = INDEXES)]
fn one_condition(bencher: Bencher, indexes: usize) {
    planned(bencher, indexes, ONE);
}

#[divan::bench(args = INDEXES)]
fn three_conditions(bencher: Bencher, indexes: usize) {
    planned(bencher, indexes, THREE);
}

#[divan::bench(args = INDEXES)]
fn six_conditions(bencher: Bencher, indexes: usize) {
    planned(bencher, indexes, SIX);
}

/// An `in` of three values.
#[divan::bench(args = INDEXES)]
fn fan_out(bencher: Bencher, indexes: usize) {
    planned(bencher, indexes, FAN_OUT);
}

/// The question of the manifest, with stand-ins for its values.
#[divan::bench(args = INDEXES)]
fn named_question(bencher: Bencher, indexes: usize) {
    let model = model(indexes);
    bencher.bench_local(|| advise(black_box(&model)).len());
}

/// What the explanation costs on top, for those who ask for it.
#[divan::bench(args = INDEXES)]
fn explanation_of_three_conditions(bencher: Bencher, indexes: usize) {
    let model = model(indexes);
    let Ok(plan) = plan(&checked(&model, THREE)) else { unreachable!("an index answers it") };
    bencher.bench_local(|| explain(black_box(&plan)));
}
