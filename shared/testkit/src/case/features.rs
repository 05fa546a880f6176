//! The features of a case. A generator that never produces a feature tests nothing of it, so the oracle's test counts
//! them.

use std::collections::BTreeSet;

use keyfold_core::model::{EntityId, KeySource, Table, WhenTest};
use keyfold_core::query::plan::{Access, ReadFrom};
use keyfold_core::query::{Readiness, check, own, plan};

use super::Case;
use crate::generate::Asked;
use crate::naive;
use crate::table::key_holds;

/// Every feature, and in how many of a thousand cases it must occur at least.
pub const FEATURES: [(&str, u64); 10] = [
    ("a pending index would be read if it were complete", 10),
    ("items of two entities lie in one range that is read", 20),
    ("a tombstone lies in a range that is read", 20),
    ("an item of the answer has an attribute of Keyfold's own", 70),
    ("an attribute is asked for that an entity never has", 10),
    ("an item of the answer is recognised by the beginning of an attribute", 5),
    ("an item of the answer is recognised by the beginning of its key", 15),
    ("an attribute is asked for that only a key has", 15),
    ("a branch of an `or` names its entity", 20),
    ("a key that is read has a remainder or a time in lower case", 20),
];

/// The features of a case with a non-empty answer. (Only the first needs no answer.)
pub fn features(case: &Case) -> Vec<&'static str> {
    let (table, asking) = (case.table(), &case.asking);
    let Ok(request) = check(&case.model, &asking.request, &asking.caller) else { return Vec::new() };
    let complete = plan(&request, &Readiness::complete());
    let is_pending =
        |access: &Access| access.source.index().is_some_and(|name| case.pending.iter().any(|it| it == name));
    let is_barred = complete.is_ok_and(|plan| plan.accesses.iter().any(is_pending));
    let wanted: Vec<_> = case.items.iter().filter(|item| naive::wanted(table, asking, item)).collect();
    let Some(plan) = plan(&request, &case.readiness()).ok().filter(|_| !wanted.is_empty()) else {
        return FEATURES.iter().take(usize::from(is_barred)).map(|(name, _)| *name).collect();
    };
    let mut asked = BTreeSet::new();
    names(&asking.asked, &mut asked);
    asked.extend(asking.request.order.iter().map(|name| name.trim_start_matches('-').to_owned()));
    let told_by = |of_key: bool| {
        let is_such = |id: EntityId| {
            table.entities[id.0].when.iter().any(|when| {
                matches!(when.test, WhenTest::BeginsWith(_))
                    && table.attributes.contains_key(&when.attribute) != of_key
            })
        };
        wanted.iter().any(|item| table.entity_of(&item.stored).ok().flatten().is_some_and(is_such))
    };
    let found = [
        is_barred,
        plan.accesses.iter().any(|access| entities_in_reach(case, access) > 1),
        plan.accesses.iter().any(|access| tombstone_in_reach(case, access)),
        wanted.iter().any(|item| item.stored.keys().any(|name| own::is_own(name))),
        table.entities.iter().any(|entity| table.never(entity).any(|name| asked.contains(name))),
        told_by(false),
        told_by(true),
        table.attributes.values().any(|known| known.from_key && asked.contains(&known.name)),
        has_branch_of_entity(&asking.asked),
        plan.accesses.iter().any(|access| {
            templates(table, &access.source).any(|text| {
                text.contains("|mod:") || text.contains("{t1|lower}") || text.contains("{d1|lower}")
            })
        }),
    ];
    FEATURES.iter().zip(found).filter(|(_, found)| *found).map(|((name, _), _)| *name).collect()
}

fn in_reach<'c>(case: &'c Case, access: &'c Access) -> impl Iterator<Item = &'c crate::generate::CaseItem> {
    case.items.iter().filter(move |item| {
        let entry = match access.source.index() {
            None => Some(item.stored.clone()),
            Some(name) => {
                case.table().index(name).and_then(|index| index.entry(case.table(), &item.stored).ok())
            }
        };
        entry.is_some_and(|entry| key_holds(&access.operation, &entry))
    })
}

fn entities_in_reach(case: &Case, access: &Access) -> usize {
    let of = |item: &crate::generate::CaseItem| case.table().entity_of(&item.stored).ok().flatten();
    in_reach(case, access).filter_map(of).collect::<BTreeSet<_>>().len()
}

fn tombstone_in_reach(case: &Case, access: &Access) -> bool {
    in_reach(case, access).any(|item| own::is_tombstone(&item.stored))
}

fn templates<'t>(table: &'t Table, source: &ReadFrom) -> impl Iterator<Item = &'t str> {
    let keys: Vec<_> = match source.index().and_then(|name| table.index(name)) {
        Some(index) => index.key_attributes().collect(),
        None => table.key_attributes().collect(),
    };
    let rules = keys.into_iter().flat_map(|key| match &key.source {
        KeySource::Folded(rules) => rules.as_slice(),
        KeySource::Natural => &[],
    });
    rules.map(|rule| rule.template.text())
}

/// The attributes that conditions name.
fn names(asked: &Asked, all: &mut BTreeSet<String>) {
    match asked {
        Asked::Of(_) => {}
        Asked::Is(name, _) => drop(all.insert(name.clone())),
        Asked::All(parts) | Asked::Any(parts) => parts.iter().for_each(|part| names(part, all)),
        Asked::Not(inner) => names(inner, all),
    }
}

fn has_branch_of_entity(asked: &Asked) -> bool {
    let names_entity = |part: &Asked| match part {
        Asked::Of(_) => true,
        Asked::All(parts) => parts.iter().any(|part| matches!(part, Asked::Of(_))),
        _ => false,
    };
    match asked {
        Asked::Any(parts) => parts.iter().any(|part| names_entity(part) || has_branch_of_entity(part)),
        Asked::All(parts) => parts.iter().any(has_branch_of_entity),
        Asked::Not(inner) => has_branch_of_entity(inner),
        Asked::Is(..) | Asked::Of(_) => false,
    }
}
