//! Terraform: `terraform show -json`, and blocks of HCL whose values are literal.

mod hcl;

pub(crate) use hcl::{is_hcl, read_hcl};

use keyfold_core::model::Projection;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::cursor::At;
use crate::describe::{INDEXES_MAX, KEY_PARTS_MAX, scalar, unmodelled};
use crate::draft::{Draft, IndexDraft, Rank, SampledItem, TableDraft, Ttl};
use crate::error::{Problem, ReadError};
use crate::items::read_item;

/// Maximum tables.
const TABLES_MAX: usize = 500;
/// Arguments with an equivalent in the manifest, and purely informative ones.
const KNOWN: &[&str] = &[
    "name",
    "hash_key",
    "range_key",
    "attribute",
    "global_secondary_index",
    "local_secondary_index",
    "ttl",
    "stream_enabled",
    "stream_view_type",
    "stream_arn",
    "stream_label",
    "id",
    "arn",
    "tags_all",
    "region",
    "timeouts",
    "lifecycle",
    "depends_on",
    "count",
    "for_each",
    "provider",
];
/// Descriptions of other arguments.
const WORDS: &[(&str, &str)] = &[
    ("replica", "replicas in other regions"),
    ("import_table", "an import from S3"),
    ("on_demand_throughput", "limits of on-demand throughput"),
    ("warm_throughput", "warm throughput"),
    ("global_table_witness", "a witness of a global table"),
    ("point_in_time_recovery", "point-in-time recovery"),
    ("server_side_encryption", "encryption settings"),
    ("deletion_protection_enabled", "deletion protection"),
    ("table_class", "a table class"),
    ("tags", "tags"),
    ("read_capacity", "provisioned capacity"),
    ("write_capacity", "provisioned capacity"),
    ("billing_mode", "provisioned capacity"),
];
/// Maximum nesting of modules.
const MODULES_DEPTH_MAX: usize = 16;

/// The output of `terraform show -json`, of a state or a plan.
pub(crate) fn read(root: &At<'_>) -> Result<Draft, ReadError> {
    if let Some(version) = root.some_text("format_version")
        && !version.starts_with("0.")
        && !version.starts_with("1.")
    {
        let found = version.to_owned();
        return Err(root.error(Problem::Version { found, known: "0.x and 1.x" }));
    }
    let values = root.get("values").or_else(|| root.get("planned_values"));
    let module =
        values.ok_or_else(|| root.error(Problem::Missing("values".to_owned())))?.need("root_module")?;
    let mut found = Found::default();
    collect(&module, 0, &mut found)?;
    found.draft(root)
}

/// The tables and items found so far.
#[derive(Default)]
struct Found {
    tables: Vec<TableDraft>,
    items: BTreeMap<String, Vec<SampledItem>>,
    notes: Vec<String>,
}

impl Found {
    fn draft(mut self, root: &At<'_>) -> Result<Draft, ReadError> {
        if self.tables.is_empty() {
            return Err(root.error(Problem::NoTable));
        }
        let only = self.tables.len() == 1;
        for table in &mut self.tables {
            let mut items = table.name.as_ref().and_then(|name| self.items.remove(name));
            if only && items.is_none() {
                items = self.items.pop_first().map(|(_, items)| items);
            }
            table.items.extend(items.unwrap_or_default());
        }
        Ok(Draft { tables: self.tables, notes: self.notes })
    }
}

fn collect(module: &At<'_>, depth: usize, found: &mut Found) -> Result<(), ReadError> {
    if depth > MODULES_DEPTH_MAX {
        return Err(module.error(Problem::TooMany { max: MODULES_DEPTH_MAX, what: "levels of modules" }));
    }
    for resource in module.list("resources") {
        let Some(values) = resource.get("values") else { continue };
        match resource.some_text("type") {
            Some("aws_dynamodb_table") => {
                if found.tables.len() == TABLES_MAX {
                    return Err(resource.error(Problem::TooMany { max: TABLES_MAX, what: "tables" }));
                }
                found.tables.push(table(&values, resource.some_text("name"))?);
            }
            Some("aws_dynamodb_table_item") => {
                let text = values.some_text("item").unwrap_or_default();
                let Ok(value) = serde_json::from_str::<Value>(text) else { continue };
                let at = At { source: values.source, value: &value, path: values.path.clone() };
                let item = SampledItem { item: read_item(&at)?, entity: None };
                let table = values.some_text("table_name").unwrap_or_default();
                found.items.entry(table.to_owned()).or_default().push(item);
            }
            Some(kind) if kind.starts_with("aws_dynamodb_") => {
                let label = resource.some_text("name").unwrap_or_default();
                found
                    .notes
                    .push(format!("`{kind}.{label}` is not modelled: keep it where the table is defined"));
            }
            _ => {}
        }
    }
    for child in module.list("child_modules") {
        collect(&child, depth + 1, found)?;
    }
    Ok(())
}

