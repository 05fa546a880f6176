//! Tombstones are excluded from every read.
//!
//! A retrofit into another table replaces a deleted item by a tombstone until it is finalised: the item's key and two
//! of Keyfold's own attributes. It must not appear as an item, so reads exclude it before limits and counts apply.

use std::borrow::Cow;

use super::plan::{Access, Hydration};
use crate::attribute::{OWN_ATTRIBUTE_PREFIX, TOMBSTONE_ATTRIBUTE};
use crate::condition::{Comparison, Condition, Path};
use crate::model::Table;
use crate::value::Item;

/// Is this one of Keyfold's own attributes?
pub fn is_own(name: &str) -> bool {
    name.starts_with(OWN_ATTRIBUTE_PREFIX)
}

/// Is this a tombstone?
pub fn is_tombstone(item: &Item) -> bool {
    item.contains_key(TOMBSTONE_ATTRIBUTE)
}

/// The condition that an item is not a tombstone.
pub fn is_item() -> Condition {
    Condition::Is(Path::attribute(TOMBSTONE_ATTRIBUTE), Comparison::Exists(false))
}

/// The access with tombstones excluded, if it can find any.
pub fn without_tombstones<'p>(table: &Table, access: &'p Access) -> Cow<'p, Access> {
    let index = access.source.index().and_then(|name| table.index(name));
    // A tombstone has only the table's key attributes, so it is in no index whose key has others.
    let of_table = |name: &str| table.key_attributes().any(|key| key.name == name);
    if index.is_some_and(|index| index.key_attributes().any(|key| !of_table(&key.name))) {
        return Cow::Borrowed(access);
    }
    let mut access = access.clone();
    let shows = index.is_none_or(|index| index.projects(table, TOMBSTONE_ATTRIBUTE));
    if shows || access.hydration == Hydration::Fetched {
        access.filter = Condition::all([access.filter, is_item()]);
    } else if access.hydration != Hydration::ByKey {
        // The index entry does not contain the attribute, so the item itself is read. It may have changed in the
        // meantime, so all conditions are checked again.
        access.hydration = Hydration::ByKey;
        access.recheck = Condition::all([access.filter.clone(), access.recheck]);
    }
    Cow::Owned(access)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::check::{Caller, check};
    use crate::query::plan::plan;
    use crate::query::readiness::Readiness;

    #[test]
    fn an_item_that_is_read_for_its_entry_is_asked_everything_again() {
        // The index key swaps the table's key attributes, so a tombstone can have an entry, which does not contain the
        // attribute.
        let manifest = r#"
            [tables.t]
            name = "tableOfTheCase"
            partition = "a"
            sort = "b"
            attributes = { a = "string", b = "string", c = "string" }
            indexes.turned = { partition = "b", sort = "a", projection = ["c"] }
        "#;
        let model = crate::manifest::parse("keyfold.toml", manifest).model.unwrap();
        let request = json!({ "table": "t", "where": { "b": "x", "c": "y" }, "select": ["a", "b", "c"] });
        let request = serde_json::from_value(request).unwrap();
        let checked = check(&model, &request, &Caller::Trusted).unwrap();
        let planned = plan(&checked, &Readiness::complete()).unwrap();
        let [access] = planned.accesses.as_slice() else { panic!("{planned:?}") };
        assert_eq!((access.hydration, access.recheck.is_always()), (Hydration::None, true));
        let access = without_tombstones(&model.tables[0], access);
        assert_eq!((access.hydration, &access.recheck), (Hydration::ByKey, &access.filter));
        assert!(!access.filter.is_always());
    }
}
