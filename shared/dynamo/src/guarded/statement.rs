//! A write as a PartiQL statement, where it can be one: 25 of them go in one round trip, each with a result of its own.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html>

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeValue as SdkValue, BatchStatementError, BatchStatementErrorCodeEnum, BatchStatementRequest,
    BatchStatementResponse, ReturnConsumedCapacity,
};
use keyfold_core::condition::{Comparison, Condition};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_core::write::{Action, Guard};

use crate::consumed::{self, Consumed};
use crate::error::{Call, DynamoError, Hidden};

/// The most statements that DynamoDB takes in one request.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html>
pub const STATEMENTS_MAX: usize = 25;
/// The longest statement that DynamoDB takes.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementRequest.html>
pub const STATEMENT_CHARS_MAX: usize = 8192;

/// The write as a statement: an INSERT where nothing may be, or an UPDATE with its guard in WHERE. `None` for all others.
pub(crate) fn statement(table: &str, action: &Action, guard: &Guard) -> Option<BatchStatementRequest> {
    let statement = match (action, guard) {
        (Action::Put(item), Guard::Absent) => insert(table, item).ok()?,
        (Action::Update { key, set, remove }, Guard::Present(condition)) => {
            update(table, key, set, remove, condition)?
        }
        _ => return None,
    };
    short_enough(statement)
}

/// A put as an INSERT, though its guard lets it go over something older too. `None` for all other writes.
pub(crate) fn put_as_insert(table: &str, action: &Action, guard: &Guard) -> Option<BatchStatementRequest> {
    match (action, guard) {
        (Action::Put(item), Guard::Absent | Guard::AbsentOr(_)) => short_enough(insert(table, item).ok()?),
        _ => None,
    }
}

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
pub(crate) fn insert_chars(table: &str, item: &Item) -> usize {
    let name = |name: &String| name.chars().count() + name.matches('\'').count() + "'': ?, ".len();
    head(table).chars().count() + "{}".len() + item.keys().map(name).sum::<usize>()
}

fn head(table: &str) -> String {
    format!("INSERT INTO \"{}\" VALUE ", table.replace('"', "\"\""))
}

fn short_enough(statement: BatchStatementRequest) -> Option<BatchStatementRequest> {
    (statement.statement().len() <= STATEMENT_CHARS_MAX).then_some(statement)
}

fn update(
    table: &str,
    key: &Item,
    set: &[(String, AttributeValue)],
    remove: &[String],
    condition: &Condition,
) -> Option<BatchStatementRequest> {
    let mut parameters = Vec::new();
    let mut text = String::from("UPDATE ");
    quote(&mut text, table);
    for (name, value) in set {
        text.push_str(" SET ");
        quote(&mut text, name);
        text.push_str(" = ?");
        parameters.push(value.clone().into());
    }
    for name in remove {
        text.push_str(" REMOVE ");
        quote(&mut text, name);
    }
    text.push_str(" WHERE ");
    let mut names: Vec<_> = key.iter().collect();
    names.sort_unstable_by_key(|(name, _)| *name);
    for (at, (name, value)) in names.into_iter().enumerate() {
        text.push_str(if at == 0 { "" } else { " AND " });
        quote(&mut text, name);
        text.push_str(" = ?");
        parameters.push(value.clone().into());
    }
    test(condition, key, &mut text, &mut parameters)?;
    BatchStatementRequest::builder().statement(text).set_parameters(Some(parameters)).build().ok()
}

/// Adds the condition's parts after the key; `None` if it has one that is not written here.
fn test(condition: &Condition, key: &Item, text: &mut String, parameters: &mut Vec<SdkValue>) -> Option<()> {
    match condition {
        Condition::All(parts) => {
            parts.iter().try_for_each(|part| test(part, key, text, parameters).ok_or(())).ok()
        }
        Condition::Is(path, Comparison::Equal(value)) => {
            let name = path.as_attribute()?;
            // The key is in the statement already.
            if !key.contains_key(name) {
                text.push_str(" AND ");
                quote(text, name);
                text.push_str(" = ?");
                parameters.push(value.clone().into());
            }
            Some(())
        }
        Condition::Is(path, Comparison::Exists(false)) => {
            text.push_str(" AND ");
            quote(text, path.as_attribute()?);
            text.push_str(" IS MISSING");
            Some(())
        }
        Condition::Is(..) | Condition::Any(_) | Condition::Not(_) => None,
    }
}

/// Writes a name in quotes.
fn quote(text: &mut String, name: &str) {
    text.push('"');
    if name.contains('"') {
        text.push_str(&name.replace('"', "\"\""));
    } else {
        text.push_str(name);
    }
    text.push('"');
}

/// Sends the statements in one request, once: what became of each, and what they cost. An error is one of the whole request.
pub(crate) async fn execute(
    client: &Client,
    table: &str,
    statements: Vec<BatchStatementRequest>,
) -> Result<(Vec<StatementResult>, Consumed), DynamoError> {
    let call = Call::new("BatchExecuteStatement", table);
    let count = statements.len();
    let answer = client
        .batch_execute_statement()
        .set_statements(Some(statements))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .map_err(|error| DynamoError::of(call.clone(), error))?;
    let mut results: Vec<_> =
        answer.responses().iter().map(|response| StatementResult::of(&call, response)).collect();
    // An answer that lacks a result says nothing of that statement: it may have been carried out.
    let unknown = || StatementResult::Failed(Arc::new(DynamoError::Unreadable { call: call.clone() }));
    results.resize_with(count, unknown);
    Ok((results, consumed::of_all(answer.consumed_capacity())))
}

