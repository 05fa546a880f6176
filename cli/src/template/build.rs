//! The tables' part of a template, from the model.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::model::{Index, IndexKind, KeyAttribute, Model, Projection, ScalarType, Table};
use keyfold_core::retrofit::control;

use super::Node;

/// A deployment that adds at most one global index to each table: CloudFormation takes no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// Table id -> the global index that it adds.
    pub(crate) adds: BTreeMap<String, String>,
    /// The tables' part of its template.
    pub(crate) resources: Node,
}

/// All tables of the model and the control table, as resources.
pub(crate) fn tables(model: &Model, control: &str) -> Node {
    resources(model, control, &|_, _| true)
}

fn resources(model: &Model, control: &str, wanted: &dyn Fn(&Table, &Index) -> bool) -> Node {
    let mut resources = Node::map([]);
    for table in &model.tables {
        let stream = model.retrofits.iter().any(|retrofit| retrofit.from == table.id);
        resources.push(&logical_id(&table.id), resource(table, stream, wanted));
    }
    if !model.retrofits.is_empty() {
        resources.push("ControlTable", control_table(control));
    }
    resources
}

/// The control table of retrofits.
fn control_table(name: &str) -> Node {
    resource(&control::table(name), false, &|_, _| true)
}

/// The deployments that bring all global indexes to tables that have only these, given as `table.index`.
pub(crate) fn stages(model: &Model, control: &str, have: &BTreeSet<String>) -> Vec<Stage> {
    let missing = |table: &Table| -> Vec<String> {
        let global = table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
        let names = global.map(|index| index.name.clone());
        names.filter(|name| !have.contains(&format!("{}.{name}", table.id))).collect()
    };
    let missing: BTreeMap<String, Vec<String>> =
        model.tables.iter().map(|table| (table.id.clone(), missing(table))).collect();
    let count = missing.values().map(Vec::len).max().unwrap_or(0);
    let stage = |number: usize| Stage {
        number,
        adds: missing
            .iter()
            .filter_map(|(table, names)| Some((table.clone(), names.get(number - 1)?.clone())))
            .collect(),
        resources: resources(model, control, &|table, index| {
            let later = missing.get(&table.id).and_then(|names| names.get(number..)).unwrap_or_default();
            !later.contains(&index.name)
        }),
    };
    (1..=count).map(stage).collect()
}

/// `audit-legacy` is `AuditLegacyTable`.
fn logical_id(id: &str) -> String {
    let words = id.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    words.map(capital).collect::<String>() + "Table"
}

fn resource(table: &Table, stream: bool, wanted: &dyn Fn(&Table, &Index) -> bool) -> Node {
    let indexes: Vec<&Index> = table.indexes.iter().filter(|index| wanted(table, index)).collect();
    let mut properties = Node::map([
        ("TableName", Node::text(&table.name)),
        ("BillingMode", Node::text("PAY_PER_REQUEST")),
        ("AttributeDefinitions", definitions(table, &indexes)),
        ("KeySchema", key_schema(&[&table.partition], &table.sort.iter().collect::<Vec<_>>())),
    ]);
    for (name, kind) in
        [("LocalSecondaryIndexes", IndexKind::Local), ("GlobalSecondaryIndexes", IndexKind::Global)]
    {
        let of_kind: Vec<Node> =
            indexes.iter().filter(|index| index.kind == kind).map(|index| index_node(table, index)).collect();
        if !of_kind.is_empty() {
            properties.push(name, Node::list(of_kind));
        }
    }
    if stream {
        properties
            .push("StreamSpecification", Node::map([("StreamViewType", Node::text("NEW_AND_OLD_IMAGES"))]));
    }
    if let Some(attribute) = &table.ttl {
        let ttl = Node::map([("AttributeName", Node::text(attribute)), ("Enabled", Node::flag(true))]);
        properties.push("TimeToLiveSpecification", ttl);
    }
    let recovery = Node::map([("PointInTimeRecoveryEnabled", Node::flag(true))]);
    properties.push("SSESpecification", Node::map([("SSEEnabled", Node::flag(true))]));
    properties.push("PointInTimeRecoverySpecification", recovery);
    properties.push("DeletionProtectionEnabled", Node::flag(true));
    Node::map([
        ("Type", Node::text("AWS::DynamoDB::Table")),
        ("DeletionPolicy", Node::text("Retain")),
        ("UpdateReplacePolicy", Node::text("Retain")),
        ("Properties", properties),
    ])
}

/// The types of all key attributes, each once. CloudFormation refuses one that no key has.
fn definitions(table: &Table, indexes: &[&Index]) -> Node {
    let keys = table.key_attributes().chain(indexes.iter().flat_map(|index| index.key_attributes()));
    let types: BTreeMap<&str, ScalarType> = keys.map(|key| (key.name.as_str(), key.scalar)).collect();
    Node::list(types.into_iter().map(|(name, scalar)| {
        Node::map([("AttributeName", Node::text(name)), ("AttributeType", Node::text(scalar.letter()))])
    }))
}

fn key_schema(partition: &[&KeyAttribute], sort: &[&KeyAttribute]) -> Node {
    let element = |key: &&KeyAttribute, role: &str| {
        Node::map([("AttributeName", Node::text(&key.name)), ("KeyType", Node::text(role))])
    };
    let partition = partition.iter().map(|key| element(key, "HASH"));
    Node::list(partition.chain(sort.iter().map(|key| element(key, "RANGE"))))
}

fn index_node(table: &Table, index: &Index) -> Node {
    let (partition, sort): (Vec<_>, Vec<_>) = (index.partition.iter().collect(), index.sort.iter().collect());
    Node::map([
        ("IndexName", Node::text(&index.name)),
        ("KeySchema", key_schema(&partition, &sort)),
        ("Projection", projection(table, index)),
    ])
}

/// Keys are in every index; DynamoDB wants to hear of the others only.
fn projection(table: &Table, index: &Index) -> Node {
    let keys: BTreeSet<&str> =
        table.key_attributes().chain(index.key_attributes()).map(|key| key.name.as_str()).collect();
    let others: BTreeSet<&String> = match &index.projection {
        Projection::All => return Node::map([("ProjectionType", Node::text("ALL"))]),
        Projection::KeysOnly => BTreeSet::new(),
        Projection::Include(names) => names.iter().filter(|name| !keys.contains(name.as_str())).collect(),
    };
    if others.is_empty() {
        return Node::map([("ProjectionType", Node::text("KEYS_ONLY"))]);
    }
    Node::map([
        ("ProjectionType", Node::text("INCLUDE")),
        ("NonKeyAttributes", Node::list(others.into_iter().map(Node::text))),
    ])
}
