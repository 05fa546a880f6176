//! Detects the format of a text from its content, never from its name.

use serde_json::Value;

use crate::cursor::At;
use crate::draft::Draft;
use crate::error::{Problem, ReadError, SOURCE_BYTES_MAX};
use crate::items::{is_typed, syntax};
use crate::{cloudformation, describe, electrodb, items, mcp, onetable, terraform, workbench};

/// Maximum nesting of brackets in a source that is not JSON: parsers recurse once for each.
const DEPTH_MAX: usize = 64;

/// A source: its name and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file's name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Reads one source.
pub fn read(source: &Source) -> Result<Draft, ReadError> {
    let text = source.text.trim_start_matches('\u{feff}').trim();
    let name = source.name.as_str();
    let wrong = |problem| ReadError { source_name: name.to_owned(), place: String::new(), problem };
    if text.is_empty() {
        return Err(wrong(Problem::Empty));
    }
    if text.len() > SOURCE_BYTES_MAX {
        return Err(wrong(Problem::TooLarge));
    }
    if text.starts_with(['{', '[']) {
        return match serde_json::from_str(text) {
            Ok(value) => of_json(&At::root(name, &value), text),
            Err(_) if is_json_lines(text) => items::read_lines(text, name),
            Err(error) => Err(wrong(Problem::Syntax(syntax(&error)))),
        };
    }
    if depth(text) > DEPTH_MAX {
        return Err(wrong(Problem::TooMany { max: DEPTH_MAX, what: "levels of brackets" }));
    }
    if terraform::is_hcl(text) {
        return terraform::read_hcl(text, name);
    }
    cloudformation::read_source(text, name)
}

/// Is the first of several lines a complete value?
fn is_json_lines(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first =
        lines.next().is_some_and(|line| serde_json::from_str::<Value>(line).is_ok_and(|v| v.is_object()));
    first && lines.next().is_some()
}

fn depth(text: &str) -> usize {
    let (mut now, mut deepest) = (0usize, 0);
    for byte in text.bytes() {
        match byte {
            b'{' | b'[' | b'(' => now += 1,
            b'}' | b']' | b')' => now = now.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(now);
    }
    deepest
}

fn of_json(root: &At<'_>, text: &str) -> Result<Draft, ReadError> {
    let has = |name: &str| root.value.get(name).is_some();
    let elements = root.elements();
    if has("DataModel") || has("ModelMetadata") {
        return workbench::read(root);
    }
    if has("Resources") || root.value.get("resources").is_some_and(|inner| inner.get("Resources").is_some()) {
        return cloudformation::read_source(text, root.source);
    }
    if has("KeySchema") || root.value.get("Table").is_some_and(|table| table.get("KeySchema").is_some()) {
        return describe::read(root);
    }
    if has("TimeToLiveDescription") || has("TimeToLiveStatus") {
        return Ok(describe::read_ttl(root));
    }
    if has("format_version") || has("planned_values") {
        return terraform::read(root);
    }
    if root.value.get("tables").is_some_and(Value::is_array) {
        return mcp::read(root);
    }
    if has("models") && has("indexes") {
        return onetable::read(root);
    }
    if electrodb::is_schema(root.value) {
        return electrodb::read(std::slice::from_ref(root));
    }
    if !elements.is_empty() && elements.iter().all(|at| electrodb::is_schema(at.value)) {
        return electrodb::read(&elements);
    }
    if !elements.is_empty() && elements.iter().all(|at| at.value.get("KeySchema").is_some()) {
        let mut all = Draft::default();
        for table in elements.iter().take(mcp::TABLES_MAX) {
            all.tables.extend(describe::read(table)?.tables);
        }
        return Ok(all);
    }
    if mcp::is_usage(root) {
        return mcp::read_usage(root);
    }
    if is_typed(root.value) {
        return items::read_list(std::iter::once(root.clone()), root.source);
    }
    if let Some(list) = ["Items", "items", "Responses"].iter().find_map(|name| root.get(name))
        && list.value.is_array()
    {
        return items::read_list(list.elements().into_iter(), root.source);
    }
    let members = root.members();
    if !members.is_empty() && members.iter().all(|(_, at)| electrodb::is_schema(at.value)) {
        let schemas: Vec<At<'_>> = members.into_iter().map(|(_, at)| at).collect();
        return electrodb::read(&schemas);
    }
    if !elements.is_empty() && elements.iter().all(|at| is_typed(at.value)) {
        return items::read_list(elements.into_iter(), root.source);
    }
    Err(root.error(Problem::UnknownFormat))
}
