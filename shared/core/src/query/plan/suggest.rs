//! The index that would answer a request which none does, as text for the manifest.

use std::fmt::Write;

use super::clauses::clauses;
use super::conjunction::{Asked, Conjunction};
use crate::key::Test;
use crate::query::check::CheckedRequest;

/// Manifest text for a global index; `None` where no key could help (nothing is asked by equality).
pub(super) fn suggest(request: &CheckedRequest<'_>) -> Option<String> {
    let clauses = clauses(&request.condition);
    let conjunction = Conjunction::read(clauses.iter().map(AsRef::as_ref), &[]);
    let is_key =
        |name: &str| request.table.attributes.get(name).is_some_and(|known| known.kind.scalar().is_some());
    let mut equal = Vec::new();
    let mut ranged = Vec::new();
    for test in conjunction.by_attribute.iter().filter(|test| is_key(test.attribute)) {
        match &test.asked {
            Asked::Values(_) => equal.push(test.attribute),
            Asked::Test(Test::Absent) => {}
            Asked::Test(_) => ranged.push(test.attribute),
        }
    }
    if equal.is_empty() {
        return None;
    }
    let mut sort: Vec<&str> =
        request.order.iter().map(|by| by.attribute.as_str()).filter(|name| !equal.contains(name)).collect();
    if sort.is_empty() {
        sort.extend(ranged.first());
    }
    let mut text = format!("[tables.{}.indexes.{}]\n", request.table.id, name(&equal, &sort));
    let _ = writeln!(text, "partition = {}", key(&equal));
    if !sort.is_empty() {
        let _ = writeln!(text, "sort = {}", key(&sort));
    }
    Some(text)
}

fn name(equal: &[&str], sort: &[&str]) -> String {
    let capital = |name: &&str| {
        let mut letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.next().map_or(String::new(), |first| {
            std::iter::once(first.to_ascii_uppercase()).chain(letters).collect()
        })
    };
    let letters: String = equal.iter().chain(sort).map(capital).collect();
    format!("by{}", letters.chars().take(60).collect::<String>())
}

/// Up to four attributes as a native key; more than that folded.
fn key(names: &[&str]) -> String {
    match names {
        [one] => format!("\"{one}\""),
        few if few.len() <= 4 => {
            format!("[{}]", few.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
        }
        many => {
            format!("\"{}\"", many.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join("#"))
        }
    }
}
