//! A late change as the control table keeps it. `keyfold retrofit quarantine` shows it to the operator.

use serde_json::{Value, json};

use super::control::{self, SORT};
use super::misfit::keys;
use crate::value::{AttributeValue, Item};

/// A change of a closed table that the open table does not have.
#[derive(Debug, Clone, PartialEq)]
pub struct LateChange {
    sort: String,
    /// The table that it came to, by its name in DynamoDB.
    pub table: String,
    /// The item's key there.
    pub key: Item,
    /// The item before it.
    pub old: Option<Item>,
    /// The item after it.
    pub new: Option<Item>,
}

impl LateChange {
    /// Reads a row.
    pub fn read(row: &Item) -> Option<LateChange> {
        let map = |name: &str| match row.get(name) {
            Some(AttributeValue::M(members)) => Some(Item::from(members.clone())),
            _ => None,
        };
        Some(LateChange {
            sort: control::text(row, SORT)?.to_owned(),
            table: control::text(row, control::TABLE)?.to_owned(),
            key: map(control::SOURCE_KEY)?,
            old: map(control::OLD),
            new: map(control::NEW),
        })
    }

    /// Its unique name.
    pub fn name(&self) -> &str {
        &self.sort
    }

    /// The key of its row.
    pub fn row_key(&self, retrofit: &str) -> Item {
        control::key(&control::late_partition(retrofit), &self.sort)
    }

    /// What happened: `inserted`, `changed` or `deleted`.
    pub fn what(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "inserted",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "deleted",
        }
    }

    /// As a document. It has the contents of items only with `images`.
    pub fn json(&self, images: bool) -> Value {
        let mut value =
            json!({ "name": self.name(), "table": self.table, "key": self.key, "what": self.what() });
        if images {
            value["old"] = json!(self.old);
            value["new"] = json!(self.new);
        }
        value
    }

    /// As a row of a table for people.
    pub fn row(&self) -> Vec<String> {
        let key = keys(std::slice::from_ref(&self.key));
        vec![self.table.clone(), self.what().to_owned(), key, self.name().to_owned()]
    }
}
