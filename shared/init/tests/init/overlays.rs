//! Several sources for one table: structure from the more reliable one, meaning from the schema, conflicts reported.

use crate::seeds::{ELECTRODB, ITEMS, TTL};
use crate::{has, import};
use keyfold_init::{Options, Source, init, read};

const STRUCTURE: &str = r#"{"TableName":"Crm","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
"AttributeDefinitions":[],"GlobalSecondaryIndexes":[{"IndexName":"gsi1","KeySchema":[{"AttributeName":"gsi1pk","KeyType":"HASH"},{"AttributeName":"gsi1sk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]}"#;

#[test]
fn a_schema_without_a_table_is_laid_over_the_table_in_either_order() {
    for sources in [[ELECTRODB, STRUCTURE], [STRUCTURE, ELECTRODB]] {
        let report = import(&sources);
        assert_eq!(report.tables, ["Crm"]);
        has(&report, &["projection = \"keys-only\"", "partition = \"$crm#t_{tenant|lower}\""]);
    }
}

#[test]
fn what_contradicts_is_told_and_the_structure_stays() {
    let other = STRUCTURE.replace("\"gsi1sk\"", "\"gsi1other\"");
    let report = import(&[ELECTRODB, &other]);
    has(&report, &["sort = \"gsi1other\""]);
    assert!(
        report.notes.iter().any(|note| note.contains("disagree about the key of index `gsi1`")),
        "{:?}",
        report.notes
    );
}

#[test]
fn items_and_time_to_live_need_a_table() {
    let drafts = |text: &str| {
        vec![("a".to_owned(), read(&Source { name: "a".to_owned(), text: text.to_owned() }).unwrap())]
    };
    let error = init(drafts(ITEMS), &Options::default()).unwrap_err();
    assert_eq!(error.code(), "init-no-key");
    assert!(init(drafts(TTL), &Options::default()).unwrap().tables.is_empty());
}
