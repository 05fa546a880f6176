//! One attribute of a template, and what may follow it.

use super::codec::{Codec, KeyMode};
use super::finite::Finite;
use super::follow::Follow;
use crate::attribute::AttributeKind;

/// One attribute of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) attribute: String,
    pub(super) kind: AttributeKind,
    pub(super) codec: Codec,
    /// The values and their texts, if the attribute has a finite list of values.
    pub(super) finite: Option<Finite>,
    pub(super) follow: Follow,
    pub(super) mode: KeyMode,
}

impl Field {
    /// Does the text show by itself where it ends?
    pub(super) fn is_self_delimiting(&self) -> bool {
        match &self.codec {
            Codec::Integer { .. }
            | Codec::Number
            | Codec::Timestamp(_)
            | Codec::LowerTimestamp(_)
            | Codec::Date
            | Codec::Shard(_) => true,
            Codec::Modulo(shards) => *shards <= 10,
            Codec::Enumerated | Codec::Map(_) => self.finite.as_ref().is_some_and(Finite::is_prefix_free),
            Codec::Text | Codec::Lower | Codec::Upper | Codec::Hex => false,
        }
    }

    /// Are separators in its text escaped?
    pub(super) fn escapes(&self) -> bool {
        self.mode == KeyMode::Escaped
            && !self.follow.is_last()
            && match &self.finite {
                Some(finite) => !finite.plain,
                None => matches!(self.codec, Codec::Text | Codec::Lower | Codec::Upper),
            }
    }

    /// Does byte order of the text (and what follows it) equal value order, whatever follows?
    pub(super) fn is_ordered(&self) -> bool {
        match &self.codec {
            Codec::Integer { .. }
            | Codec::Number
            | Codec::Timestamp(_)
            | Codec::LowerTimestamp(_)
            | Codec::Date => true,
            Codec::Text => self.kind != AttributeKind::Number && self.follow.is_last(),
            Codec::Hex => self.follow.is_last(),
            Codec::Enumerated | Codec::Map(_) => self.finite.as_ref().is_some_and(|finite| finite.ordered),
            Codec::Lower | Codec::Upper | Codec::Shard(_) | Codec::Modulo(_) => false,
        }
    }

    /// Does the key keep less than the value?
    pub(super) fn is_lossy(&self) -> bool {
        matches!(self.codec, Codec::Lower | Codec::Upper) || self.codec.shards().is_some()
    }
}
