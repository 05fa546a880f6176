//! Laws of every template, the sample's first.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::collections::BTreeSet;

use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_template::{Finding, GenerateError, Manifest, Node, as_json, compare, generate, read, settings};
use sha2::{Digest, Sha256};

const SAMPLE: &str = include_str!("../../../keyfold.toml");
const TEMPLATE: &str = include_str!("../../../template.yaml");
const OTHERS: [&str; 6] = [
    include_str!("../../../examples/pets/keyfold.toml"),
    include_str!("../../../examples/projects/keyfold.toml"),
    include_str!("../../../.ci/manifests/orders-in-place.toml"),
    include_str!("../../../.ci/manifests/shop.toml"),
    include_str!("../../../.ci/manifests/two-retrofits.toml"),
    include_str!("../../../.ci/manifests/audit-journal.toml"),
];

fn model(text: &str) -> Model {
    let parsed = manifest::parse("keyfold.toml", text);
    let report = parsed.render(text, false);
    parsed.model.unwrap_or_else(|| panic!("{report}"))
}

fn generated(manifest: &str) -> Result<String, GenerateError> {
    let model = model(manifest);
    let digest = Sha256::digest(manifest).iter().map(|byte| format!("{byte:02x}")).collect();
    generate(&Manifest { model: &model, digest }, &|_, _| true)
}

fn template(manifest: &str) -> String {
    generated(manifest).unwrap()
}

fn every_template() -> impl Iterator<Item = Node> {
    [SAMPLE].into_iter().chain(OTHERS).map(|manifest| read(&template(manifest)).unwrap())
}

/// The sample with a journal of its audit trail.
fn with_journal() -> String {
    SAMPLE.replace("[deploy]", "[deploy]\naudit-journal = \"Journal\"")
}

fn of_type<'t>(root: &'t Node, kind: &'t str) -> impl Iterator<Item = &'t (String, Node)> {
    let resources = root.get("Resources").unwrap().members().iter();
    resources.filter(move |(_, node)| node.text_of("Type") == Some(kind))
}

/// Every statement of every role. Those on a condition are taken out of it.
fn statements(root: &Node) -> Vec<(String, Node)> {
    let mut found = Vec::new();
    for (role, node) in of_type(root, "AWS::IAM::Role") {
        for policy in node.at(&["Properties", "Policies"]).unwrap().nodes() {
            for statement in policy.at(&["PolicyDocument", "Statement"]).unwrap().nodes() {
                let statement = statement.get("Fn::If").map_or(statement, |of| &of.nodes()[1]);
                found.push((role.clone(), statement.clone()));
            }
        }
    }
    found
}

fn texts(node: &Node) -> BTreeSet<String> {
    let one = node.as_text().map(str::to_owned);
    one.into_iter().chain(node.nodes().iter().filter_map(|node| node.as_text().map(str::to_owned))).collect()
}

/// The rights of a role in DynamoDB, by statement.
fn rights(root: &Node, role: &str) -> Vec<String> {
    let of_role = statements(root).into_iter().filter(|(id, _)| id == role);
    let one = |(_, statement): (String, Node)| {
        let actions = texts(statement.get("Action").unwrap());
        let names: Vec<&str> = actions.iter().filter_map(|action| action.strip_prefix("dynamodb:")).collect();
        let resource = as_json(statement.get("Resource").unwrap()).to_string();
        (!names.is_empty()).then(|| format!("{} on {resource}", names.join(" ")))
    };
    of_role.filter_map(one).collect()
}

#[test]
fn the_repositorys_template_is_what_the_sample_gives() {
    let made = template(SAMPLE);
    if std::env::var_os("KEYFOLD_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml"), &made).unwrap();
        return;
    }
    assert!(made == TEMPLATE, "write it again: keyfold template --out template.yaml");
}

#[test]
fn every_template_is_yaml_that_agrees_with_itself() {
    for manifest in OTHERS {
        let made = template(manifest);
        let made = read(&made).unwrap();
        assert_eq!(compare(&made, &made), []);
    }
}

