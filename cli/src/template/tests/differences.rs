//! Differences between a manifest and a template, each by one change of a template that is right.

use super::*;

#[test]
fn a_difference_is_told_with_its_line() {
    let template = TEMPLATE.replacen(
        "AttributeName: byAction_pk, KeyType: HASH",
        "AttributeName: other, KeyType: HASH",
        1,
    );
    let found = findings(SAMPLE, &template);
    assert_eq!(found.len(), 1, "{found:?}");
    let line = template.lines().nth(found[0].line - 1).unwrap();
    assert!(line.contains("AttributeName: other"), "{line}");
    assert!(found[0].message.contains("`AuditTable`"), "{}", found[0].message);
    assert!(found[0].message.contains("GlobalSecondaryIndexes.byAction.KeySchema"), "{}", found[0].message);
}

#[test]
fn tables_and_indexes_that_are_missing_or_too_many_are_told() {
    assert_eq!(
        changed("TableName: ResourceAccessAuditV2", "TableName: Other"),
        ["table-missing", "table-not-in-manifest"]
    );
    assert_eq!(
        changed("        - IndexName: byAction\n", "        - IndexName: byActions\n"),
        ["missing", "not-in-manifest"]
    );
    let unnamed = changed("      TableName: ResourceAccessAuditV2\n", "");
    assert_eq!(unnamed, ["table-missing", "table-without-name"]);
    assert_eq!(
        changed("    Default: keyfold-control", "    Default: other"),
        ["table-missing", "table-not-in-manifest"]
    );
}

#[test]
fn types_projections_and_streams_are_compared() {
    let timestamp = "- { AttributeName: timestamp, AttributeType: S }";
    assert_eq!(changed(timestamp, "- { AttributeName: timestamp, AttributeType: N }"), ["differs"]);
    assert_eq!(
        changed("NonKeyAttributes: [accessedBy, resourceId]", "NonKeyAttributes: [accessedBy]"),
        ["differs"]
    );
    let other_order = "NonKeyAttributes: [resourceId, accessedBy]";
    assert_eq!(changed("NonKeyAttributes: [accessedBy, resourceId]", other_order), [""; 0]);
    assert_eq!(
        changed("Projection: { ProjectionType: ALL }", "Projection: { ProjectionType: KEYS_ONLY }"),
        ["differs"]
    );
    assert_eq!(changed("StreamViewType: NEW_AND_OLD_IMAGES", "StreamViewType: KEYS_ONLY"), ["differs"]);
    let local = "      LocalSecondaryIndexes:\n        - { IndexName: l, KeySchema: [{ AttributeName: id, KeyType: HASH }] }\n      SSESpecification";
    assert_eq!(changed("      SSESpecification", local), ["not-in-manifest"]);
}

#[test]
fn a_template_may_say_more_than_the_manifest() {
    let more = "      BillingMode: PAY_PER_REQUEST\n      Tags: [{ Key: a, Value: b }]\n      TimeToLiveSpecification: { AttributeName: x, Enabled: false }\n";
    assert_eq!(changed("      BillingMode: PAY_PER_REQUEST\n", more), [""; 0]);
}

#[test]
fn a_time_to_live_is_as_the_manifest_says() {
    let declared = "name = \"ResourceAccessAuditV2\"\n";
    let manifest = SAMPLE.replace(declared, &format!("{declared}ttl = \"expires\"\n")).replacen(
        "resourceName = \"string\"",
        "resourceName = \"string\"\nexpires = \"number\"",
        1,
    );
    let printed = printed(&manifest);
    assert_eq!(printed.matches("TimeToLiveSpecification").count(), 1, "{printed}");
    assert_eq!(codes(&manifest, &printed), [""; 0]);
    let name = "      TableName: ResourceAccessAuditV2\n";
    let with =
        |ttl: &str| TEMPLATE.replacen(name, &format!("{name}      TimeToLiveSpecification: {ttl}\n"), 1);
    assert_eq!(codes(&manifest, &with("{ AttributeName: expires, Enabled: true }")), [""; 0]);
    assert_eq!(codes(&manifest, TEMPLATE), ["missing"]);
    for other in ["{ AttributeName: other, Enabled: true }", "{ AttributeName: expires, Enabled: false }"] {
        assert_eq!(codes(&manifest, &with(other)), ["differs"], "{other}");
    }
    // One that the manifest knows nothing of deletes items; one that is switched off does not.
    assert_eq!(codes(SAMPLE, &with("{ AttributeName: expires, Enabled: true }")), ["not-in-manifest"]);
    assert_eq!(codes(SAMPLE, &with("{ AttributeName: expires, Enabled: false }")), [""; 0]);
    let control = "      TableName: !Ref ControlTableName\n";
    let forgets =
        format!("{control}      TimeToLiveSpecification: {{ AttributeName: until, Enabled: true }}\n");
    assert_eq!(changed(control, &forgets), ["not-in-manifest"]);
}

#[test]
fn a_text_that_is_no_template_is_an_error() {
    for (text, wanted) in [
        ("", "empty"),
        ("a: [", ""),
        ("a: 1\na: 2\n", "`a` is given twice"),
        ("a: &x 1\nb: *x\n", "aliases"),
        ("[a]: 1\n", "names that are no texts"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    assert!(read(&deep).unwrap_err().to_string().contains("64 levels"));
    let large = " ".repeat(keyfold_init::cloudformation::TEMPLATE_BYTES_MAX + 1);
    assert!(matches!(read(&large), Err(TemplateError::TooLarge)));
}
