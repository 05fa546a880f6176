//! The codec's figures, its cases one by one, and its laws over random templates.

mod choices;
mod document;
mod figures;
mod folding;
mod laws;
mod numbers;
mod oracle;
mod overlap;
mod random;
mod select_laws;
mod selecting;
mod shards;
mod templates;
mod times;
mod unfolding;
mod values;

use std::collections::{BTreeMap, HashMap};

use super::{FoldProblem, KeyMode, KeyRole, Template, TemplateError};
use crate::attribute::{Attribute, AttributeKind, Precision};
use crate::value::{AttributeValue, Item};

/// The attributes that the tests' templates are made of.
fn attributes() -> BTreeMap<String, Attribute> {
    use AttributeKind as K;
    let mut all: Vec<Attribute> = [
        ("a", K::String),
        ("b", K::String),
        ("c", K::String),
        ("n", K::Number),
        ("m", K::Number),
        ("action", K::String),
        ("state", K::String),
        ("phase", K::String),
        ("level", K::Number),
        ("flag", K::Boolean),
        ("bytes", K::Binary),
        ("list", K::List),
        ("day", K::Date),
        ("at", K::Timestamp(Precision::Milliseconds)),
        ("second", K::Timestamp(Precision::Seconds)),
        ("micro", K::Timestamp(Precision::Microseconds)),
        ("nano", K::Timestamp(Precision::Nanoseconds)),
    ]
    .map(|(name, kind)| Attribute::new(name, kind))
    .into();
    let maps = |name: &str, entries: &[(&str, &str)]| {
        let entries = entries.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        BTreeMap::from([(name.to_owned(), entries)])
    };
    for attribute in &mut all {
        match attribute.name.as_str() {
            "action" => attribute.values = Some(["viewed", "edited", "deleted"].map(text).into()),
            "state" => attribute.values = Some(["IN_PROGRESS", "PENDING", "DONE"].map(text).into()),
            // One value is the beginning of another.
            "phase" => attribute.values = Some(["IN_PROGRESS", "IN", "DONE"].map(text).into()),
            "level" => attribute.maps = maps("names", &[("1", "low"), ("2.50", "mid"), ("10", "top")]),
            "a" => attribute.maps = maps("short", &[("red", "r"), ("green", "g"), ("blue", "b-")]),
            _ => {}
        }
    }
    all.into_iter().map(|attribute| (attribute.name.clone(), attribute)).collect()
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(text: &str) -> AttributeValue {
    AttributeValue::N(text.to_owned())
}

/// An attribute of a literal item: numbers for `n`, `m` and `level`, booleans for `flag`, bytes for `bytes`.
fn value(name: &str, written: &str) -> AttributeValue {
    match name {
        "n" | "m" | "level" => number(written),
        "flag" => AttributeValue::Bool(written == "true"),
        "bytes" => AttributeValue::B(written.as_bytes().to_vec()),
        _ => text(written),
    }
}

fn item(values: &[(&str, &str)]) -> Item {
    HashMap::from_iter(values.iter().map(|(name, written)| ((*name).to_owned(), value(name, written)))).into()
}

fn parse(text: &str, mode: KeyMode) -> Result<Template, Vec<TemplateError>> {
    Template::parse(text, &attributes(), KeyRole::Sort, mode)
}

fn template(text: &str) -> Template {
    parse(text, KeyMode::Escaped).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

fn verbatim(text: &str) -> Template {
    parse(text, KeyMode::Verbatim).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

/// The key of a literal item.
fn key(text: &str, values: &[(&str, &str)]) -> String {
    template(text).fold(&item(values)).unwrap().unwrap()
}

fn problem(text: &str, values: &[(&str, &str)]) -> FoldProblem {
    template(text).fold(&item(values)).unwrap_err().problem
}
