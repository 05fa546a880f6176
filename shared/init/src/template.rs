//! Converts key templates of other notations into Keyfold's.

use std::collections::{BTreeMap, HashMap};

use keyfold_core::key::{KeyMode, KeyRole, Template};
use keyfold_core::model::{Attribute, AttributeKind, Precision};
use keyfold_core::value::{AttributeValue, Item};

/// Text in the notation of templates: braces and brackets doubled.
pub(crate) fn literal(text: &str) -> String {
    let mut done = String::with_capacity(text.len());
    for letter in text.chars() {
        done.push(letter);
        if matches!(letter, '{' | '}' | '[' | ']') {
            done.push(letter);
        }
    }
    done
}

/// A template with `${name}` parts; `part` converts each part, `text` each literal.
pub(crate) fn dollars(
    template: &str,
    text: impl Fn(&str) -> String,
    mut part: impl FnMut(&str) -> String,
) -> String {
    let mut done = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        done.push_str(&text(before));
        done.push_str(&part(name));
        rest = behind;
    }
    done.push_str(&text(rest));
    done
}

/// The attributes in a template, in order.
pub(crate) fn attributes(template: &str) -> Vec<String> {
    let mut names = Vec::new();
    let plain = template.replace("{{", "").replace("}}", "");
    let mut rest = plain.as_str();
    while let Some((_, after)) = rest.split_once('{') {
        let Some((inside, behind)) = after.split_once('}') else { break };
        let name = inside.split(['|', ':']).next().unwrap_or(inside).to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
        rest = behind;
    }
    names
}

/// The text before the first part.
pub(crate) fn prefix(template: &str) -> String {
    let mut done = String::new();
    let mut letters = template.chars().peekable();
    while let Some(letter) = letters.next() {
        if matches!(letter, '{' | '[') && letters.next_if_eq(&letter).is_none() {
            break;
        }
        if matches!(letter, '}' | ']') {
            letters.next_if_eq(&letter);
        }
        done.push(letter);
    }
    done
}

/// The attribute, if the template consists of it alone.
pub(crate) fn bare(template: &str) -> Option<&str> {
    let inner = template.strip_prefix('{')?.strip_suffix('}')?;
    (!inner.contains(['{', '}', '[', ']', '|', ':'])).then_some(inner)
}

/// The template parsed by the core, with these types; `None` if it is invalid.
pub(crate) fn parse(text: &str, kinds: &BTreeMap<String, Option<AttributeKind>>) -> Option<Template> {
    let attributes = attributes(text)
        .into_iter()
        .map(|name| {
            let can_be_part =
                |kind: &AttributeKind| kind.scalar().is_some() || *kind == AttributeKind::Boolean;
            let kind = kinds.get(&name).copied().flatten().filter(can_be_part);
            (name.clone(), Attribute::new(&name, kind.unwrap_or(AttributeKind::String)))
        })
        .collect();
    Template::parse(text, &attributes, KeyRole::Partition, KeyMode::Verbatim).ok()
}

/// The kind of time in a text: a date, a timestamp with the precision in which Keyfold writes the same text, or one
/// that Keyfold writes differently.
pub(crate) fn moment(text: &str) -> Option<AttributeKind> {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let date = digits(0..4)
        && bytes.get(4) == Some(&b'-')
        && digits(5..7)
        && bytes.get(7) == Some(&b'-')
        && digits(8..10);
    if !date {
        return None;
    }
    if bytes.len() == 10 {
        return writes_the_same(text, AttributeKind::Date).then_some(AttributeKind::Date);
    }
    if bytes.get(10) != Some(&b'T') {
        return None;
    }
    let precisions =
        [Precision::Seconds, Precision::Milliseconds, Precision::Microseconds, Precision::Nanoseconds];
    precisions.into_iter().map(AttributeKind::Timestamp).find(|kind| writes_the_same(text, *kind))
}

fn writes_the_same(text: &str, kind: AttributeKind) -> bool {
    let kinds = BTreeMap::from([("a".to_owned(), Some(kind))]);
    let value = AttributeValue::S(text.to_owned());
    let item: Item = HashMap::from([("a".to_owned(), value)]).into();
    let folded = parse("{a}", &kinds).and_then(|template| template.fold(&item).ok().flatten());
    folded.as_deref() == Some(text)
}
