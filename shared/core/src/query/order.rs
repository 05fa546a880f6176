//! The order of items in an answer: by attributes, absent ones first, numbers by value, timestamps by instant, other texts by
//! their bytes.

use std::cmp::Ordering;

use crate::key::instant;
use crate::model::{AttributeKind, OrderBy, Table};
use crate::value::{AttributeValue, Item, compare, type_letter};

/// The order of two items of the table.
pub fn compare_items(table: &Table, order: &[OrderBy], a: &Item, b: &Item) -> Ordering {
    order
        .iter()
        .map(|by| {
            let (a, b) = (a.get(&by.attribute), b.get(&by.attribute));
            let kind = table.attributes.get(&by.attribute).map(|attribute| attribute.kind);
            let ascending = match (kind, a, b) {
                (
                    Some(AttributeKind::Timestamp(_)),
                    Some(AttributeValue::S(a)),
                    Some(AttributeValue::S(b)),
                ) => compare_timestamps(a, b),
                _ => compare_values(a, b),
            };
            if by.descending { ascending.reverse() } else { ascending }
        })
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// One instant has many texts, and folded keys have the order of instants. A text that is not a timestamp comes first.
fn compare_timestamps(a: &str, b: &str) -> Ordering {
    match (instant(a), instant(b)) {
        (None, None) => a.cmp(b),
        (a, b) => a.cmp(&b),
    }
}

/// The order of two values: an absent one first, then by type, then by value.
pub fn compare_values(a: Option<&AttributeValue>, b: Option<&AttributeValue>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b).unwrap_or_else(|| type_letter(a).cmp(type_letter(b))),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_the_order_of_instants() {
        let text = "[tables.t]\nname = \"tbl\"\npartition = \"id\"\nattributes = { id = \"string\", at = \"timestamp\" }\n";
        let model = crate::manifest::parse("keyfold.toml", text).model.unwrap();
        let by = |name: &str| [OrderBy { attribute: name.to_owned(), descending: false }];
        let item = |value: &str| Item::from(vec![("at".into(), AttributeValue::S(value.to_owned()))]);
        let sorted = |name: &str, texts: &[&'static str]| {
            let mut texts = texts.to_vec();
            let (table, order) = (&model.tables[0], by(name));
            let compared = |a: &str, b: &str| compare_items(table, &order, &item(a), &item(b));
            texts.sort_by(|a, b| compared(a, b));
            texts
        };
        let texts = ["2017-03-01T08:00:00Z", "2017-03-01T09:30:00+02:00", "2017-03-01T08:00:00.5Z", "soon"];
        assert_eq!(sorted("at", &texts), [texts[3], texts[1], texts[0], texts[2]]);
        assert_eq!(
            compare_timestamps("2017-03-01T08:00:00Z", "2017-03-01T10:00:00.000+02:00"),
            Ordering::Equal
        );
    }
}
