//! The changes and conditions of a write, as a package passes them.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::condition::{Comparison, Condition, Path};
use keyfold_core::json::Json;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::check::Caller;
use keyfold_core::query::{QueryRequest, check};
use keyfold_core::value::AttributeValue;
use keyfold_core::write::{AttributeOperation, Expected, Guard, Update};
use serde::Deserialize;

use crate::failure::Failure;

type Values = BTreeMap<String, AttributeValue>;

/// The changes and conditions of a write. A name with a dot is a path, as in a `where`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Asked {
    set: Values,
    remove: BTreeSet<String>,
    /// Values for attributes that have none.
    set_if_absent: Values,
    /// Numbers to add to numbers, and elements to add to sets.
    add: Values,
    /// Elements to delete from sets.
    delete: Values,
    /// Lists to add at the end.
    append: Values,
    /// Lists to add at the start.
    prepend: Values,
    expecting: Values,
    absent: BTreeSet<String>,
    /// A condition, in the form of a `where`.
    condition: Json,
    /// Only if no item has the key.
    if_absent: bool,
    /// The entity of the item.
    entity: Option<String>,
    reading: bool,
}

impl Asked {
    /// The expected state of the item.
    pub(crate) fn expected(&self, model: &Model, table: &Table) -> Result<Expected, Failure> {
        let mut expected = Expected::nothing();
        for (name, value) in &self.expecting {
            expected = match path(table, name) {
                Some(path) => expected.also(Condition::Is(path, Comparison::Equal(value.clone()))),
                None => expected.value(name.clone(), value.clone()),
            };
        }
        for name in &self.absent {
            expected = match path(table, name) {
                Some(path) => expected.also(Condition::Is(path, Comparison::Exists(false))),
                None => expected.absent(name.clone()),
            };
        }
        let request = QueryRequest {
            table: table.id.clone(),
            entity: self.entity.iter().cloned().collect(),
            conditions: self.condition.clone(),
            ..QueryRequest::default()
        };
        Ok(expected.also(check(model, &request, &Caller::Trusted)?.condition))
    }

    /// The guard of a put.
    pub(crate) fn guard(&self, model: &Model, table: &Table) -> Result<Option<Guard>, Failure> {
        let expected = self.expected(model, table)?;
        match (self.if_absent, expected.is_empty()) {
            (true, true) => Ok(Some(Guard::Absent)),
            (false, true) => Ok(None),
            (false, false) => Ok(Some(Guard::Present(Condition::all(expected.conditions())))),
            (true, false) => {
                Err(Failure::call("a put cannot both expect no item and expect something of it"))
            }
        }
    }

    /// The update of whole attributes, and the other operations.
    pub(crate) fn update(
        self,
        model: &Model,
        table: &Table,
    ) -> Result<(Update, Vec<AttributeOperation>), Failure> {
        if let Some(name) = self.remove.iter().find(|name| self.set.contains_key(*name)) {
            return Err(Failure::call(format_args!("the update sets and removes attribute `{name}`")));
        }
        let mut update = Update::new().expecting(self.expected(model, table)?);
        let mut operations = Vec::new();
        for (name, value) in self.set {
            match path(table, &name) {
                Some(path) => operations.push(AttributeOperation::Set(path, value)),
                None => update = update.set(name, value),
            }
        }
        for name in self.remove {
            match path(table, &name) {
                Some(path) => operations.push(AttributeOperation::Remove(path)),
                None => update = update.remove(name),
            }
        }
        let whole = |name: &str| path(table, name).unwrap_or_else(|| Path::attribute(name));
        let set_if_absent = self.set_if_absent.into_iter();
        operations
            .extend(set_if_absent.map(|(name, value)| AttributeOperation::SetIfAbsent(whole(&name), value)));
        for (name, value) in self.add {
            operations.push(match value {
                AttributeValue::N(_) => AttributeOperation::Count(whole(&name), value),
                _ => AttributeOperation::AddElements(elements("add", table, name, &value)?, value),
            });
        }
        for (name, value) in self.delete {
            operations
                .push(AttributeOperation::DeleteElements(elements("delete", table, name, &value)?, value));
        }
        for (name, value) in self.append {
            operations.push(AttributeOperation::Append(list("append", &name, &value, whole(&name))?, value));
        }
        for (name, value) in self.prepend {
            operations
                .push(AttributeOperation::Prepend(list("prepend", &name, &value, whole(&name))?, value));
        }
        if let Some(entity) = self.entity {
            update = update.of_entity(entity);
        }
        Ok((if self.reading { update.reading() } else { update }, operations))
    }
}

/// The path that a name with a dot means; `None` for the name of an attribute.
fn path(table: &Table, name: &str) -> Option<Path> {
    if table.attributes.contains_key(name) {
        return None;
    }
    let (root, inner) = name.split_once('.')?;
    Some(Path { root: root.to_owned(), inner: inner.split('.').map(str::to_owned).collect() })
}

/// The attribute of a set. DynamoDB does not change sets inside a map in this way.
fn elements(field: &str, table: &Table, name: String, value: &AttributeValue) -> Result<String, Failure> {
    let is_set = matches!(value, AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_));
    match is_set && path(table, &name).is_none() {
        true => Ok(name),
        false => Err(Failure::call(format_args!(
            "`{field}` of attribute `{name}`: expected {}a set of an attribute that is not inside a map",
            if field == "add" { "a number, or " } else { "" }
        ))),
    }
}

fn list(field: &str, name: &str, value: &AttributeValue, path: Path) -> Result<Path, Failure> {
    match value {
        AttributeValue::L(_) => Ok(path),
        _ => Err(Failure::call(format_args!("`{field}` of attribute `{name}`: expected a list"))),
    }
}
