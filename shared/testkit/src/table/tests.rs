//! DynamoDB's documented behaviour, checked on the model table.

use keyfold_core::query::plan::{KeyEqual, Operation, SortCondition, SortTest};
use keyfold_core::query::{Comparison, Condition, Path};
use keyfold_core::value::{AttributeValue, Item};

use super::{Change, ModelTable, Page, Read, Shown, TableError};

const FORUM: &str = r#"
[tables.thread]
partition = "forum"
sort = "subject"
attributes = { forum = "string", subject = "string", posted = "string", replies = "number", body = "string" }
indexes.byPost = { sort = "posted", projection = "keys-only" }
indexes.byReplies = { partition = "forum", sort = "replies", projection = ["posted"] }
"#;

fn forum() -> ModelTable {
    let parsed = keyfold_core::manifest::parse("keyfold.toml", FORUM);
    ModelTable::new(&parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)).tables[0])
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn thread(subject: &str, posted: &str, replies: u32) -> Item {
    [
        ("forum", text("EC2")),
        ("subject", text(subject)),
        ("posted", text(posted)),
        ("replies", AttributeValue::N(replies.to_string())),
        ("body", text(&"x".repeat(5000))),
    ]
    .into_iter()
    .collect()
}

fn key(subject: &str) -> Item {
    [("forum", text("EC2")), ("subject", text(subject))].into_iter().collect()
}

fn filled() -> ModelTable {
    let mut table = forum();
    for (subject, posted, replies) in [("a", "2015-03", 10), ("b", "2015-01", 9), ("c", "2015-02", 2)] {
        table.put(thread(subject, posted, replies), &Condition::always()).unwrap();
    }
    table
}

fn query(sort: Vec<SortCondition>) -> Operation {
    Operation::Query { partition: vec![KeyEqual { attribute: "forum".into(), value: text("EC2") }], sort }
}

fn read<'a>(index: Option<&'a str>, operation: &'a Operation) -> Read<'a> {
    const ALWAYS: &Condition = &Condition::All(Vec::new());
    Read {
        index,
        operation,
        filter: ALWAYS,
        shown: Shown::Held,
        consistent: false,
        descending: false,
        limit: None,
        start: None,
    }
}

