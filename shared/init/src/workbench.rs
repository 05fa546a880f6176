//! NoSQL Workbench: tables, facets with their rows, access patterns; and the extension of the labs' visualizer
//! (`ModelSchema`, `MapFunction`), which contains the templates.

use std::collections::BTreeMap;

use keyfold_core::json::{self, Bounds};
use keyfold_core::model::{AttributeKind, Precision, ScalarType};
use keyfold_core::value::{AttributeValue, Item, Number};
use serde_json::{Value, json};

use crate::cursor::At;
use crate::describe::{INDEXES_MAX, projection, scalar};
use crate::draft::{
    Draft, EntityDraft, IndexDraft, QuestionDraft, Rank, SampledItem, TableDraft, WhenDraft, kind_of_letter,
};
use crate::error::{Problem, ReadError};
use crate::items::{ITEMS_MAX, with_numbers};
use crate::mcp::{ENTITIES_MAX, TABLES_MAX};
use crate::{name, template};

/// A model.
pub(crate) fn read(root: &At<'_>) -> Result<Draft, ReadError> {
    if let Some(metadata) = root.get("ModelMetadata") {
        if let Some(service) = metadata.some_text("AWSService").filter(|name| !name.contains("DynamoDB")) {
            return Err(metadata.error(Problem::OtherService(format!("a model of {service}"))));
        }
        if let Some(version) = metadata.some_text("Version")
            && !version.starts_with(['1', '2', '3'])
        {
            let found = version.to_owned();
            return Err(metadata.error(Problem::Version { found, known: "1.0 to 3.x" }));
        }
    }
    let tables = root.need("DataModel")?.elements();
    if tables.is_empty() {
        return Err(root.error(Problem::NoTable));
    }
    if tables.len() > TABLES_MAX {
        return Err(root.error(Problem::TooMany { max: TABLES_MAX, what: "tables" }));
    }
    let mut draft = Draft::default();
    for table in &tables {
        draft.tables.push(read_table(table, root)?);
    }
    Ok(draft)
}

fn read_table(at: &At<'_>, root: &At<'_>) -> Result<TableDraft, ReadError> {
    let mut table = TableDraft {
        name: Some(at.text_of("TableName")?.to_owned()),
        source: at.source.to_owned(),
        rank: Rank::Model,
        ..TableDraft::default()
    };
    let keys = at.need("KeyAttributes")?;
    let (partition, sort) = key_attributes(&keys, &mut table)?;
    table.partition = Some(partition);
    table.sort = sort;
    for index in at.list("GlobalSecondaryIndexes") {
        if table.indexes.len() == INDEXES_MAX {
            return Err(index.error(Problem::TooMany { max: INDEXES_MAX, what: "indexes" }));
        }
        let (partition, sort) = key_attributes(&index.need("KeyAttributes")?, &mut table)?;
        let held = index.get("Projection").map(|at| projection(&at)).transpose()?;
        table.indexes.push(IndexDraft {
            name: index.text_of("IndexName")?.to_owned(),
            local: Some(false),
            partition: vec![partition],
            sort: sort.into_iter().collect(),
            projection: held,
            notes: Vec::new(),
        });
    }
    let key_names = table.key_attributes();
    for attribute in at.list("NonKeyAttributes") {
        let attribute_name = attribute.text_of("AttributeName")?;
        let kind = kind_of_letter(attribute.some_text("AttributeType").unwrap_or_default());
        if !key_names.iter().any(|key| key == attribute_name) {
            table.declare(attribute_name, kind);
        }
    }
    sample_formats(at, &mut table);
    for row in at.list("TableData").iter().take(ITEMS_MAX) {
        let item = read_row(row, &table)?;
        table.items.push(SampledItem { item, entity: None });
    }
    facets(at, &mut table)?;
    for schema in [at.get("ModelSchema"), root.get("ModelSchema")].into_iter().flatten().take(1) {
        model_schema(&schema, &mut table)?;
    }
    map_functions(at, &mut table)?;
    access_patterns(at, root, &mut table);
    Ok(table)
}

fn key_attributes(keys: &At<'_>, table: &mut TableDraft) -> Result<(String, Option<String>), ReadError> {
    let mut one = |at: &At<'_>| -> Result<String, ReadError> {
        let name = at.text_of("AttributeName")?.to_owned();
        let letter = at.some_text("AttributeType").unwrap_or("S");
        let scalar = scalar(letter).ok_or_else(|| at.error(Problem::UnknownWord(letter.to_owned())))?;
        table.scalars.insert(name.clone(), scalar);
        Ok(name)
    };
    let partition = one(&keys.need("PartitionKey")?)?;
    let sort = keys.get("SortKey").map(|at| one(&at)).transpose()?;
    Ok((partition, sort))
}

