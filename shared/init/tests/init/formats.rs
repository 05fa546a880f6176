//! Each format: its contents appear in the manifest.

use keyfold_core::value::{AttributeValue, Item};
use keyfold_init::{ReadError, Source, read};

use crate::seeds::*;
use crate::{has, import, model};

#[test]
fn a_description_gives_keys_indexes_projections_and_what_is_not_modelled() {
    let report = import(&[DESCRIBE, TTL]);
    has(
        &report,
        &[
            "name = \"Helpdesk\"",
            "partition = \"PK\"",
            "sort = \"SK\"",
            "ttl = \"expiresAt\"",
            "verbatim = true",
        ],
    );
    has(&report, &["expect = { items = 6, item-bytes = 100 }", "projection = [\"status\"]"]);
    assert!(report.notes.iter().any(|note| note.contains("replicas in other regions")), "{:?}", report.notes);
}

#[test]
fn a_workbench_model_gives_entities_by_facet_with_the_templates_of_their_aliases() {
    let report = import(&[WORKBENCH]);
    has(
        &report,
        &[
            "partition = \"ARTIST#{artistId}\"",
            "sort = \"SONG#{songId}\"",
            "sort = \"PROFILE\"",
            "seconds = \"number\"",
            "[questions.music.Artists-of-a-country]",
            "projection = \"keys-only\"",
        ],
    );
    assert!(report.agrees() && report.items == 4, "{:?}", report.proofs);
}

/// A model with the number key `id`, a declared number `n`, and one row with these cells.
fn row(cells: &str) -> Result<Item, ReadError> {
    let table = r#"{"TableName":"Rows","KeyAttributes":{"PartitionKey":{"AttributeName":"id","AttributeType":"N"}},
"NonKeyAttributes":[{"AttributeName":"n","AttributeType":"N"}],"TableData":[ROW]}"#;
    let text = format!(r#"{{"ModelName":"m","DataModel":[{}]}}"#, table.replace("ROW", cells));
    Ok(read(&Source { name: "rows".to_owned(), text })?.tables[0].items[0].item.clone())
}

