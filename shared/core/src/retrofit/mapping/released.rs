//! The text that the first release made its digests of, written by hand: `{:?}` of the model's types as they were then.
//!
//! Rows of the control table and checkpoints of retrofits that were begun with that release hold such a digest. By this
//! text they are recognised exactly, and go on. It is frozen: a name that changes in the model does not change here, and
//! what the model has learnt since is not in it (a manifest that uses it has no digest of the first release). The golden
//! values in the tests were made by that release.

use crate::model::{
    Attribute, Entity, Expect, FoldRule, Index, KeyAttribute, KeySource, Retrofit, Table, When, WhenTest,
};

/// The text for a retrofit and its two tables.
pub(super) fn text(retrofit: &Retrofit, source: &Table, target: &Table) -> String {
    let Retrofit { name, from, to, rename, set, drop, only, .. } = retrofit;
    format!(
        "Retrofit {{ name: {name:?}, from: {from:?}, to: {to:?}, rename: {rename:?}, set: {set:?}, \
         drop: {drop:?}, only: {} }}{}{}",
        list(only, when),
        table(source),
        table(target)
    )
}

fn table(table: &Table) -> String {
    let Expect { items, item_bytes, items_per_partition, .. } = &table.expect;
    let sort = table.sort.as_ref().map_or("None".to_owned(), |sort| format!("Some({})", key(sort)));
    let attributes: Vec<_> =
        table.attributes.iter().map(|(name, one)| format!("{name:?}: {}", attribute(one))).collect();
    format!(
        "Table {{ id: {:?}, name: {:?}, partition: {}, sort: {sort}, attributes: {{{}}}, \
         entity_attribute: {:?}, ttl: {:?}, entities: {}, indexes: {}, scope: {:?}, \
         collection_bytes_warn: {}, expect: Expect {{ items: {items:?}, item_bytes: {item_bytes:?}, \
         items_per_partition: {items_per_partition:?} }} }}",
        table.id,
        table.name,
        key(&table.partition),
        attributes.join(", "),
        table.entity_attribute,
        table.ttl,
        list(&table.entities, entity),
        list(&table.indexes, index),
        table.scope,
        table.collection_bytes_warn,
    )
}

fn attribute(attribute: &Attribute) -> String {
    let Attribute { name, kind, values, maps, required, .. } = attribute;
    format!(
        "Attribute {{ name: {name:?}, kind: {kind:?}, values: {values:?}, maps: {maps:?}, required: {required} }}"
    )
}

fn entity(entity: &Entity) -> String {
    let Entity { name, when: conditions, requires, .. } = entity;
    format!("Entity {{ name: {name:?}, when: {}, requires: {requires:?} }}", list(conditions, when))
}

fn when(When { attribute, test }: &When) -> String {
    let test = match test {
        WhenTest::In(values) => format!("In({values:?})"),
        WhenTest::Exists(exists) => format!("Exists({exists})"),
        WhenTest::BeginsWith(prefix) => format!("BeginsWith({prefix:?})"),
    };
    format!("When {{ attribute: {attribute:?}, test: {test} }}")
}

fn index(index: &Index) -> String {
    let Index { name, kind, partition, sort, projection, .. } = index;
    format!(
        "Index {{ name: {name:?}, kind: {kind:?}, partition: {}, sort: {}, projection: {projection:?} }}",
        list(partition, key),
        list(sort, key)
    )
}

fn key(key: &KeyAttribute) -> String {
    let source = match &key.source {
        KeySource::Natural => "Natural".to_owned(),
        KeySource::Folded(rules) => format!("Folded({})", list(rules, rule)),
    };
    format!("KeyAttribute {{ name: {:?}, scalar: {:?}, source: {source} }}", key.name, key.scalar)
}

fn rule(FoldRule { entity, template }: &FoldRule) -> String {
    let entity = entity.map_or("None".to_owned(), |id| format!("Some(EntityId({}))", id.0));
    format!("FoldRule {{ entity: {entity}, template: {} }}", template.released())
}

fn list<T>(values: &[T], one: impl Fn(&T) -> String) -> String {
    format!("[{}]", values.iter().map(one).collect::<Vec<_>>().join(", "))
}
