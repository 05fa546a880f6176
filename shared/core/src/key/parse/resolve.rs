//! Resolves each piece to an attribute and its codec.

use std::collections::BTreeMap;
use std::ops::Range;

use super::pieces::Piece;
use crate::attribute::{Attribute, AttributeKind};
use crate::key::codec::{Codec, KeyMode};
use crate::key::error::{TemplateError, TemplateProblem, problem};
use crate::key::field::Field;
use crate::key::finite::Finite;
use crate::key::follow::Follow;
use crate::text::closest;
use crate::value::{AttributeValue, Number};

/// A piece with its meaning.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolved {
    Literal(String),
    Field(Box<Field>),
    Open,
    Close,
    /// An attribute with an error that has been reported.
    Broken,
}

/// Resolves all pieces.
pub(super) fn resolve(
    pieces: Vec<(Piece, Range<usize>)>,
    attributes: &BTreeMap<String, Attribute>,
    mode: KeyMode,
    errors: &mut Vec<TemplateError>,
) -> Vec<(Resolved, Range<usize>)> {
    pieces
        .into_iter()
        .map(|(piece, span)| {
            let resolved = match piece {
                Piece::Literal(text) => Resolved::Literal(text),
                Piece::Open => Resolved::Open,
                Piece::Close => Resolved::Close,
                Piece::Braces(inner) => match field(&inner, attributes, mode) {
                    Ok(field) => Resolved::Field(Box::new(field)),
                    Err(found) => {
                        errors.push(problem(span.clone(), found));
                        Resolved::Broken
                    }
                },
            };
            (resolved, span)
        })
        .collect()
}

/// `attribute`, `attribute:06`, `attribute|lower`, …
fn field(
    inner: &str,
    attributes: &BTreeMap<String, Attribute>,
    mode: KeyMode,
) -> Result<Field, TemplateProblem> {
    let (attribute, codec) = find(inner, attributes)?;
    let (codec, finite) = match codec {
        None => plain(attribute)?,
        Some(text) => named(attribute, text)?,
    };
    Ok(Field {
        attribute: attribute.name.clone(),
        kind: attribute.kind,
        codec,
        finite,
        follow: Follow::default(),
        mode,
    })
}

/// The attribute, and the text of its codec with the sign before it. A declared name may itself contain such a sign.
fn find<'a, 't>(
    inner: &'t str,
    attributes: &'a BTreeMap<String, Attribute>,
) -> Result<(&'a Attribute, Option<&'t str>), TemplateProblem> {
    let inner = inner.trim();
    if let Some(attribute) = attributes.get(inner) {
        return Ok((attribute, None));
    }
    let at = inner.rfind([':', '|']).unwrap_or(inner.len());
    let at = inner[..at].rfind("|map").filter(|map| inner[*map..].starts_with("|map:")).unwrap_or(at);
    let at = inner[..at].rfind("|shard").filter(|shard| inner[*shard..].starts_with("|shard:")).unwrap_or(at);
    let at = inner[..at].rfind("|mod").filter(|modulo| inner[*modulo..].starts_with("|mod:")).unwrap_or(at);
    let (name, codec) = (inner[..at].trim(), inner.get(at..).filter(|codec| !codec.is_empty()));
    if name.is_empty() {
        return Err(TemplateProblem::NoAttribute);
    }
    if let Some(bare) = name.strip_suffix('?').filter(|bare| attributes.contains_key(*bare)) {
        return Err(TemplateProblem::QuestionMark { attribute: bare.to_owned() });
    }
    match attributes.get(name) {
        Some(attribute) => Ok((attribute, codec)),
        None => Err(TemplateProblem::UnknownAttribute {
            attribute: name.to_owned(),
            closest: closest(name, attributes.keys().map(String::as_str)),
        }),
    }
}

type Meaning = (Codec, Option<Finite>);

/// The meaning of an attribute without a codec, by its type.
fn plain(attribute: &Attribute) -> Result<Meaning, TemplateProblem> {
    if let Some(values) = &attribute.values {
        let entries = values.iter().map(|value| (canonical(value), value_text(value))).collect();
        return Ok((Codec::Enumerated, Some(Finite::new(entries))));
    }
    Ok(match attribute.kind {
        AttributeKind::String | AttributeKind::Number | AttributeKind::Binary => (Codec::Text, None),
        AttributeKind::Timestamp(precision) => (Codec::Timestamp(precision), None),
        AttributeKind::Date => (Codec::Date, None),
        AttributeKind::Boolean => {
            let entry = |value: bool| (AttributeValue::Bool(value), value.to_string());
            (Codec::Enumerated, Some(Finite::new(vec![entry(false), entry(true)])))
        }
        kind => {
            return Err(TemplateProblem::NotAKeyPart {
                attribute: attribute.name.clone(),
                kind: kind.name(),
            });
        }
    })
}

