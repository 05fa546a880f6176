//! Folding beside a plain `format!` join of the same parts, with the same lookups, in the same run; then numbers beside
//! `to_string`, unfolding beside `split`, and selecting. Allocations are counted: a fold makes one, its result.
//!
//! `cargo bench -p keyfold-core --bench key`

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use divan::{AllocProfiler, Bencher, black_box};
use keyfold_core::key::{KeyMode, KeyRole, Template, Test};
use keyfold_core::model::{Attribute, AttributeKind, Precision};
use keyfold_core::value::{AttributeValue, Item};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

fn template(text: &str) -> Template {
    let kinds = [
        ("resourceId", AttributeKind::String),
        ("action", AttributeKind::String),
        ("accessedBy", AttributeKind::String),
        ("timestamp", AttributeKind::Timestamp(Precision::Milliseconds)),
        ("words", AttributeKind::Number),
    ];
    let attributes = kinds.map(|(name, kind)| (name.to_owned(), Attribute::new(name, kind))).into();
    Template::parse(text, &attributes, KeyRole::Partition, KeyMode::Escaped)
        .unwrap_or_else(|errors| unreachable!("the template is right: {errors:?}"))
}

fn item() -> Item {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    HashMap::from(
        [
            ("id", text("111aae")),
            ("resourceId", text("123ccc")),
            ("resourceName", text("Thing2")),
            ("action", text("viewed")),
            ("accessedBy", text("joe1")),
            ("timestamp", text("2017-05-01T00:01:48.000Z")),
            ("words", AttributeValue::N("1250".to_owned())),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    )
    .into()
}

fn string<'i>(item: &'i Item, name: &str) -> &'i str {
    match item.get(name) {
        Some(AttributeValue::S(text)) => text,
        _ => "",
    }
}

/// What a fold is measured against.
#[divan::bench]
fn three_strings_format(bencher: Bencher) {
    let item = item();
    bencher.bench_local(|| {
        let item = black_box(&item);
        let part = |name| string(item, name);
        format!("{}-{}-{}", part("resourceId"), part("action"), part("accessedBy"))
    });
}

#[divan::bench]
fn three_strings_fold(bencher: Bencher) {
    let (template, item) = (template("{resourceId}-{action}-{accessedBy}"), item());
    bencher.bench_local(|| black_box(&template).fold(black_box(&item)));
}

#[divan::bench]
fn strings_timestamp_and_padded_format(bencher: Bencher) {
    let item = item();
    bencher.bench_local(|| {
        let item = black_box(&item);
        let part = |name| string(item, name);
        let words: u64 = match item.get("words") {
            Some(AttributeValue::N(text)) => text.parse().unwrap_or(0),
            _ => 0,
        };
        format!("{}#{}#{}#{words:06}", part("resourceId"), part("action"), part("timestamp"))
    });
}

#[divan::bench]
fn strings_timestamp_and_padded_fold(bencher: Bencher) {
    let (template, item) = (template("{resourceId}#{action}#{timestamp}#{words:06}"), item());
    bencher.bench_local(|| black_box(&template).fold(black_box(&item)));
}

#[divan::bench]
fn number_to_string(bencher: Bencher) {
    let item = item();
    bencher.bench_local(|| {
        let mut key = String::with_capacity(43);
        if let Some(AttributeValue::N(text)) = black_box(&item).get("words") {
            let value: f64 = text.parse().unwrap_or(0.0);
            let _ = write!(key, "{value}");
        }
        key
    });
}

#[divan::bench]
fn number_ordered(bencher: Bencher) {
    let (template, item) = (template("{words:number}"), item());
    bencher.bench_local(|| black_box(&template).fold(black_box(&item)));
}

#[divan::bench]
fn three_strings_split(bencher: Bencher) {
    let key = "123ccc-viewed-joe1";
    bencher.bench_local(|| black_box(key).split('-').map(str::to_owned).collect::<Vec<_>>());
}

#[divan::bench]
fn three_strings_unfold(bencher: Bencher) {
    let template = template("{resourceId}-{action}-{accessedBy}");
    bencher.bench_local(|| black_box(&template).unfold(black_box("123ccc-viewed-joe1")).is_ok());
}

/// Two equalities and a prefix of a timestamp.
#[divan::bench]
fn select_typical(bencher: Bencher) {
    let template = template("{resourceId}-{action}-{timestamp}");
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let tests = BTreeMap::from([
        ("resourceId", Test::Equal(text("123ccc"))),
        ("action", Test::Equal(text("viewed"))),
        ("timestamp", Test::BeginsWith(text("2017-03"))),
    ]);
    bencher.bench_local(|| black_box(&template).select(black_box(&tests), 64));
}
