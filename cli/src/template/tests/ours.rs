//! What must be true of the project's own template.

use super::super::Node;
use super::*;
use keyfold_init::cloudformation::Template;
use keyfold_init::cloudformation::read;

fn template() -> Node {
    read(TEMPLATE).unwrap()
}

/// Every statement that allows something, with the resource it belongs to.
fn statements(root: &Node) -> Vec<(String, Node)> {
    let mut found = Vec::new();
    for (id, resource) in root.get("Resources").unwrap().members() {
        if resource.text_of("Type") != Some("AWS::IAM::Role") {
            continue;
        }
        for policy in resource.at(&["Properties", "Policies"]).unwrap().nodes() {
            for statement in policy.at(&["PolicyDocument", "Statement"]).unwrap().nodes() {
                found.push((id.clone(), statement.clone()));
            }
        }
    }
    found
}

fn texts(node: &Node) -> Vec<String> {
    let one = node.as_text().map(str::to_owned);
    one.into_iter().chain(node.nodes().iter().filter_map(|node| node.as_text().map(str::to_owned))).collect()
}

#[test]
fn the_template_is_what_the_manifest_says() {
    assert_eq!(findings(SAMPLE, TEMPLATE), []);
}

#[test]
fn no_right_is_for_all_resources_but_sending_traces() {
    let statements = statements(&template());
    assert!(statements.len() >= 20);
    for (role, statement) in statements {
        let everything = texts(statement.get("Resource").unwrap()).iter().any(|text| text == "*");
        let actions = texts(statement.get("Action").unwrap());
        assert!(actions.iter().all(|action| !action.contains('*')), "{role}: {actions:?}");
        assert!(
            !everything || actions.iter().all(|action| action.starts_with("xray:Put")),
            "{role}: {actions:?}"
        );
    }
}

/// What each function calls, table by table, for the sample's retrofit into another table: the fence's protocol, where a delete
/// is put until the target is tidy. An operation of PartiQL needs the rights of its statements, and a transaction those of its parts.
const CALLS: [(&str, &str, &[&str]); 15] = [
    // The stream, which Lambda reads for it; the source, where a record says too little.
    ("ReplicatorRole", "ReadTheStream", &["DescribeStream", "GetRecords", "GetShardIterator"]),
    ("ReplicatorRole", "FindTheStream", &["ListStreams"]),
    ("ReplicatorRole", "ReadTheSource", &["BatchGetItem"]),
    // 25 new items in one request; all others by themselves.
    ("ReplicatorRole", "WriteTheTarget", &["BatchGetItem", "DeleteItem", "PartiQLInsert", "PutItem"]),
    // The retrofit's row; quarantine, in and out.
    ("ReplicatorRole", "KeepLedgerAndQuarantine", &["BatchGetItem", "DeleteItem", "PutItem"]),
    // The check of both tables before a slice; the scan; what is there already is looked at.
    ("BackfillerRole", "ScanTheSource", &["BatchGetItem", "DescribeTable", "Scan"]),
    // 25 new items in one request; one by itself.
    (
        "BackfillerRole",
        "WriteTheTarget",
        &["BatchGetItem", "DeleteItem", "DescribeTable", "PartiQLInsert", "PutItem"],
    ),
    // The lease is taken, renewed and given back.
    ("BackfillerRole", "KeepLedgerAndCheckpoints", &["BatchGetItem", "DeleteItem", "PutItem", "UpdateItem"]),
    // Expired items are no differences, if the table deletes them.
    ("VerifierRole", "ScanTheSource", &["BatchGetItem", "DescribeTable", "DescribeTimeToLive", "Scan"]),
    (
        "VerifierRole",
        "CompareAndRepairTheTarget",
        &["BatchGetItem", "DeleteItem", "DescribeTable", "DescribeTimeToLive", "PutItem", "Scan"],
    ),
    ("VerifierRole", "KeepLedgerAndQuarantine", &["BatchGetItem", "DeleteItem", "PutItem", "UpdateItem"]),
    // Several events, one event, what has the key already.
    ("AuditWriterRole", "InsertEvents", &["BatchGetItem", "PartiQLInsert", "PutItem"]),
    ("QueryApiRole", "AskTables", &["BatchGetItem", "Query"]),
    ("QueryApiRole", "AskIndexes", &["Query"]),
    // The row of a retrofit, and its segments: is an index still being filled?
    ("QueryApiRole", "ReadRetrofits", &["BatchGetItem", "Query"]),
];

