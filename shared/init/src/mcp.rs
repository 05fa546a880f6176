//! The files of the awslabs DynamoDB MCP server: `schema.json` (tables, entities, templates, access patterns), its usage data,
//! and `dynamodb_data_model.json` (CreateTable inputs with items).

use std::collections::BTreeMap;

use keyfold_core::model::{AttributeKind, Projection, ScalarType};
use keyfold_core::value::AttributeValue;

use crate::cursor::At;
use crate::describe;
use crate::draft::{Draft, EntityDraft, IndexDraft, QuestionDraft, Rank, SampledItem, TableDraft};
use crate::error::{Problem, ReadError};
use crate::items::{ITEMS_MAX, read_item};
use crate::template::{attributes, bare, moment};

/// Maximum tables of one source.
pub(crate) const TABLES_MAX: usize = 500;
/// Maximum entities of one table.
pub(crate) const ENTITIES_MAX: usize = 200;

/// `schema.json` or `dynamodb_data_model.json`: both have a list of tables.
pub(crate) fn read(root: &At<'_>) -> Result<Draft, ReadError> {
    let tables = root.list("tables");
    if tables.len() > TABLES_MAX {
        return Err(root.error(Problem::TooMany { max: TABLES_MAX, what: "tables" }));
    }
    if tables.is_empty() {
        return Err(root.error(Problem::NoTable));
    }
    if tables.iter().all(|table| table.get("table_config").is_none()) {
        return data_model(root, &tables);
    }
    let tables = tables.iter().map(read_table).collect::<Result<_, _>>()?;
    let mut draft = Draft { tables, notes: Vec::new() };
    let across = root.list("cross_table_access_patterns");
    if !across.is_empty() {
        draft.notes.push(format!(
            "{} access patterns of `{}` span several tables: a question asks one",
            across.len(),
            root.source
        ));
    }
    Ok(draft)
}

fn read_table(at: &At<'_>) -> Result<TableDraft, ReadError> {
    let config = at.need("table_config")?;
    let mut table = TableDraft {
        name: Some(config.text_of("table_name")?.to_owned()),
        source: at.source.to_owned(),
        rank: Rank::Model,
        partition: Some(config.text_of("partition_key")?.to_owned()),
        sort: config.some_text("sort_key").map(str::to_owned),
        ..TableDraft::default()
    };
    for index in at.list("gsi_list") {
        let include = || index.get("included_attributes").map_or(Ok(Vec::new()), |names| names.texts());
        let projection = match index.some_text("projection").unwrap_or("ALL") {
            "ALL" => Projection::All,
            "KEYS_ONLY" => Projection::KeysOnly,
            "INCLUDE" => Projection::Include(include()?),
            other => return Err(index.error(Problem::UnknownWord(other.to_owned()))),
        };
        if table.indexes.len() == describe::INDEXES_MAX {
            return Err(index.error(Problem::TooMany { max: describe::INDEXES_MAX, what: "indexes" }));
        }
        table.indexes.push(IndexDraft {
            name: index.text_of("name")?.to_owned(),
            local: Some(false),
            partition: index.need("partition_key")?.texts()?,
            sort: index.get("sort_key").map_or(Ok(Vec::new()), |names| names.texts())?,
            projection: Some(projection),
            notes: Vec::new(),
        });
    }
    for (name, entity) in at.map("entities") {
        if table.entities.len() == ENTITIES_MAX {
            return Err(entity.error(Problem::TooMany { max: ENTITIES_MAX, what: "entities" }));
        }
        read_entity(name, &entity, &mut table)?;
    }
    for (name, entity) in at.map("entities") {
        for pattern in entity.list("access_patterns") {
            let draft = table.entities.iter().find(|known| known.name == name);
            let Some(question) = draft.and_then(|draft| question(&pattern, draft, &table)) else { continue };
            table.questions.push(question);
        }
    }
    Ok(table)
}

