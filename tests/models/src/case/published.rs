//! The published table, and whether a published request scans.

use crate::json::{CaseJson, Json};

/// A table as published.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedTable {
    /// Its name.
    pub name: String,
    /// The attributes of its primary key.
    pub key: Vec<String>,
}

impl PublishedTable {
    pub(super) fn of(json: &Json) -> PublishedTable {
        let Some(table) = json.get("table") else { return PublishedTable::default() };
        let name = table.text("TableName").unwrap_or("published").to_owned();
        let attribute = |element: &Json| element.text("AttributeName").map(str::to_owned);
        PublishedTable { name, key: table.list("KeySchema").iter().filter_map(attribute).collect() }
    }
}

/// Is this request a scan, or is one of its parts?
pub(super) fn scans(request: &Json) -> bool {
    request.text("operation") == Some("Scan") || request.list("queries").iter().any(scans)
}
