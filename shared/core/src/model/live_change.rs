//! Changes of a retrofit in place to attributes other than folded keys. Readers of the table see them at once, and they
//! stay after the retrofit is abandoned.

use std::collections::BTreeSet;
use std::fmt;

use super::{FoldRule, KeyAttribute, KeySource, Remedy, Retrofit, Table};

/// One attribute that a retrofit in place changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveChange {
    /// It is renamed. The former value under the new name is lost.
    Renamed {
        /// The name it has.
        attribute: String,
        /// The name it gets.
        to: String,
    },
    /// It is set to a constant. Its former value is lost.
    Set {
        /// The attribute.
        attribute: String,
    },
    /// It is removed.
    Dropped {
        /// The attribute.
        attribute: String,
    },
    /// It is made to fit, where it does not.
    Mended {
        /// The attribute.
        attribute: String,
    },
}

impl LiveChange {
    /// The attribute, by the name that it has before.
    pub fn attribute(&self) -> &str {
        match self {
            LiveChange::Renamed { attribute, .. }
            | LiveChange::Set { attribute }
            | LiveChange::Dropped { attribute }
            | LiveChange::Mended { attribute } => attribute,
        }
    }

    /// The path of the manifest's field for this change.
    pub(crate) fn path(&self, retrofit: &Retrofit) -> String {
        match self {
            LiveChange::Renamed { attribute, .. } => format!("rename.{attribute}"),
            LiveChange::Set { attribute } => format!("set.{attribute}"),
            LiveChange::Dropped { attribute } => {
                let at = retrofit.drop.iter().position(|name| name == attribute).unwrap_or_default();
                format!("drop.{at}")
            }
            LiveChange::Mended { attribute } => format!("misfits.{attribute}"),
        }
    }
}

impl fmt::Display for LiveChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveChange::Renamed { attribute, to } => write!(f, "`{attribute}` is renamed to `{to}`"),
            LiveChange::Set { attribute } => write!(f, "`{attribute}` is set to a constant"),
            LiveChange::Dropped { attribute } => write!(f, "`{attribute}` is removed"),
            LiveChange::Mended { attribute } => {
                write!(f, "`{attribute}` gets another value where it does not fit")
            }
        }
    }
}

impl Retrofit {
    /// The changes to items of a live table besides folded keys; empty if the target is another table.
    pub fn live_changes(&self) -> Vec<LiveChange> {
        if self.from != self.to {
            return Vec::new();
        }
        let renamed = self
            .rename
            .iter()
            .map(|(attribute, to)| LiveChange::Renamed { attribute: attribute.clone(), to: to.clone() });
        let set = self.set.keys().map(|attribute| LiveChange::Set { attribute: attribute.clone() });
        let dropped = self.drop.iter().map(|attribute| LiveChange::Dropped { attribute: attribute.clone() });
        let changing =
            self.misfits.iter().filter(|(_, remedies)| remedies.iter().any(Remedy::changes_attribute));
        let mut changed: Vec<&String> = changing.map(|(of, _)| &of.attribute).collect();
        // They are in alphabetical order; several entities can have one attribute.
        changed.dedup();
        let mended = changed.into_iter().map(|name| LiveChange::Mended { attribute: name.clone() });
        renamed.chain(set).chain(dropped).chain(mended).collect()
    }
    /// The folded keys of a live table that a retrofit in place would make stale: it changes one of their attributes
    /// without rewriting them.
    pub fn stale_keys(&self, table: &Table) -> Vec<StaleKey> {
        let changes = self.live_changes();
        let changed = changes.iter().map(|change| match change {
            LiveChange::Renamed { to, .. } => to,
            other => other.attribute(),
        });
        let changed: BTreeSet<&str> = changed.collect();
        let is_filled =
            |index: Option<&str>| index.is_some_and(|name| self.fills.iter().any(|filled| filled == name));
        let mut stale: Vec<StaleKey> = Vec::new();
        for (index, key) in table.every_key().filter(|(index, _)| !is_filled(*index)) {
            let inputs = inputs_with_entities(table, key);
            let Some(attribute) = changed.iter().find(|name| inputs.contains(**name)) else { continue };
            if !stale.iter().any(|known| known.index.as_deref() == index) {
                stale.push(StaleKey { attribute: (*attribute).to_owned(), index: index.map(str::to_owned) });
            }
        }
        stale
    }
}

/// A folded key that is not rewritten although one of its attributes changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleKey {
    /// The attribute that changes.
    pub attribute: String,
    /// The index with that key; `None` for the table's own key.
    pub index: Option<String>,
}

impl fmt::Display for StaleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StaleKey { attribute, index } = self;
        match index {
            Some(index) => write!(
                f,
                "a key of index `{index}` is folded from `{attribute}`, and `fills` does not name it"
            ),
            None => write!(f, "the primary key of the table is folded from `{attribute}`"),
        }
    }
}

/// The attributes in a folded key's templates, and those that identify the entity.
fn inputs_with_entities<'t>(table: &'t Table, key: &'t KeyAttribute) -> BTreeSet<&'t str> {
    let KeySource::Folded(rules) = &key.source else { return BTreeSet::new() };
    let by_entity = rules.iter().any(|FoldRule { entity, .. }| entity.is_some());
    let whens = table.entities.iter().filter(|_| by_entity).flat_map(|entity| &entity.when);
    key.inputs().chain(whens.map(|when| when.attribute.as_str())).collect()
}
