//! Ten mistakes in one manifest: all are found in one go, each on its line.

use keyfold_core::manifest::{Parsed, Severity, parse};

const TEN: &str = r#"[tables.audit]
name = "Resource Access Audit"
partition = "id"
sort = "timestamp"
colection-warning-gb = 5

[tables.audit.attributes]
id = "string"
action = { type = "string", values = ["viewed", "edited", "viewed"] }
tags = "string-sets"
accessedBy = "string"
timestamp = "timestamp"

[tables.audit.indexes.byUser]
partition = ["accesedBy"]
sort = ["action", "timestamp"]

[tables.audit.indexes.byTime]
type = "local"
partition = "accessedBy"
sort = "action"

[tables.audit.indexes.byAction]
partition = "action"
projection = 5

[questions.audit.byUser]
where = ["accessedBy", "timestamp beginWith"]

[questions.audits.all]
where = ["id"]

[retrofits.again]
from = "audit"
to = "audit"
drop = ["id"]
"#;

fn lines(parsed: &Parsed) -> Vec<(usize, &'static str)> {
    let errors = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| (found.line, found.code)).collect()
}

#[test]
fn ten_mistakes_are_ten_errors_each_on_its_line() {
    let parsed = parse("keyfold.toml", TEN);
    assert_eq!(parsed.model, None);
    assert_eq!(
        lines(&parsed),
        [
            (2, "bad-name"),
            (5, "unknown-field"),
            (9, "bad-values"),
            (10, "bad-value"),
            (15, "unknown-attribute"),
            (20, "local-index-partition"),
            (25, "wrong-type"),
            (28, "unknown-operator"),
            (30, "unknown-table"),
            (36, "retrofit-key"),
        ]
    );
}

