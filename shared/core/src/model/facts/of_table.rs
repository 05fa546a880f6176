//! The facts of a table, from its declaration. Start at [`Table::facts`].

use smol_str::SmolStr;

use super::{EntityFacts, KeyFacts, PartitionInput, TableFacts};
use crate::condition::Condition;
use crate::key::Part;
use crate::model::{Entity, EntityId, FoldRule, Index, KeyAttribute, KeySource, Table};

impl Table {
    /// The facts of the declaration.
    pub(crate) fn facts(&self) -> &TableFacts {
        let facts = self.facts.get(|| TableFacts::of(self));
        // Only here: it would cost more than the plan.
        if cfg!(test) {
            assert_eq!(facts, &TableFacts::of(self), "a table was changed after it was asked for its facts");
        }
        facts
    }

    /// Computes now what the first plan would compute: for a model that other processes take over.
    pub fn compute_facts(&self) {
        self.facts();
    }
}

impl TableFacts {
    fn of(table: &Table) -> TableFacts {
        let attributes = || table.attributes.values();
        let promised = attributes().filter(|known| known.required);
        let promised: Vec<SmolStr> = promised.map(|known| SmolStr::from(&known.name)).collect();
        let entities = entities_of(table).map(|entity| EntityFacts::of(table, entity, &promised));
        let mut entities: Vec<EntityFacts> = entities.collect();
        let everywhere = in_all(&entities);
        for known in &mut entities {
            known.present.retain(|name| !everywhere.contains(name));
        }
        let listed =
            attributes().filter_map(|known| Some((known.name.as_str().into(), known.values.clone()?)));
        let from_key = attributes().filter(|known| known.from_key);
        let mut facts = TableFacts {
            from_key: from_key.map(|known| SmolStr::from(&known.name)).collect(),
            everywhere,
            entities,
            listed: listed.collect(),
            table: KeyFacts::default(),
            indexes: Vec::with_capacity(table.indexes.len()),
        };
        let key = |index, partition, sort| KeyFacts::of(&facts, index, partition, sort);
        let own = key(None, std::slice::from_ref(&table.partition), table.sort.as_slice());
        let indexes = table.indexes.iter().map(|index| key(Some(index), &index.partition, &index.sort));
        (facts.indexes, facts.table) = (indexes.collect(), own);
        facts
    }
}

/// Every entity, and `None` for items without one if the table's own key needs no entity.
fn entities_of(table: &Table) -> impl Iterator<Item = Option<EntityId>> {
    let entities = (0..table.entities.len()).map(|number| Some(EntityId(number)));
    let others = table.key_attributes().all(|key| required(key, None).is_some());
    entities.chain(others.then_some(None))
}

/// The attributes that the items of all these entities have.
fn in_all(entities: &[EntityFacts]) -> Vec<SmolStr> {
    let Some((first, others)) = entities.split_first() else { return Vec::new() };
    let in_others = |name: &&SmolStr| others.iter().all(|other| other.present.contains(name));
    first.present.iter().filter(in_others).cloned().collect()
}

impl EntityFacts {
    fn of(table: &Table, entity: Option<EntityId>, promised: &[SmolStr]) -> EntityFacts {
        let of_one = |entity: &Entity| entity.when.iter().map(Condition::from).collect::<Vec<_>>();
        let (conditions, requires, never) = match entity.map(|EntityId(number)| &table.entities[number]) {
            Some(entity) => (
                of_one(entity),
                table.requires(entity).collect(),
                table.never(entity).map(SmolStr::from).collect(),
            ),
            None => {
                let is_not = |entity| Condition::Not(Box::new(Condition::all(of_one(entity))));
                (table.entities.iter().map(is_not).collect(), Vec::new(), Vec::new())
            }
        };
        // If an entity cannot have the table's key, such items do not exist and need no facts.
        let keys: Option<Vec<_>> = table.key_attributes().map(|key| required(key, entity)).collect();
        let in_keys = keys.into_iter().flatten().flatten().map(SmolStr::from);
        let present = promised.iter().cloned().chain(in_keys).chain(requires.into_iter().map(SmolStr::from));
        EntityFacts { entity, conditions, present: present.collect(), never }
    }
}

