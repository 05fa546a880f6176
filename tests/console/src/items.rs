//! The sample's items: the examples of the repository, and generated events around them.

use anyhow::Context;
use keyfold_core::value::Item;
use serde_json::{Value, json};

/// Events that are generated besides the examples: with them as many as a view shows.
const EVENTS: u32 = 170;
/// Homes that are generated besides the examples: more than a view shows.
const HOMES: u32 = 220;
/// A value that would be markup, if anything made markup of values.
const MARKUP: &str = "<img src=x onerror=\"document.title='broken'\">";

/// The items of a file with one JSON object on each line.
pub(super) fn lines(text: &str) -> anyhow::Result<Vec<Item>> {
    text.lines().map(|line| item(&serde_json::from_str(line)?)).collect()
}

/// Plain JSON as an item.
fn item(value: &Value) -> anyhow::Result<Item> {
    serde_dynamo::to_item(value).context("a sample item is no object")
}

/// Events of four users on other resources than the examples', a few hours apart.
pub(super) fn events() -> anyhow::Result<Vec<Item>> {
    let event = |number: u32| {
        json!({
            "id": format!("event-{number:03}"),
            "resourceId": format!("r{:02}", number * 7 % 9),
            "resourceName": (if number == 0 { MARKUP.to_owned() } else { format!("Report {}", number * 7 % 9) }),
            "action": (["viewed", "viewed", "edited", "deleted"][(number * 5 % 4) as usize]),
            "accessedBy": (["ann", "bill", "jane", "omar"][(number / 3 % 4) as usize]),
            "timestamp": format!("2018-{:02}-{:02}T{:02}:30:00.000Z", 1 + number / 28, 1 + number % 28, number * 5 % 24),
        })
    };
    (0..EVENTS).map(|number| item(&event(number))).collect()
}

/// Homes in streets with many numbers.
pub(super) fn homes() -> anyhow::Result<Vec<Item>> {
    let home = |number: u32| {
        json!({
            "country": (["Chile", "Ghana", "Japan"][(number % 3) as usize]),
            "city": format!("City {}", number % 4),
            "district": format!("District {}", number % 5),
            "street": "High Street",
            "number": format!("{:03}", number),
        })
    };
    (0..HOMES).map(|number| item(&home(number))).collect()
}
