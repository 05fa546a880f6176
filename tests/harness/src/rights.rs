//! The permissions that a DynamoDB call needs, as AWS checks them.
//!
//! <https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html>

use serde_json::Value;

use crate::Request;

/// An action on a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needed {
    /// `dynamodb:PutItem`.
    pub action: String,
    /// The ARN of a table or an index.
    pub resource: String,
}

/// The ARN of a table in the simulated deployment.
pub fn arn(table: &str) -> String {
    format!("arn:aws:dynamodb:us-east-1:123456789012:table/{table}")
}

fn needed(operation: &str, table: &str) -> Needed {
    Needed { action: format!("dynamodb:{operation}"), resource: arn(table) }
}

/// All permissions that a call needs. An unknown call needs one that no role has.
pub fn needs(request: &Request) -> Vec<Needed> {
    let (operation, body) = (request.operation.as_str(), &request.body);
    let table = body["TableName"].as_str().unwrap_or_default();
    match operation {
        "Query" | "Scan" => {
            let mut one = needed(operation, table);
            if let Some(index) = body["IndexName"].as_str() {
                one.resource = format!("{}/index/{index}", one.resource);
            }
            vec![one]
        }
        "BatchGetItem" | "BatchWriteItem" => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            tables.map(|(table, _)| needed(operation, table)).collect()
        }
        // A transaction needs the permissions of its parts.
        "TransactWriteItems" | "TransactGetItems" => list(&body["TransactItems"]).flat_map(parts).collect(),
        "ExecuteStatement" => vec![statement(body)],
        "BatchExecuteStatement" => list(&body["Statements"]).map(statement).collect(),
        "ExecuteTransaction" => list(&body["TransactStatements"]).map(statement).collect(),
        "GetResourcePolicy"
        | "PutResourcePolicy"
        | "DeleteResourcePolicy"
        | "ListTagsOfResource"
        | "TagResource" => {
            let table = body["ResourceArn"].as_str().and_then(|arn| arn.split('/').nth(1));
            vec![needed(operation, table.unwrap_or_default())]
        }
        // A stream has its own ARN, which is unknown here.
        "DescribeStream" | "GetShardIterator" | "GetRecords" => Vec::new(),
        _ => vec![needed(operation, table)],
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn parts(item: &Value) -> impl Iterator<Item = Needed> {
    item.as_object().into_iter().flatten().map(|(kind, part)| {
        let operation = match kind.as_str() {
            "ConditionCheck" => "ConditionCheckItem".to_owned(),
            kind => format!("{kind}Item"),
        };
        needed(&operation, part["TableName"].as_str().unwrap_or_default())
    })
}

/// `INSERT INTO "table" VALUE ...`
fn statement(body: &Value) -> Needed {
    let text = body["Statement"].as_str().unwrap_or_default();
    let operation = match text.split_whitespace().next().unwrap_or_default() {
        "INSERT" => "PartiQLInsert",
        "UPDATE" => "PartiQLUpdate",
        "DELETE" => "PartiQLDelete",
        "SELECT" => "PartiQLSelect",
        other => other,
    };
    needed(operation, text.split('"').nth(1).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(operation: &str, body: Value) -> Vec<String> {
        let request = Request { operation: operation.to_owned(), body };
        let short = |one: Needed| {
            let resource = one.resource.split_once("table/").unwrap().1.to_owned();
            format!("{} {resource}", one.action.trim_start_matches("dynamodb:"))
        };
        needs(&request).into_iter().map(short).collect()
    }

    #[test]
    fn a_call_needs_the_rights_of_its_parts() {
        assert_eq!(of("Query", json!({ "TableName": "a", "IndexName": "i" })), ["Query a/index/i"]);
        assert_eq!(
            of("BatchGetItem", json!({ "RequestItems": { "a": {}, "b": {} } })),
            ["BatchGetItem a", "BatchGetItem b"]
        );
        let statements = json!({ "Statements": [{ "Statement": "INSERT INTO \"a\" VALUE {'x':?}" }, { "Statement": "UPDATE \"b\" SET x=?" }] });
        assert_eq!(of("BatchExecuteStatement", statements), ["PartiQLInsert a", "PartiQLUpdate b"]);
        let parts = json!({ "TransactItems": [{ "Put": { "TableName": "a" } }, { "ConditionCheck": { "TableName": "b" } }] });
        assert_eq!(of("TransactWriteItems", parts), ["PutItem a", "ConditionCheckItem b"]);
        assert_eq!(of("DescribeTable", json!({ "TableName": "a" })), ["DescribeTable a"]);
    }
}
