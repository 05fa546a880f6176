//! One audit event: from JSON to an item that can be written.

use std::collections::HashMap;

use jiff::Timestamp;
use keyfold_core::json::{Bounds, JsonReason};
use keyfold_core::model::{AttributeKind, Precision, Table};
use keyfold_core::value::{AttributeValue, Item, Name, Number};
use keyfold_core::write::plain_item_of_json;
use keyfold_edge::{Claims, Problem};
use serde_json::value::RawValue;

use crate::limits::{ATTRIBUTES_MAX, NAME_BYTES_MAX, NAMES_BYTES_MAX, VALUES_MAX, VALUES_TOGETHER_MAX};
use crate::{Writer, identity, problem, stamp};

/// Maximum nesting of an event. DynamoDB allows 32 levels; the event is the first.
const LEVELS_MAX: u32 = 32;

/// The number of values that the events of an invocation may still have.
#[derive(Debug)]
pub(crate) struct ValuesLeft(u32);

impl Default for ValuesLeft {
    fn default() -> ValuesLeft {
        ValuesLeft(VALUES_TOGETHER_MAX)
    }
}

/// The precision of the time at which an event was received.
const RECEIVED_PRECISION: AttributeKind = AttributeKind::Timestamp(Precision::Milliseconds);

/// The origin of an event, as far as it adds to the event.
#[derive(Debug, Clone)]
pub(crate) struct Origin<'o> {
    /// The server's time, for an event without a time.
    pub(crate) time: Timestamp,
    /// The caller's claims, if the caller may not choose the attributes that claims fix.
    pub(crate) claims: Option<&'o Claims>,
    /// The attributes that the writer adds to each event.
    pub(crate) received: Received<'o>,
}

/// How an event was received. None of it comes from the event itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received<'o> {
    /// `http`, `sqs`, `direct`.
    pub(crate) source: &'static str,
    /// The sender, from the authorizer or SQS. Lambda does not pass its caller to a function.
    pub(crate) principal: Option<&'o str>,
    /// The id of the request or of the message, which stays the same for redeliveries and Lambda's retries.
    pub(crate) request_id: &'o str,
}

impl Received<'_> {
    fn attribute(&self) -> AttributeValue {
        let text = |value: &str| AttributeValue::S(value.to_owned());
        let mut members = HashMap::new();
        members.insert("at".to_owned(), text(&stamp::text(stamp::now(), Some(RECEIVED_PRECISION))));
        members.insert("source".to_owned(), text(self.source));
        members.insert("requestId".to_owned(), text(self.request_id));
        if let Some(principal) = self.principal {
            members.insert("principal".to_owned(), text(principal));
        }
        AttributeValue::M(members)
    }
}

impl Origin<'_> {
    /// Reads the events of one body.
    pub(crate) fn drafts(
        &self,
        writer: &Writer,
        events: &[&RawValue],
        left: &mut ValuesLeft,
    ) -> Vec<Result<Draft, Problem>> {
        let drafts = events.iter().enumerate().map(|(number, text)| {
            let item = read(&writer.table, text.get(), left.0)?;
            left.0 = left.0.saturating_sub(item.values().map(values_of).sum());
            draft(writer, item, number, self)
        });
        drafts.collect()
    }
}

/// An audit event that can be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) id: String,
    pub(crate) item: Item,
    /// Did the event have a time?
    pub(crate) timed: bool,
}

/// Checks and completes one event, by its number in the body.
fn draft(writer: &Writer, mut item: Item, number: usize, origin: &Origin<'_>) -> Result<Draft, Problem> {
    if let Some(name) = item.keys().find(|name| writer.stamps_attribute(name)) {
        let detail = format!("attribute `{name}` is stamped by the audit writer and cannot be set");
        return Err(Problem::new(400, "stamped-attribute", detail));
    }
    if let Some(name) = item.keys().find(|name| writer.folded.contains(name.as_str())) {
        let detail = format!("attribute `{name}` is folded from others and cannot be set");
        return Err(Problem::new(400, "folded-attribute", detail));
    }
    if let Some(claims) = origin.claims {
        claimed(writer, &mut item, claims)?;
        if writer.makes_ids && item.contains_key(&writer.id) {
            let detail =
                format!("attribute `{}` cannot be set: the writer makes the ids of this table", writer.id);
            return Err(Problem::new(403, "id-not-yours", detail).hint(
                "the table has a scope that its primary key lacks, so your id could be another caller's too",
            ));
        }
    }
    writer.stamps.normalise(&mut item)?;
    complete(writer, item, number, origin)
}

/// Adds a missing id and time, and the way the event was received.
fn complete(writer: &Writer, mut item: Item, number: usize, origin: &Origin<'_>) -> Result<Draft, Problem> {
    let timed = item.contains_key(&writer.time);
    if !timed && writer.time_in_key {
        let detail = format!("attribute `{}` is missing, but the table's key contains it", writer.time);
        return Err(Problem::new(400, "item-attribute-required", detail));
    }
    let id = match item.get(&writer.id) {
        Some(AttributeValue::S(id)) => id.clone(),
        // Of another type: refused where all types are checked.
        Some(_) => String::new(),
        None => {
            let mark = (!timed).then(|| format!("{}/{number}", origin.received.request_id));
            let id = identity::of_content(&item, mark.as_deref());
            item.insert(&writer.id, AttributeValue::S(id.clone()));
            id
        }
    };
    if !timed {
        let kind = writer.table.attributes.get(&writer.time).map(|attribute| attribute.kind);
        item.insert(&writer.time, AttributeValue::S(stamp::text(origin.time, kind)));
        writer.stamps.normalise(&mut item)?;
    }
    item.insert(&writer.received, origin.received.attribute());
    if let (Some(ttl), Some(days)) = (&writer.table.ttl, writer.keep_days) {
        let expires = stamp::now().as_second() + i64::from(days) * 24 * 60 * 60;
        item.insert(ttl, AttributeValue::N(expires.to_string()));
    }
    // Checked before any key is folded: a wrong type is the cause, and a key that cannot be folded its consequence.
    let promised = writer.table.check_promises(&item);
    promised.map_err(|error| problem::of_write(&error.into()))?;
    Ok(Draft { id, item, timed })
}

