//! OneTable: `{indexes {primary {hash, sort}, ...}, models {Name: {attribute: {type, value, ...}}}, params}`.

use std::collections::BTreeMap;

use keyfold_core::model::{AttributeKind, Precision, Projection};

use crate::cursor::At;
use crate::describe::INDEXES_MAX;
use crate::draft::{Draft, EntityDraft, IndexDraft, Rank, TableDraft, Ttl, WhenDraft};
use crate::error::{Problem, ReadError};
use crate::mcp::ENTITIES_MAX;
use crate::template;

/// A schema.
pub(crate) fn read(root: &At<'_>) -> Result<Draft, ReadError> {
    if let Some(format) = root.some_text("format")
        && !format.starts_with("onetable:1.")
    {
        let found = format.to_owned();
        return Err(root.error(Problem::Version { found, known: "onetable:1.x" }));
    }
    let mut table =
        TableDraft { source: root.source.to_owned(), rank: Rank::Library, ..TableDraft::default() };
    let indexes = root.need("indexes")?;
    let primary = indexes.need("primary")?;
    table.partition = Some(primary.text_of("hash")?.to_owned());
    table.sort = primary.some_text("sort").map(str::to_owned);
    for (name, index) in indexes.members() {
        if name == "primary" {
            continue;
        }
        if table.indexes.len() == INDEXES_MAX {
            return Err(index.error(Problem::TooMany { max: INDEXES_MAX, what: "indexes" }));
        }
        let local = index.some_text("type") == Some("local");
        let partition = match index.some_text("hash") {
            Some(hash) => hash.to_owned(),
            None if local => primary.text_of("hash")?.to_owned(),
            None => return Err(index.error(Problem::Missing("hash".to_owned()))),
        };
        table.indexes.push(IndexDraft {
            name: name.to_owned(),
            local: Some(local),
            partition: vec![partition],
            sort: index.some_text("sort").map(str::to_owned).into_iter().collect(),
            projection: Some(project(&index)?),
            notes: Vec::new(),
        });
    }
    let params = root.get("params");
    let type_field = params.as_ref().and_then(|at| at.some_text("typeField")).unwrap_or("_type").to_owned();
    let date = match &params {
        Some(params) if params.flag("isoDates") => Some(AttributeKind::Timestamp(Precision::Milliseconds)),
        Some(_) => Some(AttributeKind::Number),
        // Older schemas leave it to the program.
        None => {
            table.notes.push(
                "the schema does not say whether a Date is a text or a number (isoDates): it is taken for a text"
                    .to_owned(),
            );
            Some(AttributeKind::Timestamp(Precision::Milliseconds))
        }
    };
    table.declare(&type_field, Some(AttributeKind::String));
    table.entity_attribute = Some(type_field.clone());
    let models = root.map("models");
    if models.len() > ENTITIES_MAX {
        return Err(root.error(Problem::TooMany { max: ENTITIES_MAX, what: "models" }));
    }
    for (name, model) in models {
        read_model(name, &model, &type_field, date, &mut table)?;
    }
    Ok(Draft { tables: vec![table], notes: Vec::new() })
}

fn project(index: &At<'_>) -> Result<Projection, ReadError> {
    let Some(at) = index.get("project").or_else(|| index.get("projection")) else {
        return Ok(Projection::All);
    };
    match at.value.as_str().map(str::to_lowercase).as_deref() {
        Some("all") => Ok(Projection::All),
        Some("keys" | "keys_only") => Ok(Projection::KeysOnly),
        Some(other) => Err(at.error(Problem::UnknownWord(other.to_owned()))),
        None => at.texts().map(Projection::Include),
    }
}