/// A row. Each cell is in DynamoDB's notation, or plain, or plain under the letter of a type. Empty cells are absent
/// attributes.
fn read_row(at: &At<'_>, table: &TableDraft) -> Result<Item, ReadError> {
    let mut item = Vec::new();
    for (name, at) in at.members() {
        let value = cell(at.value).ok_or_else(|| at.error(Problem::NotAnItem))?;
        item.push((name.into(), as_declared(value, at.value, name, table)));
    }
    if item.is_empty() {
        return Err(at.error(Problem::NotAnItem));
    }
    item.retain(|(_, value)| !is_blank(value));
    with_numbers(item.into(), at)
}

fn cell(value: &Value) -> Option<AttributeValue> {
    match value.as_object().map(|members| members.iter().collect::<Vec<_>>()).as_deref() {
        Some([(letter, inner)]) => {
            let strict = json!({ "cell": value }).to_string();
            let strict =
                json::is_typed(&strict).ok().filter(|typed| *typed).and(json::read_item(&strict).ok());
            strict.and_then(|item| item.get("cell").cloned()).or_else(|| under_letter(letter, inner))
        }
        _ => None,
    }
    .or_else(|| json::read_plain(&value.to_string(), Bounds::DEFAULT).ok())
}

/// A plain value under the letter of its type, such as `{"N": 5}`, `{"BOOL": "true"}` or `{"M": {"city": "Oslo"}}`.
fn under_letter(letter: &str, inner: &Value) -> Option<AttributeValue> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    let typed = match (letter, inner) {
        ("S" | "N", _) => json!({ letter: text(inner)? }),
        ("BOOL", Value::String(word)) => json!({ letter: word.to_lowercase().parse::<bool>().ok()? }),
        ("NULL", _) => json!({ letter: true }),
        ("SS" | "NS", Value::Array(list)) => {
            json!({ letter: list.iter().map(text).collect::<Option<Vec<_>>>()? })
        }
        ("M" | "L", Value::String(written)) => {
            return under_letter(letter, &serde_json::from_str(written).ok()?);
        }
        ("M", Value::Object(members)) => {
            let member = |(name, value): (&String, &Value)| Some((name.clone(), cell(value)?));
            return Some(AttributeValue::M(members.iter().map(member).collect::<Option<_>>()?));
        }
        ("L", Value::Array(list)) => {
            return Some(AttributeValue::L(list.iter().map(cell).collect::<Option<_>>()?));
        }
        _ => return None,
    };
    json::read_item(&json!({ "cell": typed }).to_string()).ok()?.get("cell").cloned()
}

/// A plain text as the number that the model declares, as in rows from a spreadsheet.
fn as_declared(value: AttributeValue, source: &Value, name: &str, table: &TableDraft) -> AttributeValue {
    let is_number = table.scalars.get(name) == Some(&ScalarType::N)
        || table.attributes.get(name).is_some_and(|known| known.kind == Some(AttributeKind::Number));
    match source.as_str().filter(|_| is_number).and_then(|text| text.parse::<Number>().ok()) {
        Some(number) => AttributeValue::N(number.to_string()),
        None => value,
    }
}

fn is_blank(value: &AttributeValue) -> bool {
    matches!(value, AttributeValue::S(text) | AttributeValue::N(text) if text.is_empty())
}

/// The formats of attributes, from `SampleDataFormats`.
fn sample_formats(at: &At<'_>, table: &mut TableDraft) {
    for (attribute, format) in at.map("SampleDataFormats") {
        let words: Vec<&str> = format.elements().iter().filter_map(|at| at.value.as_str()).collect();
        let kind = match words.as_slice() {
            ["date", form] if form.contains("date and time") => {
                Some(AttributeKind::Timestamp(Precision::Milliseconds))
            }
            ["date", form] if form.starts_with("ISO 8601 date") => Some(AttributeKind::Date),
            _ => continue,
        };
        if let Some(known) =
            table.attributes.get_mut(attribute).filter(|known| known.kind == Some(AttributeKind::String))
        {
            known.kind = kind;
            known.evidence.push("the model says its format".to_owned());
        }
    }
}

