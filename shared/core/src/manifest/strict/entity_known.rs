//! Entities of a target that no source item can be identified as. Without an entity an item has no key and is refused.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::places::Places;
use crate::model::{FoldRule, KeySource, Model, Retrofit, Table, When, WhenTest};

pub(super) fn check(model: &Model, retrofit: &Retrofit, places: &Places, findings: &mut Findings<'_>) {
    let (Some(source), Some(target)) = (model.table(&retrofit.from), model.table(&retrofit.to)) else {
        return;
    };
    if retrofit.from == retrofit.to {
        return;
    }
    for entity in &target.entities {
        // Its keys are folded for the items of the source's entity with its name.
        if source.entity(&entity.name).is_some() {
            continue;
        }
        let Some(when) = entity.when.iter().find(|when| !can_hold(retrofit, source, target, when)) else {
            continue;
        };
        let (name, attribute) = (&entity.name, &when.attribute);
        let path = format!("tables.{}.entities.{name}", target.id);
        let message = format!(
            "retrofit `{}` takes no item of table `{}` for a `{name}`: table `{}` tells it by the beginning of its key `{attribute}`, \
             which these items do not have before they are carried over",
            retrofit.name, source.id, target.id
        );
        findings.report(Code::EntityUnknown, places.get(&path).unwrap_or_default(), message).hint(format!(
            "declare the entity `{name}` in table `{}` too, or give that of table `{}` a `when` that items of table `{}` fulfil: an \
             attribute that tells the entity, or how their own key begins",
            source.id, target.id, source.id
        ));
    }
}

/// Can an item of the source fulfil this condition of a target's entity?
fn can_hold(retrofit: &Retrofit, source: &Table, target: &Table, when: &When) -> bool {
    let WhenTest::BeginsWith(prefix) = &when.test else { return true };
    let is_own_key =
        target.key_attributes().any(|key| key.name == when.attribute && key.source != KeySource::Natural);
    if !is_own_key || retrofit.set.contains_key(&when.attribute) {
        return true;
    }
    let renamed = retrofit.rename.iter().find(|(_, new)| **new == when.attribute);
    let name = renamed.map_or(&when.attribute, |(old, _)| old);
    let Some((_, key)) = source.every_key().find(|(_, key)| key.name == *name) else {
        return source.attributes.contains_key(name);
    };
    match &key.source {
        KeySource::Natural => true,
        KeySource::Folded(rules) => rules.iter().any(|FoldRule { template, .. }| {
            let head = template.literal_prefix();
            head.starts_with(prefix.as_str()) || prefix.starts_with(head)
        }),
    }
}
