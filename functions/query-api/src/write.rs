//! Writes of one item: put, update or delete, with its folded keys, within the caller's scope.
//!
//! A table can be written if `[deploy]` lists it in `query-api-writes`. All checks run before anything is sent. Items
//! outside the caller's scope look like items that do not exist.

use keyfold_core::index::ItemError;
use keyfold_core::model::Table;
use keyfold_core::query::check::{Caller, find_table};
use keyfold_core::query::readiness::Pending;
use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_core::write::{Guard, JsonItemError, ScopeError, WriteScope, item_of_json};
use keyfold_dynamo::{
    Consumed, DynamoError, Expected, Update, UpdateError, UpdateRefusal, WriteError, delete, put_if, update,
};
use keyfold_edge::Problem;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Record;
use crate::context::RequestContext;

/// Maximum body of a write: an item of 400 KB, with room for the notation.
pub(crate) const WRITE_BODY_BYTES_MAX: usize = 1024 * 1024;

/// Maximum attributes that an update sets and removes, and that `if` compares: a DynamoDB expression has at most 4 KB.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
const CHANGES_MAX: usize = 200;
const EXPECTED_MAX: usize = 100;

/// The message of DynamoDB for an update after which the item would be larger than 400 KB: the size of what is stored is not known here.
const UPDATE_TOO_LARGE: &str = "Item size to update has exceeded the maximum allowed size";