fn read_entity(name: &str, at: &At<'_>, table: &mut TableDraft) -> Result<(), ReadError> {
    let mut entity = EntityDraft { name: name.to_owned(), ..EntityDraft::default() };
    let mut kinds: BTreeMap<String, Option<AttributeKind>> = BTreeMap::new();
    for field in at.list("fields") {
        let field_name = field.text_of("name")?;
        let kind = kind(field.text_of("type")?, &field);
        kinds.insert(field_name.to_owned(), kind);
        entity.attributes.insert(field_name.to_owned());
        if field.flag("required") {
            entity.requires.insert(field_name.to_owned());
        }
        table.declare(field_name, kind);
    }
    let mut keys: Vec<(String, String)> = Vec::new();
    let partition = table.partition.clone().unwrap_or_default();
    keys.push((partition, at.text_of("pk_template")?.to_owned()));
    keys.extend(table.sort.clone().zip(at.some_text("sk_template").map(str::to_owned)));
    for mapping in at.list("gsi_mappings") {
        let index_name = mapping.text_of("name")?;
        let index = table.index(index_name).cloned();
        let index = index.ok_or_else(|| mapping.error(Problem::UnknownWord(index_name.to_owned())))?;
        let partition = mapping.get("pk_template").map_or(Ok(Vec::new()), |at| at.texts())?;
        let sort = mapping.get("sk_template").map_or(Ok(Vec::new()), |at| at.texts())?;
        keys.extend(index.partition.iter().cloned().zip(partition));
        keys.extend(index.sort.iter().cloned().zip(sort));
    }
    for (key, template) in keys {
        for name in attributes(&template) {
            entity.attributes.insert(name.clone());
            table.declare(&name, None);
        }
        let number =
            bare(&template).is_some_and(|field| kinds.get(field) == Some(&Some(AttributeKind::Number)));
        table.scalars.entry(key.clone()).or_insert(if number { ScalarType::N } else { ScalarType::S });
        // A numeric key with another name is a separate attribute, present whenever its number is.
        if number
            && bare(&template) != Some(key.as_str())
            && attributes(&template).iter().all(|name| entity.requires.contains(name))
        {
            entity.requires.insert(key.clone());
        }
        if bare(&template) != Some(key.as_str()) {
            entity.templates.insert(key, template);
        }
    }
    table.entities.push(entity);
    Ok(())
}

fn kind(word: &str, field: &At<'_>) -> Option<AttributeKind> {
    match word {
        "string" | "uuid" => Some(AttributeKind::String),
        "integer" | "decimal" | "number" | "float" => Some(AttributeKind::Number),
        "boolean" => Some(AttributeKind::Boolean),
        "object" | "map" => Some(AttributeKind::Map),
        "binary" => Some(AttributeKind::Binary),
        "array" | "list" => Some(AttributeKind::List),
        "set" | "string_set" => match field.some_text("item_type") {
            Some("integer" | "decimal" | "number") => Some(AttributeKind::NumberSet),
            _ => Some(AttributeKind::StringSet),
        },
        _ => None,
    }
}