/// What became of one statement.
#[derive(Debug, Clone)]
pub(crate) enum StatementResult {
    Written,
    /// The guard did not hold. DynamoDB does not tell what was there.
    Refused,
    /// Shared, because a request that fails as a whole fails all of its statements.
    Failed(Arc<DynamoError>),
}

impl StatementResult {
    fn of(call: &Call, response: &BatchStatementResponse) -> StatementResult {
        use BatchStatementErrorCodeEnum as Code;
        let Some(error) = response.error() else { return StatementResult::Written };
        let call = || call.clone();
        let failed = match error.code() {
            Some(Code::DuplicateItem | Code::ConditionalCheckFailed) => return StatementResult::Refused,
            Some(
                Code::ProvisionedThroughputExceeded | Code::RequestLimitExceeded | Code::ThrottlingError,
            ) => DynamoError::Throttled { call: call(), reasons: Vec::new() },
            Some(Code::TransactionConflict) => DynamoError::Conflict { call: call() },
            Some(Code::InternalServerError) => DynamoError::Unavailable { call: call() },
            Some(Code::ItemCollectionSizeLimitExceeded) => DynamoError::CollectionFull { call: call() },
            Some(Code::ValidationError) => DynamoError::Invalid { call: call(), detail: detail(error) },
            Some(Code::AccessDenied) => {
                DynamoError::Denied { call: call(), reason: "AccessDenied".to_owned() }
            }
            Some(Code::ResourceNotFound) => DynamoError::NotFound { call: call() },
            other => {
                let reason = other.map_or("unknown", Code::as_str).to_owned();
                DynamoError::Other { call: call(), reason, detail: detail(error) }
            }
        };
        StatementResult::Failed(Arc::new(failed))
    }
}

fn detail(error: &BatchStatementError) -> Hidden<String> {
    Hidden::new(error.message().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyfold_core::condition::Path;

    fn value(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn item<const N: usize>(attributes: [(&str, &str); N]) -> Item {
        let mut item = Item::default();
        item.extend(attributes.map(|(name, text)| (name.to_owned(), value(text))));
        item
    }

    fn is(name: &str, comparison: Comparison) -> Condition {
        Condition::Is(Path::attribute(name), comparison)
    }

    fn said(action: &Action, guard: &Guard) -> Option<(String, Vec<String>)> {
        let statement = statement("Au\"dit", action, guard)?;
        let parameters = statement.parameters().iter().map(|value| value.as_s().unwrap().clone());
        Some((statement.statement().to_owned(), parameters.collect()))
    }

    fn update(condition: Condition) -> Option<(String, Vec<String>)> {
        let set = vec![("k\"ey".to_owned(), value("1")), ("other".to_owned(), value("2"))];
        let action =
            Action::Update { key: item([("sk", "b"), ("pk", "a")]), set, remove: vec!["old".to_owned()] };
        said(&action, &Guard::Present(condition))
    }

    #[test]
    fn a_put_where_nothing_may_be_is_an_insert() {
        let (text, parameters) =
            said(&Action::Put(item([("it's", "1"), ("a", "2")])), &Guard::Absent).unwrap();
        assert_eq!(text, r#"INSERT INTO "Au""dit" VALUE {'a': ?, 'it''s': ?}"#);
        assert_eq!(parameters, ["2", "1"]);
    }

    #[test]
    fn an_update_has_its_key_once_and_all_of_its_guard() {
        let guard = Condition::all([
            is("pk", Comparison::Equal(value("a"))),
            is("part", Comparison::Equal(value("c"))),
            is("gone", Comparison::Exists(false)),
        ]);
        let (text, parameters) = update(guard).unwrap();
        let set = r#"UPDATE "Au""dit" SET "k""ey" = ? SET "other" = ? REMOVE "old""#;
        assert_eq!(
            text,
            format!(r#"{set} WHERE "pk" = ? AND "sk" = ? AND "part" = ? AND "gone" IS MISSING"#)
        );
        assert_eq!(parameters, ["1", "2", "a", "b", "c"]);
    }

    #[test]
    fn a_guard_that_cannot_be_written_is_never_left_out() {
        let newer = is("fence", Comparison::Less(value("f")));
        assert_eq!(update(newer.clone()), None);
        assert_eq!(update(Condition::all([is("part", Comparison::Equal(value("c"))), newer.clone()])), None);
        assert_eq!(update(Condition::Any(vec![newer.clone()])), None);
        let put = || Action::Put(item([("pk", "a")]));
        assert_eq!(said(&put(), &Guard::AbsentOr(newer.clone())), None);
        assert_eq!(said(&put(), &Guard::Present(newer.clone())), None);
        assert_eq!(said(&Action::Delete(item([("pk", "a")])), &Guard::Present(newer)), None);
    }

    #[test]
    fn a_statement_that_is_too_long_is_none() {
        let name = "n".repeat(STATEMENT_CHARS_MAX);
        assert_eq!(said(&Action::Put(item([(&name, "1")])), &Guard::Absent), None);
    }

    #[test]
    fn names_are_quoted_and_values_are_parameters() {
        let item: Item =
            serde_json::from_str(r#"{"it's":{"S":"'}, "},"id":{"S":"1"},"a \" ?":{"N":"2"}}"#).unwrap();
        let statement = insert("Audit", &item).unwrap();
        assert_eq!(statement.statement(), r#"INSERT INTO "Audit" VALUE {'a " ?': ?, 'id': ?, 'it''s': ?}"#);
        assert_eq!(statement.parameters().len(), 3);
        assert!(insert_chars("Audit", &item) >= statement.statement().len());
    }
}
