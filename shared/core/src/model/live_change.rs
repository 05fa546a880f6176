//! What a retrofit in place does to attributes that are no folded keys. Programs that read the table meet it at once, and giving
//! the retrofit up takes nothing back.

use std::fmt;

use super::{Remedy, Retrofit};
use crate::value::{Item, equal};

/// One attribute that a retrofit in place changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveChange {
    /// It gets another name. What stood under that name is lost.
    Renamed {
        /// The name it has.
        attribute: String,
        /// The name it gets.
        to: String,
    },
    /// It gets a constant. What it held is lost.
    Set {
        /// The attribute.
        attribute: String,
    },
    /// It goes.
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

    /// The field of the manifest that says so, and where in it.
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

    /// Does it change this item, of which `mapped` is made?
    pub(crate) fn changes(&self, retrofit: &Retrofit, item: &Item, mapped: &Item) -> bool {
        match self {
            LiveChange::Renamed { attribute, .. } | LiveChange::Dropped { attribute } => {
                item.contains_key(attribute)
            }
            LiveChange::Set { attribute } => {
                let constant = retrofit.set.get(attribute);
                constant.is_some_and(|value| !item.get(attribute).is_some_and(|held| equal(held, value)))
            }
            LiveChange::Mended { attribute } => item.get(attribute) != mapped.get(attribute),
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
    /// What changes on items of a live table besides folded keys; nothing where another table is written.
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
}