/// Facets: views of the table, often entities. Their rows are the table's rows.
fn facets(at: &At<'_>, table: &mut TableDraft) -> Result<(), ReadError> {
    let key_names = table.key_attributes();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let identity = |item: &Item, table: &TableDraft| {
        let part = |name: &Option<String>| name.as_ref().map(|name| format!("{:?}", item.get(name)));
        format!("{:?}{:?}", part(&table.partition), part(&table.sort))
    };
    for facet in at.list("TableFacets").iter().take(ENTITIES_MAX) {
        let facet_name = facet.text_of("FacetName")?.to_owned();
        let mut entity = EntityDraft { name: facet_name.clone(), ..EntityDraft::default() };
        for name in facet.list("NonKeyAttributes") {
            let name = name.text()?;
            if !key_names.iter().any(|key| key == name) {
                entity.attributes.insert(name.to_owned());
            }
        }
        let mut rows: Vec<Item> = Vec::new();
        let mut views = 0;
        for row in facet.list("TableData").iter().take(ITEMS_MAX) {
            let item = read_row(row, table)?;
            match seen.get(&identity(&item, table)) {
                Some(_) => views += 1,
                None => {
                    seen.insert(identity(&item, table), table.items.len());
                    let entity = Some(facet_name.clone());
                    table.items.push(SampledItem { item: item.clone(), entity });
                }
            }
            rows.push(item);
        }
        if !rows.is_empty() && views == rows.len() {
            table.notes.push(format!("facet `{facet_name}` is a view of rows of other facets: no entity"));
            continue;
        }
        if let Some(aliases) = facet.get("KeyAttributeAlias") {
            let keys = [("PartitionKeyAlias", table.partition.clone()), ("SortKeyAlias", table.sort.clone())];
            for (field, key) in keys {
                let (Some(alias), Some(key)) = (aliases.some_text(field), key) else { continue };
                let found = alias_template(alias, &key, &rows, &entity);
                entity.templates.extend(found.map(|found| (key.clone(), found)));
            }
        }
        entity.evidence.push(format!("facet `{facet_name}`, {} rows", rows.len()));
        table.entities.push(entity);
    }
    Ok(())
}

/// A facet's alias as a template: `CUSTOMER#<customerId>`, `ORDER#{OrderId}`, `OrderId#Sku`. Only if the rows agree.
fn alias_template(alias: &str, key: &str, rows: &[Item], entity: &EntityDraft) -> Option<String> {
    let marked = alias.contains(['<', '{']);
    let text = if marked {
        alias.replace("${", "{").replace('<', "{").replace('>', "}")
    } else {
        let mut words = String::new();
        let mut word = String::new();
        for letter in alias.chars().chain(std::iter::once('\0')) {
            if letter.is_alphanumeric() || letter == '_' {
                word.push(letter);
                continue;
            }
            if entity.attributes.contains(&word) {
                words.push_str(&format!("{{{word}}}"));
            } else {
                words.push_str(&template::literal(&word));
            }
            word.clear();
            if letter != '\0' {
                words.push_str(&template::literal(&letter.to_string()));
            }
        }
        words
    };
    let names = template::attributes(&text);
    if names.is_empty() || text == format!("{{{key}}}") {
        return None;
    }
    let parsed = template::parse(&text, &BTreeMap::new())?;
    let agrees = |item: &Item| match item.get(key) {
        None => true,
        Some(AttributeValue::S(stored)) => parsed.unfold(stored).is_ok_and(|parts| {
            parts.iter().all(|(name, part)| match (item.get(*name), part) {
                (
                    Some(AttributeValue::S(held)),
                    keyfold_core::key::Unfolded::Value(AttributeValue::S(read)),
                ) => held == read,
                (
                    Some(AttributeValue::N(held)),
                    keyfold_core::key::Unfolded::Value(AttributeValue::S(read)),
                ) => held == read,
                (None, _) => marked,
                _ => false,
            })
        }),
        Some(_) => false,
    };
    (rows.iter().all(agrees) && (marked || !rows.is_empty())).then_some(text)
}

/// `ModelSchema {indexes, models {entity: {attribute: {type, value?}}}}`.
fn model_schema(schema: &At<'_>, table: &mut TableDraft) -> Result<(), ReadError> {
    let key_names = table.key_attributes();
    for (entity_name, model) in schema.map("models").into_iter().take(ENTITIES_MAX) {
        // The editor's placeholder.
        if entity_name.starts_with('~') {
            continue;
        }
        let mut entity = EntityDraft { name: entity_name.to_owned(), ..EntityDraft::default() };
        for (attribute, at) in model.members() {
            let is_key = key_names.iter().any(|key| key == attribute);
            if let Some(value) = at.some_text("value") {
                let constant = !value.contains("${");
                let written = template::dollars(value, template::literal, |part| format!("{{{part}}}"));
                if is_key && template::bare(&written) != Some(attribute) {
                    if constant {
                        let note = "a constant in the model: it may be a sample value";
                        entity.template_evidence.insert(attribute.to_owned(), note.to_owned());
                    }
                    for part in template::attributes(&written) {
                        entity.attributes.insert(part);
                    }
                    entity.templates.insert(attribute.to_owned(), written);
                }
            }
            if !is_key {
                let kind = match at.some_text("type").unwrap_or_default() {
                    "String" => Some(AttributeKind::String),
                    "Number" => Some(AttributeKind::Number),
                    "Boolean" => Some(AttributeKind::Boolean),
                    "Binary" => Some(AttributeKind::Binary),
                    "Array" | "List" => Some(AttributeKind::List),
                    "Object" | "Map" => Some(AttributeKind::Map),
                    _ => None,
                };
                // The table's own list of attributes is more reliable.
                if !table.attributes.contains_key(attribute) {
                    table.declare(attribute, kind);
                }
                entity.attributes.insert(attribute.to_owned());
            }
        }
        entity.evidence.push("from the model's ModelSchema".to_owned());
        says_type(&mut entity, table);
        table.entities.retain(|known| name::plain(&known.name) != name::plain(entity_name));
        table.entities.push(entity);
    }
    Ok(())
}

