//! Whole answers: a page of a Query or a Scan, what a BatchGetItem got, and what became of statements.

use keyfold_core::execute::{Consumed, Page};
use keyfold_core::value::Item;

use super::item::{Items, KEY_ATTRIBUTES, item};
use super::json::{Reader, once};

/// What one BatchGetItem returned.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct BatchAnswer {
    /// The items that were read.
    pub(crate) items: Vec<Item>,
    /// The keys that were not.
    pub(crate) left: Vec<Item>,
    /// What it cost.
    pub(crate) consumed: Consumed,
}

/// What became of the statements of one BatchExecuteStatement.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct StatementsAnswer {
    /// One for each, in their order.
    pub(crate) answers: Vec<StatementAnswer>,
    /// What they cost.
    pub(crate) consumed: Consumed,
}

/// What became of one statement. Whatever else can become of one is left to the SDK's decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementAnswer {
    Written,
    /// Its guard did not hold.
    Refused,
}

/// A page. `None`: the body has something that only the SDK's decoder may judge.
pub(super) fn page(body: &[u8]) -> Option<Page> {
    let (mut items, mut count, mut scanned) = (None, None, None);
    let (mut last_key, mut consumed) = (None, None);
    let mut reader = Reader::of(body)?;
    reader.object(|reader, name| match &*name {
        "Items" => once(&mut items, all_items(reader)),
        "Count" => once(&mut count, self::count(reader)),
        "ScannedCount" => once(&mut scanned, self::count(reader)),
        "LastEvaluatedKey" => once(&mut last_key, item(reader, KEY_ATTRIBUTES)),
        "ConsumedCapacity" => once(&mut consumed, self::consumed(reader)),
        _ => reader.skip(0),
    })?;
    reader.end()?;
    Some(Page {
        items: items.unwrap_or_default(),
        count: count.unwrap_or_default(),
        scanned: scanned.unwrap_or_default(),
        // An empty key is no key: it means that there is no more.
        last_key: last_key.filter(|key| !key.is_empty()),
        consumed: consumed.unwrap_or_default(),
    })
}

/// What a BatchGetItem of one table got.
pub(super) fn batch(body: &[u8]) -> Option<BatchAnswer> {
    let (mut items, mut left, mut consumed) = (None, None, None);
    let (mut responses, mut unprocessed) = (None, None);
    let mut reader = Reader::of(body)?;
    reader.object(|reader, name| match &*name {
        "Responses" => once(&mut responses, reader.object(|reader, _| once(&mut items, all_items(reader)))),
        "UnprocessedKeys" => once(&mut unprocessed, reader.object(|reader, _| once(&mut left, keys(reader)))),
        "ConsumedCapacity" => once(&mut consumed, consumed_of_one(reader)),
        _ => reader.skip(0),
    })?;
    reader.end()?;
    Some(BatchAnswer {
        items: items.unwrap_or_default(),
        left: left.unwrap_or_default(),
        consumed: consumed.unwrap_or_default(),
    })
}

/// What a single write cost. `None` also if the answer says more than that.
pub(super) fn written(body: &[u8]) -> Option<Consumed> {
    let mut consumed = None;
    let mut reader = Reader::of(body)?;
    reader.object(|reader, name| match &*name {
        "ConsumedCapacity" => once(&mut consumed, self::consumed(reader)),
        "Attributes" | "ItemCollectionMetrics" => None,
        _ => reader.skip(0),
    })?;
    reader.end()?;
    Some(consumed.unwrap_or_default())
}

/// What became of statements that write. `None` also if one failed for another reason than its guard.
pub(super) fn statements(body: &[u8]) -> Option<StatementsAnswer> {
    let (mut responses, mut consumed) = (None, None);
    let mut reader = Reader::of(body)?;
    reader.object(|reader, name| match &*name {
        "Responses" => {
            let mut answers = Vec::new();
            let all = reader.array(|reader| {
                answers.push(statement(reader)?);
                Some(())
            });
            once(&mut responses, all.map(|()| answers))
        }
        "ConsumedCapacity" => once(&mut consumed, consumed_of_one(reader)),
        _ => reader.skip(0),
    })?;
    reader.end()?;
    Some(StatementsAnswer { answers: responses?, consumed: consumed.unwrap_or_default() })
}

