//! Properties of a template's parts: the minimum length of its keys, and the number of different keys.

use std::collections::BTreeMap;

use crate::key::{Codec, Part};
use crate::model::{Attribute, AttributeKind};
use crate::value::AttributeValue;

/// The attributes of a table, by name.
type DeclaredAttributes = BTreeMap<String, Attribute>;

/// The length of the shortest key.
pub(super) fn bytes_min(parts: &[Part], attributes: &DeclaredAttributes) -> usize {
    let mut total = 0;
    let mut separator = 0;
    for part in parts {
        match part {
            // Without the optional tail, its separator is absent too.
            Part::Attribute { optional: true, .. } => return total - separator,
            Part::Attribute { name, codec, .. } => {
                separator = 0;
                total += part_bytes_min(attributes.get(name), codec);
            }
            Part::Literal(text) => {
                separator = text.len();
                total += separator;
            }
        }
    }
    total
}

fn part_bytes_min(attribute: Option<&Attribute>, codec: &Codec) -> usize {
    match codec {
        Codec::Integer { width } => *width as usize,
        Codec::Timestamp(precision) | Codec::LowerTimestamp(precision) => precision.length(),
        Codec::Date => "2017-03-01".len(),
        Codec::Map(map) => {
            let codes = attribute.and_then(|attribute| attribute.maps.get(map));
            codes.and_then(|codes| codes.values().map(String::len).min()).unwrap_or(0)
        }
        Codec::Shard(_) | Codec::Modulo(_) | Codec::Number => 1,
        _ => attribute
            .and_then(listed)
            .and_then(|values| values.iter().map(|value| value.len()).min())
            .unwrap_or(0),
    }
}

/// The number of different keys; `None` if a part has unlimited values.
pub(super) fn combinations(parts: &[Part], attributes: &DeclaredAttributes) -> Option<u64> {
    parts.iter().try_fold(1u64, |product, part| {
        let Part::Attribute { name, codec, optional } = part else { return Some(product) };
        let choices = match codec {
            Codec::Shard(count) | Codec::Modulo(count) => u64::from(*count),
            Codec::Map(map) => attributes.get(name)?.maps.get(map)?.len() as u64,
            _ => choices(attributes.get(name)?)?,
        };
        Some(product.saturating_mul(choices + u64::from(*optional)))
    })
}

/// The number of values of a declared attribute; `None` if unlimited.
pub(super) fn choices(attribute: &Attribute) -> Option<u64> {
    match &attribute.values {
        Some(values) => Some(values.len() as u64),
        None => (attribute.kind == AttributeKind::Boolean).then_some(2),
    }
}

/// Is there a shard among the parts?
pub(super) fn sharded(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Attribute { codec, .. } if codec.shards().is_some()))
}

/// The listed values of an attribute, as texts.
pub(super) fn listed(attribute: &Attribute) -> Option<Vec<&str>> {
    let values = attribute.values.as_ref()?.iter();
    let texts = values.filter_map(|value| match value {
        AttributeValue::S(text) | AttributeValue::N(text) => Some(text.as_str()),
        _ => None,
    });
    Some(texts.collect())
}
