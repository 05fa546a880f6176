//! The attributes that a retrofit may change, each with its cause in the manifest. No item is needed to know them.
//!
//! Nothing else changes. In place, an update names attributes of this list alone; into another table, an item is what it was in the
//! source, apart from these. The mapping's digest covers all of it: see [`canonical`](super::canonical).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::folded::made;
use crate::model::{Remedy, Retrofit, Table};
use crate::retrofit::attributes::OWN_ATTRIBUTES;

/// Every attribute that a retrofit may change, with its causes.
pub type Announced = BTreeMap<String, BTreeSet<Cause>>;

/// Why a retrofit changes an attribute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A folded key is stored in it.
    FoldedKey,
    /// It gets the value of an attribute that had this name.
    RenamedFrom(String),
    /// It gets this name.
    RenamedTo(String),
    /// It gets a constant.
    Set,
    /// It goes.
    Dropped,
    /// It is changed where it does not fit.
    Mended,
    /// Only a key held it before, and now the item stores it.
    KeyPart,
    /// A retrofit keeps it for itself.
    Mark,
}

/// What becomes of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeOf {
    /// The item gets it.
    Added,
    /// It gets another value.
    Changed,
    /// It goes.
    Removed,
}

impl ChangeOf {
    /// Its name in documents and messages.
    pub fn name(self) -> &'static str {
        match self {
            ChangeOf::Added => "added",
            ChangeOf::Changed => "changed",
            ChangeOf::Removed => "removed",
        }
    }
}

impl Cause {
    /// Can this be the cause of such a change?
    pub fn explains(&self, change: ChangeOf) -> bool {
        match self {
            Cause::FoldedKey => true,
            Cause::RenamedTo(_) | Cause::Dropped | Cause::Mark => change == ChangeOf::Removed,
            Cause::RenamedFrom(_) | Cause::Set | Cause::Mended => change != ChangeOf::Removed,
            Cause::KeyPart => change == ChangeOf::Added,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::FoldedKey => write!(f, "folded key"),
            Cause::RenamedFrom(name) => write!(f, "renamed from `{name}`"),
            Cause::RenamedTo(name) => write!(f, "renamed to `{name}`"),
            Cause::Set => write!(f, "`set`"),
            Cause::Dropped => write!(f, "`drop`"),
            Cause::Mended => write!(f, "`misfits`"),
            Cause::KeyPart => write!(f, "only in a key before"),
            Cause::Mark => write!(f, "mark of an earlier retrofit"),
        }
    }
}

/// The attributes that a retrofit may change. `written` is the target with the keys that it writes.
pub(super) fn announced(retrofit: &Retrofit, source: &Table, written: &Table) -> Announced {
    let Retrofit { rename, set, drop, misfits, .. } = retrofit;
    let mut all = Announced::new();
    let mut add = |name: &str, cause: Cause| {
        all.entry(name.to_owned()).or_default().insert(cause);
    };
    for (old, new) in rename {
        add(old, Cause::RenamedTo(new.clone()));
        add(new, Cause::RenamedFrom(old.clone()));
    }
    set.keys().for_each(|name| add(name, Cause::Set));
    drop.iter().for_each(|name| add(name, Cause::Dropped));
    let changing = misfits.iter().filter(|(_, remedies)| remedies.iter().any(Remedy::changes_attribute));
    changing.for_each(|(of, _)| add(&of.attribute, Cause::Mended));
    made(written).iter().for_each(|name| add(name, Cause::FoldedKey));
    OWN_ATTRIBUTES.iter().for_each(|name| add(name, Cause::Mark));
    // In place, an attribute that only a key holds stays there.
    if retrofit.from != retrofit.to {
        let parts = |table: &'_ Table| {
            let parts = table.attributes.values().filter(|attribute| attribute.from_key);
            parts.map(|attribute| attribute.name.clone()).collect::<Vec<_>>()
        };
        for name in parts(source) {
            add(rename.get(&name).unwrap_or(&name), Cause::KeyPart);
        }
        parts(written).iter().for_each(|name| add(name, Cause::KeyPart));
    }
    all
}