#[test]
fn what_a_person_reads_has_file_line_caret_and_hint() {
    insta::assert_snapshot!(parse("keyfold.toml", TEN).render(TEN, false), @r##"
    error[bad-name]: DynamoDB does not accept `Resource Access Audit` as the name of a table
     --> keyfold.toml:2:8
      |
    2 | name = "Resource Access Audit"
      |        ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = hint: ` ` is not one of the letters, digits, `_`, `.` and `-`

    error[unknown-field]: unknown field `colection-warning-gb` in table `audit`
     --> keyfold.toml:5:1
      |
    5 | colection-warning-gb = 5
      | ^^^^^^^^^^^^^^^^^^^^
      |
      = hint: did you mean `collection-warning-gb`?

    error[bad-values]: `values` of attribute `action` of table `audit` has "viewed" twice
     --> keyfold.toml:9:59
      |
    9 | action = { type = "string", values = ["viewed", "edited", "viewed"] }
      |                                                           ^^^^^^^^

    error[bad-value]: attribute `tags` of table `audit` cannot be `string-sets`
      --> keyfold.toml:10:8
       |
    10 | tags = "string-sets"
       |        ^^^^^^^^^^^^^
       |
       = hint: did you mean `string-set`?

    error[unknown-attribute]: table `audit` declares no attribute `accesedBy`
      --> keyfold.toml:15:14
       |
    15 | partition = ["accesedBy"]
       |              ^^^^^^^^^^^
       |
       = hint: did you mean `accessedBy`?

    error[local-index-partition]: local index `byTime` has another partition key than table `audit`
      --> keyfold.toml:20:13
       |
     3 | partition = "id"
       |             ---- the table's partition key
    ...
    20 | partition = "accessedBy"
       |             ^^^^^^^^^^^^
       |
       = hint: leave `partition` out, or make the index global

    error[wrong-type]: `projection` of index `byAction` of table `audit` must be `all`, `keys-only` or a list of attributes, not an integer
      --> keyfold.toml:25:14
       |
    25 | projection = 5
       |              ^ an integer here

    error[unknown-operator]: there is no operator `beginWith`
      --> keyfold.toml:28:24
       |
    28 | where = ["accessedBy", "timestamp beginWith"]
       |                        ^^^^^^^^^^^^^^^^^^^^^
       |
       = hint: did you mean `beginsWith`?

    error[unknown-table]: there is no table `audits`
      --> keyfold.toml:30:12
       |
    30 | [questions.audits.all]
       |            ^^^^^^
       |
       = hint: did you mean `audit`?

    error[retrofit-key]: a key of table `audit` is made of `id`
      --> keyfold.toml:36:9
       |
    36 | drop = ["id"]
       |         ^^^^
       |
       = hint: in place, the attributes of a key keep their names; retrofit into another table to change them
    "##);
}

#[test]
fn what_a_program_reads_has_the_same() {
    let parsed = parse("keyfold.toml", TEN);
    let json = serde_json::to_string_pretty(&parsed.diagnostics[4]).unwrap();
    insta::assert_snapshot!(json, @r##"
    {
      "severity": "error",
      "code": "unknown-attribute",
      "message": "table `audit` declares no attribute `accesedBy`",
      "span": {
        "start": 329,
        "end": 340
      },
      "line": 15,
      "column": 14,
      "label": null,
      "hint": "did you mean `accessedBy`?",
      "related": null
    }
    "##);
}

#[test]
fn syntax_errors_are_all_reported_and_hide_no_mistake_before_them() {
    let text = "[tables.audit]\nname = \"no good\"\npartition = \"id\"\npartition = \"key\"\nverbatim = \n\
                [tables.audit.attributes\nid = \"string\"\n[questions.audit.q]\nwhere = [\"id\"]\nlimit 5\n";
    let parsed = parse("keyfold.toml", text);
    assert_eq!(
        lines(&parsed),
        [(2, "bad-name"), (4, "duplicate-name"), (5, "toml-syntax"), (6, "toml-syntax"), (10, "toml-syntax"),]
    );
}

#[test]

fn a_mistake_in_a_template_is_pointed_at_within_its_string() {
    let text = |template: &str| {
        format!(
            "[tables.audit]\npartition = \"id\"\nattributes = {{ id = \"string\", free = \"string\" }}\n\
             indexes.byX.partition = {template}\n"
        )
    };
    let pointed = |template: &str| {
        let text = text(template);
        let parsed = parse("keyfold.toml", &text);
        let found = &parsed.diagnostics[0];
        assert_eq!((found.code, found.line), ("bad-template", 4), "{template}");
        text[found.span.clone()].to_owned()
    };
    assert!(pointed("\"{id}-{fre}\"").len() < "\"{id}-{fre}\"".len());
    assert!(pointed("\"{id}-{fre}\"").contains("fre"));
    assert!(pointed("'é{id}-{fre}'").contains("fre") && pointed("'é{id}-{fre}'").len() < 6);
    assert_eq!(pointed("\"{id}\\u002D{fre}\""), "\"{id}\\u002D{fre}\"", "with escapes, the whole string");
}

/// The report stays short, even for a text with hundreds of thousands of mistakes.
#[test]
fn a_text_of_nothing_but_mistakes_is_told_in_a_few_lines() {
    let broken_lines = "x\n".repeat(400_000);
    let unknown_fields: String = (0..40_000).map(|at| format!("field{at} = 1\n")).collect();
    let twice = format!("[tables.t.attributes.a]\ntype = \"number\"\nvalues = [{}]", "1,".repeat(9_000));
    for text in [broken_lines, unknown_fields, twice] {
        let parsed = parse("keyfold.toml", &text);
        assert_eq!(parsed.model, None);
        assert!(parsed.diagnostics.len() <= 101, "{}", parsed.diagnostics.len());
        let last = parsed.diagnostics.last().unwrap();
        assert_eq!(last.code, "more-errors");
        assert!(last.message.starts_with("and ") && last.message.contains(" more"), "{}", last.message);
        let shown = parsed.render(&text, false);
        assert!(shown.len() < 100_000, "{} bytes", shown.len());
    }
}

#[test]
fn an_attribute_lists_a_bounded_number_of_values() {
    let text = |count: usize| {
        let values: String = (0..count).map(|at| format!("\"v{at}\",")).collect();
        format!(
            "[tables.t]\nname = \"tbl\"\npartition = \"id\"\n[tables.t.attributes]\nid = \"string\"\n\
             a = {{ type = \"string\", values = [{values}] }}"
        )
    };
    assert_eq!(lines(&parse("keyfold.toml", &text(10_000))), []);
    let parsed = parse("keyfold.toml", &text(10_001));
    assert_eq!(lines(&parsed), [(6, "bad-values")]);
    assert!(parsed.diagnostics[0].message.contains("at most 10000"), "{}", parsed.diagnostics[0].message);
}

#[test]
fn the_part_of_a_manifest_in_a_hint_can_be_pasted() {
    let text = "[tables.notes]\npartition = \"id\"\nattributes = { id = \"string\", owner = \"string\", kind = \"string\" }\n\
                [tables.notes.indexes.byOwner]\npartition = \"{owner}#{kind}\"\n";
    let shown = parse("keyfold.toml", text).render(text, false);
    assert!(shown.ends_with("no writer has to fold:\npartition = [\"owner\", \"kind\"]\n"), "{shown}");
}
