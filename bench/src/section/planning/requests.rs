//! A table with up to twenty indexes, and requests of one to six conditions.

use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::{CheckedRequest, check};

use crate::data;

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

/// The ways of a key that manifests have: one attribute, folded, native, sharded, sparse. Four of them answer the
/// requests below; the others are turned down for reasons of every kind.
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

const QUESTION: &str = r#"
[questions.orders.ofOwner]
where = ["owner", "status", "created >="]
order = "-created"
limit = 20
"#;

const ONE: &str = r#"{"table":"orders","where":{"owner":"ann"},"order":"-created","limit":20}"#;
pub(super) const THREE: &str = r#"{"table":"orders","where":{"owner":"ann","status":"paid","created":{">=":"2017-03-01T00:00:00Z"}},
    "order":"-created","limit":20}"#;
const SIX: &str = r#"{"table":"orders","where":{"owner":"ann","status":"paid","created":{">=":"2017-03-01T00:00:00Z"},
    "region":"north","amount":{"between":[10,99]},"note":{"contains":"gift"}},"order":"-created","limit":20}"#;
const FAN_OUT: &str = r#"{"table":"orders","where":{"owner":"ann","status":{"in":["new","paid","sent"]},
    "created":{">=":"2017-03-01T00:00:00Z"}},"order":"-created","limit":20}"#;

/// The name of the ordinary request.
pub(super) const THREE_NAME: &str = "three conditions";
/// What is planned.
pub(super) const ALL: [(&str, &str); 4] = [
    ("one condition", ONE),
    (THREE_NAME, THREE),
    ("six conditions", SIX),
    ("an `in` of three values", FAN_OUT),
];

/// The table with the first so many of its indexes.
pub(super) fn model(indexes: usize) -> anyhow::Result<Model> {
    let index = |(number, (partition, sort)): (usize, &(&str, &str))| {
        format!("[tables.orders.indexes.by{number}]\npartition = {partition}\nsort = {sort}\n")
    };
    let indexes: String = INDEX_KEYS.iter().take(indexes).enumerate().map(index).collect();
    data::model(&format!("{TABLE}{indexes}{QUESTION}"))
}

/// The request, read and checked.
pub(super) fn checked<'m>(model: &'m Model, request: &str) -> anyhow::Result<CheckedRequest<'m>> {
    let request = serde_json::from_str(request)?;
    Ok(check(model, &request, &Caller::Trusted)?)
}
