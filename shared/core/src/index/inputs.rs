//! What a table's folded keys are made of: the attributes whose change makes them others.

use std::collections::BTreeSet;

use crate::model::Table;

impl Table {
    /// Every attribute that some folded key is made of, or that decides which entity an item is.
    pub fn key_inputs(&self) -> BTreeSet<&str> {
        let inputs = self.every_key().flat_map(|(_, key)| key.inputs());
        inputs
            .chain(
                self.entities
                    .iter()
                    .flat_map(|entity| entity.when.iter().map(|when| when.attribute.as_str())),
            )
            .collect()
    }
}
