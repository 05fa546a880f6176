//! What retrofits keep on items for themselves: no reader of Keyfold's sees it.
//!
//! A retrofit into another table leaves a tombstone where an item was deleted, until it is finalised: the item's key and two
//! attributes of Keyfold's. A reader that took it for an item would see what nobody wrote. So it is left out where it is
//! read, before limits and counts.

use std::borrow::Cow;

use keyfold_core::condition::{Comparison, Condition, Path};
use keyfold_core::model::Table;
use keyfold_core::query::plan::{Access, Hydration};
use keyfold_core::retrofit::mapping::TOMBSTONE_ATTRIBUTE;

/// What the names of Keyfold's own attributes begin with.
const PREFIX: &str = "keyfold_";

/// Is this an attribute that Keyfold keeps on items for itself?
pub(super) fn is_own(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The access, made to leave tombstones out where there can be some.
pub(super) fn without_tombstones<'p>(table: &Table, access: &'p Access) -> Cow<'p, Access> {
    let index = access.source.index().and_then(|name| table.index(name));
    // A tombstone has the table's key attributes: it is in no index whose key has any other.
    let of_table = |name: &str| table.key_attributes().any(|key| key.name == name);
    if index.is_some_and(|index| index.key_attributes().any(|key| !of_table(&key.name))) {
        return Cow::Borrowed(access);
    }
    let mut access = access.clone();
    let shows = index.is_none_or(|index| index.projects(table, TOMBSTONE_ATTRIBUTE));
    if shows || access.hydration == Hydration::Fetched {
        let is_item = Condition::Is(Path::attribute(TOMBSTONE_ATTRIBUTE), Comparison::Exists(false));
        access.filter = Condition::all([access.filter, is_item]);
    } else {
        // The entry does not show what it is, so the item itself is read.
        access.hydration = Hydration::ByKey;
    }
    Cow::Owned(access)
}
