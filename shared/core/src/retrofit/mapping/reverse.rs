//! The way back: from a target item to the source's, by the same lines of the manifest.
//!
//! Renames are turned round; folded keys and constants of the target are left off. The source's primary key is read from the target's,
//! which contains it exactly: so it does not matter which entity's template made it, or whether one did. The folded keys of the
//! source's indexes are made again.
//!
//! The result is checked for each item: the way there must lead to the very item again. An item that fails is not
//! written: it is in the quarantine of the way back. A folded key of the source that the target does not know is apart from this: the
//! target's writers do not keep it right.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::announced::announced;
use super::folded::{is_folded, key_values, made};
use super::{Mapping, same_item, table_with_stored_key};
use crate::model::{Attribute, MisfitOf, Remedy, Retrofit, Table};
use crate::retrofit::attributes::OWN_ATTRIBUTES;
use crate::retrofit::misfit::Misfit;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::quarantine::QuarantineReason;
use crate::value::Item;

/// Why a retrofit has no way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWayBack {
    /// Source and target are one table.
    SameTable,
    /// The target lacks this attribute of the source.
    Dropped {
        /// The attribute.
        attribute: String,
    },
    /// This attribute is changed where it does not fit: what it held is not in the target.
    Mended {
        /// The attribute.
        attribute: String,
    },
    /// The target stores this attribute, which the source can have in a key alone: nothing says which items stored it.
    Stored {
        /// The attribute.
        attribute: String,
    },
    /// This attribute of the source is written over in the target.
    Overwritten {
        /// The attribute.
        attribute: String,
    },
}

impl fmt::Display for NoWayBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoWayBack::SameTable => write!(f, "the retrofit reads and writes one table"),
            NoWayBack::Dropped { attribute } => write!(f, "the retrofit drops `{attribute}`"),
            NoWayBack::Mended { attribute } => {
                write!(f, "the retrofit changes `{attribute}` where it does not fit")
            }
            NoWayBack::Stored { attribute } => {
                write!(f, "the target stores `{attribute}`, which can be in a key of the source alone")
            }
            NoWayBack::Overwritten { attribute } => {
                write!(f, "the retrofit writes over `{attribute}` of the source")
            }
        }
    }
}

impl NoWayBack {
    /// How readers and writers get to what the retrofit fills all the same.
    pub fn hint(&self) -> &'static str {
        match self {
            NoWayBack::SameTable => {
                "nothing moves: `keyfold retrofit switch` lets queries use what was filled"
            }
            _ => "`switch --for-good` moves the writers once and for all",
        }
    }
}

impl Mapping {
    /// The mapping that carries what the target's writers write back to the source.
    pub fn reverse(&self) -> Result<Mapping, NoWayBack> {
        if self.protocol == Protocol::InPlace {
            return Err(NoWayBack::SameTable);
        }
        let Retrofit { rename, set, drop, misfits, .. } = &self.retrofit;
        // The source's folded keys are made again.
        if let Some(attribute) = drop.iter().find(|name| !is_folded(&self.source, name)) {
            return Err(NoWayBack::Dropped { attribute: attribute.clone() });
        }
        let changes = |remedies: &[Remedy]| remedies.iter().any(Remedy::changes_attribute);
        if let Some((of, _)) = misfits.iter().find(|(_, remedies)| changes(remedies)) {
            return Err(NoWayBack::Mended { attribute: of.attribute.clone() });
        }
        let is_natural = |name: &str| is_known(&self.source, name) && !is_folded(&self.source, name);
        let made = made(&self.target);
        let written = rename.values().chain(set.keys()).chain(&made);
        if let Some(attribute) =
            written.into_iter().find(|name| is_natural(name) && !rename.contains_key(*name))
        {
            return Err(NoWayBack::Overwritten { attribute: attribute.clone() });
        }
        let is_stored = |known: &&Attribute| {
            let name = rename.get(&known.name).unwrap_or(&known.name);
            known.from_key && self.target.attributes.get(name).is_some_and(|there| !there.from_key)
        };
        if let Some(known) = self.source.attributes.values().find(is_stored) {
            return Err(NoWayBack::Stored { attribute: known.name.clone() });
        }
        let in_source = |name: &String| {
            let renamed = rename.iter().find(|(_, new)| *new == name);
            renamed.map_or(name, |(old, _)| old).clone()
        };
        let left_off = set.keys().cloned().chain(made).collect();
        let retrofit = Retrofit {
            from: self.retrofit.to.clone(),
            to: self.retrofit.from.clone(),
            rename: rename.iter().map(|(old, new)| (new.clone(), old.clone())).collect(),
            set: Default::default(),
            drop: left_off,
            only: Vec::new(),
            fills: Vec::new(),
            changes_live_attributes: false,
            keep_folded: false,
            // An item that does not fit there does not fit here. The source can have other entities, and what counts as absent changes nothing.
            misfits: misfits
                .iter()
                .map(|(of, remedies)| {
                    (MisfitOf { attribute: in_source(&of.attribute), entity: None }, remedies.clone())
                })
                .collect(),
            ..self.retrofit.clone()
        };
        let written_table = match self.protocol {
            // The target's key does not say the source's: that is made of the item's attributes.
            Protocol::Ledger => self.source.clone(),
            Protocol::InPlace | Protocol::Fenced => table_with_stored_key(&self.source),
        };
        Ok(Mapping {
            announced: announced(&retrofit, &self.target, &written_table),
            retrofit,
            source: self.target.clone(),
            target: self.source.clone(),
            written_table,
            inputs: BTreeSet::new(),
            forward: Some(Arc::new(self.clone())),
            rows_name: reverse_name(self.name()),
            ..self.clone()
        })
    }