/// The kind of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// A whole item.
    Put,
    /// Some attributes of an item.
    Update,
    /// Deletes an item.
    Delete,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutBody {
    table: String,
    item: Box<RawValue>,
    entity: Option<String>,
    /// Replaces an item with the same key.
    #[serde(default)]
    replace: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateBody {
    table: String,
    key: Box<RawValue>,
    set: Option<Box<RawValue>>,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(rename = "if")]
    expected: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteBody {
    table: String,
    key: Box<RawValue>,
    #[serde(rename = "if")]
    expected: Option<Box<RawValue>>,
}

/// Performs the write of a body. The answer contains the consumed units.
pub(crate) async fn write(
    context: &RequestContext<'_>,
    write: Write,
    body: &[u8],
    record: &mut Record,
) -> Result<Value, Problem> {
    let (answer, consumed) = match write {
        Write::Put => put(context, read(body)?, record).await,
        Write::Update => change(context, read(body)?, record).await,
        Write::Delete => remove(context, read(body)?, record).await,
    }?;
    record.consumed_write_units = consumed.units;
    Ok(answer)
}

async fn put(
    context: &RequestContext<'_>,
    body: PutBody,
    record: &mut Record,
) -> Result<(Value, Consumed), Problem> {
    let (table, scope) = writable(context, &body.table, record).await?;
    let item = attributes(table, &body.item)?;
    let item = match &body.entity {
        Some(entity) => table.as_entity(item, entity).map_err(|error| bad_item(&error))?,
        None => item,
    };
    table.check_names(item.keys(), &item).map_err(|error| bad_item(&error))?;
    let item = scope.item(&item).map_err(|error| out_of_scope(&error))?;
    let guard = match body.replace {
        true => scope.replaceable(&item).map_err(|error| out_of_scope(&error))?,
        false => Some(Guard::Absent),
    };
    let written = in_time(context, put_if(&context.api.client, table, item, guard.as_ref())).await?;
    let consumed = written.map_err(|error| match error {
        WriteError::Dynamo(DynamoError::ConditionFailed { .. }) => item_exists(table, body.replace),
        error => failed(error),
    })?;
    Ok((json!({ "consumedUnits": consumed.units }), consumed))
}

async fn change(
    context: &RequestContext<'_>,
    body: UpdateBody,
    record: &mut Record,
) -> Result<(Value, Consumed), Problem> {
    let (table, scope) = writable(context, &body.table, record).await?;
    let expected = expected(table, body.expected.as_deref())?;
    let set = body.set.as_deref().map(|set| attributes(table, set)).transpose()?.unwrap_or_default();
    if set.len() + body.remove.len() > CHANGES_MAX {
        return Err(over_limit(format!("an update sets and removes at most {CHANGES_MAX} attributes")));
    }
    if let Some(twice) = body.remove.iter().find(|name| set.contains_key(*name)) {
        return Err(Problem::malformed(format!("attribute `{twice}` is both set and removed")));
    }
    scope
        .check_change(set.keys().map(Name::as_str).chain(body.remove.iter().map(String::as_str)))
        .map_err(|error| out_of_scope(&error))?;
    let key = attributes(table, &body.key)?;
    let key = scope.key(&key).map_err(|error| out_of_scope(&error))?.ok_or_else(|| not_found(table))?;
    let expected = scope.expected(&key, expected).map_err(|error| out_of_scope(&error))?;
    let set =
        set.iter().fold(Update::new(), |change, (name, value)| change.set(name.as_str(), value.clone()));
    let change = body.remove.into_iter().fold(set, Update::remove).expecting(expected).reading();
    let updated = in_time(context, update(&context.api.client, table, &key, &change)).await?;
    let updated = updated.map_err(|error| match error {
        UpdateError::Refused(UpdateRefusal::Expectation { item, .. }) if !scope.holds(item.reveal()) => {
            not_found(table)
        }
        UpdateError::Refused(error) => refused(&error),
        UpdateError::Dynamo(error) => not_updated(table, error),
    })?;
    Ok((json!({ "consumedUnits": updated.consumed.units }), updated.consumed))
}

async fn remove(
    context: &RequestContext<'_>,
    body: DeleteBody,
    record: &mut Record,
) -> Result<(Value, Consumed), Problem> {
    let (table, scope) = writable(context, &body.table, record).await?;
    let expected = expected(table, body.expected.as_deref())?;
    let key = attributes(table, &body.key)?;
    let key = scope.key(&key).map_err(|error| out_of_scope(&error))?;
    let is_conditional = !expected.is_empty();
    let deleted = match &key {
        Some(key) => {
            let expected = scope.expected(key, expected).map_err(|error| out_of_scope(&error))?;
            in_time(context, delete(&context.api.client, table, key, &expected)).await?.map(Some)
        }
        None => Ok(None),
    };
    // The consumed units would reveal an item that the caller may not see.
    let nothing = || match is_conditional {
        true => Err(not_found(table)),
        false => Ok((json!({ "deleted": false }), Consumed::default())),
    };
    match deleted {
        Ok(Some(deleted)) if deleted.item.is_some() => {
            let answer = json!({ "deleted": true, "consumedUnits": deleted.consumed.units });
            Ok((answer, deleted.consumed))
        }
        Ok(_) => nothing(),
        Err(WriteError::Dynamo(DynamoError::ConditionFailed { item, .. })) => match item.reveal() {
            Some(item) if scope.holds(item) => Err(not_as_expected(table)),
            _ => nothing(),
        },
        Err(error) => Err(failed(error)),
    }
}

/// The table and the caller's scope in it, if the caller may write.
async fn writable<'a>(
    context: &RequestContext<'a>,
    table: &str,
    record: &mut Record,
) -> Result<(&'a Table, WriteScope<'a>), Problem> {
    let api = context.api;
    let table = find_table(&api.model, table)?;
    record.table = Some(table.id.clone());
    let scope = WriteScope::of(table, context.caller)?;
    context.authorize(table, api.grants.write.as_deref())?;
    if api.grants.write.is_none() && !is_trusted_writer(context.caller) {
        return Err(no_write_scope());
    }
    if !api.model.deploy.query_api_writes.contains(&table.id) {
        let detail = format!("table `{}` cannot be written through this API", table.id);
        let hint = "the manifest lists the tables that can be in `query-api-writes`, under `[deploy]`";
        return Err(Problem::new(403, "table-not-writable", detail).hint(hint));
    }
    let readiness = context.admit(table).await?;
    match readiness.pending(&table.id, None) {
        Some(pending) => Err(table_pending(table, pending)),
        None => Ok((table, scope)),
    }
}

/// If no OAuth scope is required, an IAM policy must have admitted the caller.
fn is_trusted_writer(caller: &Caller) -> bool {
    match caller {
        Caller::Trusted => true,
        Caller::Claims(claims) => claims.contains_key("iam.userArn"),
    }
}

/// Nothing is sent after the deadline; a write that was sent may have succeeded.
async fn in_time<T>(context: &RequestContext<'_>, work: impl Future<Output = T>) -> Result<T, Problem> {
    tokio::time::timeout(context.time_left(), work).await.map_err(|_| {
        Problem::new(504, "write-unconfirmed", "the write was not confirmed in time: it may have happened")
            .hint("read the item before you write it again")
    })
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if body.len() > WRITE_BODY_BYTES_MAX {
        return Err(Problem::body_too_large(WRITE_BODY_BYTES_MAX));
    }
    serde_json::from_slice(body).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Problem::malformed(format!("the body is not a request of this path ({place})"))
    })
}

