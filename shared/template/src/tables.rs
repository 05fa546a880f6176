//! Tables: those that the stack makes, and parameters for those that exist.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::audit::journal_table;
use keyfold_core::model::{Index, IndexKind, KeyAttribute, Projection, ScalarType, Table};
use keyfold_core::retrofit::{Mapping, control};

use super::document::{Document, scalar};
use super::names::{Names, TableName};

const TABLE: &str = include_str!("parts/table.yaml");
const CONTROL: &str = include_str!("parts/control.yaml");
const ANCHORS: &str = include_str!("parts/anchors.yaml");
const EXISTING_TABLE: &str = include_str!("parts/existing-table.yaml");
const EXISTING_STREAM: &str = include_str!("parts/existing-stream.yaml");

/// The journal of the audit trail, in the names of resources.
pub(super) const JOURNAL: &str = "AuditJournal";

pub(super) fn add(document: &mut Document, names: &Names<'_>, wanted: &dyn Fn(&Table, &Index) -> bool) {
    for name in names.tables() {
        let streams = names.retrofits().any(|retrofit| {
            let back =
                || Mapping::of(names.model, &retrofit.name).is_ok_and(|mapping| mapping.reverse().is_ok());
            retrofit.from == name.table.id || (retrofit.to == name.table.id && back())
        });
        if name.managed {
            table(document, &name, streams, wanted);
            continue;
        }
        let gaps = [("Id", &*name.id), ("id", &name.table.id), ("name", &name.table.name)];
        document.part(EXISTING_TABLE, &gaps);
        if streams {
            document.part(EXISTING_STREAM, &gaps);
        }
    }
    if names.retrofits().next().is_some() || !names.model.deploy.query_api.is_empty() {
        document.part(CONTROL, &[]);
        let control = control::table("${ControlTableName}");
        let name = TableName { table: &control, id: "Control".to_owned(), managed: true };
        table(document, &name, false, &|_, _| true);
    }
    if let Some(journal) = &names.model.deploy.audit_journal {
        let journal = journal_table(journal);
        let name = TableName { table: &journal, id: JOURNAL.to_owned(), managed: true };
        table(document, &name, false, &|_, _| true);
        document.part(ANCHORS, &[]);
    }
}

fn table(
    document: &mut Document,
    name: &TableName<'_>,
    streams: bool,
    wanted: &dyn Fn(&Table, &Index) -> bool,
) {
    let table = name.table;
    let indexes: Vec<&Index> = table.indexes.iter().filter(|index| wanted(table, index)).collect();
    let lists = [("Local", IndexKind::Local), ("Global", IndexKind::Global)].map(|(word, kind)| {
        let of_kind: String =
            indexes.iter().filter(|index| index.kind == kind).map(|index| one_index(table, index)).collect();
        if of_kind.is_empty() { of_kind } else { format!("{word}SecondaryIndexes:\n{of_kind}") }
    });
    let sort: Vec<&KeyAttribute> = table.sort.iter().collect();
    let stream = match streams {
        true => {
            "# A retrofit follows this table's stream, there or back.\nStreamSpecification: { StreamViewType: NEW_AND_OLD_IMAGES }"
        }
        false => "",
    };
    let ttl = table.ttl.as_ref().map_or_else(String::new, |attribute| {
        format!("TimeToLiveSpecification: {{ AttributeName: {}, Enabled: true }}", scalar(attribute))
    });
    document.part(
        TABLE,
        &[
            ("Table", &format!("{}Table", name.id)),
            ("name", &table.name),
            ("definitions", &definitions(table, &indexes)),
            ("keys", &key_schema(&[&table.partition], &sort)),
            ("indexes", &lists.concat()),
            ("stream", stream),
            ("ttl", &ttl),
        ],
    );
}

/// The types of all key attributes, each once. CloudFormation refuses one that no key has.
fn definitions(table: &Table, indexes: &[&Index]) -> String {
    let keys = table.key_attributes().chain(indexes.iter().flat_map(|index| index.key_attributes()));
    let types: BTreeMap<&str, ScalarType> = keys.map(|key| (key.name.as_str(), key.scalar)).collect();
    let one = |(name, scalar_type): (&str, ScalarType)| {
        format!("- {{ AttributeName: {}, AttributeType: {} }}\n", scalar(name), scalar_type.letter())
    };
    types.into_iter().map(one).collect()
}

fn key_schema(partition: &[&KeyAttribute], sort: &[&KeyAttribute]) -> String {
    let element = |key: &&KeyAttribute, role: &str| {
        format!("- {{ AttributeName: {}, KeyType: {role} }}\n", scalar(&key.name))
    };
    let partition = partition.iter().map(|key| element(key, "HASH"));
    partition.chain(sort.iter().map(|key| element(key, "RANGE"))).collect()
}

fn one_index(table: &Table, index: &Index) -> String {
    let (partition, sort): (Vec<_>, Vec<_>) = (index.partition.iter().collect(), index.sort.iter().collect());
    let keys = key_schema(&partition, &sort).replace("- {", "      - {");
    let projection = projection(table, index);
    format!("  - IndexName: {}\n    KeySchema:\n{keys}    Projection: {projection}\n", scalar(&index.name))
}

/// Keys are in every index; DynamoDB wants to hear of the others only.
fn projection(table: &Table, index: &Index) -> String {
    let keys: BTreeSet<&str> =
        table.key_attributes().chain(index.key_attributes()).map(|key| key.name.as_str()).collect();
    let others: BTreeSet<&String> = match &index.projection {
        Projection::All => return "{ ProjectionType: ALL }".to_owned(),
        Projection::KeysOnly => BTreeSet::new(),
        Projection::Include(names) => names.iter().filter(|name| !keys.contains(name.as_str())).collect(),
    };
    if others.is_empty() {
        return "{ ProjectionType: KEYS_ONLY }".to_owned();
    }
    let others: Vec<String> = others.into_iter().map(|name| scalar(name)).collect();
    format!("{{ ProjectionType: INCLUDE, NonKeyAttributes: [{}] }}", others.join(", "))
}
