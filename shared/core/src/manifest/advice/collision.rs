//! Two entities whose items can have one primary key: the later write replaces an item of the other entity.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::key_position::KeyPosition;
use crate::manifest::key_use::KeyUse;
use crate::manifest::keys::Keys;
use crate::manifest::table_text::TableText;
use crate::model::WhenTest;
use crate::value::AttributeValue;

pub(in crate::manifest) fn check(table: &TableText<'_>, keys: &Keys<'_>, findings: &mut Findings<'_>) {
    for (at, entity) in table.entities.iter().enumerate() {
        let Some(first) = (0..at).find(|before| collide(table, keys, *before, at)) else { continue };
        if table.allows(Code::KeysCanCollide, None) {
            continue;
        }
        let (one, other) = (&table.entities[first].name, &entity.name);
        let message = format!("a `{}` and a `{}` can have the same primary key", one.value, other.value);
        findings
            .report(Code::KeysCanCollide, other.span.clone(), message)
            .related(one.span.clone(), "the other entity")
            .hint("the later write would replace the other item: begin one of the keys with another text, such as `ORDER#`");
    }
}

/// Can items of the two entities have the same primary key? Keys shared by all entities are skipped: they identify
/// items.
fn collide(table: &TableText<'_>, keys: &Keys<'_>, one: usize, other: usize) -> bool {
    let mut is_of_entities = false;
    for place in [KeyPosition::PARTITION, KeyPosition::SORT] {
        for key in keys.uses(place) {
            if matches!(key, KeyUse::Natural(_)) {
                continue;
            }
            let Some(fold) = keys.folds.get(key.name()) else { return false };
            let (Some((one_template, one_own)), Some((other_template, other_own))) =
                (fold.template_of(one), fold.template_of(other))
            else {
                return false;
            };
            is_of_entities |= one_own || other_own;
            let (one, other) = (values(table, one), values(table, other));
            if !one_template.can_equal(&one, other_template, &other) {
                return false;
            }
        }
    }
    is_of_entities
}

/// The values that an attribute has in the items of an entity, where its `when` lists them.
fn values<'t>(table: &'t TableText<'_>, entity: usize) -> impl Fn(&str) -> Option<&'t [AttributeValue]> {
    let when = &table.entities[entity].when;
    move |name: &str| {
        when.iter().find_map(|when| match &when.test {
            WhenTest::In(values) if when.attribute == name => Some(values.as_slice()),
            _ => None,
        })
    }
}
