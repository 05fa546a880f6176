//! A guarded write as a PartiQL statement, where it can be one: 25 of them go in one round trip, each failing by itself.

use keyfold_core::query::Condition;
use keyfold_core::query::condition::Comparison;
use keyfold_core::retrofit::{Action, Guard, Write};
use keyfold_core::value::{AttributeValue, Item};

/// The longest statement that DynamoDB takes.
const STATEMENT_BYTES_MAX: usize = 8192;

/// A statement and its parameters, in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) parameters: Vec<AttributeValue>,
}

/// The write as a statement: an INSERT where nothing may be, or an UPDATE with its guard in WHERE. `None` for all others.
pub(super) fn statement(table: &str, write: &Write) -> Option<Statement> {
    let statement = match (&write.action, &write.guard) {
        (Action::Put(item), Guard::Absent) => insert(table, item),
        (Action::Update { key, set, remove }, Guard::Present(condition)) => {
            update(table, key, set, remove, condition)?
        }
        _ => return None,
    };
    (statement.text.len() <= STATEMENT_BYTES_MAX).then_some(statement)
}

fn insert(table: &str, item: &Item) -> Statement {
    let mut attributes: Vec<_> = item.iter().collect();
    attributes.sort_by_key(|(name, _)| *name);
    let names: usize = attributes.iter().map(|(name, _)| name.len() + 8).sum();
    let mut text = String::with_capacity(table.len() + names + 32);
    text.push_str("INSERT INTO ");
    text.push_str(&quoted(table));
    for (at, (name, _)) in attributes.iter().enumerate() {
        text.push_str(if at == 0 { " VALUE {'" } else { ", '" });
        if name.contains('\'') {
            text.push_str(&name.replace('\'', "''"));
        } else {
            text.push_str(name);
        }
        text.push_str("': ?");
    }
    text.push('}');
    Statement { text, parameters: attributes.into_iter().map(|(_, value)| value.clone()).collect() }
}

fn update(
    table: &str,
    key: &Item,
    set: &[(String, AttributeValue)],
    remove: &[String],
    condition: &Condition,
) -> Option<Statement> {
    let mut parameters = Vec::new();
    let mut text = format!("UPDATE {}", quoted(table));
    for (name, value) in set {
        text.push_str(&format!(" SET {} = ?", quoted(name)));
        parameters.push(value.clone());
    }
    for name in remove {
        text.push_str(&format!(" REMOVE {}", quoted(name)));
    }
    let mut tests = Vec::new();
    let mut names: Vec<_> = key.iter().collect();
    names.sort_by_key(|(name, _)| *name);
    for (name, value) in names {
        tests.push(format!("{} = ?", quoted(name)));
        parameters.push(value.clone());
    }
    tests_of(condition, key, &mut tests, &mut parameters)?;
    Some(Statement { text: format!("{text} WHERE {}", tests.join(" AND ")), parameters })
}

/// The condition's parts as tests; `None` if it has one that is not written here.
fn tests_of(
    condition: &Condition,
    key: &Item,
    tests: &mut Vec<String>,
    parameters: &mut Vec<AttributeValue>,
) -> Option<()> {
    match condition {
        Condition::All(parts) => {
            parts.iter().try_for_each(|part| tests_of(part, key, tests, parameters).ok_or(())).ok()
        }
        Condition::Is(path, Comparison::Equal(value)) => {
            let name = path.as_attribute()?;
            // The key is in the statement already.
            if !key.contains_key(name) {
                tests.push(format!("{} = ?", quoted(name)));
                parameters.push(value.clone());
            }
            Some(())
        }
        Condition::Is(path, Comparison::Exists(false)) => {
            tests.push(format!("{} IS MISSING", quoted(path.as_attribute()?)));
            Some(())
        }
        Condition::Is(..) | Condition::Any(_) | Condition::Not(_) => None,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