fn statement(reader: &mut Reader<'_>) -> Option<StatementAnswer> {
    let (mut error, mut table, mut there) = (None, None, None);
    reader.object(|reader, name| match &*name {
        "Error" => once(&mut error, refusal(reader)),
        "TableName" => once(&mut table, reader.string().map(drop)),
        "Item" => once(&mut there, item(reader, 0).map(drop)),
        _ => reader.skip(0),
    })?;
    Some(error.unwrap_or(StatementAnswer::Written))
}

fn refusal(reader: &mut Reader<'_>) -> Option<StatementAnswer> {
    let (mut code, mut message, mut there) = (None, None, None);
    reader.object(|reader, name| match &*name {
        "Code" => once(&mut code, reader.string()),
        "Message" => once(&mut message, reader.string().map(drop)),
        "Item" => once(&mut there, item(reader, 0).map(drop)),
        _ => reader.skip(0),
    })?;
    matches!(&*code?, "DuplicateItem" | "ConditionalCheckFailed").then_some(StatementAnswer::Refused)
}

fn all_items(reader: &mut Reader<'_>) -> Option<Vec<Item>> {
    let mut items = Items::default();
    items.read(reader)?;
    Some(items.all)
}

/// The keys of one table that were left. They always come as a list, which may be the only member.
fn keys(reader: &mut Reader<'_>) -> Option<Vec<Item>> {
    let mut keys = None;
    reader.object(|reader, name| match &*name {
        "Keys" => once(&mut keys, all_items(reader)),
        // Nobody asks for these, but the SDK refuses a body that has one of a wrong type.
        "ConsistentRead" => reader.boolean().map(drop),
        "ProjectionExpression" => reader.string().map(drop),
        "AttributesToGet" => reader.array(|reader| reader.string().map(drop)),
        "ExpressionAttributeNames" => reader.object(|reader, _| reader.string().map(drop)),
        _ => reader.skip(0),
    })?;
    keys
}

fn count(reader: &mut Reader<'_>) -> Option<u64> {
    let count: i32 = reader.number()?.parse().ok()?;
    u64::try_from(count).ok()
}

/// What a call on one table reports, that could have named several.
fn consumed_of_one(reader: &mut Reader<'_>) -> Option<Consumed> {
    let mut consumed = None;
    reader.array(|reader| once(&mut consumed, self::consumed(reader)))?;
    Some(consumed.unwrap_or_default())
}

fn consumed(reader: &mut Reader<'_>) -> Option<Consumed> {
    let (mut whole, mut table, mut local, mut global) = (None, None, None, None);
    let mut consumed = Consumed::default();
    reader.object(|reader, name| match &*name {
        "CapacityUnits" => once(&mut whole, units(reader)),
        "Table" => once(&mut table, units_of(reader)),
        "LocalSecondaryIndexes" | "GlobalSecondaryIndexes" => {
            let place = if name.starts_with('L') { &mut local } else { &mut global };
            let all = reader.object(|reader, index| {
                let units = units_of(reader)?;
                consumed.index_units.insert(index.into_owned(), units).is_none().then_some(())
            });
            once(place, all)
        }
        "TableName" => reader.string().map(drop),
        "ReadCapacityUnits" | "WriteCapacityUnits" => units(reader).map(drop),
        _ => reader.skip(0),
    })?;
    consumed.units = whole.unwrap_or_default();
    consumed.table_units = table.unwrap_or_default();
    Some(consumed)
}

fn units_of(reader: &mut Reader<'_>) -> Option<f64> {
    let mut found = None;
    reader.object(|reader, name| match &*name {
        "CapacityUnits" => once(&mut found, units(reader)),
        "ReadCapacityUnits" | "WriteCapacityUnits" => units(reader).map(drop),
        _ => reader.skip(0),
    })?;
    Some(found.unwrap_or_default())
}

fn units(reader: &mut Reader<'_>) -> Option<f64> {
    reader.number()?.parse().ok()
}