#[test]
fn each_function_may_do_in_dynamodb_what_it_calls_and_nothing_else() {
    let mut found: Vec<(String, String, BTreeSet<String>)> = Vec::new();
    for (role, statement) in statements(&template()) {
        let actions = texts(statement.get("Action").unwrap());
        let names: BTreeSet<String> =
            actions.iter().filter_map(|action| action.strip_prefix("dynamodb:").map(str::to_owned)).collect();
        if !names.is_empty() {
            assert_eq!(names.len(), actions.len(), "{role}: {actions:?}");
            found.push((role, statement.text_of("Sid").unwrap().to_owned(), names));
        }
    }
    let calls = CALLS.map(|(role, sid, names)| {
        (role.to_owned(), sid.to_owned(), names.iter().map(|name| (*name).to_owned()).collect())
    });
    assert_eq!(found, calls);
}

#[test]
fn each_right_is_for_the_table_that_it_names() {
    let resource = |role: &str, sid: &str| {
        let all = statements(&template());
        let mut of =
            all.into_iter().filter(|(id, statement)| id == role && statement.text_of("Sid") == Some(sid));
        json(of.next().unwrap().1.get("Resource").unwrap()).to_string()
    };
    for (role, sid, _) in CALLS {
        let found = resource(role, sid);
        let wanted = match sid {
            "WriteTheTarget" | "CompareAndRepairTheTarget" | "InsertEvents" => {
                r#"{"Fn::GetAtt":["AuditTable","Arn"]}"#
            }
            "KeepLedgerAndQuarantine" | "KeepLedgerAndCheckpoints" | "ReadRetrofits" => {
                r#"{"Fn::GetAtt":["ControlTable","Arn"]}"#
            }
            "ScanTheSource" | "ReadTheSource" => ":table/ResourceAccessAudit\"}",
            "ReadTheStream" => r#"{"Fn::GetAtt":["AuditLegacyTable","StreamArn"]}"#,
            "FindTheStream" => ":table/ResourceAccessAudit/stream/*",
            "AskTables" => ":table/ResourceAccessAudit\"},{\"Fn::GetAtt\":[\"AuditTable\",\"Arn\"]}",
            _ => "${AuditTable.Arn}/index/*",
        };
        assert!(found.contains(wanted), "{role}, {sid}: {found}");
        let of_retrofits = sid.starts_with("KeepLedger") || sid == "ReadRetrofits";
        assert!(!found.contains("ControlTable") || of_retrofits, "{role}, {sid}: {found}");
    }
}

#[test]
fn each_function_has_a_role_of_its_own() {
    let root = template();
    let functions: Vec<&Node> = root
        .get("Resources")
        .unwrap()
        .members()
        .iter()
        .map(|(_, node)| node)
        .filter(|node| node.text_of("Type") == Some("AWS::Serverless::Function"))
        .collect();
    let roles: BTreeSet<String> = functions
        .iter()
        .map(|function| json(function.at(&["Properties", "Role"]).unwrap()).to_string())
        .collect();
    assert_eq!((functions.len(), roles.len()), (5, 5));
}

#[test]
fn a_retrofit_into_another_table_only_reads_its_source() {
    let root = template();
    let source = |statement: &Node| {
        json(statement.get("Resource").unwrap()).to_string().contains("table/ResourceAccessAudit\"")
    };
    let mut seen = 0;
    for (role, statement) in statements(&root).into_iter().filter(|(_, statement)| source(statement)) {
        for action in texts(statement.get("Action").unwrap()) {
            let reads = ["BatchGetItem", "DescribeTable", "DescribeTimeToLive", "Query", "Scan"];
            assert!(reads.iter().any(|read| action == format!("dynamodb:{read}")), "{role}: {action}");
            seen += 1;
        }
    }
    assert!(seen >= 6);
}

