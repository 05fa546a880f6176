//! The events for all measurements: the same in every run, about 300 bytes each.

use std::collections::HashMap;

use anyhow::Context;
use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::value::{AttributeValue, Item};

/// Whose events are every second one.
pub(crate) const BUSY_USER: &str = "joe1";
/// The attribute with the folded key of the three parts.
pub(crate) const KEY: &str = "byResourceActionUser_pk";
const RESOURCES: usize = 100;
const USERS: usize = 40;
const ACTIONS: [&str; 3] = ["viewed", "edited", "deleted"];

/// The tables of the figures.
pub(crate) const MANIFEST: &str = include_str!("../keyfold.toml");
/// The sample, which the functions are deployed with.
pub(crate) const SAMPLE_MANIFEST: &str = include_str!("../../keyfold.toml");

/// The model of a manifest that has no mistakes.
pub(crate) fn model(text: &str) -> anyhow::Result<Model> {
    let parsed = manifest::parse("keyfold.toml", text);
    let report = parsed.render(text, false);
    parsed.model.with_context(|| format!("the manifest has mistakes\n{report}"))
}

/// A table of a model.
pub(crate) fn table<'m>(model: &'m Model, id: &str) -> anyhow::Result<&'m Table> {
    model.table(id).with_context(|| format!("the manifest has no table `{id}`"))
}

/// A number below `of`, the same for the same event and purpose.
fn pick(event: usize, purpose: u64, of: usize) -> usize {
    let mixed = ((event as u64) << 8 | purpose).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 32)) % of as u64) as usize
}

/// The event with this number, and an id derived from it.
pub(crate) fn event(at: usize) -> Item {
    event_called(format!("event-{at:08}"), at)
}

/// The event with this number under another id.
pub(crate) fn event_called(id: String, at: usize) -> Item {
    let user = match pick(at, 0, 2) {
        0 => BUSY_USER.to_owned(),
        _ => format!("user{}", pick(at, 1, USERS)),
    };
    let resource = pick(at, 2, RESOURCES);
    let (year, month, day) = (2016 + pick(at, 3, 2), 1 + pick(at, 4, 12), 1 + pick(at, 5, 28));
    let (hour, minute, second) = (pick(at, 6, 24), pick(at, 7, 60), pick(at, 8, 60));
    let attributes = [
        ("id", id),
        ("resourceId", format!("r{resource:04}")),
        ("resourceName", "a resource of a usual length".to_owned()),
        ("action", ACTIONS[pick(at, 9, 3)].to_owned()),
        ("accessedBy", user),
        (
            "timestamp",
            format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", at % 1000),
        ),
        ("note", "another note about it".to_owned()),
    ];
    let attributes = attributes.map(|(name, text)| (name.to_owned(), AttributeValue::S(text)));
    HashMap::from(attributes).into()
}

/// A text of an item; empty if the item has no such text.
pub(crate) fn text<'i>(item: &'i Item, name: &str) -> &'i str {
    match item.get(name) {
        Some(AttributeValue::S(text)) => text,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_manifests_are_right_and_events_fit_them() {
        let model = model(MANIFEST).unwrap();
        let events = table(&model, "events").unwrap();
        let keyed = events.with_keys(event(7)).unwrap();
        let joined = ["resourceId", "action", "accessedBy"].map(|name| text(&keyed, name)).join("-");
        // Nothing in them is escaped, so that programs that join write the same keys.
        assert_eq!(text(&keyed, KEY), joined);
        assert!(super::model(SAMPLE_MANIFEST).is_ok());
    }

    #[test]
    fn half_of_the_events_are_of_one_user_and_the_others_are_spread() {
        let busy = (0..10_000).filter(|at| text(&event(*at), "accessedBy") == BUSY_USER).count();
        assert!((4800..5200).contains(&busy), "{busy}");
        let of_one = (0..10_000).filter(|at| text(&event(*at), "resourceId") == "r0007").count();
        assert!((70..130).contains(&of_one), "{of_one}");
        assert_eq!(event(5), event(5));
    }
}
