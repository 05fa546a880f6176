//! What cannot be deployed or would lose records, each by one change of a template that is right.

use super::*;

const USER_ACTION: &str = "            - { AttributeName: accessedBy, KeyType: HASH }\n";

/// A template of one table with these indexes, without anything else.
fn table(indexes: &str) -> String {
    format!(
        "Resources:\n  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      TableName: t\n      KeySchema:\n        \
         - {{ AttributeName: a, KeyType: HASH }}\n        - {{ AttributeName: b, KeyType: RANGE }}\n{indexes}"
    )
}

fn refused(indexes: &str) -> Vec<&'static str> {
    let template = Template::of(read(&table(indexes)).unwrap());
    refuse::refuse(&template).into_iter().map(|finding| finding.code).collect()
}

fn native(partition: usize, sort: usize) -> String {
    let part = |role: &str, count: usize| -> String {
        (0..count)
            .map(|n| format!("            - {{ AttributeName: {role}{n}, KeyType: {role} }}\n"))
            .collect()
    };
    format!(
        "      GlobalSecondaryIndexes:\n        - IndexName: g\n          KeySchema:\n{}{}",
        part("HASH", partition),
        part("RANGE", sort)
    )
}

fn local(count: usize, partition: &str) -> String {
    let one = |n: usize| {
        format!(
            "        - IndexName: l{n}\n          KeySchema: [{{ AttributeName: {partition}, KeyType: HASH }}, {{ AttributeName: s{n}, KeyType: RANGE }}]\n"
        )
    };
    format!("      LocalSecondaryIndexes:\n{}", (0..count).map(one).collect::<String>())
}

#[test]
fn more_than_four_attributes_in_a_half_of_a_key() {
    assert_eq!(refused(&native(4, 4)), [""; 0]);
    assert_eq!(refused(&native(5, 1)), ["too-many-key-parts"]);
    assert_eq!(refused(&native(1, 5)), ["too-many-key-parts"]);
    assert_eq!(refused(&native(5, 5)), ["too-many-key-parts"; 2]);
}

#[test]
fn a_sort_key_before_a_partition_key() {
    let (sort, rest) = ("            - { AttributeName: action, KeyType: RANGE }\n", USER_ACTION);
    let found = changed(&format!("{rest}{sort}"), &format!("{sort}{rest}"));
    assert!(found.contains(&"sort-before-partition"), "{found:?}");
}

#[test]
fn more_than_five_local_indexes() {
    assert_eq!(refused(&local(5, "a")), [""; 0]);
    assert_eq!(refused(&local(6, "a")), ["too-many-local-indexes"]);
}

#[test]
fn a_local_index_with_another_partition_key_than_its_table() {
    assert_eq!(refused(&local(1, "other")), ["local-index-partition"]);
}

#[test]
fn an_unknown_response_type_and_none_at_all() {
    let right = "FunctionResponseTypes: [ReportBatchItemFailures]";
    assert_eq!(
        changed(right, "FunctionResponseTypes: [ReportBatchItemFailure]"),
        ["no-partial-failures", "unknown-response-type"]
    );
    assert_eq!(changed(right, "Tags: []"), ["no-partial-failures"]);
    let queue = TEMPLATE.rfind(right).unwrap();
    let template = format!("{}Tags: []{}", &TEMPLATE[..queue], &TEMPLATE[queue + right.len()..]);
    assert_eq!(codes(SAMPLE, &template), ["no-partial-failures"]);
}

#[test]
fn a_stream_that_is_not_read_from_its_beginning() {
    assert_eq!(
        changed("StartingPosition: TRIM_HORIZON", "StartingPosition: LATEST"),
        ["not-from-the-beginning"]
    );
    let sometimes = "StartingPosition: !If [MakesSource, TRIM_HORIZON, LATEST]";
    assert_eq!(changed("StartingPosition: TRIM_HORIZON", sometimes), ["not-from-the-beginning"]);
    let by_parameter =
        "  Start: { Type: String, Default: TRIM_HORIZON, AllowedValues: [TRIM_HORIZON, LATEST] }\n\nRules:\n";
    let template = TEMPLATE.replacen("\nRules:\n", by_parameter, 1).replacen(
        "StartingPosition: TRIM_HORIZON",
        "StartingPosition: !Ref Start",
        1,
    );
    assert_eq!(codes(SAMPLE, &template), ["not-from-the-beginning"]);
}

#[test]
fn a_mapping_that_does_not_bisect() {
    assert_eq!(
        changed("BisectBatchOnFunctionError: true", "BisectBatchOnFunctionError: false"),
        ["no-bisect"]
    );
    assert_eq!(changed("      BisectBatchOnFunctionError: true\n", ""), ["no-bisect"]);
}

#[test]
fn a_filter_an_endless_record_age_and_no_destination() {
    let position = "      StartingPosition: TRIM_HORIZON\n";
    let filter = format!("{position}      FilterCriteria: {{ Filters: [] }}\n");
    assert_eq!(changed(position, &filter), ["filtered"]);
    let age = "MaximumRecordAgeInSeconds: !Ref RecordAgeSecondsMax";
    assert_eq!(changed(age, "MaximumRecordAgeInSeconds: 86400"), ["record-age"]);
    assert_eq!(changed(age, "MaximumRecordAgeInSeconds: -1"), ["record-age"]);
    assert_eq!(changed("    MaxValue: 82800\n", "    MaxValue: 604800\n"), ["record-age"]);
    assert_eq!(changed("OnFailure: {", "OnSuccess: {"), ["no-failure-destination"]);
}

#[test]
fn the_same_holds_for_the_events_of_a_function() {
    let template = "Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties:\n      Events:\n        Stream:\n          \
                    Type: DynamoDB\n          Properties: { StartingPosition: LATEST }\n";
    let template = Template::of(read(template).unwrap());
    let found: Vec<_> = mappings::refuse(&template).into_iter().map(|finding| finding.code).collect();
    assert_eq!(
        found,
        [
            "no-partial-failures",
            "not-from-the-beginning",
            "no-bisect",
            "record-age",
            "no-failure-destination"
        ]
    );
}
