//! One item as a PartiQL `INSERT`: names in the text, values as parameters.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::BatchStatementRequest;
use keyfold_core::value::Item;

/// The longest statement that DynamoDB takes.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementRequest.html>
pub const STATEMENT_CHARS_MAX: usize = 8192;

/// The statement that writes an item where none has its key.
pub(crate) fn insert(table: &str, item: &Item) -> Result<BatchStatementRequest, BuildError> {
    let mut attributes: Vec<_> = item.iter().collect();
    // Sorted, so that items with the same attributes have the same text, which DynamoDB need not parse anew.
    attributes.sort_unstable_by_key(|(name, _)| *name);
    let mut text = head(table);
    text.reserve(attributes.iter().map(|(name, _)| name.len() + "'': ?, ".len()).sum::<usize>() + "{}".len());
    for (at, (name, _)) in attributes.iter().enumerate() {
        text.push_str(if at == 0 { "{'" } else { ", '" });
        if name.contains('\'') {
            text.push_str(&name.replace('\'', "''"));
        } else {
            text.push_str(name);
        }
        text.push_str("': ?");
    }
    text.push('}');
    BatchStatementRequest::builder()
        .statement(text)
        .set_parameters(Some(attributes.into_iter().map(|(_, value)| value.clone().into()).collect()))
        .build()
}

/// How long the statement of an item is.
pub(super) fn statement_chars(table: &str, item: &Item) -> usize {
    let name = |name: &String| name.chars().count() + name.matches('\'').count() + "'': ?, ".len();
    head(table).chars().count() + "{}".len() + item.keys().map(name).sum::<usize>()
}

fn head(table: &str) -> String {
    format!("INSERT INTO \"{}\" VALUE ", table.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_values_are_parameters() {
        let item: Item =
            serde_json::from_str(r#"{"it's":{"S":"'}, "},"id":{"S":"1"},"a \" ?":{"N":"2"}}"#).unwrap();
        let statement = insert("Audit", &item).unwrap();
        assert_eq!(statement.statement(), r#"INSERT INTO "Audit" VALUE {'a " ?': ?, 'id': ?, 'it''s': ?}"#);
        assert_eq!(statement.parameters().len(), 3);
        assert!(statement_chars("Audit", &item) >= statement.statement().len());
    }
}
