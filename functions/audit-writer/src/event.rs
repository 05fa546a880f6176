//! One audit event: from JSON to an item that can be written.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use keyfold_core::model::AttributeKind;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_edge::{Claims, Problem};
use serde_json::value::RawValue;

use crate::limits::{ATTRIBUTES_MAX, NAMES_BYTES_MAX, VALUES_MAX};
use crate::{Writer, identity, json, problem, stamp};

/// Where an event comes from, as far as it adds to it.
#[derive(Debug, Clone)]
pub(crate) struct Origin<'o> {
    /// The server's time for an event that says none.
    pub(crate) time: Timestamp,
    /// What tells two deliveries apart that say the same and have neither id nor time; a message's id.
    pub(crate) mark: Option<&'o str>,
    /// The caller's claims, where the caller is not trusted with the table's scope.
    pub(crate) claims: Option<&'o Claims>,
}

/// An audit event that can be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) id: String,
    pub(crate) item: Item,
    /// Did the event say when it happened?
    pub(crate) timed: bool,
}

/// Reads one event.
pub(crate) fn draft(writer: &Writer, text: &RawValue, origin: &Origin<'_>) -> Result<Draft, Problem> {
    let members = json::members(text)?;
    let names: usize = members.iter().map(|(name, _)| name.len()).sum();
    if members.len() > ATTRIBUTES_MAX || names > NAMES_BYTES_MAX {
        let detail = format!(
            "an audit event has more than {ATTRIBUTES_MAX} attributes, or their names more than {NAMES_BYTES_MAX} bytes"
        );
        return Err(problem::over_limit(detail));
    }
    let mut item = Item::default();
    let mut values_left = VALUES_MAX;
    for (name, value) in members {
        if writer.folded.contains(&name) {
            let detail = format!("attribute `{name}` is folded from others and cannot be set");
            return Err(Problem::new(400, "folded-attribute", detail));
        }
        let value = json::value(value, &mut values_left)?;
        let value = match writer.table.attributes.get(&name) {
            Some(attribute) => typed(attribute.kind, value),
            None => value,
        };
        item.insert(name, value);
    }
    scope(writer, &mut item, origin)?;
    writer.stamps.normalise(&mut item)?;
    complete(writer, item, origin)
}

/// Adds the id and the time where they are not given.
fn complete(writer: &Writer, mut item: Item, origin: &Origin<'_>) -> Result<Draft, Problem> {
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
            let mark = origin.mark.filter(|_| !timed);
            let id = identity::of_content(&item, mark);
            item.insert(writer.id.clone(), AttributeValue::S(id.clone()));
            id
        }
    };
    if !timed {
        let kind = writer.table.attributes.get(&writer.time).map(|attribute| attribute.kind);
        item.insert(writer.time.clone(), AttributeValue::S(stamp::text(origin.time, kind)));
        writer.stamps.normalise(&mut item)?;
    }
    // Said before any key is folded: a wrong type is the cause, and a key that cannot be folded its consequence.
    let promised = writer.table.check_promises(&item);
    promised.map_err(|error| problem::of_write(&error.into()))?;
    Ok(Draft { id, item, timed })
}

/// Attributes of the table's scope are what the caller's claims say, whatever the event says.
fn scope(writer: &Writer, item: &mut Item, origin: &Origin<'_>) -> Result<(), Problem> {
    let Some(claims) = origin.claims else { return Ok(()) };
    for (name, path) in &writer.table.scope {
        let Some(claim) = claims.get(path) else {
            let detail = format!(
                "table `{}` only accepts audit events from callers with the claim `{path}`",
                writer.table.id
            );
            return Err(Problem::new(403, "claim-missing", detail));
        };
        let claim = match writer.table.attributes.get(name).map(|attribute| attribute.kind) {
            Some(AttributeKind::Number) => AttributeValue::N(json::number(claim)?),
            _ => AttributeValue::S(claim.to_owned()),
        };
        match item.get(name) {
            Some(given) if !keyfold_core::value::equal(given, &claim) => {
                let detail = format!("attribute `{name}` differs from the caller's claim `{path}`");
                return Err(Problem::new(403, "out-of-scope", detail));
            }
            _ => drop(item.insert(name.clone(), claim)),
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
