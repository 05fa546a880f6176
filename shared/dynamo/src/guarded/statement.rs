//! A write as a PartiQL statement, if possible: 25 of them fit in one round trip, each with a separate result.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html>

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::batch_execute_statement::BatchExecuteStatementOutput;
use aws_sdk_dynamodb::types::{
    BatchStatementError, BatchStatementErrorCodeEnum, BatchStatementResponse, Delete, Put,
    ReturnConsumedCapacity, TransactWriteItem, Update,
};
use keyfold_core::condition::{Comparison, Condition};
use keyfold_core::json::write;
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_core::write::{Action, Guard, WriteExpressions};

use super::builder::guarded;
use crate::consumed::{self, Consumed};
use crate::error::{Call, DynamoError, Hidden};
use crate::values::copy_to_sdk;
use crate::wire::{
    BATCH_EXECUTE_STATEMENT, Body, BodyText, Exchange, STATEMENTS, StatementAnswer, StatementsAnswer, send,
};

/// Maximum statements in one DynamoDB request.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html>
pub const STATEMENTS_MAX: usize = 25;
/// DynamoDB's maximum length of a statement.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementRequest.html>
pub const STATEMENT_CHARS_MAX: usize = 8192;
/// Initial capacity for the values of a statement, and for the text of an UPDATE: most items have a few hundred bytes.
const STATEMENT_BYTES_GUESSED: usize = 512;
/// Initial capacity for the values of an UPDATE: its keys and their attributes.
const PARAMETERS_GUESSED: usize = 16;

/// A statement with its parameters, as DynamoDB's JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement(Hidden<String>);

impl Statement {
    /// The JSON before the text of a statement.
    const OPENING: &str = "{\"Statement\":\"";

    /// Starts a statement; its text follows, escaped for JSON. `bytes`: the approximate length of the text.
    fn opened(bytes: usize) -> String {
        let mut json = String::with_capacity(bytes + STATEMENT_BYTES_GUESSED);
        json.push_str(Statement::OPENING);
        json
    }

    /// The statement, if its text is short enough. Escapes count, so some statements that DynamoDB would accept become
    /// single requests.
    fn short<'v>(json: String, parameters: impl Iterator<Item = &'v AttributeValue>) -> Option<Statement> {
        let is_short = json.len() - Statement::OPENING.len() <= STATEMENT_CHARS_MAX;
        is_short.then(|| Statement::closed(json, parameters))
    }

    /// Completes the statement: after its text, the values of its parameters.
    fn closed<'v>(mut json: String, parameters: impl Iterator<Item = &'v AttributeValue>) -> Statement {
        json.push_str("\",\"Parameters\":");
        write::elements(&mut json, parameters, write::value);
        json.push('}');
        Statement(Hidden::new(json))
    }
}

/// The write as a statement: an INSERT if the key must be free, or an UPDATE with its guard in WHERE. `None` for all
/// others.
pub(crate) fn statement(table: &str, action: &Action, guard: &Guard) -> Option<Statement> {
    match (action, guard) {
        (Action::Put(item), Guard::Absent) => short_insert(table, item),
        (Action::Update { key, set, remove }, Guard::Present(condition)) => {
            update(table, key, set, remove, condition)
        }
        _ => None,
    }
}

/// A put as an INSERT, although its guard also allows replacing an older item. `None` for all other writes.
pub(crate) fn put_as_insert(table: &str, action: &Action, guard: &Guard) -> Option<Statement> {
    match (action, guard) {
        (Action::Put(item), Guard::Absent | Guard::AbsentOr(_)) => short_insert(table, item),
        _ => None,
    }
}

/// The statement that inserts an item if its key is free.
pub(crate) fn insert(table: &str, item: &Item) -> Statement {
    Statement::closed(insert_text(table, item), item.values())
}

fn short_insert(table: &str, item: &Item) -> Option<Statement> {
    Statement::short(insert_text(table, item), item.values())
}

/// Items with the same attributes have the same text, which DynamoDB can cache: an item's names are sorted.
fn insert_text(table: &str, item: &Item) -> String {
    let room = item.keys().map(|name| name.len() + "'': ?, ".len()).sum::<usize>();
    let mut text = Statement::opened(HEAD.len() + table.len() + room + "\"\" VALUE {}".len());
    head(&mut text, table);
    for (at, name) in item.keys().enumerate() {
        text.push_str(if at == 0 { "{'" } else { ", '" });
        if name.contains('\'') {
            write::inside(&mut text, &name.replace('\'', "''"));
        } else {
            write::inside(&mut text, name);
        }
        text.push_str("': ?");
    }
    text.push('}');
    text
}