/// The older extension: `KeyAttributes.SortKey.MapFunction {entity: template}`.
fn map_functions(at: &At<'_>, table: &mut TableDraft) -> Result<(), ReadError> {
    let own = at.get("KeyAttributes").into_iter();
    let indexes =
        at.list("GlobalSecondaryIndexes").into_iter().filter_map(|index| index.get("KeyAttributes"));
    for keys in own.chain(indexes.collect::<Vec<_>>()) {
        for part in ["PartitionKey", "SortKey"] {
            let Some(key) = keys.get(part) else { continue };
            let attribute = key.text_of("AttributeName")?.to_owned();
            for (entity_name, value) in key.map("MapFunction").into_iter().take(ENTITIES_MAX) {
                let written =
                    template::dollars(value.text()?, template::literal, |part| format!("{{{part}}}"));
                let known = table.entities.iter().position(|known| known.name == entity_name);
                let position = known.unwrap_or_else(|| {
                    let evidence = vec!["from the model's MapFunction".to_owned()];
                    let mut entity =
                        EntityDraft { name: entity_name.to_owned(), evidence, ..EntityDraft::default() };
                    says_type(&mut entity, table);
                    table.entities.push(entity);
                    table.entities.len() - 1
                });
                table.entities[position].attributes.extend(template::attributes(&written));
                table.entities[position].templates.insert(attribute.clone(), written);
            }
        }
    }
    Ok(())
}

/// The visualizer identifies entities by an attribute with their name, `type` unless the rows use another.
fn says_type(entity: &mut EntityDraft, table: &TableDraft) {
    let holds = |name: &&String| {
        table
            .items
            .iter()
            .any(|row| matches!(row.item.get(*name), Some(AttributeValue::S(text)) if *text == entity.name))
    };
    let key_names = table.key_attributes();
    let found = table.attributes.keys().filter(|name| !key_names.contains(name)).find(holds);
    let attribute = match found {
        Some(name) => name.clone(),
        None if table.attributes.contains_key("type") => "type".to_owned(),
        None => return,
    };
    entity.when = vec![(attribute, WhenDraft::In(vec![entity.name.clone()]))];
}

/// The list of access patterns in releases from 3.20. Its exact name is not published, so any list of objects next to
/// the tables counts if its name mentions access patterns.
fn access_patterns(at: &At<'_>, root: &At<'_>, table: &mut TableDraft) {
    let lists = at.members().into_iter().chain(root.members());
    for (_, list) in lists.filter(|(name, _)| name::plain(name).contains("accesspattern")) {
        for pattern in list.elements() {
            let text = |wanted: &[&str]| {
                let members = pattern.members();
                let found = members
                    .iter()
                    .find(|(name, at)| wanted.contains(&name::plain(name).as_str()) && at.value.is_string());
                found.and_then(|(_, at)| at.value.as_str())
            };
            if text(&["tablename", "table"]).is_some_and(|named| Some(named) != table.name.as_deref()) {
                continue;
            }
            let kind = text(&["type", "operation", "accesspatterntype", "operationtype"]).unwrap_or("Query");
            if !matches!(kind, "Query" | "GetItem" | "Scan") {
                continue;
            }
            let index = text(&["indexname", "index"]).and_then(|wanted| table.index(wanted));
            let keys: Vec<String> = match index {
                Some(index) => index.partition.clone(),
                None if kind == "GetItem" => table.partition.iter().chain(&table.sort).cloned().collect(),
                None => table.partition.iter().cloned().collect(),
            };
            table.questions.push(QuestionDraft {
                name: text(&["name", "accesspatternname", "id"]).unwrap_or("pattern").to_owned(),
                description: text(&["description"]).unwrap_or_default().to_owned(),
                conditions: if kind == "Scan" { Vec::new() } else { keys },
                scan: kind == "Scan",
                stated: true,
                ..QuestionDraft::default()
            });
        }
    }
}
