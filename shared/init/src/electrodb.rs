//! ElectroDB: `JSON.stringify(entity.schema)` of one entity, a list, or an object of them. The keys follow exactly.

use keyfold_core::model::AttributeKind;
use serde_json::Value;

use crate::cursor::At;
use crate::describe::INDEXES_MAX;
use crate::draft::{
    AttributeDraft, Draft, EntityDraft, IndexDraft, QuestionDraft, Rank, TableDraft, WhenDraft,
};
use crate::error::{Problem, ReadError};
use crate::mcp::ENTITIES_MAX;
use crate::template;

/// The attribute that names an item's entity.
const ENTITY: &str = "__edb_e__";
/// And its version.
const VERSION: &str = "__edb_v__";

/// Is it the schema of one entity?
pub(crate) fn is_schema(value: &Value) -> bool {
    ["model", "attributes", "indexes"].iter().all(|name| value.get(name).is_some_and(Value::is_object))
}

/// The schemas of the entities of one table.
pub(crate) fn read(schemas: &[At<'_>]) -> Result<Draft, ReadError> {
    let Some(first) = schemas.first() else { return Ok(Draft::default()) };
    if schemas.len() > ENTITIES_MAX {
        return Err(first.error(Problem::TooMany { max: ENTITIES_MAX, what: "entities" }));
    }
    let service = first.get("model").and_then(|model| model.some_text("service").map(str::to_owned));
    let mut table = TableDraft {
        logical_id: service,
        source: first.source.to_owned(),
        rank: Rank::Library,
        entity_attribute: Some(ENTITY.to_owned()),
        ..TableDraft::default()
    };
    for held in [ENTITY, VERSION] {
        table
            .declare(held, Some(AttributeKind::String))
            .evidence
            .push("ElectroDB writes it on every item".to_owned());
    }
    for schema in schemas {
        read_entity(schema, &mut table)?;
    }
    Ok(Draft { tables: vec![table], notes: Vec::new() })
}

/// An attribute of an entity, as far as keys need it.
struct Field {
    name: String,
    /// The name in the item.
    field: String,
    label: String,
    kind: Option<AttributeKind>,
    required: bool,
    /// The width of a number's padding.
    width: Option<u64>,
    /// Padding that no template can express.
    odd_padding: bool,
}

fn read_entity(schema: &At<'_>, table: &mut TableDraft) -> Result<(), ReadError> {
    let model = schema.need("model")?;
    let entity_name = model.text_of("entity")?.to_owned();
    let service = model.some_text("service").unwrap_or_default().to_owned();
    let version = match model.get("version").map(|at| at.value.clone()) {
        Some(Value::String(version)) => version,
        Some(Value::Number(version)) => version.to_string(),
        _ => "1".to_owned(),
    };
    let fields: Vec<Field> =
        schema.map("attributes").iter().map(|(name, at)| field(name, at)).collect::<Result<_, _>>()?;
    let mut entity = EntityDraft {
        name: entity_name.clone(),
        when: vec![(ENTITY.to_owned(), WhenDraft::In(vec![entity_name.clone()]))],
        evidence: vec!["from its ElectroDB schema".to_owned()],
        ..EntityDraft::default()
    };
    let key = Key { service: &service, entity: &entity_name, version: &version, fields: &fields };
    for (pattern, index) in schema.map("indexes").into_iter().take(INDEXES_MAX) {
        read_index(pattern, &index, &key, &mut entity, table)?;
    }
    let key_names = table.key_attributes();
    for one in &fields {
        if entity.templates.contains_key(&one.field) || (key_names.contains(&one.field) && one.kind.is_none())
        {
            continue;
        }
        entity.attributes.insert(one.field.clone());
        if one.required {
            entity.requires.insert(one.field.clone());
        }
        let values = enumeration(schema, &one.name);
        let declared: &mut AttributeDraft = table.declare(&one.field, one.kind);
        if declared.values.is_empty() {
            declared.values = values;
        } else if declared.values != values {
            // Two entities list different values, but the list belongs to the table.
            declared.values.clear();
        }
    }
    table.entities.push(entity);
    Ok(())
}

fn enumeration(schema: &At<'_>, attribute: &str) -> Vec<String> {
    let kind = schema.get("attributes").and_then(|at| at.get(attribute)).and_then(|at| at.get("type"));
    let texts = |at: At<'_>| at.elements().iter().map(|at| at.value.as_str().map(str::to_owned)).collect();
    kind.and_then(texts).unwrap_or_default()
}

fn field(name: &str, at: &At<'_>) -> Result<Field, ReadError> {
    let kind = match at.value.get("type") {
        Some(Value::String(word)) => match (word.as_str(), at.some_text("items")) {
            ("string", _) => Some(AttributeKind::String),
            ("number", _) => Some(AttributeKind::Number),
            ("boolean", _) => Some(AttributeKind::Boolean),
            ("list", _) => Some(AttributeKind::List),
            ("map", _) => Some(AttributeKind::Map),
            ("set", Some("number")) => Some(AttributeKind::NumberSet),
            ("set", _) => Some(AttributeKind::StringSet),
            _ => None,
        },
        Some(Value::Array(_)) => Some(AttributeKind::String),
        // A type made by a function is printed as an object.
        _ => None,
    };
    let padding = at.get("padding");
    let zeros = padding.as_ref().is_some_and(|at| at.some_text("char").unwrap_or("0") == "0");
    let width = padding
        .as_ref()
        .and_then(|at| at.get("length")?.value.as_u64())
        .filter(|width| (1..=20).contains(width));
    let padded = padding.is_some();
    let exact = zeros && kind == Some(AttributeKind::Number) && width.is_some();
    Ok(Field {
        name: name.to_owned(),
        field: at.some_text("field").unwrap_or(name).to_owned(),
        label: at.some_text("label").unwrap_or(name).to_owned(),
        kind,
        required: at.flag("required"),
        width: width.filter(|_| exact),
        odd_padding: padded && !exact,
    })
}

/// The common parts of an entity's keys.
struct Key<'a> {
    service: &'a str,
    entity: &'a str,
    version: &'a str,
    fields: &'a [Field],
}

