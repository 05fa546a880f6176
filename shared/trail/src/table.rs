//! The verified trail, and the table's items as the journal records them.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::audit::{
    Finding, FindingKind, Hash, Key, Stored, day_of, event_digest, left_out, milliseconds_of,
};
use keyfold_core::model::{KeySource, Model, Retrofit, Table};
use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_dynamo::Client;

/// The location of a trail.
#[derive(Debug)]
pub struct Trail<'t> {
    /// The DynamoDB client.
    pub client: &'t Client,
    /// The table of the events.
    pub table: &'t Table,
    /// The journal's table in DynamoDB.
    pub journal: &'t str,
    /// The attribute with an event's id.
    pub id: &'t str,
    /// The attribute in which the audit writer recorded how it received an event.
    pub received: &'t str,
    /// The retrofit that copied events into the table, if there was one.
    pub carried: Option<&'t Carried>,
    /// Folded keys that the manifest no longer has. Items may still have them, and nothing proves their values.
    pub former_keys: &'t [String],
}

/// Restores the attributes of an item before a retrofit copied it into another table.
#[derive(Debug, Clone)]
pub struct Carried {
    /// New name -> old name.
    back: BTreeMap<String, String>,
    /// The attributes that the retrofit added.
    added: BTreeSet<String>,
    /// The source table.
    source: Table,
}

/// Why the digest of a retrofitted item cannot be computed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum CarriedError {
    /// An unknown retrofit.
    #[error("the manifest has no retrofit `{name}`")]
    Unknown { name: String },
    /// It drops an attribute.
    #[error(
        "the retrofit `{name}` drops `{attribute}`, which digests are made of\nhint: verify the source `{from}` before it is deleted; of `{to}`, only what was written there can be proved"
    )]
    Drops { name: String, attribute: String, from: String, to: String },
    /// It overwrites an attribute of the source.
    #[error(
        "the retrofit `{name}` sets `{attribute}`, which the source's events can have too\nhint: verify the source `{from}` before it is deleted"
    )]
    Sets { name: String, attribute: String, from: String },
    /// It copies only some items.
    #[error(
        "the retrofit `{name}` carries only some items: the others would be called removed\nhint: verify the source `{from}`"
    )]
    Only { name: String, from: String },
}

impl Carried {
    /// The inverse of a retrofit.
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
        Ok(Carried { back, added: set.keys().cloned().collect(), source: source.clone() })
    }

    fn item(&self, item: &Item) -> Item {
        let kept = item.iter().filter(|(name, _)| !self.added.contains(name.as_str()));
        let old = |name: &Name| self.back.get(name.as_str()).map_or_else(|| name.clone(), Name::from);
        kept.map(|(name, value)| (old(name), value.clone())).collect()
    }

    /// Is this the item's folded key from the source, copied along?
    fn has_key(&self, item: &Item, name: &str) -> bool {
        left_out(&self.source).contains(name) && !self.source.misfolded(&self.item(item)).contains(&name)
    }
}

/// Reads the items of a table.
#[derive(Debug)]
pub(crate) struct Reader<'r> {
    table: &'r Table,
    id: &'r str,
    received: &'r str,
    carried: Option<&'r Carried>,
    left_out: BTreeSet<String>,
    /// Attributes that digests excluded, and that the table does not fold.
    unknown: BTreeSet<String>,
    /// The attributes in the table's keys.
    natural: BTreeSet<String>,
}

impl<'r> Reader<'r> {
    /// `noted`: attributes that the journal's digests excluded: folded keys of an earlier manifest may still be on
    /// items.
    pub(crate) fn new(trail: &Trail<'r>, noted: &BTreeSet<String>) -> Reader<'r> {
        let Trail { table, id, received, carried, former_keys, .. } = *trail;
        let of_carried = carried.map(|carried| left_out(&carried.source)).unwrap_or_default();
        let mut left_out = left_out(table);
        let is_unknown = |name: &&String| !left_out.contains(*name) && !former_keys.contains(name);
        let unknown = noted.iter().chain(&of_carried).filter(is_unknown).cloned().collect();
        left_out.extend(noted.iter().cloned());
        let inputs = table.key_attributes().flat_map(|key| match &key.source {
            KeySource::Natural => vec![key.name.clone()],
            KeySource::Folded(rules) => {
                rules.iter().flat_map(|rule| rule.template.attributes()).map(str::to_owned).collect()
            }
        });
        let natural = inputs.chain([id.to_owned()]).collect();
        Reader { table, id, received, carried, left_out, unknown, natural }
    }

    /// Findings about the folded keys of an item. Its digest excludes them, because another table has other keys.
    pub(crate) fn keys(&self, item: &Item, key: &Key) -> Vec<Finding> {
        let changed = self.table.misfolded(item).into_iter();
        let changed = changed.map(|name| Finding::of_key(FindingKind::KeyChanged, key, name));
        let came_along = |name: &str| self.carried.is_some_and(|carried| carried.has_key(item, name));
        let is_there = |name: &&String| item.contains_key(name.as_str()) && !came_along(name);
        let unknown = self.unknown.iter().filter(is_there);
        changed.chain(unknown.map(|name| Finding::of_key(FindingKind::KeyUnknown, key, name))).collect()
    }

    /// The id of an item, and the compared values.
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
            let before = self.left_out.union(&left_out(&carried.source)).cloned().collect();
            digests.push(event_digest(&carried.item(item), &before));
        }
        // An item without a text as its id is not an event of the audit writer, and matches no other.
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
