//! A table's own key that drops part of an attribute: two items can then have the same key.

use crate::key::{Codec, Part};
use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::key_position::KeyPosition;
use crate::manifest::keys::Keys;
use crate::manifest::table_text::TableText;

pub(in crate::manifest) fn check(table: &TableText<'_>, keys: &Keys<'_>, findings: &mut Findings<'_>) {
    for place in [KeyPosition::PARTITION, KeyPosition::SORT] {
        let folds = keys.uses(place).iter().filter_map(|key| keys.folds.get(key.name()));
        for (rule, text) in folds.flat_map(|fold| &fold.parsed) {
            let forgotten = rule.template.parts().iter().find_map(|part| match part {
                Part::Attribute { name, codec, .. } => Some((forgotten(codec)?, name)),
                Part::Literal(_) => None,
            });
            let Some(((what, hint), name)) = forgotten else { continue };
            if table.allows(Code::LossyPrimaryKey, None) {
                continue;
            }
            let message = format!("{} does not keep {what} of `{name}`", place.what(table));
            findings.report(Code::LossyPrimaryKey, text.span.clone(), message).hint(hint);
        }
    }
}

/// The information that a codec drops, and the consequence.
fn forgotten(codec: &Codec) -> Option<(&'static str, &'static str)> {
    match codec {
        Codec::Lower | Codec::Upper => Some((
            "the case",
            "items that differ in case alone would be one item, and the later write would win",
        )),
        // Only the instant counts: an offset or a number of places makes another text, and the same key.
        Codec::Timestamp(_) | Codec::LowerTimestamp(_) => Some((
            "the text",
            "two texts of one instant, as `09:00:00+01:00` and `08:00:00Z`, would be one item, and the later write would win: add a part that is unique",
        )),
        _ => None,
    }
}
