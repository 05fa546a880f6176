//! Keys of tables and indexes that DynamoDB refuses when they are deployed, and that cfn-lint lets through.

use super::compare::table_resources;
use keyfold_init::cloudformation::Template;

use super::{Finding, Node};

/// The most attributes of each half of a global index's key.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html>
const NATIVE_PARTS_MAX: usize = 4;
/// The most local indexes of a table.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>
const LOCAL_INDEXES_MAX: usize = 5;

/// Everything about the tables' keys that cannot be deployed.
pub(crate) fn refuse(template: &Template) -> Vec<Finding> {
    let mut findings = Vec::new();
    for resource in table_resources(template) {
        let Some(properties) = resource.node.get("Properties").and_then(|node| template.resolved(node))
        else {
            continue;
        };
        let table = Keys::of(properties.get("KeySchema"));
        let of = |what: &str| format!("{what} of resource `{}`", resource.id);
        table.order(&of("the key"), &mut findings);
        table.parts(1, &of("the key"), &mut findings);
        for index in indexes(&properties, "GlobalSecondaryIndexes") {
            let (keys, what) =
                (Keys::of(index.get("KeySchema")), of(&format!("global index `{}`", name(index))));
            keys.order(&what, &mut findings);
            keys.parts(NATIVE_PARTS_MAX, &what, &mut findings);
        }
        let local = indexes(&properties, "LocalSecondaryIndexes");
        if local.len() > LOCAL_INDEXES_MAX {
            let message = format!(
                "resource `{}` has {} local indexes, more than {LOCAL_INDEXES_MAX}",
                resource.id,
                local.len()
            );
            findings.push(Finding::new(local[LOCAL_INDEXES_MAX].line, "too-many-local-indexes", message));
        }
        for index in local {
            let (keys, what) =
                (Keys::of(index.get("KeySchema")), of(&format!("local index `{}`", name(index))));
            keys.order(&what, &mut findings);
            keys.parts(1, &what, &mut findings);
            if keys.partition != table.partition {
                let message = format!(
                    "{what} has the partition key `{}`, its table has `{}`",
                    keys.partition.join("`, `"),
                    table.partition.join("`, `")
                );
                findings.push(Finding::new(keys.line, "local-index-partition", message));
            }
        }
    }
    findings
}

fn indexes<'n>(properties: &'n Node, list: &str) -> &'n [Node] {
    properties.get(list).map(Node::nodes).unwrap_or_default()
}

fn name(index: &Node) -> &str {
    index.text_of("IndexName").unwrap_or("?")
}

/// A key schema, as it is written.
#[derive(Default)]
struct Keys {
    line: usize,
    partition: Vec<String>,
    sort: Vec<String>,
    partition_after_sort: Option<usize>,
}

impl Keys {
    fn of(schema: Option<&Node>) -> Keys {
        let mut keys = Keys { line: schema.map_or(0, |schema| schema.line), ..Keys::default() };
        for element in schema.map(Node::nodes).unwrap_or_default() {
            let name = element.text_of("AttributeName").unwrap_or("?").to_owned();
            match element.text_of("KeyType") {
                Some("RANGE") => keys.sort.push(name),
                _ => {
                    if !keys.sort.is_empty() {
                        keys.partition_after_sort.get_or_insert(element.line);
                    }
                    keys.partition.push(name);
                }
            }
        }
        keys
    }

    fn order(&self, what: &str, findings: &mut Vec<Finding>) {
        if let Some(line) = self.partition_after_sort {
            let message = format!("{what} names a sort key before a partition key");
            findings.push(Finding::new(line, "sort-before-partition", message));
        }
    }

    fn parts(&self, most: usize, what: &str, findings: &mut Vec<Finding>) {
        for (half, names) in [("partition", &self.partition), ("sort", &self.sort)] {
            if names.len() > most {
                let message =
                    format!("{what} has {} attributes in its {half} key, more than {most}", names.len());
                findings.push(Finding::new(self.line, "too-many-key-parts", message));
            }
        }
    }
}