impl KeyFacts {
    fn of(
        facts: &TableFacts,
        index: Option<&Index>,
        partition: &[KeyAttribute],
        sort: &[KeyAttribute],
    ) -> KeyFacts {
        let index = index.map(|index| SmolStr::from(&index.name));
        if partition.iter().chain(sort).any(depends_on_entity) {
            return KeyFacts { index, is_overloaded: true, ..KeyFacts::default() };
        }
        let needed = partition.iter().chain(sort).filter_map(|key| required(key, None)).flatten();
        let mut key = KeyFacts {
            index,
            unpromised: needed.map(SmolStr::from).filter(|name| !facts.everywhere.contains(name)).collect(),
            leads: leads(facts, partition),
            ..KeyFacts::default()
        };
        for attribute in partition.iter().flat_map(inputs) {
            match facts.listed_values(attribute) {
                #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                Some(values) => key.listed_share /= values.len().max(1) as f64,
                None => key.open_parts += 1,
            }
        }
        key
    }
}

fn depends_on_entity(key: &KeyAttribute) -> bool {
    matches!(&key.source, KeySource::Folded(rules) if rules.iter().any(|rule| rule.entity.is_some()))
}

/// The attributes that make a key attribute which is the same for all entities.
fn inputs(key: &KeyAttribute) -> Vec<&str> {
    match &key.source {
        KeySource::Natural => vec![&key.name],
        KeySource::Folded(_) => key.inputs().collect(),
    }
}

/// The attributes without which an item of an entity has no such key. `None`: no item of the entity has one.
fn required(key: &KeyAttribute, entity: Option<EntityId>) -> Option<Vec<&str>> {
    let KeySource::Folded(rules) = &key.source else { return Some(vec![&key.name]) };
    let rule = FoldRule::of(rules, entity)?;
    let part = |part| match part {
        &Part::Attribute { ref name, optional: false, .. } => Some(name.as_str()),
        _ => None,
    };
    Some(rule.template.parts().iter().filter_map(part).collect())
}

/// The requirements of a partition key's attributes, up to the first folded one: later ones depend on its value.
fn leads(facts: &TableFacts, partition: &[KeyAttribute]) -> Vec<PartitionInput> {
    let lead = |name: &str, by_equality| PartitionInput {
        attribute: name.into(),
        by_equality,
        is_listed: facts.listed_values(name).is_some(),
    };
    let mut leads = Vec::new();
    for key in partition {
        match &key.source {
            KeySource::Natural => leads.push(lead(&key.name, true)),
            KeySource::Folded(rules) => {
                let open = rules.iter().find_map(|rule| rule.template.first_open());
                leads.extend(open.map(|name| lead(name, false)));
                break;
            }
        }
    }
    leads
}

#[cfg(test)]
mod tests {
    use crate::manifest;
    use crate::model::Table;

    fn table() -> Table {
        let text = r#"
[tables.orders]
name = "orders"
partition = "id"
[tables.orders.attributes]
id = "string"
owner = { type = "string", required = true }
status = { type = "string", values = ["new", "paid"] }
note = "string"
[tables.orders.entities.gift]
when = { status = "paid" }
[tables.orders.indexes.byStatus]
partition = "{status}#{owner}"
sort = "{id}[#{note}]"
[tables.orders.indexes.byEntity]
partition = "owner"
[tables.orders.entities.gift.indexes.byEntity]
sort = "gift#{note}"
"#;
        let parsed = manifest::parse("keyfold.toml", text);
        let report = parsed.render(text, false);
        parsed.model.unwrap_or_else(|| panic!("{report}")).tables.remove(0)
    }

    #[test]
    fn a_key_that_every_entity_has_knows_which_of_its_attributes_can_be_missing() {
        let table = table();
        let facts = table.facts();
        let present: Vec<_> = facts.entities.iter().map(|known| known.present.as_slice()).collect();
        assert_eq!(present, [[""; 0]; 2], "gifts, and what is no gift, have nothing else for certain");
        assert_eq!(facts.everywhere, ["owner", "id"]);
        assert_eq!(facts.listed_values("status").map(<[_]>::len), Some(2));
        assert_eq!(facts.listed_values("note"), None);
        let by_status = &facts.indexes[0];
        assert_eq!(by_status.unpromised, ["status"]);
        assert_eq!(by_status.leads, [], "the status has few values");
        assert_eq!((by_status.listed_share, by_status.open_parts), (0.5, 1));
        assert!(!by_status.is_overloaded && facts.indexes[1].is_overloaded);
    }

    #[test]
    fn a_changed_copy_has_facts_of_its_own() {
        let table = table();
        assert_eq!(table.facts().indexes.len(), 2);
        let mut changed = table.clone();
        changed.indexes.pop();
        assert_eq!(changed.facts().indexes.len(), 1);
        assert_eq!(Table { indexes: Vec::new(), ..table.clone() }.facts().indexes.len(), 0);
    }
}
