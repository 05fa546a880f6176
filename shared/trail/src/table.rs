//! The table's items, as the journal knows them.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::audit::{Hash, Key, Stored, day_of, event_digest, left_out, milliseconds_of};
use keyfold_core::model::{KeySource, Model, Retrofit, Table};
use keyfold_core::value::{AttributeValue, Item, Name};

/// The way back from an item that a retrofit carried into another table: to the attributes that it had before.
#[derive(Debug, Clone)]
pub struct Carried {
    /// New name -> old name.
    back: BTreeMap<String, String>,
    /// What the retrofit added.
    added: BTreeSet<String>,
    /// What the source's digests leave out.
    left_out: BTreeSet<String>,
}

/// Why an item's digest cannot be had from what a retrofit made of it.
#[derive(Debug, thiserror::Error)]
pub enum CarriedError {
    /// There is no such retrofit.
    #[error("the manifest has no retrofit `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It leaves an attribute behind.
    #[error(
        "the retrofit `{name}` drops `{attribute}`, which digests are made of\nhint: verify the source `{from}` before it is deleted; of `{to}`, only what was written there can be proved"
    )]
    Drops {
        /// The retrofit.
        name: String,
        /// The attribute.
        attribute: String,
        /// The source.
        from: String,
        /// The target.
        to: String,
    },
    /// It writes over an attribute of the source.
    #[error(
        "the retrofit `{name}` sets `{attribute}`, which the source's events can have too\nhint: verify the source `{from}` before it is deleted"
    )]
    Sets {
        /// The retrofit.
        name: String,
        /// The attribute.
        attribute: String,
        /// The source.
        from: String,
    },
    /// It carries only some items.
    #[error(
        "the retrofit `{name}` carries only some items: the others would be called removed\nhint: verify the source `{from}`"
    )]
    Only {
        /// The retrofit.
        name: String,
        /// The source.
        from: String,
    },
}

impl Carried {
    /// The way back through a retrofit.
    pub fn through(model: &Model, name: &str) -> Result<Carried, CarriedError> {
        let unknown = || CarriedError::Unknown { name: name.to_owned() };
        let retrofit = model.retrofits.iter().find(|retrofit| retrofit.name == name).ok_or_else(unknown)?;
        let Retrofit { rename, set, drop, only, from, to, .. } = retrofit;
        let (name, from, to) = (name.to_owned(), from.clone(), to.clone());
        if let Some(attribute) = drop.first().cloned() {
            return Err(CarriedError::Drops { name, attribute, from, to });
        }
        let source = model.table(&from).ok_or_else(unknown)?;
        if let Some(attribute) = set.keys().find(|attribute| source.attributes.contains_key(*attribute)) {
            return Err(CarriedError::Sets { name, attribute: attribute.clone(), from });
        }
        if !only.is_empty() {
            return Err(CarriedError::Only { name, from });
        }
        let back: BTreeMap<String, String> =
            rename.iter().map(|(old, new)| (new.clone(), old.clone())).collect();
        Ok(Carried { back, added: set.keys().cloned().collect(), left_out: left_out(source) })
    }

    fn item(&self, item: &Item) -> Item {
        let kept = item.iter().filter(|(name, _)| !self.added.contains(name.as_str()));
        let old = |name: &Name| self.back.get(name.as_str()).map_or_else(|| name.clone(), Name::from);
        kept.map(|(name, value)| (old(name), value.clone())).collect()
    }
}

/// How items of a table are read.
#[derive(Debug)]
pub(crate) struct Reader<'r> {
    id: &'r str,
    received: &'r str,
    carried: Option<&'r Carried>,
    left_out: BTreeSet<String>,
    /// The attributes that the table's keys are made of.
    natural: BTreeSet<String>,
}

impl<'r> Reader<'r> {
    /// `noted` are attributes that digests of the journal left out: folded keys of an earlier manifest may still be on items.
    pub(crate) fn new(
        table: &Table,
        id: &'r str,
        received: &'r str,
        carried: Option<&'r Carried>,
        noted: &BTreeSet<String>,
    ) -> Reader<'r> {
        let mut left_out = left_out(table);
        left_out.extend(noted.iter().cloned());
        let inputs = table.key_attributes().flat_map(|key| match &key.source {
            KeySource::Natural => vec![key.name.clone()],
            KeySource::Folded(rules) => {
                rules.iter().flat_map(|rule| rule.template.attributes()).map(str::to_owned).collect()
            }
        });
        let natural = inputs.chain([id.to_owned()]).collect();
        Reader { id, received, carried, left_out, natural }
    }

    /// The id of an item, and what is compared of it.
    pub(crate) fn read(&self, item: &Item, in_range: impl Fn(Option<&str>) -> bool) -> (String, Stored) {
        let received = match item.get(self.received) {
            Some(AttributeValue::M(members)) => match members.get("at") {
                Some(AttributeValue::S(at)) => Some(at.as_str()),
                _ => None,
            },
            _ => None,
        };
        let received = received.filter(|at| milliseconds_of(at).is_some());
        let mut digests: Vec<Hash> = vec![event_digest(item, &self.left_out)];
        if let Some(carried) = self.carried {
            let before: BTreeSet<String> = self.left_out.union(&carried.left_out).cloned().collect();
            digests.push(event_digest(&carried.item(item), &before));
        }
        // Without an id that is a text it is no event of the audit writer, and finds no other.
        let id = match item.get(self.id) {
            Some(AttributeValue::S(id)) => id.clone(),
            _ => String::new(),
        };
        let natural = item.iter().filter(|(name, _)| self.natural.contains(name.as_str()));
        let key: Key = natural.map(|(name, value)| (name.to_string(), value.clone())).collect();
        let received_ms = received.and_then(milliseconds_of);
        (id, Stored { digests, received_ms, in_range: in_range(received.map(day_of)), key })
    }
}