#[test]
fn no_right_is_for_all_resources_but_those_that_accept_no_other() {
    for root in every_template() {
        for (role, statement) in statements(&root) {
            let everything = texts(statement.get("Resource").unwrap()).contains("*");
            for action in texts(statement.get("Action").unwrap()) {
                assert!(!action.contains('*'), "{role}: {action}");
                let unbound = ["xray:Put", "logs:", "ec2:"].iter().any(|begin| action.starts_with(begin));
                assert!(!everything || unbound, "{role}: {action}");
            }
        }
    }
}

#[test]
fn each_function_has_a_role_of_its_own_and_only_three_of_a_retrofit_may_scan() {
    for root in every_template() {
        let functions: Vec<_> = of_type(&root, "AWS::Serverless::Function").collect();
        let roles: BTreeSet<String> = functions
            .iter()
            .map(|(_, node)| as_json(node.at(&["Properties", "Role"]).unwrap()).to_string())
            .collect();
        assert_eq!(functions.len(), roles.len());
        for (role, statement) in statements(&root) {
            let scans = texts(statement.get("Action").unwrap()).contains("dynamodb:Scan");
            let may =
                ["BackfillerRole", "OperatorRole", "VerifierRole"].iter().any(|end| role.ends_with(end));
            assert!(!scans || may, "{role}");
        }
    }
}

#[test]
fn the_rights_of_a_retrofit_are_those_of_its_protocol() {
    let two = read(&template(OTHERS[4])).unwrap();
    let control = r#"{"Fn::GetAtt":["ControlTable","Arn"]}"#;
    // With a ledger, its rows are inserted together with the items.
    assert_eq!(
        rights(&two, "MembersByCityBackfillerRole"),
        [
            r#"BatchGetItem DescribeTable Scan on {"Fn::GetAtt":["MembersTable","Arn"]}"#.to_owned(),
            r#"BatchGetItem DeleteItem DescribeTable PutItem on {"Fn::GetAtt":["MembersByCityTable","Arn"]}"#
                .to_owned(),
            format!("BatchGetItem DeleteItem PartiQLInsert PutItem UpdateItem on {control}"),
        ]
    );
    // Without one they are not, and the source exists outside the stack.
    let visits = rights(&two, "VisitsV2BackfillerRole");
    assert!(
        visits[0].starts_with("BatchGetItem DescribeTable Scan on")
            && visits[0].contains("${VisitsTableName}")
    );
    assert_eq!(visits[2], format!("BatchGetItem DeleteItem PutItem UpdateItem on {control}"));
    // Only a table that deletes expired items is asked whether it does.
    let expiring = |table: &str| {
        rights(&two, "VisitsV2VerifierRole")
            .iter()
            .any(|right| right.contains("TimeToLive") && right.contains(table))
    };
    assert!(expiring("VisitsV2Table") && !expiring("${VisitsTableName}"));
    // In place, nothing is put or deleted.
    let in_place = read(&template(OTHERS[2])).unwrap();
    let rights = ["Replicator", "Backfiller", "Verifier"]
        .map(|worker| rights(&in_place, &format!("OrdersInPlace{worker}Role")));
    let on_table = |rights: &Vec<String>| {
        let right = rights
            .iter()
            .find(|right| right.contains("UpdateItem on") && right.contains("table/${OrdersTableName}\""));
        right.and_then(|right| right.split_once(" on ")).map(|(names, _)| names.to_owned()).unwrap()
    };
    assert_eq!(
        rights.each_ref().map(on_table),
        [
            "UpdateItem",
            "BatchGetItem DescribeTable PartiQLUpdate Scan UpdateItem",
            "BatchGetItem DescribeTable Scan UpdateItem"
        ]
    );
}

