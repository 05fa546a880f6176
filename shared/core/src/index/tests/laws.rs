//! Laws that hold for every item and every change.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::cost::WriteUnits;
use crate::index::fixture::{audit, forum, global, include, local};
use crate::index::{IndexAction, changes, item_bytes, value_bytes};
use crate::model::{Index, Projection, Table};
use crate::value::equal;
use crate::value::{AttributeValue, Item};

fn any_scalar() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        "[ab]{0,2}".prop_map(AttributeValue::S),
        (0usize..3000).prop_map(|length| AttributeValue::S("x".repeat(length))),
        (-3i32..3, 0u8..3).prop_map(|(n, zeros)| AttributeValue::N(match zeros {
            0 => n.to_string(),
            zeros => format!("{n}.{}", "0".repeat(zeros.into())),
        })),
        any::<bool>().prop_map(AttributeValue::Bool),
    ]
}

fn any_value() -> impl Strategy<Value = AttributeValue> {
    any_scalar().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(AttributeValue::L),
            prop::collection::hash_map("[ab]", inner, 0..3).prop_map(AttributeValue::M),
            prop::collection::btree_set("[abc]", 1..3)
                .prop_map(|set| AttributeValue::Ss(set.into_iter().collect())),
        ]
    })
}

/// A key attribute's value: mostly one of two good ones, so that entries stay and move; sometimes anything.
fn any_key() -> impl Strategy<Value = Option<AttributeValue>> {
    prop_oneof![
        6 => "[ab]".prop_map(|text| Some(AttributeValue::S(text))),
        1 => Just(None),
        1 => any_value().prop_map(Some),
    ]
}

/// An attribute that is no key.
fn any_other() -> impl Strategy<Value = Option<AttributeValue>> {
    prop_oneof![Just(None), any_value().prop_map(Some)]
}

/// A thread of the forum: always with the table's key, the rest by chance.
fn any_thread() -> impl Strategy<Value = Item> {
    (any_key(), any_key(), any_other(), any_other(), any_other()).prop_map(
        |(posted, tag, replies, body, other)| {
            let text = |text: &str| Some(AttributeValue::S(text.to_owned()));
            let attributes = [
                ("ForumName", text("EC2")),
                ("Subject", text("b")),
                ("LastPostDateTime", posted),
                ("Tag", tag),
                ("Replies", replies),
                ("Body", body),
                ("Other", other),
            ];
            let present = attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            Item::from(present.collect::<HashMap<String, AttributeValue>>())
        },
    )
}

fn indexed() -> Table {
    forum(vec![
        local("keys", "LastPostDateTime", Projection::KeysOnly),
        local("include", "LastPostDateTime", include(&["Replies", "Body"])),
        local("all", "LastPostDateTime", Projection::All),
        global("tags", &["Tag"], &["LastPostDateTime"], include(&["Body"])),
    ])
}