/// An access pattern as a question. Parameters are assigned to the parts of the key by position, not by name.
fn question(at: &At<'_>, entity: &EntityDraft, table: &TableDraft) -> Option<QuestionDraft> {
    let operation = at.some_text("operation")?;
    if !matches!(operation, "GetItem" | "Query" | "Scan" | "BatchGetItem") {
        return None;
    }
    let (partition, sort) = match at.some_text("index_name") {
        Some(name) => {
            let index = table.index(name)?;
            (index.partition.clone(), index.sort.clone())
        }
        None => (table.partition.iter().cloned().collect(), table.sort.iter().cloned().collect()),
    };
    let parts = |keys: &[String]| -> Vec<String> {
        let of = |key: &String| match entity.templates.get(key) {
            // A number field over a number key is the key attribute itself.
            Some(_) if table.scalars.get(key) == Some(&ScalarType::N) => vec![key.clone()],
            Some(template) => attributes(template),
            None => vec![key.clone()],
        };
        keys.iter().flat_map(of).collect()
    };
    let mut conditions: Vec<(String, &'static str)> = Vec::new();
    let partition_parts = parts(&partition);
    conditions.extend(partition_parts.iter().map(|part| (part.clone(), "")));
    let filter = filter(at);
    let given = at.list("parameters").len();
    let in_filter = filter.iter().map(|(_, _, parameters)| parameters).sum::<usize>();
    let range = at.some_text("range_condition").map(operator);
    let range_parameters = match range {
        Some("between") => 2,
        Some(_) => 1,
        None => 0,
    };
    if operation != "Scan" {
        let sort_parts: Vec<String> =
            parts(&sort).into_iter().filter(|part| !partition_parts.contains(part)).collect();
        let left = given.saturating_sub(in_filter + partition_parts.len() + range_parameters);
        let equal = if operation == "GetItem" { sort_parts.len() } else { left.min(sort_parts.len()) };
        conditions.extend(sort_parts.iter().take(equal).map(|part| (part.clone(), "")));
        if let Some(range) = range {
            conditions.extend(sort_parts.get(equal).map(|part| (part.clone(), range)));
        }
    } else {
        conditions.clear();
    }
    for (field, operator, _) in filter {
        if !field.is_empty() && !conditions.iter().any(|(known, _)| *known == field) {
            conditions.push((field, operator));
        }
    }
    let written = |(attribute, operator): &(String, &str)| match *operator {
        "" => attribute.clone(),
        operator => format!("{attribute} {operator}"),
    };
    Some(QuestionDraft {
        name: at.some_text("name").unwrap_or("question").to_owned(),
        description: at.some_text("description").unwrap_or_default().to_owned(),
        entities: vec![entity.name.clone()],
        conditions: conditions.iter().map(written).collect(),
        consistent: at.flag("consistent_read"),
        scan: operation == "Scan",
        stated: true,
        ..QuestionDraft::default()
    })
}

/// Field, operator and number of parameters of each condition in a filter. One with `OR` is left out: a question has
/// only `and`.
fn filter(at: &At<'_>) -> Vec<(String, &'static str, usize)> {
    let Some(filter) = at.get("filter_expression") else { return Vec::new() };
    let alternatives = filter.some_text("logical_operator") == Some("OR");
    let mut found = Vec::new();
    for condition in filter.list("conditions") {
        let Some(field) = condition.some_text("field") else { continue };
        let parameters = ["param", "param2"].iter().filter(|name| condition.get(name).is_some()).count()
            + condition.list("params").len();
        let word = condition.some_text("operator").or_else(|| condition.some_text("function")).unwrap_or("=");
        let known = matches!(
            word,
            "=" | "<"
                | "<="
                | ">"
                | ">="
                | "between"
                | "begins_with"
                | "contains"
                | "in"
                | "attribute_exists"
        );
        // A question that cannot be expressed still consumes its parameters.
        let field = if known && !alternatives { field.to_owned() } else { String::new() };
        found.push((field, operator(word), parameters));
    }
    found
}

fn operator(word: &str) -> &'static str {
    match word {
        "<" => "<",
        "<=" => "<=",
        ">" => ">",
        ">=" => ">=",
        "between" => "between",
        "begins_with" => "beginsWith",
        "contains" => "contains",
        "in" => "in",
        "attribute_exists" => "exists",
        _ => "",
    }
}

/// Is it a `usage_data.json`?
pub(crate) fn is_usage(root: &At<'_>) -> bool {
    let entities = root.map("entities");
    !entities.is_empty() && entities.iter().all(|(_, at)| at.get("sample_data").is_some())
}

/// Usage data: two values for each field. Without keys they are not items, but they show the form of dates.
pub(crate) fn read_usage(root: &At<'_>) -> Result<Draft, ReadError> {
    let mut dated: BTreeMap<String, bool> = BTreeMap::new();
    for (_, entity) in root.map("entities").into_iter().take(ENTITIES_MAX) {
        for field in ["sample_data", "access_pattern_data"] {
            let Some(at) = entity.get(field) else { continue };
            for (name, value) in read_item(&at)?.iter() {
                let is_time = matches!(value, AttributeValue::S(text) if moment(text).is_some());
                *dated.entry(name.to_string()).or_insert(true) &= is_time;
            }
        }
    }
    let names: Vec<&str> = dated.iter().filter(|(_, is)| **is).map(|(name, _)| name.as_str()).collect();
    let mut draft = Draft::default();
    if !names.is_empty() {
        let names = names.join("`, `");
        draft.notes.push(format!(
            "in the usage data `{names}` look like dates or timestamps: declare them so if every item has that form"
        ));
    }
    Ok(draft)
}

/// `dynamodb_data_model.json`.
fn data_model(root: &At<'_>, tables: &[At<'_>]) -> Result<Draft, ReadError> {
    let mut draft = Draft::default();
    for at in tables {
        draft.tables.extend(describe::read(at)?.tables);
    }
    for table in &mut draft.tables {
        table.rank = Rank::Model;
        let puts = root.get("items").map(|at| at.list(table.title())).unwrap_or_default();
        for put in puts.iter().take(ITEMS_MAX) {
            let item = put.get("PutRequest").and_then(|at| at.get("Item")).unwrap_or_else(|| put.clone());
            table.items.push(SampledItem { item: read_item(&item)?, entity: None });
        }
        for pattern in root.list("access_patterns") {
            if pattern.some_text("table") != Some(table.title()) {
                continue;
            }
            let words = pattern.some_text("description").or_else(|| pattern.some_text("pattern"));
            table.notes.extend(words.map(|words| format!("stated access pattern: {words}")));
        }
    }
    Ok(draft)
}