#[test]
fn a_retrofit_into_another_table_only_reads_its_source_unless_it_may_lead_back() {
    let root = read(TEMPLATE).unwrap();
    let (mut seen, mut back) = (0, 0);
    for worker in ["Replicator", "Backfiller", "Verifier"] {
        for right in rights(&root, &format!("AuditV2{worker}Role")) {
            if right.contains(r#"["AuditLegacyTable","Arn"]"#) {
                if right.starts_with("DeleteItem PutItem on ") {
                    assert_eq!(worker, "Replicator");
                    back += 1;
                    continue;
                }
                assert!(
                    ["PutItem", "UpdateItem", "DeleteItem", "PartiQL"]
                        .iter()
                        .all(|write| !right.contains(write)),
                    "{right}"
                );
                seen += 1;
            }
        }
    }
    assert_eq!((seen, back), (3, 1));
    let policy = read(TEMPLATE).unwrap();
    let policies =
        policy.at(&["Resources", "AuditV2ReplicatorRole", "Properties", "Policies"]).map(as_json).unwrap();
    let statements = policies[0]["PolicyDocument"]["Statement"].as_array().unwrap().clone();
    let on_condition = statements.iter().filter(|one| one["Fn::If"][1]["Sid"] == "WriteTheSource");
    assert_eq!(
        on_condition.map(|one| one["Fn::If"][0].as_str().unwrap()).collect::<Vec<_>>(),
        ["AuditV2FollowsBack"]
    );
}

