//! A model as published: its table, its indexes, and its requests.

use std::collections::BTreeMap;

use super::condition::{Asked, Op};
use crate::json::Json;

/// A table as published.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedTable {
    /// Its name.
    pub name: String,
    /// The partition key.
    pub partition: Vec<String>,
    /// The sort key.
    pub sort: Vec<String>,
    /// The types of key attributes: `S`, `N` or `B`.
    pub types: BTreeMap<String, String>,
    /// The indexes.
    pub indexes: Vec<PublishedIndex>,
}

/// An index as published.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedIndex {
    /// Its name.
    pub name: String,
    /// Local?
    pub local: bool,
    /// The partition key.
    pub partition: Vec<String>,
    /// The sort key.
    pub sort: Vec<String>,
    /// What it holds besides keys: `None` for everything.
    pub holds: Option<Vec<String>>,
}

/// A request as published.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// GetItem or BatchGetItem: items by their keys.
    Get(Vec<BTreeMap<String, Json>>),
    /// Query.
    Query(KeyCondition),
    /// Scan, of this index or of the table.
    Scan(Option<String>),
    /// Several, one after the other.
    Several(Vec<Request>),
    /// Something else.
    Other(String),
}

/// The key condition of a published query. Its filter is left out: it changes nothing about what is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyCondition {
    /// The index.
    pub index: Option<String>,
    /// The partition key.
    pub partition: BTreeMap<String, Json>,
    /// The conditions on the sort key.
    pub sort: Vec<(String, Op, Vec<Json>)>,
    /// Ascending?
    pub forward: bool,
    /// The most items read.
    pub limit: Option<u32>,
    /// The attributes wanted; `None` for what the index holds.
    pub projection: Option<Vec<String>>,
}

impl PublishedTable {
    pub(super) fn of(json: &Json) -> PublishedTable {
        let Some(table) = json.get("table") else { return PublishedTable::default() };
        let (partition, sort) = key_schema(table);
        let mut types = BTreeMap::new();
        for definition in table.list("AttributeDefinitions") {
            if let (Some(name), Some(kind)) =
                (definition.text("AttributeName"), definition.text("AttributeType"))
            {
                types.insert(name.to_owned(), kind.to_owned());
            }
        }
        let name = table.text("TableName").unwrap_or("published").to_owned();
        let indexes = json.list("indexes").iter().filter_map(PublishedIndex::of).collect();
        PublishedTable { name, partition, sort, types, indexes }
    }

    /// The index with this name.
    pub fn index(&self, name: &str) -> Option<&PublishedIndex> {
        self.indexes.iter().find(|index| index.name == name)
    }
}

impl PublishedIndex {
    fn of(json: &Json) -> Option<PublishedIndex> {
        let (partition, sort) = key_schema(json);
        let projection = json.get("Projection");
        let attributes = || projection.map(|given| texts(given.list("NonKeyAttributes"))).unwrap_or_default();
        let holds = match projection.and_then(|given| given.text("ProjectionType")) {
            Some("KEYS_ONLY") => Some(Vec::new()),
            Some("INCLUDE") => Some(attributes()),
            _ => None,
        };
        let local = matches!(json.text("type"), Some("LSI" | "local" | "LOCAL"));
        Some(PublishedIndex { name: json.text("IndexName")?.to_owned(), local, partition, sort, holds })
    }
}

impl Request {
    pub(super) fn of(json: &Json) -> Result<Request, String> {
        let members = |name: &str| json.get(name).and_then(Json::as_object).cloned().unwrap_or_default();
        Ok(match json.text("operation").unwrap_or("Query") {
            "GetItem" => Request::Get(vec![members("key")]),
            "BatchGetItem" => {
                Request::Get(json.list("keys").iter().filter_map(|key| key.as_object().cloned()).collect())
            }
            "Query" => Request::Query(KeyCondition {
                index: json.text("index").filter(|name| *name != "TABLE").map(str::to_owned),
                partition: members("pk"),
                sort: sort_conditions(json.list("sk"))?,
                forward: json.get("scan_index_forward") != Some(&Json::Bool(false)),
                limit: json.get("limit").and_then(Json::as_whole).and_then(|limit| u32::try_from(limit).ok()),
                projection: json.get("projection").and_then(Json::as_list).map(texts),
            }),
            "Scan" => Request::Scan(json.text("index").filter(|name| *name != "TABLE").map(str::to_owned)),
            "MultiQuery" => {
                Request::Several(json.list("queries").iter().map(Request::of).collect::<Result<_, _>>()?)
            }
            other => Request::Other(other.to_owned()),
        })
    }

    pub(super) fn scans(&self) -> bool {
        match self {
            Request::Scan(_) => true,
            Request::Several(parts) => parts.iter().any(Request::scans),
            Request::Get(_) | Request::Query(_) | Request::Other(_) => false,
        }
    }
}

fn sort_conditions(conditions: &[Json]) -> Result<Vec<(String, Op, Vec<Json>)>, String> {
    let read = |condition: &Json| match Asked::of(condition)? {
        Asked::Is { attribute, op, values } => Ok((attribute, op, values)),
        _ => Err("a sort key takes a simple condition".to_owned()),
    };
    conditions.iter().map(read).collect()
}

fn key_schema(json: &Json) -> (Vec<String>, Vec<String>) {
    let of = |kind: &str| {
        let same = |element: &&Json| element.text("KeyType") == Some(kind);
        let name = |element: &Json| element.text("AttributeName").map(str::to_owned);
        json.list("KeySchema").iter().filter(same).filter_map(name).collect()
    };
    (of("HASH"), of("RANGE"))
}

fn texts(list: &[Json]) -> Vec<String> {
    list.iter().filter_map(|one| one.as_text().map(str::to_owned)).collect()
}