impl Key<'_> {
    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|one| one.name == name)
    }

    /// A value in a key, in its letter case.
    fn part(&self, name: &str, casing: &str) -> String {
        let Some(field) = self.field(name) else { return format!("{{{name}}}") };
        let stored = &field.field;
        if let Some(width) = field.width {
            return format!("{{{stored}:0{width}}}");
        }
        match casing {
            _ if !matches!(field.kind, Some(AttributeKind::String) | None) => format!("{{{stored}}}"),
            "upper" => format!("{{{stored}|upper}}"),
            "none" => format!("{{{stored}}}"),
            _ => format!("{{{stored}|lower}}"),
        }
    }
}

/// A literal in the letter case of its key.
fn cased(text: &str, casing: &str) -> String {
    template::literal(&match casing {
        "upper" => text.to_uppercase(),
        "none" => text.to_owned(),
        _ => text.to_lowercase(),
    })
}

fn read_index(
    pattern: &str,
    at: &At<'_>,
    key: &Key<'_>,
    entity: &mut EntityDraft,
    table: &mut TableDraft,
) -> Result<(), ReadError> {
    let pk = at.need("pk")?;
    let sk = at.get("sk");
    let composite = |half: &At<'_>| {
        half.get("composite").map_or(Ok(Vec::new()), |names| {
            names.elements().iter().map(|at| at.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()
        })
    };
    let pk_names = composite(&pk)?;
    let sk_names = sk.as_ref().map_or(Ok(Vec::new()), composite)?;
    let index = at.some_text("index");
    let stored = |names: &[String]| -> Vec<String> {
        names.iter().map(|name| key.field(name).map_or(name, |field| &field.field).clone()).collect()
    };
    let (partition, sort);
    if at.some_text("type") == Some("composite") {
        partition = stored(&pk_names);
        sort = stored(&sk_names);
    } else {
        let pk_field = pk.text_of("field")?.to_owned();
        let sk_field = sk.as_ref().map(|sk| sk.text_of("field").map(str::to_owned)).transpose()?;
        let whole_pk = partition_template(at, &pk, &pk_names, key);
        let whole_sk = sk.as_ref().map(|sk| sort_template(at, sk, &sk_names, key));
        // A key of a secondary index whose parts may all be absent is cut at its first label, unless both keys are.
        let optional = |names: &[String]| {
            !names.is_empty() && names.iter().all(|name| key.field(name).is_none_or(|field| !field.required))
        };
        if index.is_some() && (optional(&pk_names) || optional(&sk_names)) {
            let note = "ElectroDB cuts this key at its first label where its parts are absent";
            let odd = if optional(&sk_names) { sk_field.clone() } else { Some(pk_field.clone()) };
            entity.template_evidence.extend(odd.map(|field| (field, note.to_owned())));
        }
        put(entity, key, &pk_field, whole_pk);
        for (field, text) in sk_field.iter().zip(whole_sk) {
            put(entity, key, field, text);
        }
        partition = vec![pk_field];
        sort = sk_field.into_iter().collect();
    }
    for name in pk_names.iter().chain(&sk_names) {
        if key.field(name).is_some_and(|field| field.odd_padding) {
            table.notes.push(format!("no template can express the padding of `{name}`"));
        }
    }
    match index {
        None => {
            table.partition.get_or_insert_with(|| partition.first().cloned().unwrap_or_default());
            if table.sort.is_none() {
                table.sort = sort.first().cloned();
            }
        }
        Some(index) if table.index(index).is_none() => table.indexes.push(IndexDraft {
            name: index.to_owned(),
            partition,
            sort,
            ..IndexDraft::default()
        }),
        Some(_) => {}
    }
    let mut conditions = stored(&pk_names);
    conditions
        .extend(stored(&sk_names).into_iter().filter(|part| !pk_names.contains(part)).map(|part| part + "?"));
    table.questions.push(QuestionDraft {
        name: format!("{}-{pattern}", key.entity),
        entities: vec![key.entity.to_owned()],
        conditions,
        stated: true,
        ..QuestionDraft::default()
    });
    collection_questions(at, key.entity, &stored(&pk_names), table);
    Ok(())
}

