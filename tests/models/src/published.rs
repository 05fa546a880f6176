//! What the published requests cost: the published items in a table as published, read as published.

mod model;

use std::collections::BTreeMap;
use std::fmt::Write;

use futures_util::stream;
use keyfold_core::index::item_bytes;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{
    BatchGet, Client, DynamoError, Fetch, PageRequest, QueryPage, ScanPage, TableOptions, batch_get, load,
    query_page, scan_page,
};
use keyfold_local::EmbeddedDynamo;

use crate::case::{Case, KeyCondition, Op, PublishedTable, Request};
use crate::json::Json;
use crate::subject::chain;

/// DynamoDB prices what it reads by these steps.
const UNIT_BYTES: u64 = 4096;

/// The published items in a table as published.
#[derive(Debug)]
pub struct PublishedModel {
    table: PublishedTable,
    client: Client,
    /// Stops when it is dropped.
    _dynamo: EmbeddedDynamo,
}

/// Why the price of a published request is not known. It is only compared with, so a text will do.
pub type Unknown = String;

impl PublishedModel {
    /// Loads the published items.
    pub async fn load(case: &Case) -> Result<PublishedModel, Unknown> {
        let model = model::model(case)?;
        let dynamo = EmbeddedDynamo::memory().map_err(|error| chain(&error))?;
        let client = dynamo.client();
        let table = model.tables.first().ok_or("no table")?;
        dynamo.create_tables([table], TableOptions::default()).await.map_err(|error| chain(&error))?;
        load(&client, table, stream::iter(case.items.clone())).await.map_err(|error| chain(&error))?;
        Ok(PublishedModel { table: case.table.clone(), client, _dynamo: dynamo })
    }

    /// The read units of a request.
    pub async fn units(&self, request: &Request) -> Result<f64, Unknown> {
        match request {
            Request::Get(keys) => self.get(keys).await.map_err(|error| chain(&error)),
            Request::Query(condition) => self.query(condition).await.map_err(|error| chain(&error)),
            Request::Scan(index) => self.scan(index.as_deref()).await.map_err(|error| chain(&error)),
            Request::Several(parts) => {
                let mut sum = 0.0;
                for part in parts {
                    sum += Box::pin(self.units(part)).await?;
                }
                Ok(sum)
            }
            Request::Other(operation) => Err(format!("unknown operation `{operation}`")),
        }
    }

    async fn get(&self, keys: &[BTreeMap<String, Json>]) -> Result<f64, DynamoError> {
        let key = |key: &BTreeMap<String, Json>| -> Item {
            let attributes: std::collections::HashMap<_, _> =
                key.iter().map(|(name, value)| (name.clone(), self.key_value(name, value))).collect();
            Item::from(attributes)
        };
        let batch = BatchGet {
            table: self.table.name.clone(),
            keys: keys.iter().map(key).collect(),
            ..BatchGet::default()
        };
        Ok(batch_get(&self.client, &batch).await?.consumed.units)
    }

    async fn query(&self, condition: &KeyCondition) -> Result<f64, DynamoError> {
        let mut page = self.page(condition.index.as_deref());
        page.limit = condition.limit;
        let key_condition = self.key_condition(condition, &mut page);
        let (mut units, mut fetched) = (0.0, 0.0);
        loop {
            let query = QueryPage {
                page: page.clone(),
                key_condition: key_condition.clone(),
                forward: condition.forward,
            };
            let read = query_page(&self.client, &query).await?;
            units += read.consumed.units;
            fetched += read.items.iter().map(fetch_units).sum::<f64>();
            page.start_key = read.last_key;
            if page.start_key.is_none() || condition.limit.is_some() {
                break;
            }
        }
        Ok(if self.fetches(condition) { units + fetched } else { units })
    }

    async fn scan(&self, index: Option<&str>) -> Result<f64, DynamoError> {
        let mut scan = ScanPage { page: self.page(index), segment: None };
        let mut units = 0.0;
        loop {
            let read = scan_page(&self.client, &scan).await?;
            units += read.consumed.units;
            scan.page.start_key = read.last_key;
            if scan.page.start_key.is_none() {
                return Ok(units);
            }
        }
    }

    fn page(&self, index: Option<&str>) -> PageRequest {
        PageRequest {
            table: self.table.name.clone(),
            index: index.map(str::to_owned),
            fetch: Fetch::Projected,
            ..PageRequest::default()
        }
    }

    /// Does a local index have to fetch something that the request wants? Each item is then a read of its own.
    fn fetches(&self, condition: &KeyCondition) -> bool {
        let index = condition.index.as_deref().and_then(|name| self.table.index(name));
        let (Some(index), Some(wanted)) = (index.filter(|index| index.local), &condition.projection) else {
            return false;
        };
        let Some(holds) = &index.holds else { return false };
        let keys: Vec<&String> = self
            .table
            .partition
            .iter()
            .chain(&self.table.sort)
            .chain(&index.partition)
            .chain(&index.sort)
            .collect();
        wanted.iter().any(|name| !holds.contains(name) && !keys.contains(&name))
    }

    fn key_condition(&self, condition: &KeyCondition, page: &mut PageRequest) -> String {
        let mut text = String::new();
        let equal =
            condition.partition.iter().map(|(name, value)| (name, Op::Equal, std::slice::from_ref(value)));
        let sort = condition.sort.iter().map(|(name, op, values)| (name, *op, values.as_slice()));
        for (at, (name, op, values)) in equal.chain(sort).enumerate() {
            page.names.insert(format!("#n{at}"), name.clone());
            for (which, value) in values.iter().enumerate() {
                page.values.insert(format!(":v{at}x{which}"), self.key_value(name, value));
            }
            let _ = write!(text, "{}{}", if at > 0 { " AND " } else { "" }, comparison(op, at));
        }
        text
    }

    /// A value of a key attribute: of the type that the attribute is declared with, where its text can be that.
    fn key_value(&self, name: &str, value: &Json) -> AttributeValue {
        match (self.table.types.get(name).map(String::as_str), value) {
            (Some("S"), Json::Number(text)) => AttributeValue::S(text.clone()),
            (Some("N"), Json::Text(text)) => AttributeValue::N(text.clone()),
            _ => value.plain(),
        }
    }
}

/// What it costs to fetch one item behind an index, eventually consistent.
fn fetch_units(item: &Item) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an item has at most 400 KB")]
    let steps = (item_bytes(item) as u64).div_ceil(UNIT_BYTES) as f64;
    steps * 0.5
}

fn comparison(op: Op, at: usize) -> String {
    let operator = match op {
        Op::Between => return format!("#n{at} BETWEEN :v{at}x0 AND :v{at}x1"),
        Op::BeginsWith => return format!("begins_with(#n{at}, :v{at}x0)"),
        Op::Less => "<",
        Op::LessOrEqual => "<=",
        Op::Greater => ">",
        Op::GreaterOrEqual => ">=",
        _ => "=",
    };
    format!("#n{at} {operator} :v{at}x0")
}