#[test]
fn the_api_is_closed_unless_its_being_open_is_said() {
    let root = template();
    assert_eq!(root.at(&["Parameters", "Authorization", "Default"]).and_then(Node::as_text), Some("iam"));
    let template = Template::of(root.clone());
    let mut routes = 0;
    for resource in
        template.resources().into_iter().filter(|resource| resource.kind == "AWS::ApiGatewayV2::Route")
    {
        let found =
            template.resolved(resource.node.at(&["Properties", "AuthorizationType"]).unwrap()).unwrap();
        assert_eq!(found.as_text(), Some("AWS_IAM"), "{}", resource.id);
        routes += 1;
    }
    assert_eq!(routes, 6);
}

#[test]
fn the_template_loses_nothing_when_it_is_changed_or_removed() {
    for from in [
        "DeletionPolicy: Retain",
        "DeletionProtectionEnabled: true",
        "SSEEnabled: true",
        "PointInTimeRecoveryEnabled: true",
    ] {
        let (name, value) = from.split_once(": ").unwrap();
        let other = if value == "true" { "false" } else { "Delete" };
        assert_eq!(changed(from, &format!("{name}: {other}")), ["differs"], "{from}");
    }
}

#[test]
fn the_key_that_the_stack_generates_seals_page_tokens() {
    let root = template();
    let secret = root.at(&["Resources", "PageTokenKey", "Properties", "GenerateSecretString"]).unwrap();
    assert_eq!(
        (secret.text_of("PasswordLength"), secret.text_of("ExcludePunctuation")),
        (Some("42"), Some("true"))
    );
    for generated in ["z9".repeat(21), "0".repeat(42), "z".repeat(41)] {
        let text = serde_json::json!({ "key": generated }).to_string();
        let version = keyfold_dynamo::SecretVersion { id: "1b0b5a4e".to_owned(), text };
        assert!(keyfold_dynamo::TokenKeys::of_versions(&[version]).is_ok());
    }
    let variables =
        root.at(&["Resources", "QueryApiFunction", "Properties", "Environment", "Variables"]).unwrap();
    assert!(variables.get("KEYFOLD_TOKEN_KEYS").is_none(), "no key stands in a function's configuration");
    assert_eq!(
        variables.get("KEYFOLD_TOKEN_SECRET").and_then(|name| name.get("Ref")).and_then(Node::as_text),
        Some("PageTokenKey")
    );
}

#[test]
fn the_dashboard_is_json_and_shows_alarms_that_are_there() {
    let root = template();
    let body = root
        .at(&["Resources", "Dashboard", "Properties", "DashboardBody", "Fn::Sub"])
        .and_then(Node::as_text);
    let body: serde_json::Value = serde_json::from_str(body.unwrap()).unwrap();
    let alarms = body["widgets"][0]["properties"]["alarms"].as_array().unwrap();
    assert!(alarms.len() >= 10);
    for alarm in alarms {
        let name = alarm.as_str().and_then(|text| text.strip_prefix("${")?.strip_suffix(".Arn}")).unwrap();
        let kind = root.at(&["Resources", name]).and_then(|resource| resource.text_of("Type"));
        assert_eq!(kind, Some("AWS::CloudWatch::Alarm"), "{name}");
    }
}

#[test]
fn every_alarm_is_in_the_operations_guide_and_tells_somebody() {
    let (root, guide) = (template(), include_str!("../../../../docs/operations.md"));
    let mut alarms = 0;
    for (id, resource) in root.get("Resources").unwrap().members() {
        if resource.text_of("Type") == Some("AWS::CloudWatch::Alarm") {
            let name = id.strip_suffix("Alarm").unwrap();
            assert!(guide.contains(name) || name.ends_with("Errors"), "{id}");
            assert_eq!(resource.at(&["Properties", "AlarmActions"]).is_some(), id != "LagAlarm", "{id}");
            alarms += 1;
        }
    }
    assert!(alarms >= 15);
}
