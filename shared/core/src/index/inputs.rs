//! What a table's folded keys are made of, and what making them can change of an item.

use std::collections::BTreeSet;

use crate::model::{KeySource, Table};

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

    /// Every attribute that [`with_keys`](Self::with_keys) can set or remove: the folded keys. One can come several times.
    pub fn folded_names(&self) -> impl Iterator<Item = &String> {
        let folded = self.every_key().filter(|(_, key)| matches!(key.source, KeySource::Folded(_)));
        folded.map(|(_, key)| &key.name)
    }
}
