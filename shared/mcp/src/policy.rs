//! The least IAM policy of a server.

use keyfold_core::model::{Model, Projection, Table};
use serde_json::{Value, json};

use crate::hidden::HiddenAttributes;

/// The IAM policy with the rights that the server's calls need, and no others. `region`: `*` for any.
pub fn policy(
    model: &Model,
    control_table: &str,
    hidden: &HiddenAttributes,
    allow_scans: bool,
    region: &str,
) -> Value {
    let arn = |name: &str, below: &str| format!("arn:aws:dynamodb:{region}:*:table/{name}{below}");
    let statement = |sid: &str, operations: &[&str], resources: Vec<String>| {
        let actions: Vec<String> = operations.iter().map(|name| format!("dynamodb:{name}")).collect();
        json!({ "Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources })
    };
    let read: &[&str] = if allow_scans { &["Query", "Scan"] } else { &["Query"] };
    let tables = |wanted: &dyn Fn(&Table) -> bool| -> Vec<String> {
        model.tables.iter().filter(|table| wanted(table)).map(|table| arn(&table.name, "")).collect()
    };
    let mut statements = vec![statement("AskTables", read, tables(&|_| true))];
    let indexes: Vec<String> = model
        .tables
        .iter()
        .flat_map(|table| table.indexes.iter().map(move |index| (table, index)))
        .filter(|(_, index)| hidden.allows_index(index))
        .map(|(table, index)| arn(&table.name, &format!("/index/{}", index.name)))
        .collect();
    if !indexes.is_empty() {
        statements.push(statement("AskIndexes", read, indexes));
    }
    let lacking = tables(&|table| table.indexes.iter().any(|index| index.projection != Projection::All));
    if !lacking.is_empty() {
        statements.push(statement("FetchWhatIndexesLack", &["BatchGetItem"], lacking));
    }
    if !model.retrofits.is_empty() {
        let control = vec![arn(control_table, "")];
        statements.push(statement("ReadRetrofits", &["BatchGetItem", "Query"], control));
        let filled = tables(&|table| model.retrofits.iter().any(|one| one.to == table.id));
        statements.push(statement("SeeIndexesOfRetrofits", &["DescribeTable"], filled));
    }
    json!({ "Version": "2012-10-17", "Statement": statements })
}
