//! Whole responses: a page of a Query or a Scan, the items of a BatchGetItem, and the results of statements.

use std::str::FromStr;

use keyfold_core::execute::{Consumed, Page};
use keyfold_core::json::{JsonError, JsonReason, Reader};
use keyfold_core::value::Item;

/// Room for the attributes of a key: those of an index and those of its table.
const KEY_ATTRIBUTES: usize = 4;

/// The response to a BatchGetItem.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct BatchAnswer {
    /// The items that were read.
    pub(crate) items: Vec<Item>,
    /// The keys that were not.
    pub(crate) left: Vec<Item>,
    /// Its cost.
    pub(crate) consumed: Consumed,
}

/// The results of one BatchExecuteStatement.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct StatementsAnswer {
    /// One for each, in their order.
    pub(crate) answers: Vec<StatementAnswer>,
    /// Their cost.
    pub(crate) consumed: Consumed,
}

/// The result of one statement. Other results are left to the SDK's decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementAnswer {
    Written,
    /// Its guard did not hold.
    Refused,
}

/// The value that `read` finds in a body. `None`: the body contains something that only the SDK's decoder may judge.
fn whole<'b, T>(body: &'b [u8], read: impl FnOnce(&mut Reader<'b>) -> Result<T, JsonError>) -> Option<T> {
    let mut reader = Reader::new(std::str::from_utf8(body).ok()?).with_base64_as_written();
    let answer = read(&mut reader).ok()?;
    reader.end().ok()?;
    Some(answer)
}

/// An answer that is JSON, but not one that is read here.
fn for_the_sdk(reader: &Reader<'_>) -> JsonError {
    reader.error(JsonReason::NotTyped)
}

/// A page.
pub(super) fn page(body: &[u8]) -> Option<Page> {
    let (mut items, mut count, mut scanned) = (None, None, None);
    let (mut last_key, mut consumed) = (None, None);
    whole(body, |reader| {
        reader.object(|reader, name| match &*name {
            "Items" => reader.once(&mut items, Reader::items),
            "Count" => reader.once(&mut count, self::count),
            "ScannedCount" => reader.once(&mut scanned, self::count),
            "LastEvaluatedKey" => reader.once(&mut last_key, |reader| reader.item(KEY_ATTRIBUTES)),
            "ConsumedCapacity" => reader.once(&mut consumed, self::consumed),
            _ => reader.skip(),
        })
    })?;
    Some(Page {
        items: items.unwrap_or_default(),
        count: count.unwrap_or_default(),
        scanned: scanned.unwrap_or_default(),
        // An empty key means that this is the last page.
        last_key: last_key.filter(|key| !key.is_empty()),
        consumed: consumed.unwrap_or_default(),
    })
}

/// The response to a BatchGetItem of one table.
pub(super) fn batch(body: &[u8]) -> Option<BatchAnswer> {
    let (mut items, mut left, mut consumed) = (None, None, None);
    let (mut responses, mut unprocessed) = (None, None);
    whole(body, |reader| {
        reader.object(|reader, name| match &*name {
            "Responses" => reader.once(&mut responses, |reader| {
                reader.object(|reader, _| reader.once(&mut items, Reader::items))
            }),
            "UnprocessedKeys" => reader
                .once(&mut unprocessed, |reader| reader.object(|reader, _| reader.once(&mut left, keys))),
            "ConsumedCapacity" => reader.once(&mut consumed, consumed_of_one),
            _ => reader.skip(),
        })
    })?;
    Some(BatchAnswer {
        items: items.unwrap_or_default(),
        left: left.unwrap_or_default(),
        consumed: consumed.unwrap_or_default(),
    })
}

/// The cost of a single write. `None` if the response contains anything else.
pub(super) fn written(body: &[u8]) -> Option<Consumed> {
    let mut consumed = None;
    whole(body, |reader| {
        reader.object(|reader, name| match &*name {
            "ConsumedCapacity" => reader.once(&mut consumed, self::consumed),
            "Attributes" | "ItemCollectionMetrics" => Err(for_the_sdk(reader)),
            _ => reader.skip(),
        })
    })?;
    Some(consumed.unwrap_or_default())
}

/// The results of writing statements. `None` if one failed for another reason than its guard.
pub(super) fn statements(body: &[u8]) -> Option<StatementsAnswer> {
    let (mut responses, mut consumed) = (None, None);
    whole(body, |reader| {
        reader.object(|reader, name| match &*name {
            "Responses" => reader.once(&mut responses, |reader| reader.list_of(statement)),
            "ConsumedCapacity" => reader.once(&mut consumed, consumed_of_one),
            _ => reader.skip(),
        })
    })?;
    Some(StatementsAnswer { answers: responses?, consumed: consumed.unwrap_or_default() })
}