/// The length of an item's statement.
pub(crate) fn insert_chars(table: &str, item: &Item) -> usize {
    let mut text = String::new();
    head(&mut text, table);
    let name = |name: &Name| name.chars().count() + name.matches('\'').count() + "'': ?, ".len();
    text.chars().count() + "{}".len() + item.keys().map(name).sum::<usize>()
}

const HEAD: &str = "INSERT INTO ";

fn head(text: &mut String, table: &str) {
    text.push_str(HEAD);
    quote(text, table);
    text.push_str(" VALUE ");
}

fn update(
    table: &str,
    key: &Item,
    set: &[(Name, AttributeValue)],
    remove: &[String],
    condition: &Condition,
) -> Option<Statement> {
    let mut parameters = Vec::with_capacity(PARAMETERS_GUESSED);
    let mut text = Statement::opened(STATEMENT_BYTES_GUESSED);
    text.push_str("UPDATE ");
    quote(&mut text, table);
    for (name, value) in set {
        text.push_str(" SET ");
        quote(&mut text, name);
        text.push_str(" = ?");
        parameters.push(value);
    }
    for name in remove {
        text.push_str(" REMOVE ");
        quote(&mut text, name);
    }
    text.push_str(" WHERE ");
    for (at, (name, value)) in key.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { " AND " });
        quote(&mut text, name);
        text.push_str(" = ?");
        parameters.push(value);
    }
    test(condition, key, &mut text, &mut parameters)?;
    Statement::short(text, parameters.into_iter())
}