#[test]
fn the_query_api_reads_the_tables_and_indexes_that_it_is_deployed_for() {
    let root = read(TEMPLATE).unwrap();
    let found = rights(&root, "QueryApiRole");
    assert!(found[0].starts_with("Query on") && found[0].contains("AuditLegacyTable"), "{found:?}");
    // Only a table with an index that lacks attributes is read by its keys.
    assert_eq!(found[2], r#"BatchGetItem on {"Fn::GetAtt":["AuditTable","Arn"]}"#);
    assert_eq!(found[1].matches("/index/").count(), 3, "{found:?}");
    assert!(!found[1].contains('*'));
    assert!(
        found.iter().any(|right| right.starts_with("GetItem UpdateItem on") && right.contains("CallerTable"))
    );
    let orders = read(&template(OTHERS[2])).unwrap();
    assert_eq!(orders.get("Resources").unwrap().get("AuditWriterFunction"), None);
}

#[test]
fn a_table_that_exists_is_a_parameter_and_no_resource() {
    let root = read(&template(OTHERS[2])).unwrap();
    assert_eq!(root.at(&["Resources", "OrdersTable"]), None);
    for parameter in ["OrdersTableName", "OrdersStreamArn", "OrdersTableKeyArn"] {
        assert!(root.at(&["Parameters", parameter]).is_some(), "{parameter}");
    }
    let mapping =
        root.at(&["Resources", "OrdersInPlaceReplicatorMapping", "Properties", "EventSourceArn", "Ref"]);
    assert_eq!(mapping.and_then(Node::as_text), Some("OrdersStreamArn"));
}

#[test]
fn two_names_that_are_one_in_cloudformation_are_refused() {
    for (one, other) in [("my-table", "myTable"), ("a", "A"), ("x", "control")] {
        let table = |id: &str| {
            format!(
                "[tables.{id}]\nname = \"Table.{id}\"\npartition = \"id\"\nattributes = {{ id = \"string\" }}\n"
            )
        };
        let message = generated(&(table(one) + &table(other))).unwrap_err().to_string();
        assert!(message.contains("in CloudFormation") && message.contains("hint:"), "{message}");
    }
}

#[test]
fn the_api_is_closed_unless_its_being_open_is_said() {
    for root in every_template() {
        for (id, route) in of_type(&root, "AWS::ApiGatewayV2::Route") {
            let by = as_json(route.at(&["Properties", "AuthorizationType"]).unwrap()).to_string();
            assert_eq!(by, r#"{"Fn::If":["ByIam","AWS_IAM",{"Fn::If":["ByJwt","JWT","NONE"]}]}"#, "{id}");
            assert_eq!(
                root.at(&["Parameters", "Authorization", "Default"]).and_then(Node::as_text),
                Some("iam")
            );
        }
    }
}

/// A version is published only when code changes: behind an alias, callers would keep the former manifest, scopes and budgets.
#[test]
fn callers_reach_what_was_deployed_last() {
    for root in every_template() {
        let text = as_json(&root).to_string();
        assert!(!text.contains("AutoPublishAlias") && !text.contains(".Alias"));
    }
    let root = read(TEMPLATE).unwrap();
    for function in ["QueryApi", "AuditWriter"] {
        let called =
            root.at(&["Resources", &format!("{function}Integration"), "Properties", "IntegrationUri"]);
        let wanted = format!(r#"{{"Fn::GetAtt":["{function}Function","Arn"]}}"#);
        assert_eq!(called.map(as_json).unwrap_or_default().to_string(), wanted);
    }
}

#[test]
fn a_template_names_the_manifest_that_it_was_made_from() {
    let bound = |manifest: &str| {
        let root = read(&template(manifest)).unwrap();
        let digest = ["Globals", "Function", "Environment", "Variables", "KEYFOLD_MANIFEST_DIGEST"];
        let layer = ["Resources", "ManifestLayer", "Properties", "ContentUri"];
        [digest.as_slice(), &layer].map(|at| root.at(at).and_then(Node::as_text).unwrap().to_owned())
    };
    let ([digest, layer], other) = (bound(SAMPLE), bound(&format!("{SAMPLE}# a remark\n")));
    assert_eq!(digest, Sha256::digest(SAMPLE).iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    assert!(layer.ends_with(&digest[..12]), "{layer}");
    assert!(other[0] != digest && other[1] != layer);
}

#[test]
fn every_role_takes_a_path_and_a_boundary() {
    for root in every_template() {
        for (id, role) in of_type(&root, "AWS::IAM::Role") {
            let property =
                |name: &str| role.at(&["Properties", name]).map(as_json).unwrap_or_default().to_string();
            assert_eq!(property("Path"), r#"{"Ref":"RolePath"}"#, "{id}");
            assert!(property("PermissionsBoundary").contains("HasBoundary"), "{id}");
        }
    }
}

fn tables(count: usize, indexes: usize) -> String {
    let index = |at| format!("[tables.TABLE.indexes.byAttribute{at}]\npartition = \"{{a}}-{at}\"\n");
    let indexes: String = (0..indexes).map(index).collect();
    let table = "[tables.TABLE]\nname = \"Production.TABLE\"\npartition = \"id\"\nattributes = { id = \"string\", a = \"string\" }\nallow = []\n";
    let one = |at: usize| (table.to_owned() + &indexes).replace("TABLE", &format!("table{at:02}"));
    (0..count).map(one).collect()
}

#[test]
fn a_template_that_aws_would_refuse_is_refused_with_what_to_do() {
    let api = "[deploy]\nquery-api = true\n";
    assert!(generated(&(tables(15, 4) + api)).is_ok());
    let retrofit = |at: usize, from: usize, to: usize| {
        format!("[retrofits.r{at}]\nfrom = \"table{from:02}\"\nto = \"table{to:02}\"\n")
    };
    let many = |count: usize| {
        tables(2 * count, 1) + &(0..count).map(|at| retrofit(at, 2 * at, 2 * at + 1)).collect::<String>()
    };
    let one_stream = tables(4, 1) + &retrofit(1, 0, 1) + &retrofit(2, 0, 2) + &retrofit(3, 0, 3);
    for (manifest, what, max) in [
        (tables(25, 4) + api, "the policy of `QueryApiRole`", "10240 "),
        (tables(120, 0) + api, "the environment of `QueryApiFunction`", "4096 "),
        (many(12), "the template has", "500\n"),
        (one_stream, "the stream", "2\n"),
    ] {
        let message = generated(&manifest).unwrap_err().to_string();
        let max = max.trim();
        assert!(
            message.contains(what) && message.contains(&format!("AWS accepts at most {max}")),
            "{message}"
        );
        assert!(message.contains("\nhint: "), "{message}");
    }
}

/// The result of a condition function of CloudFormation for these parameters.
fn holds(node: &Node, parameters: &[(&str, &str)]) -> bool {
    let value = |node: &Node| match node.get("Ref").and_then(Node::as_text) {
        // The others have their defaults, which are empty.
        Some(name) => parameters.iter().find(|(known, _)| *known == name).map_or("", |one| one.1).to_owned(),
        None => node.as_text().unwrap().to_owned(),
    };
    let (function, given) = &node.members()[0];
    match (function.as_str(), given.nodes()) {
        ("Fn::Not", [one]) => !holds(one, parameters),
        ("Fn::Equals", [one, other]) => value(one) == value(other),
        ("Fn::Contains", [list, one]) => value(list).split(',').any(|part| part == value(one)),
        other => panic!("{other:?}"),
    }
}

/// Does CloudFormation take these parameters, by the template's rules?
fn accepted(root: &Node, parameters: &[(&str, &str)]) -> bool {
    let asserts = |rule: &Node| {
        rule.get("Assertions")
            .unwrap()
            .nodes()
            .iter()
            .all(|one| holds(one.get("Assert").unwrap(), parameters))
    };
    let applies =
        |rule: &Node| rule.get("RuleCondition").is_none_or(|condition| holds(condition, parameters));
    let rules = root.get("Rules").map(Node::members).unwrap_or_default();
    rules.iter().all(|(_, rule)| !applies(rule) || asserts(rule))
}

#[test]
fn authorization_by_jwt_needs_an_issuer_and_every_audience() {
    let root = read(&template(SAMPLE)).unwrap();
    let accepted = |by: &str, issuer: &str, audience: &str| {
        accepted(&root, &[("Authorization", by), ("JwtIssuer", issuer), ("JwtAudience", audience)])
    };
    assert!(
        accepted("jwt", "https://issuer.example.com", "web")
            && accepted("jwt", "https://issuer.example.com", "web,app")
    );
    assert!(accepted("iam", "", "") && accepted("open", "", ""));
    for (issuer, audience) in
        [("", "web"), ("https://issuer.example.com", ""), ("https://issuer.example.com", "web,")]
    {
        assert!(!accepted("jwt", issuer, audience), "{issuer} {audience}");
    }
}

#[test]
fn an_api_that_writes_knows_its_writers() {
    const WRITES: &str = include_str!("../../../.ci/manifests/orders-in-place.toml");
    let root = read(&template(WRITES)).unwrap();
    let accepted = |by: &str, scope: &str| {
        let issuer = ("JwtIssuer", "https://issuer.example.com");
        accepted(&root, &[("Authorization", by), issuer, ("JwtAudience", "web"), ("WriteScope", scope)])
    };
    assert!(accepted("iam", "") && accepted("jwt", "orders/write"));
    assert!(!accepted("jwt", "") && !accepted("open", "") && !accepted("open", "orders/write"));
    let routes = |root: &Node| -> Vec<String> {
        let keys = of_type(root, "AWS::ApiGatewayV2::Route");
        let key =
            |(_, route): &(String, Node)| route.at(&["Properties", "RouteKey"])?.as_text().map(str::to_owned);
        let mut keys: Vec<String> = keys.filter_map(key).filter(|key| key.starts_with("POST /")).collect();
        keys.sort();
        keys
    };
    assert_eq!(routes(&root), ["POST /delete", "POST /explain", "POST /put", "POST /query", "POST /update"]);
    let variable =
        ["Resources", "QueryApiFunction", "Properties", "Environment", "Variables", "KEYFOLD_WRITE_SCOPE"];
    assert_eq!(root.at(&variable).map(as_json).unwrap().to_string(), r#"{"Ref":"WriteScope"}"#);
    // An API that only reads has none of it.
    let reads = read(&template(&WRITES.replace("query-api-writes", "# "))).unwrap();
    assert_eq!(routes(&reads), ["POST /explain", "POST /query"]);
    assert!(reads.at(&variable).is_none() && reads.at(&["Parameters", "WriteScope"]).is_none());
    let writes = |root: &Node| rights(root, "QueryApiRole").iter().any(|right| right.contains("PutItem"));
    assert!(writes(&root) && !writes(&reads));
}

#[test]
fn dashboards_are_json_and_show_alarms_that_are_there() {
    for root in every_template() {
        for (id, dashboard) in of_type(&root, "AWS::CloudWatch::Dashboard") {
            let body =
                dashboard.at(&["Properties", "DashboardBody", "Fn::Sub"]).and_then(Node::as_text).unwrap();
            let body: serde_json::Value =
                serde_json::from_str(body).unwrap_or_else(|error| panic!("{id}: {error}"));
            let alarms = body["widgets"][0]["properties"]["alarms"].as_array().unwrap();
            assert!(alarms.len() >= 10);
            for alarm in alarms {
                let name =
                    alarm.as_str().and_then(|text| text.strip_prefix("${")?.strip_suffix(".Arn}")).unwrap();
                assert!(of_type(&root, "AWS::CloudWatch::Alarm").any(|(id, _)| id == name), "{name}");
            }
        }
    }
}

#[test]
fn every_alarm_names_its_severity_and_its_part_of_the_runbook() {
    let headings: BTreeSet<String> = include_str!("../../../docs/runbooks.md")
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(str::to_ascii_lowercase)
        .collect();
    let mut used = BTreeSet::new();
    for root in every_template() {
        for (id, alarm) in of_type(&root, "AWS::CloudWatch::Alarm") {
            let text =
                alarm.at(&["Properties", "AlarmDescription", "Fn::Sub"]).and_then(Node::as_text).unwrap();
            let (_, heading) = text.split_once("${RunbookUrl}#").unwrap();
            assert!(headings.contains(heading), "{id}: `### {heading}` is not in docs/runbooks.md");
            used.insert(heading.to_owned());
            // Failures that the state machine retries, or waits for, send no message.
            let slices = ["Backfiller", "Operator", "Verifier"].iter().any(|name| id.contains(name));
            let worker = id.ends_with("Lag") || slices;
            let quiet = worker || id.ends_with("LagAlarm");
            // Failures that are repeated without loss, and throttles by a reservation, can wait until the next day.
            let repeats = id.ends_with("ReplicatorErrorsAlarm")
                || id.ends_with("ThrottlesAlarm") && !id.starts_with("AuditWriter");
            let lasting = alarm.at(&["Properties", "EvaluationPeriods"]).and_then(Node::as_text) == Some("3");
            assert!(!repeats || text.starts_with("Severity 2") && lasting, "{id}: {text}");
            assert!(lasting || id != "ApiServerErrorsAlarm", "{id}: one answer is no alarm");
            assert_eq!(text.starts_with("Severity 3"), quiet, "{id}: {text}");
            assert_eq!(alarm.at(&["Properties", "AlarmActions"]).is_none(), quiet, "{id}");
            assert_eq!(alarm.at(&["Properties", "OKActions"]).is_none(), quiet, "{id}");
        }
    }
    assert_eq!(headings.difference(&used).collect::<Vec<_>>(), [""; 0], "no alarm has this name");
}

#[test]
fn an_alarm_holds_no_more_metrics_than_it_can() {
    let indexes: String =
        (0..20).map(|at| format!("[tables.t.indexes.index{at}]\npartition = \"{{a}}-{at}\"\n")).collect();
    let text = format!(
        "[tables.t]\nname = \"Table\"\npartition = \"id\"\nattributes = {{ id = \"string\", a = \"string\" }}\nallow = []\n{indexes}\n[retrofits.r]\nfrom = \"t\"\nto = \"t\"\n"
    );
    let root = read(&template(&text)).unwrap();
    let all: Vec<usize> = of_type(&root, "AWS::CloudWatch::Alarm")
        .filter(|(id, _)| !["StalledAlarm", "UnnotedAlarm"].iter().any(|end| id.ends_with(end)))
        .filter_map(|(_, alarm)| Some(alarm.at(&["Properties", "Metrics"])?.nodes().len() - 1))
        .collect();
    assert_eq!(all.iter().max(), Some(&10));
    assert_eq!(all.iter().sum::<usize>(), 4 * 21);
}

/// The age of the oldest message leaves out messages that were taken three times, and a mapping takes a failing message again and again.
#[test]
fn a_notice_that_is_refused_for_ever_keeps_its_alarm() {
    for root in every_template() {
        for (id, alarm) in
            of_type(&root, "AWS::CloudWatch::Alarm").filter(|(id, _)| id.ends_with("UnnotedAlarm"))
        {
            let text = as_json(alarm).to_string();
            for metric in ["ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible"] {
                assert!(text.contains(&format!("\"{metric}\"")), "{id}: {metric}");
            }
            assert!(!text.contains("ApproximateAge"), "{id}");
            assert_eq!(as_json(alarm)["Properties"]["Threshold"], 1, "{id}");
        }
    }
}

/// It keeps its state without data: when the stream is not followed, the alarm has to go.
#[test]
fn an_alarm_that_keeps_its_state_goes_with_what_it_watches() {
    for root in every_template() {
        for (id, alarm) in of_type(&root, "AWS::CloudWatch::Alarm") {
            let keeps =
                alarm.at(&["Properties", "TreatMissingData"]).and_then(Node::as_text) == Some("ignore");
            let Some(retrofit) = id.strip_suffix("IteratorAgeAlarm") else {
                assert!(!keeps, "{id}");
                continue;
            };
            let back = root.at(&["Conditions", &format!("{retrofit}FollowsBack")]).is_some();
            let condition = format!("{retrofit}{}", if back { "Follows" } else { "FollowsStream" });
            assert_eq!(alarm.get("Condition").and_then(Node::as_text), Some(condition.as_str()), "{id}");
        }
    }
}

#[test]
fn settings_are_complete_for_those_who_deploy_by_other_means() {
    let settings = settings(&read(TEMPLATE).unwrap());
    assert_eq!(settings.as_object().unwrap().len(), 6);
    let replicator = &settings["AuditV2ReplicatorFunction"];
    assert_eq!(replicator["environment"]["KEYFOLD_RETROFIT"], "auditV2");
    assert_eq!(replicator["environment"]["KEYFOLD_MANIFEST"], "/opt/keyfold.toml");
    assert_eq!(replicator["mappings"][0]["StartingPosition"], "TRIM_HORIZON");
    assert_eq!(settings["AuditWriterFunction"]["mappings"].as_array().unwrap().len(), 1);
    assert!(replicator["rights"].as_array().unwrap().len() >= 9);
}

fn changed(from: &str, to: &str) -> Vec<Finding> {
    assert!(TEMPLATE.contains(from), "{from}");
    compare(&read(TEMPLATE).unwrap(), &read(&TEMPLATE.replacen(from, to, 1)).unwrap())
}

#[test]
fn what_nothing_depends_on_may_differ() {
    for (from, to) in [
        ("MemorySize: 512", "MemorySize: 2048"),
        ("RetentionInDays: !Ref LogRetentionDays", "RetentionInDays: 7"),
        ("Threshold: 21600000", "Threshold: 3600000"),
        ("BatchSize: 500", "BatchSize: 100"),
        (
            "PermissionsBoundary: !If [HasBoundary, !Ref PermissionsBoundary, !Ref \"AWS::NoValue\"]",
            "PermissionsBoundary: arn:aws:iam::1:policy/company",
        ),
        ("Path: !Ref RolePath", "Path: /company/"),
        (
            "OKActions: !If [TellsRecovery, [!Ref AlarmTopic], !Ref \"AWS::NoValue\"]",
            "OKActions: [!Ref AlarmTopic]",
        ),
        (
            "Condition: !If [LimitsKey, { StringEquals: { \"kms:ViaService\": !Ref KmsViaServices } }, !Ref \"AWS::NoValue\"]",
            "Condition: { StringEquals: { \"kms:ViaService\": dynamodb.us-east-1.amazonaws.com } }",
        ),
        ("Default: 30\n", "Default: 90\n"),
        (
            "      BillingMode: PAY_PER_REQUEST\n",
            "      BillingMode: PAY_PER_REQUEST\n      Tags: [{ Key: team, Value: audit }]\n",
        ),
        ("Resources:\n", "Resources:\n  Mine: { Type: AWS::SNS::Topic }\n"),
        // What `sam build` and `sam package` make of it.
        ("CodeUri: functions/query-api\n", "CodeUri: s3://bucket/8e4c795030614410\n"),
        (
            "DefinitionUri: .keyfold/retrofit.asl.json\n",
            "DefinitionUri: { Bucket: bucket, Key: 8e4c795030614410 }\n",
        ),
        (
            "      BuildMethod: rust-cargolambda\n",
            "      BuildMethod: rust-cargolambda\n      SamResourceId: AuditWriterFunction\n",
        ),
        ("\nParameters:\n", "\nParameters:\n  Mine: { Type: String }\n"),
    ] {
        let findings = changed(from, to);
        assert!(findings.iter().all(|finding| finding.breaks.is_none()), "{from} -> {to}\n{findings:#?}");
    }
    // Other words for the same thing are no difference.
    assert_eq!(changed("!Ref AlarmTopic", "{ Ref: AlarmTopic }"), []);
    assert_eq!(changed("!GetAtt ControlTable.Arn", "{ \"Fn::GetAtt\": [ControlTable, Arn] }"), []);
}

#[test]
fn a_second_reader_of_the_stream_is_told() {
    let mapping = "Resources:\n  Mine: { Type: AWS::Lambda::EventSourceMapping, Properties: { EventSourceArn: !GetAtt AuditLegacyTable.StreamArn } }\n";
    let findings = changed("Resources:\n", mapping);
    assert!(
        findings.iter().any(|finding| finding.place == "Mine" && finding.breaks.is_some()),
        "{findings:#?}"
    );
}

#[test]
fn a_journal_is_only_added_to_and_its_anchors_are_locked() {
    let root = read(&template(&with_journal())).unwrap();
    let journal = "AuditJournalTable.Arn";
    let touching: Vec<(String, serde_json::Value)> = statements(&root)
        .into_iter()
        .map(|(role, statement)| (role, as_json(&statement)))
        .filter(|(_, statement)| statement["Resource"].to_string().contains("AuditJournal"))
        .collect();
    let [(role, right)] = touching.as_slice() else { panic!("{touching:?}") };
    assert_eq!((role.as_str(), &right["Action"]), ("AuditWriterRole", &"dynamodb:PutItem".into()));
    assert!(right["Resource"].to_string().contains(journal.split('.').next().unwrap()), "{right}");
    let variables = ["Resources", "AuditWriterFunction", "Properties", "Environment", "Variables"];
    let variables = as_json(root.at(&variables).unwrap());
    assert!(variables["KEYFOLD_AUDIT_JOURNAL"].to_string().contains("AuditJournalTable"), "{variables}");
    let table = as_json(root.at(&["Resources", "AuditJournalTable", "Properties"]).unwrap());
    assert!(table.get("TimeToLiveSpecification").is_none(), "a row that expires is a row that is missing");
    let bucket = as_json(root.at(&["Resources", "AuditAnchorBucket", "Properties"]).unwrap());
    assert_eq!(bucket["ObjectLockEnabled"], true);
    assert_eq!(bucket["VersioningConfiguration"]["Status"], "Enabled");
    let retention = &bucket["ObjectLockConfiguration"]["Rule"]["DefaultRetention"];
    assert!(retention["Days"].to_string().contains("AnchorRetentionDays"), "{bucket}");
    // Without the line, there is nothing of it.
    assert!(!template(SAMPLE).contains("AuditJournal") && !template(SAMPLE).contains("Anchor"));
}
