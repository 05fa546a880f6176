//! What a template's tables should be and are not.
//!
//! What the manifest says must be there, exactly. A template may say more of a table (tags, a key of its own for encryption),
//! but no other keys, no other indexes, and no time to live that the manifest knows nothing of: items would vanish.

use std::collections::BTreeMap;

use keyfold_core::model::Model;

use super::build::tables;
use keyfold_init::cloudformation::{Kind, Resource, Template};

use super::{Finding, Node};

const TABLE_TYPES: [&str; 2] = ["AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"];
const TTL: &str = "TimeToLiveSpecification";
/// Lists whose order means nothing, and the member that names each of their elements.
const BY_NAME: [(&str, &str); 3] = [
    ("AttributeDefinitions", "AttributeName"),
    ("GlobalSecondaryIndexes", "IndexName"),
    ("LocalSecondaryIndexes", "IndexName"),
];

/// Every difference between the model's tables and the template's.
pub(crate) fn compare(model: &Model, control: &str, template: &Template) -> Vec<Finding> {
    let wanted = tables(model, control);
    let mut unmatched: BTreeMap<String, (Resource<'_>, Node)> = BTreeMap::new();
    let mut findings = Vec::new();
    for resource in table_resources(template) {
        let Some(found) = template.resolved(resource.node) else { continue };
        match found.at(&["Properties", "TableName"]).and_then(Node::as_text) {
            Some(name) => {
                unmatched.insert(name.to_owned(), (resource, found));
            }
            None => findings.push(Finding::new(
                resource.line,
                "table-without-name",
                format!("resource `{}` has no name that is known before it is deployed", resource.id),
            )),
        }
    }
    for (_, wanted) in wanted.members() {
        let name = wanted.at(&["Properties", "TableName"]).and_then(Node::as_text).unwrap_or_default();
        match unmatched.remove(name) {
            Some((resource, found)) => {
                let place = Place { resource: resource.id, line: resource.line };
                differences(&place, "", wanted, &found, &mut findings);
            }
            None => {
                findings.push(Finding::new(
                    0,
                    "table-missing",
                    format!("the template has no table `{name}`"),
                ));
            }
        }
    }
    findings.extend(unmatched.into_iter().map(|(name, (resource, _))| {
        let message = format!("table `{name}` (resource `{}`) is not in the manifest", resource.id);
        Finding::new(resource.line, "table-not-in-manifest", message)
    }));
    findings
}

pub(crate) fn table_resources(template: &Template) -> impl Iterator<Item = Resource<'_>> {
    template.resources().into_iter().filter(|resource| TABLE_TYPES.contains(&resource.kind))
}

struct Place<'t> {
    resource: &'t str,
    line: usize,
}

fn differences(place: &Place<'_>, path: &str, wanted: &Node, found: &Node, findings: &mut Vec<Finding>) {
    let name = path.rsplit('.').next().unwrap_or_default();
    match &wanted.kind {
        Kind::Text { text, .. } if found.as_text() != Some(text) => {
            findings.push(differs(place, found.line, path, &shown(wanted), &shown(found)));
        }
        Kind::Text { .. } => {}
        Kind::Map(members) => {
            for (name, wanted) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match found.get(name) {
                    Some(found) => differences(place, &path, wanted, found, findings),
                    None => findings.push(missing(place, found.line, &path, &shown(wanted))),
                }
            }
            if name == "Properties" {
                unwanted_lists(place, wanted, found, findings);
                unwanted_ttl(place, wanted, found, findings);
            }
        }
        Kind::List(_) if name == "NonKeyAttributes" => {
            if sorted(wanted) != sorted(found) {
                findings.push(differs(place, found.line, path, &shown(wanted), &shown(found)));
            }
        }
        Kind::List(elements) => match BY_NAME.iter().find(|(list, _)| *list == name) {
            Some((_, key)) => by_name(place, path, key, elements, found, findings),
            None if bare(wanted) != bare(found) => {
                findings.push(differs(place, found.line, path, &shown(wanted), &shown(found)));
            }
            None => {}
        },
    }
}

/// Indexes where the manifest has none of their kind.
fn unwanted_lists(place: &Place<'_>, wanted: &Node, found: &Node, findings: &mut Vec<Finding>) {
    for (list, key) in BY_NAME {
        if let (None, Some(found)) = (wanted.get(list), found.get(list)) {
            by_name(place, &format!("Properties.{list}"), key, &[], found, findings);
        }
    }
}

/// A time to live where the manifest has none. One that is switched off is none.
fn unwanted_ttl(place: &Place<'_>, wanted: &Node, found: &Node, findings: &mut Vec<Finding>) {
    let Some(ttl) = found.get(TTL).filter(|_| wanted.get(TTL).is_none()) else { return };
    if ttl.text_of("Enabled") != Some("false") {
        let message = format!(
            "resource `{}` has `Properties.{TTL}`: {}, which is not in the manifest",
            place.resource,
            shown(ttl)
        );
        findings.push(Finding::new(ttl.line, "not-in-manifest", message));
    }
}

fn by_name(
    place: &Place<'_>,
    path: &str,
    key: &str,
    wanted: &[Node],
    found: &Node,
    findings: &mut Vec<Finding>,
) {
    for wanted in wanted {
        let name = wanted.text_of(key).unwrap_or_default();
        let path = format!("{path}.{name}");
        match found.nodes().iter().find(|node| node.text_of(key) == Some(name)) {
            Some(found) => differences(place, &path, wanted, found, findings),
            None => findings.push(missing(place, found.line, &path, &shown(wanted))),
        }
    }
    for node in found.nodes() {
        let name = node.text_of(key).unwrap_or("?");
        if !wanted.iter().any(|wanted| wanted.text_of(key) == Some(name)) {
            let message =
                format!("resource `{}` has `{path}.{name}`, which is not in the manifest", place.resource);
            findings.push(Finding::new(node.line, "not-in-manifest", message));
        }
    }
}

fn missing(place: &Place<'_>, line: usize, path: &str, wanted: &str) -> Finding {
    let line = if line == 0 { place.line } else { line };
    Finding::new(line, "missing", format!("resource `{}` lacks `{path}`: {wanted}", place.resource))
}

fn differs(place: &Place<'_>, line: usize, path: &str, wanted: &str, found: &str) -> Finding {
    let message = format!("resource `{}` has `{path}`: {found} instead of {wanted}", place.resource);
    Finding::new(line, "differs", message)
}

fn shown(node: &Node) -> String {
    super::emit::json(node).to_string()
}

/// The node as JSON with all scalars as texts: `true` and `"true"` are one to CloudFormation.
fn bare(node: &Node) -> serde_json::Value {
    match &node.kind {
        Kind::Text { text, .. } => text.as_str().into(),
        Kind::List(nodes) => nodes.iter().map(bare).collect(),
        Kind::Map(members) => members.iter().map(|(name, node)| (name.clone(), bare(node))).collect(),
    }
}

fn sorted(node: &Node) -> Vec<String> {
    let mut texts: Vec<String> = node.nodes().iter().map(shown).collect();
    texts.sort();
    texts
}