fn attributes(table: &Table, text: &RawValue) -> Result<Item, Problem> {
    let item = item_of_json(table, text.get()).map_err(|error| bad_json(&error))?;
    match item.values().find_map(unstorable) {
        None => Ok(item),
        Some(detail) => Err(Problem::malformed(detail)),
    }
}

/// A part of this value that JSON can express and DynamoDB refuses.
fn unstorable(value: &AttributeValue) -> Option<&'static str> {
    match value {
        AttributeValue::L(list) => list.iter().find_map(unstorable),
        AttributeValue::M(members) if members.contains_key("") => Some("a member of a map has no name"),
        AttributeValue::M(members) => members.values().find_map(unstorable),
        AttributeValue::Null(false) => Some("a `NULL` is not `true`"),
        _ => None,
    }
}

/// The expected attributes of the item. `null`: the attribute must be absent.
fn expected(table: &Table, text: Option<&RawValue>) -> Result<Expected, Problem> {
    let wanted = text.map(|text| attributes(table, text)).transpose()?.unwrap_or_default();
    if wanted.len() > EXPECTED_MAX {
        return Err(over_limit(format!("`if` compares at most {EXPECTED_MAX} attributes")));
    }
    table.check_names(wanted.keys(), &wanted).map_err(|error| bad_item(&error))?;
    table.check_values(&wanted).map_err(|error| bad_item(&error))?;
    Ok(wanted.iter().fold(Expected::nothing(), |expected, (name, value)| match value {
        AttributeValue::Null(_) => expected.absent(name.as_str()),
        value => expected.value(name.as_str(), value.clone()),
    }))
}

fn bad_json(error: &JsonItemError) -> Problem {
    Problem::new(400, error.code(), error.to_string())
}

fn over_limit(detail: String) -> Problem {
    Problem::new(400, "over-limit", detail)
}

fn no_write_scope() -> Problem {
    let detail = "this API lets only callers write whom a policy of IAM let through";
    Problem::new(403, "not-granted", detail)
        .hint("set `KEYFOLD_WRITE_SCOPE` to the OAuth scope that a writer's token must grant")
}

fn bad_item(error: &ItemError) -> Problem {
    Problem::new(400, error.code(), error.to_string()).maybe_hint(error.hint())
}

fn out_of_scope(error: &ScopeError) -> Problem {
    match error {
        ScopeError::Request(error) => error.clone().into(),
        ScopeError::Item(error) => bad_item(error),
        ScopeError::KeyWithout { .. } => {
            Problem::new(403, error.code(), error.to_string()).maybe_hint(error.hint())
        }
    }
}

fn failed(error: WriteError) -> Problem {
    match error {
        WriteError::Item(error) => bad_item(&error),
        WriteError::Dynamo(error) => error.into(),
        error => Problem::new(500, error.code(), error.to_string()).maybe_hint(error.hint()),
    }
}

fn not_updated(table: &Table, error: DynamoError) -> Problem {
    match &error {
        DynamoError::Invalid { detail, .. } if detail.reveal().contains(UPDATE_TOO_LARGE) => {
            let detail = format!("the update would make the item of table `{}` larger than 400 KB", table.id);
            Problem::new(400, "item-too-large", detail)
        }
        _ => error.into(),
    }
}

fn refused(error: &UpdateRefusal) -> Problem {
    let status = match error {
        UpdateRefusal::NotFound { .. } => 404,
        UpdateRefusal::Expectation { .. } => 409,
        UpdateRefusal::Contended { .. } => 503,
        _ => 400,
    };
    let problem = Problem::new(status, error.code(), error.to_string()).maybe_hint(error.hint());
    Problem { again: error.is_retryable(), ..problem }
}

/// A late change of the source could undo another program's write.
fn table_pending(table: &Table, pending: &Pending) -> Problem {
    Problem::new(409, "table-pending", format!("table `{}` {pending}", table.id))
        .hint("only the retrofit writes it until `keyfold retrofit switch`: write its source")
}

fn not_found(table: &Table) -> Problem {
    refused(&UpdateRefusal::NotFound { table: table.id.clone() })
}

fn not_as_expected(table: &Table) -> Problem {
    let detail = format!("the item of table `{}` is not as expected; it was left as it is", table.id);
    Problem::new(409, "expectation-failed", detail)
}

fn item_exists(table: &Table, replace: bool) -> Problem {
    let problem = Problem::new(409, "item-exists", format!("table `{}` has an item with this key", table.id));
    // Its key is in the caller's scope and its attributes are not: it was written without Keyfold.
    if replace {
        problem
    } else {
        problem.hint("`\"replace\": true` writes over it; `/update` changes a part of it")
    }
}