/// Adds the condition's parts after the key; `None` if a part is not supported here.
fn test<'c>(
    condition: &'c Condition,
    key: &Item,
    text: &mut String,
    parameters: &mut Vec<&'c AttributeValue>,
) -> Option<()> {
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
                parameters.push(value);
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

/// Writes a name in quotes, both escaped for JSON.
fn quote(text: &mut String, name: &str) {
    text.push_str("\\\"");
    if name.contains('"') {
        write::inside(text, &name.replace('"', "\"\""));
    } else {
        write::inside(text, name);
    }
    text.push_str("\\\"");
}

/// Sends the statements in one request, once: their results and their cost. An error is one of the whole request.
pub(crate) async fn execute(
    client: &Client,
    table: &str,
    statements: Vec<Statement>,
) -> Result<(Vec<StatementResult>, Consumed), DynamoError> {
    let call = Call::new("BatchExecuteStatement", table);
    let count = statements.len();
    let exchange = Exchange::of(&STATEMENTS, body(&statements));
    let answer = send!(exchange, client, client.batch_execute_statement())
        .map_err(|error| DynamoError::of(call.clone(), error))?;
    let (mut results, consumed) = match exchange.take() {
        Some(StatementsAnswer { answers, consumed }) => {
            (answers.into_iter().map(StatementResult::from).collect(), consumed)
        }
        None => sdk_results(&answer, &call),
    };
    // A missing result leaves the outcome of that statement unknown.
    let unknown = || StatementResult::Failed(Arc::new(DynamoError::Unreadable { call: call.clone() }));
    results.resize_with(count, unknown);
    Ok((results, consumed))
}

/// The request.
pub(crate) fn body(statements: &[Statement]) -> Body {
    let bytes: usize = statements.iter().map(|statement| statement.0.reveal().len() + 1).sum();
    BodyText::of(
        &BATCH_EXECUTE_STATEMENT,
        bytes + "{'Statements':[],'ReturnConsumedCapacity':'INDEXES'}".len(),
    )
    .member("Statements", |out| {
        write::elements(out, statements, |out, statement| out.push_str(statement.0.reveal()));
    })
    .text("ReturnConsumedCapacity", Some(ReturnConsumedCapacity::Indexes.as_str()))
    .done()
}

/// The SDK's results, and the cost.
pub(crate) fn sdk_results(
    answer: &BatchExecuteStatementOutput,
    call: &Call,
) -> (Vec<StatementResult>, Consumed) {
    let results = answer.responses().iter().map(|response| StatementResult::of(call, response)).collect();
    (results, consumed::of_all(answer.consumed_capacity()))
}

/// The result of one statement.
#[derive(Debug, Clone)]
pub(crate) enum StatementResult {
    Written,
    /// The guard failed. DynamoDB does not return the item.
    Refused,
    /// Shared, because a failed request fails all of its statements.
    Failed(Arc<DynamoError>),
}

impl From<StatementAnswer> for StatementResult {
    fn from(answer: StatementAnswer) -> StatementResult {
        match answer {
            StatementAnswer::Written => StatementResult::Written,
            StatementAnswer::Refused => StatementResult::Refused,
        }
    }
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

/// The write with its guard, in a transaction, which succeeds only if every guard holds.
pub(crate) fn part_of_transaction(
    table: &Table,
    action: &Action,
    guard: &Guard,
) -> Result<TransactWriteItem, BuildError> {
    let mut expressions = WriteExpressions::of(table, action, Some(guard));
    let part = TransactWriteItem::builder();
    Ok(match action {
        Action::Put(item) => {
            let put = guarded!(Put::builder(), table, expressions).set_item(Some(copy_to_sdk(item)));
            part.put(put.build()?)
        }
        Action::Update { key, .. } => {
            let update = expressions.update.take();
            let update = guarded!(Update::builder(), table, expressions)
                .set_key(Some(copy_to_sdk(key)))
                .set_update_expression(update);
            part.update(update.build()?)
        }
        Action::Delete(key) => {
            let delete = guarded!(Delete::builder(), table, expressions).set_key(Some(copy_to_sdk(key)));
            part.delete(delete.build()?)
        }
    }
    .build())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::operation::batch_execute_statement::{
        BatchExecuteStatement, BatchExecuteStatementInput,
    };
    use aws_sdk_dynamodb::types::BatchStatementRequest;
    use aws_smithy_runtime_api::client::interceptors::context::Input;
    use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
    use keyfold_core::condition::Path;
    use keyfold_testkit::case::Case;
    use serde_json::{Value, json};

    use crate::wire::sent_request;

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
        let json: Value = serde_json::from_str(statement("Au\"dit", action, guard)?.0.reveal()).unwrap();
        let text = |json: &Value| json.as_str().unwrap().to_owned();
        let parameters = json["Parameters"].as_array().unwrap().iter().map(|value| text(&value["S"]));
        Some((text(&json["Statement"]), parameters.collect()))
    }

    fn update(condition: Condition) -> Option<(String, Vec<String>)> {
        let set = vec![("k\"ey".into(), value("1")), ("other".into(), value("2"))];
        let action = Action::Update {
            key: Arc::new(item([("sk", "b"), ("pk", "a")])),
            set,
            remove: vec!["old".to_owned()],
        };
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
        let statement: Value = serde_json::from_str(insert("Audit", &item).0.reveal()).unwrap();
        let text = statement["Statement"].as_str().unwrap();
        assert_eq!(text, r#"INSERT INTO "Audit" VALUE {'a " ?': ?, 'id': ?, 'it''s': ?}"#);
        assert_eq!(statement["Parameters"], json!([{ "N": "2" }, { "S": "1" }, { "S": "'}, " }]));
        assert!(insert_chars("Audit", &item) >= text.len());
    }

    #[test]
    fn our_request_is_that_of_the_sdk() {
        for seed in 0..300 {
            let case = Case::new(seed);
            let items: Vec<&Item> = case.items.iter().map(|item| &item.stored).collect();
            let sdk = items.iter().map(|item| {
                let json = insert_text("T", item);
                let text = &json[Statement::OPENING.len()..];
                let text: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
                let values = item.values().map(|value| value.clone().into()).collect();
                BatchStatementRequest::builder().statement(text).set_parameters(Some(values)).build().unwrap()
            });
            let input = BatchExecuteStatementInput::builder()
                .set_statements(Some(sdk.collect()))
                .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
                .build();
            let ours: Vec<Statement> = items.iter().map(|item| insert("T", item)).collect();
            let sdk = sent_request(BatchExecuteStatement::new().config(), Input::erase(input.unwrap()));
            assert_eq!(body(&ours).sent_request(), sdk, "{seed}");
        }
    }
}
