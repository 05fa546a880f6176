//! Several entities in one index: what was chosen for each of them, packed into as few indexes as hold it.

use keyfold_core::model::{Entity, EntityId, IndexKind, Projection, Table};

use crate::design::{Design, Form, Slot};
use crate::shape::Key;

/// The most merged designs.
const DESIGNS_MAX: usize = 60;

/// The keys of a chosen index, one for each entity that it answers for. They stay together.
pub(crate) type Group = Vec<Slot>;

/// A chosen index as a group, if the questions that it answers name their entities.
pub(crate) fn group(table: &Table, design: &Design, entities: &[EntityId]) -> Option<Group> {
    match &design.form {
        _ if design.kind == IndexKind::Local || entities.is_empty() => None,
        Form::ByEntity(slots) => Some(slots.clone()),
        Form::Plain(key) => {
            let slot = |entity: &EntityId| {
                let key = of_entity(key, &table.entities[entity.0]);
                Slot { entity: *entity, key, has_prefix: entities.len() == 1 }
            };
            Some(entities.iter().map(slot).collect())
        }
    }
}

/// The key of one entity's items: an optional tail is left out of it if they cannot have the attribute.
fn of_entity(key: &Key, entity: &Entity) -> Key {
    let mut own = key.clone();
    if own.has_tail && own.sort.last().is_some_and(|name| !entity.attributes.contains_key(name)) {
        own.sort.pop();
        own.has_tail = false;
    }
    own
}

/// Overloaded designs that could take the place of these groups: the tightest packing, and each pair.
pub(crate) fn merged(groups: &[Group]) -> Vec<Design> {
    let mut indexes: Vec<Vec<Group>> = Vec::new();
    for group in groups {
        match indexes.iter_mut().find(|index| index.iter().all(|known| are_apart(known, group))) {
            Some(index) => index.push(group.clone()),
            None => indexes.push(vec![group.clone()]),
        }
    }
    let packed = indexes.into_iter().filter(|index| index.len() > 1).map(|index| index.concat());
    let mut forms: Vec<Vec<Slot>> = packed.collect();
    for (at, group) in groups.iter().enumerate() {
        let others = groups[at + 1..].iter().filter(|other| are_apart(group, other));
        forms.extend(others.map(|other| [group.as_slice(), other].concat()));
    }
    forms.truncate(DESIGNS_MAX);
    let design =
        |slots| Design { kind: IndexKind::Global, form: Form::ByEntity(slots), projection: Projection::All };
    forms.into_iter().map(design).collect()
}

/// Do the groups have no entity in common?
fn are_apart(one: &Group, other: &Group) -> bool {
    one.iter().all(|slot| other.iter().all(|known| known.entity != slot.entity))
}
