//! The facts of a table, from its declaration. Start at [`Table::facts`].

use smol_str::SmolStr;

use super::{KeyFacts, TableFacts};
use crate::key::Part;
use crate::model::{Index, KeyAttribute, KeySource, Table};

impl Table {
    /// What follows from the declaration alone.
    pub(crate) fn facts(&self) -> &TableFacts {
        let facts = self.facts.get(|| TableFacts::of(self));
        // Only here: it would cost more than the plan.
        if cfg!(test) {
            assert_eq!(facts, &TableFacts::of(self), "a table was changed after it was asked for its facts");
        }
        facts
    }
}

impl TableFacts {
    fn of(table: &Table) -> TableFacts {
        let attributes = || table.attributes.values();
        let promised: Vec<String> =
            attributes().filter(|known| known.required).map(|known| known.name.clone()).collect();
        let listed =
            attributes().filter_map(|known| Some((known.name.as_str().into(), known.values.clone()?)));
        let mut facts = TableFacts {
            promised,
            listed: listed.collect(),
            table: KeyFacts::default(),
            indexes: Vec::with_capacity(table.indexes.len()),
        };
        facts.table =
            KeyFacts::of(&facts, None, std::slice::from_ref(&table.partition), table.sort.as_slice());
        for Index { name, partition, sort, .. } in &table.indexes {
            facts.indexes.push(KeyFacts::of(&facts, Some(name), partition, sort));
        }
        facts
    }
}

impl KeyFacts {
    fn of(
        facts: &TableFacts,
        index: Option<&String>,
        partition: &[KeyAttribute],
        sort: &[KeyAttribute],
    ) -> KeyFacts {
        let index = index.map(SmolStr::from);
        if partition.iter().chain(sort).any(depends_on_entity) {
            return KeyFacts { index, is_overloaded: true, ..KeyFacts::default() };
        }
        let is_unpromised = |name: &&str| !facts.promised.iter().any(|promised| promised == name);
        let required = partition.iter().chain(sort).flat_map(required);
        let mut key = KeyFacts {
            index,
            unpromised: required.filter(is_unpromised).map(SmolStr::from).collect(),
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
        KeySource::Folded(rules) => rules.iter().flat_map(|rule| rule.template.attributes()).collect(),
    }
}

/// Those of them without which there is no key.
fn required(key: &KeyAttribute) -> Vec<&str> {
    match &key.source {
        KeySource::Natural => vec![&key.name],
        KeySource::Folded(rules) => {
            rules.iter().flat_map(|rule| rule.template.parts()).filter_map(required_part).collect()
        }
    }
}

fn required_part(part: &Part) -> Option<&str> {
    match part {
        Part::Attribute { name, optional: false, .. } => Some(name),
        _ => None,
    }
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
        assert_eq!(facts.promised, ["owner"]);
        assert_eq!(facts.listed_values("status").map(<[_]>::len), Some(2));
        assert_eq!(facts.listed_values("note"), None);
        let by_status = &facts.indexes[0];
        assert_eq!(by_status.unpromised, ["status", "id"]);
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