fn read_model(
    name: &str,
    model: &At<'_>,
    type_field: &str,
    date: Option<AttributeKind>,
    table: &mut TableDraft,
) -> Result<(), ReadError> {
    let keys = table.key_attributes();
    let mut entity = EntityDraft {
        name: name.to_owned(),
        when: vec![(type_field.to_owned(), WhenDraft::In(vec![name.to_owned()]))],
        evidence: vec!["from its OneTable model".to_owned()],
        ..EntityDraft::default()
    };
    let kinds: BTreeMap<&str, Option<AttributeKind>> =
        model.members().iter().map(|(attribute, at)| (*attribute, kind(at, date))).collect();
    for (attribute, at) in model.members() {
        // `map: "data.status"` packs an attribute into another one.
        if let Some(packed) = at.some_text("map").filter(|packed| packed.contains('.')) {
            let into = packed.split('.').next().unwrap_or(packed);
            table.declare(into, Some(AttributeKind::Map));
            table.notes.push(format!("`{attribute}` of `{name}` is packed into `{into}`"));
            continue;
        }
        let stored = at.some_text("map").unwrap_or(attribute);
        if let Some(value) = at.some_text("value").filter(|_| keys.iter().any(|key| key == stored)) {
            let text = written(value, name, type_field, &kinds, table);
            if template::bare(&text) != Some(stored) {
                entity.attributes.extend(template::attributes(&text));
                for part in template::attributes(&text) {
                    // A part that is not declared in the model.
                    if !kinds.contains_key(part.as_str()) {
                        table.declare(&part, Some(AttributeKind::String));
                    }
                }
                entity.templates.insert(stored.to_owned(), text);
                continue;
            }
        }
        entity.attributes.insert(stored.to_owned());
        if at.flag("required") || at.get("generate").is_some() {
            entity.requires.insert(stored.to_owned());
        }
        if at.flag("ttl") {
            table.ttl = Ttl::On(stored.to_owned());
            table.declare(stored, Some(AttributeKind::Number));
            continue;
        }
        let values: Vec<String> = at.get("enum").and_then(|at| at.texts().ok()).unwrap_or_default();
        let kind = kinds.get(attribute).copied().unwrap_or_default();
        if keys.iter().any(|key| key == stored) && kind == Some(AttributeKind::String) {
            continue;
        }
        let known = table.attributes.contains_key(stored);
        let declared = table.declare(stored, kind);
        if !known {
            declared.values = values;
        } else if declared.values != values {
            declared.values.clear();
        }
    }
    table.entities.push(entity);
    Ok(())
}

fn kind(at: &At<'_>, date: Option<AttributeKind>) -> Option<AttributeKind> {
    if at.flag("ttl") {
        return Some(AttributeKind::Number);
    }
    match at.some_text("type").map(str::to_lowercase).as_deref() {
        Some("string") => Some(AttributeKind::String),
        Some("number") => Some(AttributeKind::Number),
        Some("boolean") => Some(AttributeKind::Boolean),
        Some("binary" | "buffer" | "arraybuffer") => Some(AttributeKind::Binary),
        Some("date") => date,
        Some("object") => Some(AttributeKind::Map),
        Some("array") => Some(AttributeKind::List),
        Some("set") => Some(AttributeKind::StringSet),
        _ => None,
    }
}

/// `${_type}#${id}`, `${id:5:0}`; a part without its dollar sign is accepted and reported.
fn written(
    value: &str,
    model: &str,
    type_field: &str,
    kinds: &BTreeMap<&str, Option<AttributeKind>>,
    table: &mut TableDraft,
) -> String {
    let mut lost = Vec::new();
    let bare = |text: &str, lost: &mut Vec<String>| {
        let mut done = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let known = after.split_once('}').filter(|(name, _)| kinds.contains_key(name));
            let Some((name, behind)) = known else {
                done.push_str(&template::literal(before));
                done.push_str("{{");
                rest = after;
                continue;
            };
            done.push_str(&template::literal(before));
            done.push_str(&format!("{{{name}}}"));
            lost.push(name.to_owned());
            rest = behind;
        }
        done + &template::literal(rest)
    };
    let mut done = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((part, behind)) = after.split_once('}') else { break };
        done.push_str(&bare(before, &mut lost));
        let (name, padding) = part.split_once(':').map_or((part, None), |(name, rest)| (name, Some(rest)));
        let width = padding.and_then(|rest| rest.split(':').next()?.parse::<u32>().ok());
        match width {
            _ if name == type_field => done.push_str(&template::literal(model)),
            Some(width @ 1..=20) if kinds.get(name) == Some(&Some(AttributeKind::Number)) => {
                done.push_str(&format!("{{{name}:0{width}}}"));
            }
            _ => done.push_str(&format!("{{{name}}}")),
        }
        rest = behind;
    }
    done.push_str(&bare(rest, &mut lost));
    for name in lost {
        table.notes.push(format!(
            "a template of `{model}` has `{{{name}}}` without its dollar sign: read as a part"
        ));
    }
    done
}
