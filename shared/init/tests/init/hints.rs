//! Entities that the user names.

use keyfold_init::{EntityHint, Options, ReadError, Report, Source, init, read};

use crate::seeds::DESCRIBE;
use crate::{has, model};

const TABLE: &str = r#"{"TableName":"data","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}]}"#;

/// Accounts with their profiles, and entries that flow in or out, whose keys have one form.
fn items() -> String {
    let row = |n: usize| match n % 3 {
        0 => {
            serde_json::json!({ "pk": format!("a#{n}"), "sk": "PROFILE", "account": n.to_string(), "name": format!("N{n}") })
        }
        kind => serde_json::json!({
            "pk": format!("a#{}", n / 3 * 3), "sk": format!("e#{n}"), "account": (n / 3 * 3).to_string(), "entry": n.to_string(),
            "flow": if kind == 1 { "in" } else { "out" },
        }),
    };
    (0..30).map(|n| format!("{}\n", row(n))).collect()
}

fn hinted(texts: &[&str], hints: &[&str]) -> Result<Report, ReadError> {
    let source = |(at, text): (usize, &&str)| {
        let source = Source { name: format!("source{at}"), text: (*text).to_owned() };
        (source.name.clone(), read(&source).unwrap())
    };
    let drafts = texts.iter().enumerate().map(source).collect();
    let entities = hints.iter().map(|hint| hint.parse().unwrap()).collect();
    init(drafts, &Options { entities, ..Options::default() })
}

#[test]
fn hints_name_entities_and_the_others_are_inferred() {
    let items = items();
    let report = hinted(&[TABLE, &items], &["Credit:flow=in", "Debit:flow=out"]).unwrap();
    has(
        &report,
        &[
            "[tables.data.entities.Credit]",
            "when = { flow = \"in\" }",
            "when = { flow = \"out\" }",
            "sort = \"e#{entry}\"",
            "sort = \"PROFILE\"",
        ],
    );
    assert_eq!(model(&report).tables[0].entities.len(), 3, "{}", report.manifest);
    assert!(report.agrees() && report.manifest.contains("# as --entities says"), "{}", report.manifest);
}

#[test]
fn a_hint_by_the_beginning_of_a_key_overrides_the_inferred_name() {
    let items = items();
    let report = hinted(&[TABLE, &items], &["Account:sk=PROF*"]).unwrap();
    has(&report, &["[tables.data.entities.Account]", "when = { sk = { begins-with = \"PROF\" } }"]);
    assert!(!report.manifest.contains("entities.PROFILE") && report.agrees(), "{}", report.manifest);
    // All conditions of one name must hold.
    let report = hinted(&[TABLE, &items], &["Credit:sk=e#*", "Credit:flow=in"]).unwrap();
    has(&report, &["when = { sk = { begins-with = \"e#\" }, flow = \"in\" }"]);
    assert!(report.manifest.contains("in 10 of 30 sampled items"), "{}", report.manifest);
}

#[test]
fn a_name_that_the_items_show_too_is_given_once() {
    let items = items();
    let report = hinted(&[TABLE, &items], &["PROFILE:flow=in"]).unwrap();
    has(&report, &["[tables.data.entities.PROFILE]", "[tables.data.entities.PROFILE-2]"]);
}

#[test]
fn a_hint_without_items_or_with_those_of_another_is_refused() {
    let items = items();
    let refused = |texts: &[&str], hints: &[&str]| {
        let error = hinted(texts, hints).unwrap_err();
        assert_eq!(error.code(), "init-entities");
        error.to_string()
    };
    assert_eq!(
        refused(&[TABLE, &items], &["Credit:flow=in", "Order:sk=o#*"]),
        "`data`: --entities: no sampled item is of `Order`"
    );
    // Each condition has items, but no item has both.
    assert!(refused(&[TABLE, &items], &["Order:flow=in", "Order:sk=PROFILE"]).contains("`Order`"));
    assert_eq!(
        refused(&[TABLE, &items], &["Credit:flow=in", "Entry:sk=e#*"]),
        "`data`: --entities: some sampled items are of `Credit` and of `Entry`"
    );
    assert!(refused(&[TABLE, DESCRIBE], &["Credit:flow=in"]).contains("one table"));
    for wrong in
        ["Credit", "Credit:flow", "Credit:flow=", ":flow=in", "Credit:=in", "Credit:flow=*", "flow=in"]
    {
        assert!(wrong.parse::<EntityHint>().unwrap_err().contains("Order:type=ORDER"), "{wrong}");
    }
}
