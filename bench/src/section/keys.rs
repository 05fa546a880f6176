//! Folding keys, compared with what people write by hand.

use std::collections::HashMap;
use std::hint::black_box;

use anyhow::anyhow;
use keyfold_core::key::{KeyMode, KeyRole, Template, Test, Tests};
use keyfold_core::model::{Attribute, AttributeKind, Precision};
use keyfold_core::value::{AttributeValue, Item};
use serde::Deserialize;

use crate::data::text;
use crate::micro::{self, Case};
use crate::report::{Report, Table};
use crate::setting::Setting;
use crate::spread::{Spread, count};

const ABOUT: &str = "Attributes are folded into a key once per write. A fold never gives two items the same key by accident, refuses \
values that do not fit, and keeps the order. A join does none of this, and is faster. Here is what each costs. The first row of each \
group is what others are compared with. A struct's fields need no look-up: most of the difference is finding three names in an item. \
A fold also looks for separators in every byte, checks types and limits, converts timestamps to UTC, and keeps all 38 digits of a \
number in order, which an f64 as text does not. Unfold undoes the escapes and checks each part against its type.";

/// The event's fields, for a program that knows its types.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    resource_id: String,
    action: String,
    accessed_by: String,
}

impl Event {
    fn key(&self) -> String {
        [self.resource_id.as_str(), &self.action, &self.accessed_by].join("-")
    }
}

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new("1. Keys", ABOUT);
    let columns = ["", "ns", "relative to the first", "allocations", "bytes allocated"];
    let mut table = Table::new("One key, one thread.", columns);
    let item = item();
    for group in [three_texts(&item)?, mixed_parts(&item)?, numbers(&item)?, back_again()?, select()?] {
        let measured = micro::measure(group, setting.scale);
        for case in &measured {
            table.row([
                case.name.to_owned(),
                Spread::of(&case.nanoseconds).figure(),
                Spread::of_ratios(&case.nanoseconds, &measured[0].nanoseconds).ratio(),
                count(case.allocations.count),
                count(case.allocations.bytes),
            ]);
        }
    }
    report.add(table);
    Ok(report)
}

fn three_texts(item: &Item) -> anyhow::Result<Vec<Case<'_>>> {
    let template = template("{resourceId}-{action}-{accessedBy}")?;
    let event: Event = serde_dynamo::from_item(item.clone())?;
    Ok(vec![
        Case::new("three texts: looked up in the item, joined by `format!`", move || {
            let part = |name| text(black_box(item), name);
            format!("{}-{}-{}", part("resourceId"), part("action"), part("accessedBy"))
        }),
        Case::new("three texts: a struct's own fields, joined", move || black_box(&event).key()),
        Case::new("three texts: item into a struct by serde_dynamo, joined", move || {
            serde_dynamo::from_item::<_, Event>(black_box(item).clone()).map(|event| event.key())
        }),
        Case::new("three texts: fold", move || black_box(&template).fold(black_box(item))),
    ])
}

fn mixed_parts(item: &Item) -> anyhow::Result<Vec<Case<'_>>> {
    let template = template("{resourceId}#{action}#{timestamp}#{words:06}")?;
    Ok(vec![
        Case::new("two texts, a timestamp, a padded number: `format!`", move || {
            let part = |name| text(black_box(item), name);
            let words: u64 = number(black_box(item)).parse().unwrap_or(0);
            format!("{}#{}#{}#{words:06}", part("resourceId"), part("action"), part("timestamp"))
        }),
        Case::new("two texts, a timestamp, a padded number: fold", move || {
            black_box(&template).fold(black_box(item))
        }),
    ])
}

fn numbers(item: &Item) -> anyhow::Result<Vec<Case<'_>>> {
    let template = template("{words:number}")?;
    Ok(vec![
        Case::new("a number: parsed as f64, written out (not in order)", move || {
            number(black_box(item)).parse::<f64>().unwrap_or(0.0).to_string()
        }),
        Case::new("a number: fold", move || black_box(&template).fold(black_box(item))),
    ])
}

fn back_again() -> anyhow::Result<Vec<Case<'static>>> {
    const KEY: &str = "123ccc-viewed-joe1";
    let template = template("{resourceId}-{action}-{accessedBy}")?;
    Ok(vec![
        Case::new("back again: `split`", || black_box(KEY).split('-').map(str::to_owned).collect::<Vec<_>>()),
        // The result borrows the template, so it is dropped here.
        Case::new("back again: unfold", move || drop(black_box(black_box(&template).unfold(black_box(KEY))))),
    ])
}

fn select() -> anyhow::Result<Vec<Case<'static>>> {
    /// More keys than this are not enumerated.
    const KEYS_MAX: usize = 64;
    let template = template("{resourceId}-{action}-{timestamp}")?;
    let values = ["123ccc", "viewed", "2017-03"].map(|text| AttributeValue::S(text.to_owned()));
    let select = move || {
        let [resource, action, month] = black_box(&values);
        let tests = Tests::from_iter([
            ("resourceId", Test::Equal(resource)),
            ("action", Test::Equal(action)),
            ("timestamp", Test::BeginsWith(month)),
        ]);
        drop(black_box(black_box(&template).select(&tests, KEYS_MAX)));
    };
    Ok(vec![Case::new("two equalities and a prefix into a key condition: select", select)])
}

fn template(text: &str) -> anyhow::Result<Template> {
    let kinds = [
        ("resourceId", AttributeKind::String),
        ("action", AttributeKind::String),
        ("accessedBy", AttributeKind::String),
        ("timestamp", AttributeKind::Timestamp(Precision::Milliseconds)),
        ("words", AttributeKind::Number),
    ];
    let attributes = kinds.map(|(name, kind)| (name.to_owned(), Attribute::new(name, kind))).into();
    Template::parse(text, &attributes, KeyRole::Partition, KeyMode::Escaped)
        .map_err(|errors| anyhow!("the template has mistakes: {errors:?}"))
}

fn item() -> Item {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let attributes = [
        ("id", text("111aae")),
        ("resourceId", text("123ccc")),
        ("resourceName", text("Thing2")),
        ("action", text("viewed")),
        ("accessedBy", text("joe1")),
        ("timestamp", text("2017-05-01T00:01:48.000Z")),
        ("words", AttributeValue::N("1250".to_owned())),
    ];
    HashMap::from(attributes.map(|(name, value)| (name.to_owned(), value))).into()
}

fn number(item: &Item) -> &str {
    match item.get("words") {
        Some(AttributeValue::N(text)) => text,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    #[test]
    fn a_fold_allocates_its_result_and_nothing_else() {
        let item = item();
        let measured = micro::measure(three_texts(&item).unwrap(), Scale::Quick);
        let fold = measured.iter().find(|case| case.name.ends_with(": fold")).unwrap();
        assert_eq!(fold.allocations.count, 1);
    }
}
