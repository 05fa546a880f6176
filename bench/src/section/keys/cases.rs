//! What is measured of keys.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::LazyLock;

use anyhow::anyhow;
use keyfold_core::key::{KeyMode, KeyRole, Template, Test, Tests};
use keyfold_core::model::{Attribute, AttributeKind, Precision};
use keyfold_core::value::{AttributeValue, Item};
use serde::Deserialize;

use super::*;
use crate::data::text;
use crate::micro::Case;

/// An event as a program has it that knows its types.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
struct Event {
    resource_id: String,
    action: String,
    accessed_by: String,
}

impl Event {
    fn key(&self) -> String {
        let Event { resource_id, action, accessed_by } = self;
        let mut key = String::with_capacity(resource_id.len() + action.len() + accessed_by.len() + 2);
        key.push_str(resource_id);
        key.push('-');
        key.push_str(action);
        key.push('-');
        key.push_str(accessed_by);
        key
    }
}

/// All cases, each beside what it is compared with.
pub(super) fn all() -> anyhow::Result<Vec<Case<'static>>> {
    let mut cases = of_three_texts()?;
    cases.extend(of_mixed_parts()?);
    cases.extend(back_again()?);
    cases.push(select()?);
    Ok(cases)
}

fn of_three_texts() -> anyhow::Result<Vec<Case<'static>>> {
    let template = template("{resourceId}-{action}-{accessedBy}")?;
    let (of_join, of_serde, of_fold) = (item(), item(), item());
    let event: Event = serde_dynamo::from_item(item())?;
    Ok(vec![
        Case::new(STRUCT_THREE, move || black_box(&event).key()),
        Case::new(JOIN_THREE, move || {
            let item = black_box(&of_join);
            format!("{}-{}-{}", text(item, "resourceId"), text(item, "action"), text(item, "accessedBy"))
        }),
        Case::new(SERDE_THREE, move || {
            serde_dynamo::from_item::<_, Event>(black_box(&of_serde).clone()).map(|event| event.key())
        }),
        Case::new(FOLD_THREE, move || black_box(&template).fold(black_box(&of_fold))),
    ])
}

fn of_mixed_parts() -> anyhow::Result<Vec<Case<'static>>> {
    let mixed = template("{resourceId}#{action}#{timestamp}#{words:06}")?;
    let ordered = template("{words:number}")?;
    let items: [Item; 4] = std::array::from_fn(|_| item());
    let [of_join, of_fold, of_text, of_number] = items;
    Ok(vec![
        Case::new(JOIN_MIXED, move || {
            let item = black_box(&of_join);
            let words: u64 = number(item).parse().unwrap_or(0);
            let part = |name| text(item, name);
            format!("{}#{}#{}#{words:06}", part("resourceId"), part("action"), part("timestamp"))
        }),
        Case::new(FOLD_MIXED, move || black_box(&mixed).fold(black_box(&of_fold))),
        Case::new(NUMBER_TEXT, move || {
            let value: f64 = number(black_box(&of_text)).parse().unwrap_or(0.0);
            value.to_string()
        }),
        Case::new(NUMBER_FOLD, move || black_box(&ordered).fold(black_box(&of_number))),
    ])
}

fn back_again() -> anyhow::Result<Vec<Case<'static>>> {
    const KEY: &str = "123ccc-viewed-joe1";
    let template = template("{resourceId}-{action}-{accessedBy}")?;
    Ok(vec![
        Case::new(SPLIT, || black_box(KEY).split('-').map(str::to_owned).collect::<Vec<_>>()),
        // What comes out borrows the template, and cannot leave.
        Case::new(UNFOLD, move || drop(black_box(black_box(&template).unfold(black_box(KEY))))),
    ])
}

fn select() -> anyhow::Result<Case<'static>> {
    /// More keys than this are not enumerated.
    const KEYS_MAX: usize = 64;
    let template = template("{resourceId}-{action}-{timestamp}")?;
    static VALUES: LazyLock<[AttributeValue; 3]> =
        LazyLock::new(|| ["123ccc", "viewed", "2017-03"].map(|text| AttributeValue::S(text.to_owned())));
    let [resource, action, month] = &*VALUES;
    let tests = Tests::from_iter([
        ("resourceId", Test::Equal(resource)),
        ("action", Test::Equal(action)),
        ("timestamp", Test::BeginsWith(month)),
    ]);
    Ok(Case::new(SELECT, move || {
        drop(black_box(black_box(&template).select(black_box(&tests), KEYS_MAX)));
    }))
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
