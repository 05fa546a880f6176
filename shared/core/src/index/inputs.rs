//! What a table's folded keys are made of: the attributes whose change makes them others.

use std::collections::BTreeSet;

use crate::model::{KeySource, Table};

impl Table {
    /// Every attribute that some folded key is made of, or that decides which entity an item is.
    pub fn key_inputs(&self) -> BTreeSet<&str> {
        let keys =
            self.key_attributes().chain(self.indexes.iter().flat_map(crate::model::Index::key_attributes));
        let folded = keys.filter_map(|key| match &key.source {
            KeySource::Folded(rules) => Some(rules),
            KeySource::Natural => None,
        });
        let inputs = folded.flatten().flat_map(|rule| rule.template.attributes());
        inputs
            .chain(
                self.entities
                    .iter()
                    .flat_map(|entity| entity.when.iter().map(|when| when.attribute.as_str())),
            )
            .collect()
    }
}
