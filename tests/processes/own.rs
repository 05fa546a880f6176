//! The expected target, computed again in plain code without Keyfold.

use std::collections::BTreeMap;

use keyfold_core::value::{AttributeValue, Item};

/// An item of texts.
pub(crate) type Plain = BTreeMap<String, String>;

pub(crate) fn plain(item: &Item) -> Plain {
    let text = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.clone(),
        other => format!("{other:?}"),
    };
    item.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

/// `place` becomes `site`, `note` is dropped, `origin` and both keys of the index are added.
pub(crate) fn moved(source: &Plain) -> Plain {
    let mut item = source.clone();
    if let Some(place) = item.remove("place") {
        item.insert("site".to_owned(), place);
    }
    item.remove("note");
    item.insert("origin".to_owned(), "old".to_owned());
    join(&mut item, "byOwner_pk", ["owner", "kind"], "-");
    join(&mut item, "byOwner_sk", ["site", "id"], ".");
    item
}

/// The same, but with `note`, so that a return is possible.
pub(crate) fn switched(source: &Plain) -> Plain {
    let mut item = moved(source);
    item.extend(source.get("note").map(|note| ("note".to_owned(), note.clone())));
    item
}

pub(crate) fn in_place(source: &Plain) -> Plain {
    let mut item = source.clone();
    join(&mut item, "byOwner_pk", ["owner", "kind"], "-");
    join(&mut item, "byOwner_sk", ["place", "id"], ".");
    item
}

pub(crate) fn keyed(source: &Plain) -> Plain {
    let mut item = source.clone();
    join(&mut item, "pk", ["owner", "kind"], "-");
    join(&mut item, "sk", ["place", "id"], ".");
    item
}

/// Sets a key where both its parts are there, and takes it away where they are not.
fn join(item: &mut Plain, name: &str, [first, second]: [&str; 2], separator: &str) {
    match (item.get(first), item.get(second)) {
        (Some(first), Some(second)) => {
            let key = format!("{first}{separator}{second}");
            item.insert(name.to_owned(), key);
        }
        _ => drop(item.remove(name)),
    }
}

/// The differences between the expected and the found target, by id.
pub(crate) fn differences(wanted: &[Plain], found: &[Plain]) -> Vec<String> {
    let by_id = |items: &[Plain]| -> BTreeMap<String, Plain> {
        items.iter().map(|item| (item.get("id").cloned().unwrap_or_default(), item.clone())).collect()
    };
    let (by_wanted, by_found) = (by_id(wanted), by_id(found));
    let mut differences = Vec::new();
    if by_found.len() != found.len() || by_wanted.len() != wanted.len() {
        differences.push("an id is there twice".to_owned());
    }
    for (id, item) in &by_wanted {
        match by_found.get(id) {
            None => differences.push(format!("missing {id}")),
            Some(other) if other != item => differences.push(format!("different {id}: {item:?} {other:?}")),
            Some(_) => {}
        }
    }
    let extra = by_found.keys().filter(|id| !by_wanted.contains_key(*id));
    differences.extend(extra.map(|id| format!("extra {id}")));
    differences
}