/// The rules of the index writes over again, from whole entries and without a thought for speed.
fn naive(table: &Table, index: &Index, old: Option<&Item>, new: Option<&Item>) -> (IndexAction, u64) {
    let entry = |item: Option<&Item>| item.and_then(|item| index.entry(table, item).ok());
    let units = |entry: &Item| item_bytes(entry).div_ceil(1024).max(1);
    let whole = |entry: &Item| AttributeValue::M(entry.clone().into());
    let key = |entry: &Item| -> Vec<AttributeValue> {
        index.key_attributes().map(|key| entry.get(&key.name).unwrap().clone()).collect()
    };
    match (entry(old), entry(new)) {
        (None, None) => (IndexAction::None, 0),
        (None, Some(new)) => (IndexAction::Put, units(&new)),
        (Some(old), None) => (IndexAction::Delete, units(&old)),
        (Some(old), Some(new)) if key(&old) != key(&new) => {
            (IndexAction::DeleteThenPut, units(&old) + units(&new))
        }
        (Some(old), Some(new)) if equal(&whole(&old), &whole(&new)) => (IndexAction::None, 0),
        (Some(old), Some(new)) => (IndexAction::Put, units(&old).max(units(&new))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn units_never_decrease_with_size(a in 0u64..500_000, b in 0u64..500_000) {
        let (small, large) = (a.min(b), a.max(b));
        prop_assert!(WriteUnits::of(small) <= WriteUnits::of(large));
        prop_assert!(WriteUnits::of(large).get() * 1024 >= large);
    }

    #[test]
    fn a_change_writes_what_the_difference_of_the_entries_says(
        old in prop::option::of(any_thread()), new in prop::option::of(any_thread()),
    ) {
        let table = indexed();
        let write = changes(&table, old.as_ref(), new.as_ref());
        let mut total = write.table_units;
        for (index, written) in table.indexes.iter().zip(&write.indexes) {
            let expected = naive(&table, index, old.as_ref(), new.as_ref());
            prop_assert_eq!((written.action, written.units.get()), expected, "{}", index.name);
            total += WriteUnits::new(expected.1);
        }
        prop_assert_eq!(write.total(), total);
    }

    #[test]
    fn a_change_to_the_same_item_writes_no_index(item in any_thread()) {
        let table = indexed();
        let write = changes(&table, Some(&item), Some(&item));
        prop_assert!(write.indexes.iter().all(|index| index.action == IndexAction::None));
    }

    #[test]
    fn keys_only_is_part_of_include_is_part_of_all_is_the_item(item in any_thread()) {
        let table = indexed();
        let mut entries: Vec<Option<Item>> =
            table.indexes[..3].iter().map(|index| index.entry(&table, &item).ok()).collect();
        entries.push(entries[2].is_some().then_some(item));
        for pair in entries.windows(2) {
            prop_assert_eq!(pair[0].is_some(), pair[1].is_some());
            if let [Some(smaller), Some(larger)] = pair {
                prop_assert!(smaller.iter().all(|(name, value)| larger.get(name) == Some(value)));
            }
        }
    }

    #[test]
    fn an_entry_has_the_size_it_is_said_to_have(item in any_thread()) {
        let table = indexed();
        for index in &table.indexes {
            let bytes = index.entry(&table, &item).ok().as_ref().map(item_bytes);
            prop_assert_eq!(index.entry_bytes(&table, &item), bytes);
        }
    }

    #[test]
    fn what_is_the_same_has_the_same_size(a in any_value(), b in any_value()) {
        prop_assert!(equal(&a, &a));
        prop_assert_eq!(equal(&a, &b), equal(&b, &a));
        if equal(&a, &b) {
            prop_assert_eq!(value_bytes(&a), value_bytes(&b));
        }
    }

    #[test]
    fn any_text_as_a_number_has_a_size(text in ".{0,60}") {
        prop_assert!(value_bytes(&AttributeValue::N(text)) >= 1);
    }

    #[test]

    fn keys_that_are_right_stay_as_they_are(
        parts in prop::collection::vec(prop::option::of("[-a-c]{1,4}"), 3), stale in prop::option::of("[ab]{1,3}"),
    ) {
        let names = ["resourceId", "action", "accessedBy"];
        let given = names.iter().zip(parts).filter_map(|(&name, part)| Some((name, part?)));
        let all = given.chain([("id", "1".to_owned())]).chain(stale.map(|stale| ("byUserKey", stale)));
        let item: HashMap<String, AttributeValue> =
            all.map(|(name, text)| (name.to_owned(), AttributeValue::S(text))).collect();
        let once = audit().with_keys(Item::from(item.clone())).unwrap();
        prop_assert_eq!(once.contains_key("byUserKey"), names.iter().all(|&name| item.contains_key(name)));
        prop_assert_eq!(audit().with_keys(once.clone()).unwrap(), once);
    }
}