/// The values of one `aws_dynamodb_table`.
fn table(values: &At<'_>, label: Option<&str>) -> Result<TableDraft, ReadError> {
    let mut draft = TableDraft {
        name: values.some_text("name").map(str::to_owned),
        logical_id: label.map(str::to_owned),
        source: values.source.to_owned(),
        rank: Rank::Code,
        ..TableDraft::default()
    };
    if draft.name.is_none() {
        draft.notes.push("its name is an expression whose value is not known here".to_owned());
    }
    for attribute in values.list("attribute").into_iter().take(INDEXES_MAX * KEY_PARTS_MAX) {
        let letter = attribute.text_of("type")?;
        let scalar =
            scalar(letter).ok_or_else(|| attribute.error(Problem::UnknownWord(letter.to_owned())))?;
        draft.scalars.insert(attribute.text_of("name")?.to_owned(), scalar);
    }
    let (partition, sort) = keys(values)?;
    draft.partition = partition.into_iter().next();
    draft.sort = sort.into_iter().next();
    for (field, local) in [("local_secondary_index", true), ("global_secondary_index", false)] {
        for index in values.list(field) {
            if draft.indexes.len() == INDEXES_MAX {
                return Err(index.error(Problem::TooMany { max: INDEXES_MAX, what: "indexes" }));
            }
            let (mut partition, sort) = keys(&index)?;
            if local && partition.is_empty() {
                partition.extend(draft.partition.clone());
            }
            draft.indexes.push(IndexDraft {
                name: index.text_of("name")?.to_owned(),
                local: Some(local),
                partition,
                sort,
                projection: Some(projection(&index)?),
                notes: Vec::new(),
            });
        }
    }
    for ttl in values.list("ttl") {
        draft.ttl = match ttl.some_text("attribute_name") {
            Some(name) if ttl.value.get("enabled") != Some(&Value::Bool(false)) => Ttl::On(name.to_owned()),
            _ => Ttl::Off,
        };
    }
    draft.unmodelled = unmodelled(values, KNOWN, WORDS);
    Ok(draft)
}

/// `hash_key` and `range_key`, or `key_schema` blocks.
fn keys(owner: &At<'_>) -> Result<(Vec<String>, Vec<String>), ReadError> {
    let (mut partition, mut sort) = (Vec::new(), Vec::new());
    for row in owner.list("key_schema").into_iter().take(KEY_PARTS_MAX) {
        let name = row.text_of("attribute_name")?.to_owned();
        match row.text_of("key_type")? {
            "HASH" => partition.push(name),
            "RANGE" => sort.push(name),
            other => return Err(row.error(Problem::UnknownWord(other.to_owned()))),
        }
    }
    if partition.is_empty() && sort.is_empty() {
        partition.extend(owner.some_text("hash_key").map(str::to_owned));
        sort.extend(owner.some_text("range_key").map(str::to_owned));
    }
    Ok((partition, sort))
}

fn projection(index: &At<'_>) -> Result<Projection, ReadError> {
    match index.some_text("projection_type").unwrap_or("ALL") {
        "ALL" => Ok(Projection::All),
        "KEYS_ONLY" => Ok(Projection::KeysOnly),
        "INCLUDE" => {
            let names = index.get("non_key_attributes").map_or(Ok(Vec::new()), |names| names.texts());
            names.map(Projection::Include)
        }
        other => Err(index.error(Problem::UnknownWord(other.to_owned()))),
    }
}
