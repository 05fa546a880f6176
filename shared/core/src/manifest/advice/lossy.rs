//! A table's own key that forgets something of its attributes.

use crate::key::{Codec, Part};
use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::keys::Keys;
use crate::manifest::place::Place;
use crate::manifest::table_text::TableText;

pub(in crate::manifest) fn check(table: &TableText<'_>, keys: &Keys<'_>, findings: &mut Findings<'_>) {
    if table.allows(Code::LossyPrimaryKey, None) {
        return;
    }
    for place in [Place::PARTITION, Place::SORT] {
        let folds = keys.uses(place).iter().filter_map(|key| keys.folds.get(key.name()));
        for (rule, text) in folds.flat_map(|fold| &fold.parsed) {
            let lossy = rule.template.parts().iter().find_map(|part| match part {
                Part::Attribute { name, codec: Codec::Lower | Codec::Upper, .. } => Some(name),
                _ => None,
            });
            let Some(name) = lossy else { continue };
            let message = format!("{} does not keep the case of `{name}`", place.what(table));
            findings
                .report(Code::LossyPrimaryKey, text.span.clone(), message)
                .hint("items that differ in case alone would be one item, and the later write would win");
        }
    }
}