/// Sets the attributes fixed by claims to the caller's values, whatever the event contains.
fn claimed(writer: &Writer, item: &mut Item, claims: &Claims) -> Result<(), Problem> {
    let Writer { table, .. } = writer;
    let fixed = table.scope.iter().map(|fixed| (fixed, "out-of-scope"));
    let fixed = fixed.chain(table.written_by.iter().map(|fixed| (fixed, "not-the-caller")));
    for ((name, path), code) in fixed {
        let Some(claim) = claims.get(path) else {
            let detail = format!(
                "table `{}` only accepts audit events from callers with the claim `{path}`",
                table.id
            );
            return Err(Problem::new(403, "claim-missing", detail));
        };
        let claim = match table.attributes.get(name).map(|attribute| attribute.kind) {
            Some(AttributeKind::Number) => {
                let number = claim.parse::<Number>();
                let number = number.map_err(|error| Problem::new(400, "item-number", error.to_string()))?;
                AttributeValue::N(number.to_string())
            }
            _ => AttributeValue::S(claim.to_owned()),
        };
        match item.get(name) {
            Some(given) if !keyfold_core::value::equal(given, &claim) => {
                let detail = format!("attribute `{name}` differs from the caller's claim `{path}`");
                return Err(Problem::new(403, code, detail));
            }
            _ => drop(item.insert(name, claim)),
        }
    }
    Ok(())
}

/// The attributes of an event. Numbers are exact, and repeated members are refused. `left`: the maximum number of
/// values.
fn read(table: &Table, text: &str, left: u32) -> Result<Item, Problem> {
    let bounds = Bounds { levels: LEVELS_MAX, values: VALUES_MAX.min(left) };
    let item = plain_item_of_json(table, text, bounds).map_err(|error| match error.error.reason {
        JsonReason::TooDeep(levels) => {
            problem::over_limit(format!("values are nested deeper than {} levels", levels - 1))
        }
        JsonReason::TooManyValues(_) if left < VALUES_MAX => {
            let detail = format!("the audit events have more than {VALUES_TOGETHER_MAX} values together");
            problem::over_limit(detail).hint("send them in several requests")
        }
        JsonReason::TooManyValues(most) => {
            problem::over_limit(format!("an audit event has more than {most} values"))
        }
        JsonReason::Number(_) => Problem::new(400, "item-number", error.to_string()),
        _ => Problem::malformed(error.to_string()),
    })?;
    if !item.iter().all(|(name, value)| name_fits(name) && names_fit(value)) {
        let detail = format!("a name is empty or longer than {NAME_BYTES_MAX} bytes");
        return Err(problem::over_limit(detail));
    }
    if item.len() > ATTRIBUTES_MAX || item.keys().map(Name::len).sum::<usize>() > NAMES_BYTES_MAX {
        let detail = format!(
            "an audit event has more than {ATTRIBUTES_MAX} attributes, or their names more than {NAMES_BYTES_MAX} bytes"
        );
        return Err(problem::over_limit(detail));
    }
    Ok(item)
}

/// The number of values in this one, including itself.
fn values_of(value: &AttributeValue) -> u32 {
    let inner = match value {
        AttributeValue::L(list) => list.iter().map(values_of).sum(),
        AttributeValue::M(map) => map.values().map(values_of).sum(),
        AttributeValue::Ss(set) | AttributeValue::Ns(set) => u32::try_from(set.len()).unwrap_or(u32::MAX),
        AttributeValue::Bs(set) => u32::try_from(set.len()).unwrap_or(u32::MAX),
        _ => 0,
    };
    inner.saturating_add(1)
}

fn name_fits(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
}

fn names_fit(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::L(list) => list.iter().all(names_fit),
        AttributeValue::M(map) => map.iter().all(|(name, value)| name_fits(name) && names_fit(value)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Result<AttributeValue, &'static str> {
        let manifest = "[tables.things]\npartition = \"id\"\nattributes = { id = \"string\" }\n";
        let table = keyfold_core::manifest::parse("t", manifest).model.unwrap().tables.remove(0);
        let item = read(&table, &format!(r#"{{"a":{text}}}"#), u32::MAX).map_err(|problem| problem.code)?;
        Ok(item["a"].clone())
    }

    #[test]
    fn a_number_keeps_every_digit() {
        let digits = "12345678901234567890123456789012345.678";
        assert_eq!(code(digits), Ok(AttributeValue::N(digits.to_owned())));
        assert_eq!(code(&"1".repeat(39)), Err("item-number"));
    }

    #[test]
    fn what_is_too_deep_too_many_or_there_twice_is_refused() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(code(&nested(31)).is_ok());
        assert_eq!(code(&nested(32)), Err("over-limit"));
        let many = |values: usize| format!("[{}]", vec!["1"; values].join(","));
        assert!(code(&many(4999)).is_ok());
        assert_eq!(code(&many(5000)), Err("over-limit"));
        assert_eq!(code(r#"{"a":1,"a":2}"#), Err("malformed-request"));
        assert_eq!(code(r#"[{"":1}]"#), Err("over-limit"));
    }
}