#[test]
fn each_cell_of_a_workbench_row_is_read_by_its_own_notation() {
    use AttributeValue::{Bool, L, M, N, Ns, Null, S, Ss};
    let text = |text: &str| S(text.to_owned());
    let number = |text: &str| N(text.to_owned());
    let map = |name: &str, value: AttributeValue| M(std::iter::once((name.to_owned(), value)).collect());
    let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    for (cell, value) in [
        (r#"{"S":"x"}"#, text("x")),
        (r#"{"S":5}"#, text("5")),
        (r#"{"S":true}"#, text("true")),
        (r#"{"N":"5"}"#, number("5")),
        (r#"{"N":5}"#, number("5")),
        (r#"{"BOOL":false}"#, Bool(false)),
        (r#"{"BOOL":"TRUE"}"#, Bool(true)),
        (r#"{"BOOL":"yes"}"#, map("BOOL", text("yes"))),
        (r#"{"NULL":"x"}"#, Null(true)),
        (r#"{"SS":["a",1]}"#, Ss(texts(&["a", "1"]))),
        (r#"{"NS":[1,"2"]}"#, Ns(texts(&["1", "2"]))),
        (r#"{"SS":[["a"]]}"#, map("SS", L(vec![L(vec![text("a")])]))),
        (r#"{"M":"{\"a\":1}"}"#, map("a", number("1"))),
        (r#"{"M":{"a":"x"}}"#, map("a", text("x"))),
        (r#"{"M":{"a":{"N":1}}}"#, map("a", number("1"))),
        (r#"{"M":"no JSON"}"#, map("M", text("no JSON"))),
        (r#"{"L":"[1]"}"#, L(vec![number("1")])),
        (r#"{"L":["a",{"N":1}]}"#, L(vec![text("a"), number("1")])),
        (r#"{"city":"Oslo"}"#, map("city", text("Oslo"))),
        (r#""x""#, text("x")),
        ("5", number("5")),
        ("true", Bool(true)),
        ("[1]", L(vec![number("1")])),
    ] {
        let item = row(&format!(r#"{{"id":1,"cell":{cell}}}"#)).unwrap();
        assert_eq!(item.get("cell"), Some(&value), "{cell}");
    }
    // Two members are a map, whatever their names.
    let both = row(r#"{"id":1,"cell":{"S":"a","N":"1"}}"#).unwrap();
    assert!(matches!(both.get("cell"), Some(M(members)) if members.len() == 2), "{both:?}");
}

#[test]
fn texts_of_a_workbench_row_are_numbers_where_the_model_says_so_and_empty_cells_are_absent() {
    let value = |cells: &str, name: &str| row(cells).unwrap().get(name).cloned();
    let (number, text) = (
        |text: &str| Some(AttributeValue::N(text.to_owned())),
        |text: &str| Some(AttributeValue::S(text.to_owned())),
    );
    assert_eq!(value(r#"{"id":"7"}"#, "id"), number("7"), "a key");
    assert_eq!(value(r#"{"id":1,"n":"200"}"#, "n"), number("200"), "a declared attribute");
    assert_eq!(value(r#"{"id":1,"n":"many"}"#, "n"), text("many"));
    assert_eq!(value(r#"{"id":1,"n":{"S":"200"}}"#, "n"), text("200"), "its own letter says more");
    assert_eq!(value(r#"{"id":1,"other":"200"}"#, "other"), text("200"));
    for empty in [r#""""#, r#"{"S":""}"#] {
        assert_eq!(value(&format!(r#"{{"id":1,"cell":{empty}}}"#), "cell"), None, "{empty}");
    }
    assert_eq!(row("{}").unwrap_err().code(), "init-not-an-item");
}

/// Rows from spreadsheets and scripts: plain cells, cells in DynamoDB's notation, plain values under a type's letter.
#[test]
fn rows_of_a_workbench_model_can_mix_notations() {
    let rows = [
        (r#""seconds":{"N":"180"}"#, r#""seconds":{"N":180},"live":{"BOOL":"True"},"tags":{"SS":["a"]}"#),
        (
            r#""artistId":{"S":"a1"},"songId":{"S":"s1"}"#,
            r#""artistId":"a1","songId":{"S":"s1"},"by":{"M":{"city":"Oslo"}}"#,
        ),
        (
            r#""seconds":{"N":"200"}"#,
            r#""seconds":"200","live":{"BOOL":false},"by":{"M":"{\"city\":\"Rome\"}"},"none":"""#,
        ),
    ];
    let text = rows.iter().fold(WORKBENCH.to_owned(), |text, (strict, mixed)| text.replace(strict, mixed));
    let report = import(&[&text]);
    has(
        &report,
        &[
            "partition = \"ARTIST#{artistId}\"",
            "seconds = \"number\"",
            "live = \"boolean\"",
            "by = \"map\"",
            "tags = \"string-set\"",
        ],
    );
    assert!(report.agrees() && report.items == 4, "{:?}", report.proofs);
    assert!(!report.manifest.contains("none"), "an empty cell is no attribute: {}", report.manifest);
}

#[test]
fn a_call_of_the_terraform_module_is_a_table() {
    let report = import(&[r#"
module "orders" {
  source    = "terraform-aws-modules/dynamodb-table/aws"
  version   = "~> 4.0"
  name      = "orders"
  hash_key  = "customer"
  range_key = "placed"
  ttl_enabled        = true
  ttl_attribute_name = "expires"
  attributes = [
    { name = "customer", type = "S" },
    { name = "placed", type = "N" },
    { name = "state", type = "S" },
  ]
  global_secondary_indexes = [
    { name = "byState", hash_key = "state", range_key = "placed", projection_type = "INCLUDE", non_key_attributes = ["total"] },
  ]
  autoscaling_enabled = true
}
"#]);
    let table = model(&report).table("orders").unwrap().clone();
    has(
        &report,
        &["placed = { type = \"number\", required = true }", "ttl = \"expires\"", "projection = [\"total\"]"],
    );
    assert_eq!((table.name.as_str(), table.indexes[0].name.as_str()), ("orders", "byState"));
}

#[test]
fn a_template_gives_tables_with_the_defaults_of_its_parameters() {
    let report = import(&[CLOUDFORMATION]);
    has(
        &report,
        &[
            "name = \"orders-dev\"",
            "partition = \"orderId\"",
            "amount = \"number\"",
            "ttl = \"expires\"",
            "[tables.Small]",
        ],
    );
    assert_eq!(model(&report).table("Small").unwrap().partition.name, "id");
    assert!(report.notes.iter().any(|note| note.contains("Kinesis")), "{:?}", report.notes);
}

#[test]
fn names_of_attributes_can_be_parameters_with_defaults() {
    let text = CLOUDFORMATION
        .replace("Default: dev }", "Default: dev }\n  Key: { Type: String, Default: orderId }")
        .replace("AttributeName: orderId", "AttributeName: !Ref Key");
    has(&import(&[&text]), &["partition = \"orderId\"", "[tables.Small]"]);
}

#[test]
fn a_loop_of_a_template_makes_several_tables() {
    let text = "
Transform: AWS::LanguageExtensions
Resources:
  'Fn::ForEach::Tables':
    - Name
    - [Points, Score]
    - 'Table${Name}':
        Type: AWS::DynamoDB::Table
        Properties:
          TableName: !Ref Name
          AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
          KeySchema: [{ AttributeName: id, KeyType: HASH }]
";
    assert_eq!(import(&[text]).tables, ["Points", "Score"]);
}

#[test]
fn a_serverless_file_has_its_template_one_level_down() {
    let nested = CLOUDFORMATION.replace('\n', "\n  ");
    assert_eq!(import(&[&format!("service: shop\nresources:{nested}")]).tables, ["orders-dev", "Small"]);
}

#[test]
fn terraform_as_json_and_as_literal_blocks() {
    has(
        &import(&[TERRAFORM]),
        &["partition = \"state\"", "sort = \"since\"", "since = \"number\"", "projection = \"keys-only\""],
    );
    let report = import(&[HCL]);
    has(&report, &["name = \"shop-carts\"", "ttl = \"expires\"", "expires = \"number\""]);
    assert_eq!(report.items, 1);
}

#[test]
fn electrodb_keys_follow_exactly_from_the_schema() {
    let report = import(&[ELECTRODB]);
    has(
        &report,
        &[
            "partition = \"$crm#t_{tenant|lower}\"",
            "sort = \"$account_1#account_{account|lower}\"",
            "sort = \"$contact_2#contact_{contact|lower}\"",
            "indexes.gsi1.partition = \"T#{tenant}\"",
            "indexes.gsi1.sort = \"$BOOK#TIER_{tier|upper}#SEQ_{seq:06}#ACCOUNT_1\"",
            "when = { __edb_e__ = \"contact\" }",
            "since_at = \"string\"",
            "[questions.crm.account-book]",
        ],
    );
}

#[test]
fn onetable_values_become_templates() {
    let report = import(&[ONETABLE]);
    has(
        &report,
        &[
            "partition = \"User#{id}\"",
            "sort = \"User#\"",
            "indexes.gs1.partition = \"age#{age:04}\"",
            "indexes.gs1.sort = \"x#{id}\"",
            "joined = \"timestamp\"",
            "ttl = \"until\"",
            "projection = [\"name\"]",
        ],
    );
    assert!(report.notes.iter().any(|note| note.contains("without its dollar sign")), "{:?}", report.notes);
}

#[test]
fn a_generated_schema_gives_patterns_by_position_and_number_keys() {
    let report = import(&[MCP]);
    has(
        &report,
        &[
            "partition = { attribute = \"pk\", fold = \"USER#{user_id}\" }",
            "where = [\"user_id\", \"placed >=\"]",
            "partition = \"status\"",
            "sort = \"rank\"",
            "rank = { type = \"number\", required = true }",
        ],
    );
    assert!(!report.manifest.contains("questions.Shop.put"), "{}", report.manifest);
}

#[test]
fn a_data_model_brings_items_and_says_its_patterns() {
    let report = import(&[DATA_MODEL]);
    has(&report, &["text = { type = \"string\", required = true }"]);
    assert!(report.notes.iter().any(|note| note.contains("a note by its id")), "{:?}", report.notes);
}

/// Features that a manifest cannot express are listed by name, in the report and in the manifest, even unknown ones.
#[test]
fn nothing_of_a_table_is_lost_silently() {
    let told = |text: &str, words: &[&str]| {
        let report = import(&[text]);
        for word in words {
            let in_notes = report.notes.iter().any(|note| note.contains(word));
            assert!(in_notes && (report.manifest.contains(word)), "{word}: {:?}", report.notes);
        }
        report
    };
    let described = DESCRIBE.replace(
        "\"ItemCount\"",
        r#""VectorIndexes":[{"IndexName":"v"}],"SSEDescription":{"Status":"ENABLED"},"DeletionProtectionEnabled":false,
        "WarmThroughput":{"ReadUnitsPerSecond":12000,"WriteUnitsPerSecond":4000,"Status":"ACTIVE"},"SomethingNew":{"A":1},
        "BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},"TableStatus":"ACTIVE","ItemCount""#,
    );
    let words = ["vector indexes", "encryption settings", "`SomethingNew`", "replicas in other regions"];
    let report = told(&described, &words);
    let noise =
        |note: &&String| ["warm", "deletion", "Billing", "Status"].iter().any(|word| note.contains(word));
    assert_eq!(report.notes.iter().find(noise), None);

    let template = CLOUDFORMATION.replace(
        "      KinesisStream",
        "      ResourcePolicy: { PolicyDocument: {} , Version: x }\n      Tags: [{ Key: a, Value: b }]\n      KinesisStream",
    );
    told(&template, &["a policy on the table", "tags", "a Kinesis destination"]);

    let more = HCL.replace(
        "hash_key = \"customer\"\n  attribute",
        "hash_key = \"customer\"\n  point_in_time_recovery { enabled = true }\n  novelty = 5\n  attribute",
    ) + "resource \"aws_dynamodb_kinesis_streaming_destination\" \"out\" {}\n";
    told(&more, &["point-in-time recovery", "`novelty`", "aws_dynamodb_kinesis_streaming_destination.out"]);
    assert!(
        !import(&[HCL]).notes.iter().any(|note| note.contains("not modelled")),
        "what is not there is not listed"
    );
}

#[test]
fn a_stated_pattern_over_a_folded_key_asks_for_its_parts_and_never_scans_instead() {
    let patterns = r#""AccessPatterns":[{"Name":"Songs of an artist","Type":"Query","Table":"music"},{"Name":"Odd","Type":"Query","Table":"music","Index":"nowhere"},"#;
    let report = import(&[&WORKBENCH.replace("\"AccessPatterns\":[", patterns)]);
    has(&report, &["[questions.music.Songs-of-an-artist]", "where = [\"artistId\"]", "entity = \"Song\""]);
    has(&report, &["[questions.music.Odd]", "entity = [\"Song\", \"Artist\"]"]);
    assert!(!report.manifest.contains("scan = true"), "{}", report.manifest);
}
