//! CloudFormation, SAM, `serverless.yml` and CDK output: the tables among a template's resources.

use keyfold_template::cloudformation::{Kind, Node, Resource, Template, intrinsic, read};
use serde_json::Value;

use crate::cursor::At;
use crate::describe;
use crate::draft::{Draft, Rank, TableDraft};
use crate::error::{Problem, ReadError};

/// Maximum tables in a template, and in one `Fn::ForEach`.
const TABLES_MAX: usize = 500;

/// A template, by its text.
pub(crate) fn read_source(text: &str, source: &str) -> Result<Draft, ReadError> {
    let wrong = |problem| ReadError { source_name: source.to_owned(), place: String::new(), problem };
    let root = read(text).map_err(|error| wrong(Problem::Syntax(error.to_string())))?;
    let root = match root.get("resources") {
        Some(inner) if inner.get("Resources").is_some() => inner.clone(),
        _ => root,
    };
    if root.get("Resources").is_none() {
        return Err(wrong(Problem::UnknownFormat));
    }
    let root = without_loops(root).map_err(wrong)?;
    let template = Template::of(root);
    let mut draft = Draft::default();
    for resource in template.resources() {
        if !matches!(
            resource.kind,
            "AWS::DynamoDB::Table" | "AWS::DynamoDB::GlobalTable" | "AWS::Serverless::SimpleTable"
        ) {
            continue;
        }
        if draft.tables.len() == TABLES_MAX {
            return Err(wrong(Problem::TooMany { max: TABLES_MAX, what: "tables" }));
        }
        draft.tables.push(table(&template, &resource, source)?);
    }
    if draft.tables.is_empty() {
        return Err(wrong(Problem::NoTable));
    }
    Ok(draft)
}

fn table(template: &Template, resource: &Resource<'_>, source: &str) -> Result<TableDraft, ReadError> {
    let properties = resource.node.get("Properties").and_then(|node| template.resolved(node));
    let value = properties.as_ref().map_or(Value::Null, json);
    let at = At { source, value: &value, path: format!("line {}: {}", resource.line, resource.id) };
    known_names(&at)?;
    let mut draft = if resource.kind == "AWS::Serverless::SimpleTable" {
        simple(&at)?
    } else {
        describe::structure(&at)?
    };
    draft.rank = Rank::Code;
    draft.logical_id = Some(resource.id.to_owned());
    match at.value.get("TableName") {
        Some(Value::String(name)) if !name.contains("${") => draft.name = Some(name.clone()),
        Some(_) => draft.notes.push(
            "its name is an expression that only a deployment knows: the logical id stands for it".to_owned(),
        ),
        None => draft.notes.push(
            "CloudFormation makes its name when it is deployed: the logical id stands for it".to_owned(),
        ),
    }
    if resource.node.get("Condition").is_some() {
        draft.notes.push("the template creates it on a condition".to_owned());
    }
    Ok(draft)
}

/// Checks that all names of attributes and indexes are known, at least by the default of a parameter.
fn known_names(at: &At<'_>) -> Result<(), ReadError> {
    for (name, member) in at.members() {
        match name {
            "AttributeName" | "IndexName" => known_name(&member)?,
            "NonKeyAttributes" => member.elements().iter().try_for_each(known_name)?,
            "PrimaryKey" => member.get("Name").iter().try_for_each(known_name)?,
            _ => known_names(&member)?,
        }
    }
    at.elements().iter().try_for_each(known_names)
}

fn known_name(at: &At<'_>) -> Result<(), ReadError> {
    match at.value {
        Value::String(text) if !text.contains("${") => Ok(()),
        _ => Err(at.error(Problem::UnknownName)),
    }
}

/// SAM's short form: one key, `id` by default.
fn simple(at: &At<'_>) -> Result<TableDraft, ReadError> {
    let mut draft = TableDraft { source: at.source.to_owned(), ..TableDraft::default() };
    let key = at.get("PrimaryKey");
    let name = key.as_ref().and_then(|key| key.some_text("Name")).unwrap_or("id");
    let letter = match key.as_ref().and_then(|key| key.some_text("Type")).unwrap_or("String") {
        "String" => "S",
        "Number" => "N",
        "Binary" => "B",
        other => return Err(at.error(Problem::UnknownWord(other.to_owned()))),
    };
    draft.partition = Some(name.to_owned());
    draft.scalars.extend(describe::scalar(letter).map(|scalar| (name.to_owned(), scalar)));
    Ok(draft)
}

/// A node as JSON. A plain `true` or `false` is a boolean; all other scalars stay text, as in CloudFormation.
fn json(node: &Node) -> Value {
    match &node.kind {
        Kind::Text { text, plain: true } if text == "true" || text == "false" => Value::Bool(text == "true"),
        Kind::Text { text, plain: true } if text.is_empty() || text == "null" || text == "~" => Value::Null,
        Kind::Text { text, .. } => Value::String(text.clone()),
        Kind::List(nodes) => Value::Array(nodes.iter().map(json).collect()),
        Kind::Map(members) => {
            Value::Object(members.iter().map(|(name, node)| (name.clone(), json(node))).collect())
        }
    }
}

/// Expands `Fn::ForEach` in the template's resources: `[name, [values], {key: body}]`.
fn without_loops(mut root: Node) -> Result<Node, Problem> {
    let Kind::Map(sections) = &mut root.kind else { return Ok(root) };
    for (name, section) in sections.iter_mut().filter(|(name, _)| name == "Resources") {
        let Kind::Map(resources) = &mut section.kind else { continue };
        let mut flat = Vec::new();
        for (id, node) in std::mem::take(resources) {
            let loops = id.starts_with("Fn::ForEach").then(|| unrolled(&node)).flatten();
            match loops {
                Some(made) => flat.extend(made),
                None => flat.push((id, node)),
            }
            if flat.len() > TABLES_MAX * 2 {
                return Err(Problem::TooMany { max: TABLES_MAX * 2, what: "resources" });
            }
        }
        debug_assert_eq!(name, "Resources");
        *resources = flat;
    }
    Ok(root)
}

fn unrolled(node: &Node) -> Option<Vec<(String, Node)>> {
    let [variable, values, body] = node.nodes() else { return None };
    let variable = variable.as_text()?;
    let mut made = Vec::new();
    for value in values.nodes().iter().take(TABLES_MAX).filter_map(Node::as_text) {
        for (id, node) in body.members() {
            let mut node = node.clone();
            put(&mut node, variable, value);
            made.push((replaced(id, variable, value), node));
        }
    }
    Some(made)
}

fn replaced(text: &str, variable: &str, value: &str) -> String {
    text.replace(&format!("${{{variable}}}"), value).replace(&format!("&{{{variable}}}"), value)
}

fn put(node: &mut Node, variable: &str, value: &str) {
    if let Some(("Ref", argument)) = intrinsic(node)
        && argument.as_text() == Some(variable)
    {
        node.kind = Kind::Text { text: value.to_owned(), plain: false };
        return;
    }
    match &mut node.kind {
        Kind::Text { text, .. } => *text = replaced(text, variable, value),
        Kind::List(nodes) => nodes.iter_mut().for_each(|node| put(node, variable, value)),
        Kind::Map(members) => members.iter_mut().for_each(|(name, node)| {
            *name = replaced(name, variable, value);
            put(node, variable, value);
        }),
    }
}