/// A collection is a question over several entities.
fn collection_questions(at: &At<'_>, entity: &str, conditions: &[String], table: &mut TableDraft) {
    for collection in collections(at) {
        let name = format!("collection-{collection}");
        match table.questions.iter_mut().find(|known| known.name == name) {
            Some(known) => known.entities.push(entity.to_owned()),
            None => table.questions.push(QuestionDraft {
                name,
                description: "an ElectroDB collection: items of several entities".to_owned(),
                entities: vec![entity.to_owned()],
                conditions: conditions.to_vec(),
                stated: true,
                ..QuestionDraft::default()
            }),
        }
    }
}

fn collections(at: &At<'_>) -> Vec<String> {
    at.get("collection").and_then(|at| at.texts().ok()).unwrap_or_default()
}

/// Adds a template, unless the key is the attribute itself.
fn put(entity: &mut EntityDraft, key: &Key<'_>, field: &str, text: String) {
    let natural = template::bare(&text) == Some(field)
        || key.fields.iter().any(|one| one.field == field && text == key.part(&one.name, "none"));
    if !natural {
        entity.attributes.extend(template::attributes(&text));
        entity.templates.insert(field.to_owned(), text);
    }
}

/// A number that stays a number is a natural key, without `casing` and literals.
fn cast(half: &At<'_>, names: &[String], key: &Key<'_>) -> Option<String> {
    let [only] = names else { return None };
    (half.some_text("cast") == Some("number")).then(|| key.part(only, "none"))
}

/// The key by the entity's own template.
fn own_template(half: &At<'_>, casing: &str, key: &Key<'_>) -> Option<String> {
    let written = half.some_text("template")?;
    Some(template::dollars(written, |text| cased(text, casing), |part| key.part(part, casing)))
}

fn casing<'a>(half: &At<'a>) -> &'a str {
    half.some_text("casing").unwrap_or("default")
}

fn partition_template(index: &At<'_>, half: &At<'_>, names: &[String], key: &Key<'_>) -> String {
    let casing = casing(half);
    if let Some(known) = cast(half, names, key).or_else(|| own_template(half, casing, key)) {
        return known;
    }
    let scope = index.some_text("scope").map(|scope| format!("_{scope}")).unwrap_or_default();
    cased(&format!("${}{scope}", key.service), casing) + &labelled(names, casing, key)
}

fn sort_template(index: &At<'_>, half: &At<'_>, names: &[String], key: &Key<'_>) -> String {
    let casing = casing(half);
    if let Some(known) = cast(half, names, key).or_else(|| own_template(half, casing, key)) {
        return known;
    }
    let collections = collections(index).join("#");
    let entity = format!("{}_{}", key.entity, key.version);
    if index.some_text("type") == Some("clustered") && !collections.is_empty() {
        let head = cased(&format!("${collections}"), casing);
        return head + &labelled(names, casing, key) + &cased(&format!("#{entity}"), casing);
    }
    let head = if collections.is_empty() { format!("${entity}") } else { format!("${collections}#{entity}") };
    cased(&head, casing) + &labelled(names, casing, key)
}

fn labelled(names: &[String], casing: &str, key: &Key<'_>) -> String {
    let one = |name: &String| {
        let label = key.field(name).map_or(name.as_str(), |field| field.label.as_str());
        cased(&format!("#{label}_"), casing) + &key.part(name, casing)
    };
    names.iter().map(one).collect()
}