fn canonical(value: &AttributeValue) -> AttributeValue {
    match value {
        AttributeValue::N(text) => AttributeValue::N(canonical_number(text)),
        other => other.clone(),
    }
}

fn value_text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::N(text) => canonical_number(text),
        AttributeValue::S(text) => text.clone(),
        _ => String::new(),
    }
}

fn canonical_number(text: &str) -> String {
    text.parse::<Number>().map_or_else(|_| text.to_owned(), |number| number.to_string())
}

/// The meaning of an attribute with a codec.
fn named(attribute: &Attribute, text: &str) -> Result<Meaning, TemplateProblem> {
    let codec = codec(attribute, text)?;
    let fits = match &codec {
        Codec::Integer { .. } | Codec::Number => attribute.kind == AttributeKind::Number,
        Codec::Lower | Codec::Upper => attribute.kind == AttributeKind::String,
        Codec::Map(_) => matches!(attribute.kind, AttributeKind::String | AttributeKind::Number),
        Codec::Hex => attribute.kind == AttributeKind::Binary,
        Codec::Modulo(_) => attribute.kind == AttributeKind::Number,
        Codec::Shard(_) => attribute.kind.scalar().is_some() || attribute.kind == AttributeKind::Boolean,
        _ => true,
    };
    if !fits {
        return Err(TemplateProblem::CodecKind {
            attribute: attribute.name.clone(),
            kind: attribute.kind.name(),
            codec: text.to_owned(),
        });
    }
    let finite = match &codec {
        Codec::Map(name) => attribute.maps.get(name).map(|map| codes(attribute.kind, map)),
        _ => None,
    };
    Ok((codec, finite))
}

fn codec(attribute: &Attribute, text: &str) -> Result<Codec, TemplateProblem> {
    let name = || attribute.name.clone();
    if let Some(width) = text.strip_prefix(":0") {
        return count(width, 1..=20)
            .map(|width| Codec::Integer { width })
            .ok_or(TemplateProblem::Width { attribute: name() });
    }
    if let Some(shards) = text.strip_prefix("|shard:") {
        return count(shards, 2..=1000)
            .map(Codec::Shard)
            .ok_or(TemplateProblem::Shards { attribute: name() });
    }
    if let Some(shards) = text.strip_prefix("|mod:") {
        return count(shards, 2..=1000)
            .map(Codec::Modulo)
            .ok_or(TemplateProblem::Shards { attribute: name() });
    }
    if let Some(map) = text.strip_prefix("|map:") {
        return match attribute.maps.contains_key(map) {
            true => Ok(Codec::Map(map.to_owned())),
            false => Err(TemplateProblem::UnknownMap { attribute: name(), map: map.to_owned() }),
        };
    }
    match text {
        ":number" => Ok(Codec::Number),
        "|lower" => Ok(match attribute.kind {
            // Digits have no case, and the letters of a timestamp have fixed places, so the order is kept.
            AttributeKind::Timestamp(precision) => Codec::LowerTimestamp(precision),
            AttributeKind::Date => Codec::Date,
            _ => Codec::Lower,
        }),
        "|upper" => Ok(Codec::Upper),
        "|hex" => Ok(Codec::Hex),
        _ if text.starts_with(':') && text[1..].bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(TemplateProblem::Width { attribute: name() })
        }
        _ => Err(TemplateProblem::UnknownCodec { attribute: name(), codec: text.to_owned() }),
    }
}

/// A count in plain digits: no sign, no zeros before it.
fn count(text: &str, allowed: std::ops::RangeInclusive<u32>) -> Option<u32> {
    let plain = text.starts_with(|first| matches!(first, '1'..='9'));
    text.parse().ok().filter(|count| plain && allowed.contains(count))
}

fn codes(kind: AttributeKind, map: &BTreeMap<String, String>) -> Finite {
    let value = |text: &String| match kind {
        AttributeKind::Number => AttributeValue::N(canonical_number(text)),
        _ => AttributeValue::S(text.clone()),
    };
    Finite::new(map.iter().map(|(from, to)| (value(from), to.clone())).collect())
}
