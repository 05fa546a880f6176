//! One audit event: from JSON to an item that can be written.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use keyfold_core::model::{AttributeKind, Precision};
use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_edge::{Claims, Problem};
use serde_json::value::RawValue;

use crate::limits::{ATTRIBUTES_MAX, NAMES_BYTES_MAX, VALUES_MAX};
use crate::{Writer, identity, json, problem, stamp};

/// The precision of the time at which an event was received.
const RECEIVED_PRECISION: AttributeKind = AttributeKind::Timestamp(Precision::Milliseconds);

/// Where an event comes from, as far as it adds to it.
#[derive(Debug, Clone)]
pub(crate) struct Origin<'o> {
    /// The server's time for an event that says none.
    pub(crate) time: Timestamp,
    /// The caller's claims, where the caller is not trusted with the attributes that claims fix.
    pub(crate) claims: Option<&'o Claims>,
    /// What the writer notes on each event.
    pub(crate) received: Received<'o>,
}

/// How an event reached the writer: nothing of it comes from the event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received<'o> {
    /// `http`, `sqs`, `direct`.
    pub(crate) source: &'static str,
    /// Who sent it, as the authorizer or SQS says. Lambda does not tell a function who invoked it.
    pub(crate) principal: Option<&'o str>,
    /// The id of the request or of the message: the same when SQS delivers it again, or Lambda retries it.
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
    pub(crate) fn drafts(&self, writer: &Writer, events: &[&RawValue]) -> Vec<Result<Draft, Problem>> {
        events.iter().enumerate().map(|(number, text)| draft(writer, text, number, self)).collect()
    }
}

/// An audit event that can be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) id: String,
    pub(crate) item: Item,
    /// Did the event say when it happened?
    pub(crate) timed: bool,
}

/// Reads one event, by its number in the body.
fn draft(writer: &Writer, text: &RawValue, number: usize, origin: &Origin<'_>) -> Result<Draft, Problem> {
    let members = json::members(text)?;
    let names: usize = members.iter().map(|(name, _)| name.len()).sum();
    if members.len() > ATTRIBUTES_MAX || names > NAMES_BYTES_MAX {
        let detail = format!(
            "an audit event has more than {ATTRIBUTES_MAX} attributes, or their names more than {NAMES_BYTES_MAX} bytes"
        );
        return Err(problem::over_limit(detail));
    }
    let mut attributes = Vec::with_capacity(members.len());
    let mut values_left = VALUES_MAX;
    for (name, value) in members {
        if name == writer.received {
            let detail = format!("attribute `{name}` is stamped by the audit writer and cannot be set");
            return Err(Problem::new(400, "stamped-attribute", detail));
        }
        if writer.folded.contains(&name) {
            let detail = format!("attribute `{name}` is folded from others and cannot be set");
            return Err(Problem::new(400, "folded-attribute", detail));
        }
        let value = json::value(value, &mut values_left)?;
        let value = match writer.table.attributes.get(&name) {
            Some(attribute) => typed(attribute.kind, value),
            None => value,
        };
        attributes.push((Name::from(name), value));
    }
    let mut item = Item::from(attributes);
    if let Some(claims) = origin.claims {
        claimed(writer, &mut item, claims)?;
        if writer.makes_ids && item.contains_key(&writer.id) {
            let detail =
                format!("attribute `{}` cannot be set: the writer makes the ids of this table", writer.id);
            return Err(Problem::new(403, "id-not-yours", detail)
                .hint("the table has a scope that its primary key lacks, so an id of yours could be somebody else's too"));
        }
    }
    writer.stamps.normalise(&mut item)?;
    complete(writer, item, number, origin)
}

/// Adds the id and the time where they are not given, and how the event was received.
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
    // Said before any key is folded: a wrong type is the cause, and a key that cannot be folded its consequence.
    let promised = writer.table.check_promises(&item);
    promised.map_err(|error| problem::of_write(&error.into()))?;
    Ok(Draft { id, item, timed })
}

/// Attributes that claims fix are what the caller's claims say, whatever the event says.
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
            Some(AttributeKind::Number) => AttributeValue::N(json::number(claim)?),
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

/// A JSON value as the manifest types it. What does not fit stays as it is, and is refused with its type.
fn typed(kind: AttributeKind, value: AttributeValue) -> AttributeValue {
    let binary = |text: &str| STANDARD.decode(text).ok();
    match (kind, &value) {
        (AttributeKind::Binary, AttributeValue::S(text)) => binary(text).map_or(value, AttributeValue::B),
        (AttributeKind::StringSet, AttributeValue::L(list)) => {
            set(list, |one| matches!(one, AttributeValue::S(_)).then(|| text_of(one)))
                .map_or(value, AttributeValue::Ss)
        }
        (AttributeKind::NumberSet, AttributeValue::L(list)) => {
            set(list, |one| matches!(one, AttributeValue::N(_)).then(|| text_of(one)))
                .map_or(value, AttributeValue::Ns)
        }
        (AttributeKind::BinarySet, AttributeValue::L(list)) => {
            set(list, |one| binary(&text_of(one))).map_or(value, AttributeValue::Bs)
        }
        _ => value,
    }
}

fn set<T>(list: &[AttributeValue], element: impl Fn(&AttributeValue) -> Option<T>) -> Option<Vec<T>> {
    list.iter().map(element).collect()
}

fn text_of(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text.clone(),
        _ => String::new(),
    }
}