    /// The mapping as the manifest has it, whichever way this one leads.
    pub fn forward(&self) -> &Mapping {
        self.forward.as_deref().unwrap_or(self)
    }

    /// Does it lead back to the table that the retrofit came from?
    pub fn is_reverse(&self) -> bool {
        self.forward.is_some()
    }

    /// The part of the names of this direction's partitions in the control table.
    pub fn rows_name(&self) -> &str {
        &self.rows_name
    }

    /// The same of the other direction.
    pub fn other_rows_name(&self) -> String {
        if self.is_reverse() { self.name().to_owned() } else { reverse_name(self.name()) }
    }

    /// The target's item for a source item, as [`target_item`](Self::target_item) has it, or the reason of its absence. On the way back
    /// it must lead there again.
    pub(in crate::retrofit) fn carried(
        &self,
        source: Cow<'_, Item>,
    ) -> Result<Option<Item>, QuarantineReason> {
        let unmappable = |error: crate::index::ItemError| QuarantineReason::unmappable(&error);
        let Some(forward) = &self.forward else { return self.mapped(source).map_err(unmappable) };
        let Some(item) = self.target_item(&source).map_err(unmappable)? else { return Ok(None) };
        let again = forward.target_item(&item).map_err(unmappable)?;
        let carried_along = forward.carried_along();
        let apart: Vec<&str> =
            OWN_ATTRIBUTES.into_iter().chain(carried_along.iter().map(String::as_str)).collect();
        match again.is_some_and(|again| same_item(&again, &source, &apart)) {
            true => Ok(Some(item)),
            false => Err(QuarantineReason::Unmappable(Misfit::of_code(NO_WAY_BACK))),
        }
    }

    /// The folded keys of the source that the target has as data that it does not know, by their names there.
    fn carried_along(&self) -> Vec<String> {
        let in_target = |name: String| self.retrofit.rename.get(&name).cloned().unwrap_or(name);
        made(&self.source).into_iter().map(in_target).filter(|name| !is_known(&self.target, name)).collect()
    }

    /// May an item of the target be one of this direction's? On the way back, the source's items that were never carried over are
    /// not: those that the retrofit does not take, and those that do not fit.
    pub(in crate::retrofit) fn may_own(&self, target: &Item) -> bool {
        self.forward.as_ref().is_none_or(|forward| matches!(forward.target_item(target), Ok(Some(_))))
    }

    /// Does the retrofit take an item of the target, whether or not it fits? On the way back, the source has others too.
    pub(in crate::retrofit) fn may_take(&self, target: &Item) -> bool {
        self.forward.as_ref().is_none_or(|forward| forward.selects(target))
    }

    /// The source's key for a target key, where each fixes the other; `None` where it does not.
    pub fn origin(&self, target_key: &Item) -> Option<Item> {
        if self.protocol == Protocol::Ledger {
            return None;
        }
        if let Some(forward) = &self.forward {
            return forward.target_key(target_key).ok().flatten();
        }
        if self.is_by_entity() {
            return self.origin_by_entity(target_key);
        }
        let natural = key_values(&self.target, target_key)?;
        let back = |name: &String| self.retrofit.rename.get(name).unwrap_or(name).clone();
        let key = self
            .source
            .key_attributes()
            .map(|key| Some((key.name.clone(), natural.get(&back(&key.name))?.clone())));
        Some(Item::from(key.collect::<Option<std::collections::HashMap<_, _>>>()?))
    }
}

/// No name in a manifest has such a sign.
pub(in crate::retrofit) fn reverse_name(name: &str) -> String {
    format!("{name}<")
}

/// The code of an item that the way there does not lead to again.
pub const NO_WAY_BACK: &str = "no-way-back";

fn is_known(table: &Table, name: &str) -> bool {
    table.attributes.contains_key(name) || table.every_key().any(|(_, key)| key.name == name)
}