fn subjects(page: &Page) -> Vec<String> {
    let subject = |item: &'_ Item| match &item["subject"] {
        AttributeValue::S(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    page.items.iter().map(subject).collect()
}

#[test]
fn numbers_come_by_value_and_texts_by_bytes() {
    let (table, all) = (filled(), query(Vec::new()));
    assert_eq!(subjects(&table.read(&read(None, &all)).unwrap()), ["a", "b", "c"]);
    assert_eq!(subjects(&table.read(&read(Some("byReplies"), &all)).unwrap()), ["c", "b", "a"]);
    let backwards = Read { descending: true, ..read(Some("byPost"), &all) };
    assert_eq!(subjects(&table.read(&backwards).unwrap()), ["a", "c", "b"]);
}

#[test]
fn the_limit_counts_before_the_filter_and_pages_go_on_after_the_last_key() {
    let (table, all) = (filled(), query(Vec::new()));
    let filter =
        Condition::Is(Path::attribute("replies"), Comparison::Less(AttributeValue::N("5".to_owned())));
    let first = table.read(&Read { filter: &filter, limit: Some(2), ..read(None, &all) }).unwrap();
    assert_eq!((first.count, first.scanned, first.last_key.as_ref()), (0, 2, Some(&key("b"))));
    let start = first.last_key.as_ref();
    let second = table.read(&Read { filter: &filter, limit: Some(2), start, ..read(None, &all) }).unwrap();
    assert_eq!((subjects(&second), second.last_key.is_none()), (vec!["c".to_owned()], true));
}

#[test]
fn a_page_goes_on_where_its_item_was_although_that_is_deleted() {
    for descending in [false, true] {
        let (mut table, all) = (filled(), query(Vec::new()));
        table.delete(&key("b"), &Condition::always()).unwrap();
        let start = key("b");
        let page = table.read(&Read { start: Some(&start), descending, ..read(None, &all) }).unwrap();
        assert_eq!(subjects(&page), [if descending { "a" } else { "c" }]);
    }
}

#[test]
fn a_global_index_lags_until_it_catches_up_and_a_local_one_never_does() {
    let all = query(Vec::new());
    let mut table = forum().lagging();
    table.put(thread("a", "2015-03", 1), &Condition::always()).unwrap();
    table
        .update(
            &key("a"),
            &[Change::Set("replies".to_owned(), AttributeValue::N("2".to_owned()))],
            &Condition::always(),
        )
        .unwrap();
    assert_eq!(subjects(&table.read(&read(Some("byPost"), &all)).unwrap()), ["a"]);
    assert_eq!(table.read(&read(Some("byReplies"), &all)).unwrap().count, 0);

    assert_eq!(table.catch_up(1), 1);
    let stale = table.read(&read(Some("byReplies"), &all)).unwrap();
    assert_eq!(stale.items[0]["replies"], AttributeValue::N("1".to_owned()));
    assert_eq!(table.catch_up(10), 1);
    let fresh = table.read(&read(Some("byReplies"), &all)).unwrap();
    assert_eq!((fresh.count, &fresh.items[0]["replies"]), (1, &AttributeValue::N("2".to_owned())));
}

#[test]
fn what_a_local_index_lacks_is_fetched_and_each_item_rounded_up_by_itself() {
    let (table, all) = (filled(), query(Vec::new()));
    let page =
        table.read(&Read { shown: Shown::All, consistent: true, ..read(Some("byPost"), &all) }).unwrap();
    assert!(page.items.iter().all(|item| item.contains_key("body")));
    // Three items of 5 KB are two units each, and three entries together one.
    assert_eq!((page.consumed.table.as_f64(), page.consumed.indexes["byPost"].as_f64()), (6.0, 1.0));
}

#[test]
fn a_write_happens_on_its_condition_or_not_at_all() {
    let mut table = filled();
    let absent = Condition::Is(Path::attribute("forum"), Comparison::Exists(false));
    let refused = table.put(thread("a", "2020-01", 99), &absent).unwrap_err();
    assert!(
        matches!(refused, TableError::ConditionFailed { old: Some(old) } if old["replies"] == AttributeValue::N("10".to_owned()))
    );
    assert_eq!(table.get(&key("a")).unwrap().unwrap()["posted"], text("2015-03"));
    assert_eq!(table.put(thread("d", "2020-01", 99), &absent).unwrap().old, None);
}

#[test]
fn an_index_without_its_key_attribute_forgets_the_item() {
    let (mut table, all) = (filled(), query(Vec::new()));
    let written =
        table.update(&key("a"), &[Change::Remove("replies".to_owned())], &Condition::always()).unwrap();
    assert_eq!(written.consumed.indexes.keys().collect::<Vec<_>>(), ["byReplies"]);
    assert_eq!(subjects(&table.read(&read(Some("byReplies"), &all)).unwrap()), ["c", "b"]);
}

#[test]
fn a_page_ends_at_a_megabyte() {
    let mut table = forum();
    for number in 0..300 {
        table.put(thread(&format!("{number:03}"), "2015-01", 1), &Condition::always()).unwrap();
    }
    // The item that passes the limit is the last one of its page.
    let page = table.read(&read(None, &query(Vec::new()))).unwrap();
    assert_eq!((page.scanned, page.last_key.is_some()), (208, true));
}

#[test]
fn what_dynamodb_refuses_is_refused() {
    let table = filled();
    let sorted = |test| query(vec![SortCondition { attribute: "subject".into(), test }]);
    let by_replies = query(vec![SortCondition {
        attribute: "replies".into(),
        test: SortTest::BeginsWith(AttributeValue::N("1".to_owned())),
    }]);
    let on_key = Condition::Is(Path::attribute("subject"), Comparison::Exists(true));
    let unheld = Condition::Is(Path::attribute("body"), Comparison::Exists(true));
    let (all, foreign) = (query(Vec::new()), key("a"));
    let nobody = Operation::Query { partition: Vec::new(), sort: Vec::new() };
    let refused = |read: &Read<'_>| table.read(read).unwrap_err();
    let name = |name: &str| name.to_owned();

    assert_eq!(refused(&read(Some("byDate"), &all)), TableError::UnknownIndex { index: name("byDate") });
    assert_eq!(refused(&read(None, &nobody)), TableError::Partition { attribute: name("forum") });
    let empty = sorted(SortTest::AtLeast(text("")));
    assert_eq!(refused(&read(None, &empty)), TableError::KeyValue { attribute: name("subject") });
    let number = sorted(SortTest::Equal(AttributeValue::N(name("1"))));
    assert_eq!(refused(&read(None, &number)), TableError::KeyValue { attribute: name("subject") });
    let inverted = sorted(SortTest::Between(text("b"), text("a")));
    assert_eq!(refused(&read(None, &inverted)), TableError::InvertedBetween { attribute: name("subject") });
    assert_eq!(
        refused(&read(Some("byReplies"), &by_replies)),
        TableError::PrefixOfNumber { attribute: name("replies") }
    );
    let filtered = Read { filter: &on_key, ..read(None, &all) };
    assert_eq!(refused(&filtered), TableError::FilterOnKey { attribute: name("subject") });
    let filtered = Read { filter: &unheld, ..read(Some("byReplies"), &all) };
    assert_eq!(refused(&filtered), TableError::NotProjected { attribute: name("body") });
    let consistent = Read { consistent: true, ..read(Some("byReplies"), &all) };
    assert_eq!(refused(&consistent), TableError::ConsistentGlobal);
    let everything = Read { shown: Shown::All, ..read(Some("byReplies"), &all) };
    assert_eq!(refused(&everything), TableError::NotProjected { attribute: name("*") });
    let elsewhere = Read { start: Some(&foreign), ..read(Some("byPost"), &all) };
    assert_eq!(refused(&elsewhere), TableError::StartKey);
    assert_eq!(refused(&Read { limit: Some(0), ..read(None, &all) }), TableError::Limit);
}
