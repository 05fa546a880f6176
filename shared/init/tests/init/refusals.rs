//! Invalid sources: one clear line, with the position.

use keyfold_init::{ReadError, SOURCE_BYTES_MAX, Source, read};

fn refused(text: &str) -> ReadError {
    read(&Source { name: "model.json".to_owned(), text: text.to_owned() }).unwrap_err()
}

#[track_caller]
fn says(text: &str, code: &str, message: &str) {
    let error = refused(text);
    assert_eq!((error.code(), error.to_string().as_str()), (code, message));
}

#[test]
fn nothing_and_too_much() {
    says(" \n", "init-empty", "`model.json`: there is nothing in it");
    assert_eq!(refused(&"x".repeat(SOURCE_BYTES_MAX + 1)).code(), "init-too-large");
}

#[test]
fn another_service_another_version_another_file() {
    says(
        r#"{"ModelMetadata":{"AWSService":"Amazon Keyspaces"},"DataModel":[]}"#,
        "init-not-a-model",
        "`model.json`: ModelMetadata: it is a model of Amazon Keyspaces, not a model of DynamoDB tables",
    );
    says(
        r#"{"ModelMetadata":{"Version":"4.0"},"DataModel":[]}"#,
        "init-version",
        "`model.json`: ModelMetadata: its version is `4.0`; versions 1.0 to 3.x are read",
    );
    says(
        r#"{"name":"left-pad","version":"1.0.0"}"#,
        "init-not-a-model",
        "`model.json`: its format is unknown (docs/init.md lists the formats that are read)",
    );
    says(
        "Resources:\n  A: { Type: AWS::S3::Bucket }",
        "init-not-a-model",
        "`model.json`: it has no DynamoDB table",
    );
}

#[test]
fn a_mistake_has_its_place() {
    says(
        r#"{"DataModel":[{"TableName":"t","KeyAttributes":{"PartitionKey":{"AttributeType":"S"}}}]}"#,
        "init-malformed",
        "`model.json`: DataModel[0].KeyAttributes.PartitionKey: `AttributeName` is missing",
    );
    says(
        "{\"Table\": {",
        "init-syntax",
        "`model.json`: it cannot be parsed: the JSON ends too early (line 1, column 11)",
    );
    says(
        "{\"pk\":{\"S\":\"a\"}}\n{\"pk\":",
        "init-syntax",
        "`model.json`: line 2: it cannot be parsed: the JSON ends too early (line 1, column 6)",
    );
}

#[test]
fn a_text_under_the_letter_of_numbers_is_refused() {
    let rows = |cell: &str| {
        format!(
            r#"{{"DataModel":[{{"TableName":"t","KeyAttributes":{{"PartitionKey":{{"AttributeName":"pk","AttributeType":"S"}}}},"TableData":[{{"pk":"a","size":{cell}}}]}}]}}"#
        )
    };
    for cell in [
        r#"{"N":"five"}"#,
        r#"{"NS":["5","five"]}"#,
        r#"{"L":[{"N":"five"}]}"#,
        r#"{"M":{"a":{"N":"five"}}}"#,
    ] {
        let wrong = "`size` is not a number, and its type says `N`";
        says(&rows(cell), "init-not-an-item", &format!("`model.json`: DataModel[0].TableData[0]: {wrong}"));
        let lines = format!("{{\"pk\":{{\"S\":\"a\"}}}}\n{{\"pk\":{{\"S\":\"b\"}},\"size\":{cell}}}");
        says(&lines, "init-not-an-item", &format!("`model.json`: line 2: {wrong}"));
    }
}

#[test]
fn a_name_that_only_a_deployment_knows() {
    let table = "Resources:\n  A:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      KeySchema: [{ AttributeName: NAME, KeyType: HASH }]\n";
    for name in ["!Ref Key", "!Sub 'x${Key}'", "!ImportValue key"] {
        says(
            &table.replace("NAME", name),
            "init-malformed",
            "`model.json`: line 3: A.KeySchema[0].AttributeName: the name is an expression that only a deployment knows: write the name, or give its parameter a `Default`",
        );
    }
    let simple = "Resources:\n  A:\n    Type: AWS::Serverless::SimpleTable\n    Properties: { PrimaryKey: { Name: !Ref Key } }\n";
    assert!(refused(simple).to_string().contains("PrimaryKey.Name"), "never `id` instead");
}

#[test]
fn deep_nesting_ends() {
    let brackets = "[".repeat(100_000);
    assert_eq!(refused(&brackets).code(), "init-syntax");
    let hcl = format!("resource \"aws_dynamodb_table\" \"a\" {{ name = {}", "(".repeat(100_000));
    assert_eq!(refused(&hcl).code(), "init-too-large");
    assert_eq!(refused(&format!("a: {brackets}")).code(), "init-too-large");
}