fn statement(reader: &mut Reader<'_>) -> Result<StatementAnswer, JsonError> {
    let (mut error, mut table, mut there) = (None, None, None);
    reader.object(|reader, name| match &*name {
        "Error" => reader.once(&mut error, refusal),
        "TableName" => reader.once(&mut table, Reader::string),
        "Item" => reader.once(&mut there, |reader| reader.item(0)),
        _ => reader.skip(),
    })?;
    Ok(error.unwrap_or(StatementAnswer::Written))
}

fn refusal(reader: &mut Reader<'_>) -> Result<StatementAnswer, JsonError> {
    let (mut code, mut message, mut there) = (None, None, None);
    reader.object(|reader, name| match &*name {
        "Code" => reader.once(&mut code, Reader::string),
        "Message" => reader.once(&mut message, Reader::string),
        "Item" => reader.once(&mut there, |reader| reader.item(0)),
        _ => reader.skip(),
    })?;
    match code.as_deref() {
        Some("DuplicateItem" | "ConditionalCheckFailed") => Ok(StatementAnswer::Refused),
        _ => Err(for_the_sdk(reader)),
    }
}

/// The keys of one table that were left. They always come as a list, which may be the only member.
fn keys(reader: &mut Reader<'_>) -> Result<Vec<Item>, JsonError> {
    let mut keys = None;
    reader.object(|reader, name| match &*name {
        "Keys" => reader.once(&mut keys, Reader::items),
        // These are not used, but the SDK refuses a body in which one has the wrong type.
        "ConsistentRead" => reader.boolean().map(drop),
        "ProjectionExpression" => reader.string().map(drop),
        "AttributesToGet" => reader.list(|reader| reader.string().map(drop)),
        "ExpressionAttributeNames" => reader.object(|reader, _| reader.string().map(drop)),
        _ => reader.skip(),
    })?;
    keys.ok_or_else(|| for_the_sdk(reader))
}

fn count(reader: &mut Reader<'_>) -> Result<u64, JsonError> {
    let count = plain_number::<i32>(reader)?;
    u64::try_from(count).map_err(|_| for_the_sdk(reader))
}

/// The cost of a call that could have named several tables and names one.
fn consumed_of_one(reader: &mut Reader<'_>) -> Result<Consumed, JsonError> {
    let mut consumed = None;
    reader.list(|reader| reader.once(&mut consumed, self::consumed))?;
    Ok(consumed.unwrap_or_default())
}

fn consumed(reader: &mut Reader<'_>) -> Result<Consumed, JsonError> {
    let (mut whole, mut table, mut local, mut global) = (None, None, None, None);
    let mut consumed = Consumed::default();
    reader.object(|reader, name| match &*name {
        "CapacityUnits" => reader.once(&mut whole, units),
        "Table" => reader.once(&mut table, units_of),
        "LocalSecondaryIndexes" | "GlobalSecondaryIndexes" => {
            let place = if name.starts_with('L') { &mut local } else { &mut global };
            reader.once(place, |reader| {
                reader.object(|reader, index| {
                    let units = units_of(reader)?;
                    match consumed.index_units.insert(index.into_owned(), units) {
                        None => Ok(()),
                        Some(_) => Err(for_the_sdk(reader)),
                    }
                })
            })
        }
        "TableName" => reader.string().map(drop),
        "ReadCapacityUnits" | "WriteCapacityUnits" => units(reader).map(drop),
        // The SDK reads these too, and refuses a body in which they have the wrong type.
        "VectorIndexes" => Err(for_the_sdk(reader)),
        _ => reader.skip(),
    })?;
    consumed.units = whole.unwrap_or_default();
    consumed.table_units = table.unwrap_or_default();
    Ok(consumed)
}

fn units_of(reader: &mut Reader<'_>) -> Result<f64, JsonError> {
    let mut found = None;
    reader.object(|reader, name| match &*name {
        "CapacityUnits" => reader.once(&mut found, units),
        "ReadCapacityUnits" | "WriteCapacityUnits" => units(reader).map(drop),
        _ => reader.skip(),
    })?;
    Ok(found.unwrap_or_default())
}

fn units(reader: &mut Reader<'_>) -> Result<f64, JsonError> {
    plain_number(reader)
}

/// The maximum digits that a float can distinguish.
const DIGITS_MAX: usize = 15;

/// A number that is not negative, has no exponent and not too many digits: no other is a count or a price.
fn plain_number<T: FromStr>(reader: &mut Reader<'_>) -> Result<T, JsonError> {
    let number = reader.number()?;
    let is_plain = number.len() <= DIGITS_MAX && !number.contains(['-', 'e', 'E']);
    number.parse().ok().filter(|_| is_plain).ok_or_else(|| for_the_sdk(reader))
}
