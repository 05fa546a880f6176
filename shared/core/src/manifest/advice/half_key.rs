//! Incomplete index keys: an item with only one of the two keys is not in the index.

use crate::key::KeyRole;
use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::key_position::KeyPosition;
use crate::manifest::key_use::KeyUse;
use crate::manifest::keys::Keys;
use crate::manifest::table_text::TableText;

pub(in crate::manifest) fn check(table: &TableText<'_>, keys: &Keys<'_>, findings: &mut Findings<'_>) {
    for at in 0..table.indexes.len() {
        let halves = [KeyRole::Partition, KeyRole::Sort].map(|role| KeyPosition { index: Some(at), role });
        let makes = |place: KeyPosition, entity: usize| {
            keys.uses(place).iter().all(|key| match key {
                KeyUse::Natural(_) => true,
                _ => keys.folds.get(key.name()).is_none_or(|fold| fold.makes(entity)),
            })
        };
        let filled = |entity: usize| halves.iter().all(|half| makes(*half, entity));
        let entities = 0..table.entities.len();
        if !table.entities.is_empty() && !entities.clone().any(filled) {
            unfilled(table, at, findings);
            continue;
        }
        for entity in entities.filter(|entity| !filled(*entity)) {
            half(table, halves, entity, findings);
        }
    }
}

fn unfilled(table: &TableText<'_>, at: usize, findings: &mut Findings<'_>) {
    if table.allows(Code::IndexUnfilled, Some(at)) {
        return;
    }
    let index = &table.indexes[at].name;
    let message = format!("no entity gives the whole key of index `{}`, so it stays empty", index.value);
    findings
        .report(Code::IndexUnfilled, index.span.clone(), message)
        .hint(format!("give an entity both `indexes.{0}.partition` and `indexes.{0}.sort`", index.value));
}

/// Reports an entity that has a template for only one of the two keys.
fn half(table: &TableText<'_>, halves: [KeyPosition; 2], entity: usize, findings: &mut Findings<'_>) {
    let given = halves.into_iter().find_map(|half| {
        let (_, text) = half.templates(table).find(|(other, _)| *other == entity)?;
        Some((half, text))
    });
    let Some((given, text)) = given else { return };
    if table.allows(Code::HalfIndexKey, given.index) {
        return;
    }
    let missing = if given == halves[0] { halves[1] } else { halves[0] };
    let (name, index) = (table.entities[entity].name.value, given.index_name(table).unwrap_or_default());
    let message = format!(
        "entity `{name}` gives the {} key of index `{index}` and not its {} key, so none of its items is in it",
        given.field(),
        missing.field()
    );
    findings
        .report(Code::HalfIndexKey, text.span.clone(), message)
        .hint(format!("give it `indexes.{index}.{} = \"...\"` too", missing.field()));
}
