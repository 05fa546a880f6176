//! The demo's data: audit events of few users and some resources, the same in every run.

use std::collections::HashMap;

use keyfold_core::query::QueryRequest;
use keyfold_core::value::{AttributeValue, Item};

/// An event's attributes, without its folded keys.
pub(super) const ATTRIBUTES: [&str; 6] =
    ["id", "resourceId", "resourceName", "action", "accessedBy", "timestamp"];

const USERS: [&str; 4] = ["joe1", "jane", "bill", "ann"];
const ACTIONS: [&str; 4] = ["viewed", "viewed", "edited", "deleted"];
const RESOURCES: u32 = 200;

/// The question that the old table cannot answer, in words.
pub(super) const QUESTION_IN_WORDS: &str = "When did joe1 view 123bbb in March 2017?";
/// The same question as a request.
pub(super) fn question() -> serde_json::Result<QueryRequest> {
    serde_json::from_str(
        r#"{"table":"audit","where":{"resourceId":"123bbb","action":"viewed","accessedBy":"joe1",
        "timestamp":{"beginsWith":"2017-03"}},"order":"timestamp","limit":1000}"#,
    )
}

/// A number below `of`, the same for the same two numbers.
pub(super) fn pick(number: u32, salt: u32, of: u32) -> u32 {
    let mixed = (u64::from(number) << 8 | u64::from(salt)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    u32::try_from((mixed ^ (mixed >> 32)) % u64::from(of)).unwrap_or(0)
}

/// The id of the event with this number.
pub(super) fn id(number: u32) -> String {
    format!("event-{number:07}")
}

/// An event. `draw` determines its values: another draw gives the same event other values.
pub(super) fn event(number: u32, draw: u32) -> Item {
    let pick = |salt: u32, of: u32| pick(draw, salt, of);
    // One event in fifty matches most of the question, so that there is something to find.
    let asked = pick(0, 50) == 0;
    let resource = if asked { 123 } else { pick(8, RESOURCES) };
    let user = if asked { "joe1" } else { USERS[pick(1, 4) as usize] };
    let (year, month) = if asked { (2017, 1 + pick(4, 4)) } else { (2016 + pick(3, 2), 1 + pick(4, 12)) };
    let time =
        format!("{year}-{month:02}-{:02}T{:02}:{:02}:00.000Z", 1 + pick(5, 28), pick(6, 24), pick(7, 60));
    let attributes = [
        ("id", id(number)),
        ("resourceId", format!("{resource:03}bbb")),
        ("resourceName", format!("Thing {resource}")),
        ("action", ACTIONS[pick(2, 4) as usize].to_owned()),
        ("accessedBy", user.to_owned()),
        ("timestamp", time),
    ];
    let item: HashMap<String, AttributeValue> =
        attributes.into_iter().map(|(name, value)| (name.to_owned(), AttributeValue::S(value))).collect();
    item.into()
}

/// A text of an item.
pub(super) fn text<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Some(text),
        _ => None,
    }
}

/// Does an event match the question? Decided from its attributes, without any key.
pub(super) fn answers(item: &Item) -> bool {
    text(item, "resourceId") == Some("123bbb")
        && text(item, "action") == Some("viewed")
        && text(item, "accessedBy") == Some("joe1")
        && text(item, "timestamp").is_some_and(|time| time.starts_with("2017-03"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_something_to_find_and_it_is_a_small_part() {
        let found = (0..20_000).filter(|number| answers(&event(*number, *number))).count();
        assert!((20..200).contains(&found), "{found}");
    }
}
