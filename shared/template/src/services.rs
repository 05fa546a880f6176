//! The audit writer and the query API, if the manifest asks for them, and the HTTP API in front.

use super::alarms::{self, Alarm, LogMetric, Severity};
use super::document::{Document, scalar};
use super::functions::{self, Function};
use super::names::Names;
use super::rights::{of_audit_writer, of_query_api};

const AUDIT_WRITER: &str = include_str!("parts/audit-writer.yaml");
const QUERY_API: &str = include_str!("parts/query-api.yaml");
const HTTP_API: &str = include_str!("parts/http-api.yaml");
const INTEGRATION: &str = include_str!("parts/integration.yaml");
const ROUTE: &str = include_str!("parts/route.yaml");

const QUERY_API_WRITES: &str = include_str!("parts/query-api-writes.yaml");

const AUDIT_ROUTES: [(&str, &str); 1] = [("Audit", "POST /audit")];
const WRITE_ROUTES: [(&str, &str); 3] =
    [("Put", "POST /put"), ("Update", "POST /update"), ("Delete", "POST /delete")];
const QUERY_ROUTES: [(&str, &str); 5] = [
    ("Query", "POST /query"),
    ("Explain", "POST /explain"),
    ("Question", "\"GET /tables/{table}/questions/{question}\""),
    ("OpenApi", "GET /openapi.json"),
    ("Health", "GET /health"),
];

pub(super) fn add(document: &mut Document, names: &Names<'_>) {
    let deploy = &names.model.deploy;
    if deploy.audit_writer.is_none() && deploy.query_api.is_empty() {
        return;
    }
    document.heading("The HTTP API, and the functions behind it.");
    document.part(HTTP_API, &[]);
    let api = alarms::metric(
        "AWS/ApiGateway",
        "5xx",
        "Dimensions: [{ Name: ApiId, Value: !Ref HttpApi }]\n",
        "Sum",
        300,
        3,
    );
    // A single failure of a function has its own, sharper alarm.
    let why = "For 15 minutes, the API has answered with a status of 500 or above";
    alarms::add(document, &Alarm::new(("Api", "ServerErrors"), Severity::Now, why, api, 1));
    if let Some(table) = &deploy.audit_writer {
        audit_writer(document, names, table);
    }
    if !deploy.query_api.is_empty() {
        query_api(document, names);
    }
}

fn audit_writer(document: &mut Document, names: &Names<'_>, table: &str) {
    document.part(AUDIT_WRITER, &[]);
    let journal = names.model.deploy.audit_journal.is_some();
    let function = Function {
        id: "AuditWriter".to_owned(),
        binary: "audit-writer",
        log: "audit-writer".to_owned(),
        description: "Writes audit events with all their folded keys",
        properties: "DeadLetterQueue: { Type: SQS, TargetArn: !GetAtt AuditFailedCalls.Arn }\nMemorySize: 512\nTimeout: 30\n",
        environment: &format!(
            "KEYFOLD_AUDIT_TABLE: {}\n{}KEYFOLD_AUTH: !If [IsOpen, open, claims]\n",
            scalar(table),
            if journal { "KEYFOLD_AUDIT_JOURNAL: !Ref AuditJournalTable\n" } else { "" }
        ),
        rights: of_audit_writer(&names.table(table), journal),
        severity: Severity::Now,
    };
    functions::add(document, &function);
    server_errors(document, "AuditWriter");
    routes(document, "AuditWriter", &AUDIT_ROUTES);
    audit_alarms(document);
}

fn query_api(document: &mut Document, names: &Names<'_>) {
    document.part(QUERY_API, &[]);
    let writes = !names.model.deploy.query_api_writes.is_empty();
    if writes {
        document.part(QUERY_API_WRITES, &[]);
    }
    let function = Function {
        id: "QueryApi".to_owned(),
        binary: "query-api",
        log: "query-api".to_owned(),
        description: match writes {
            true => "Answers questions over HTTP, and writes items",
            false => "Answers questions over HTTP",
        },
        properties: "MemorySize: 512\nTimeout: 29\n\
ReservedConcurrentExecutions: !If [LimitsApi, !Ref QueryApiConcurrency, !Ref \"AWS::NoValue\"]\n",
        environment: &format!(
            "\
KEYFOLD_AUTH: !If [IsOpen, open, claims]
KEYFOLD_READ_SCOPE: !Ref ReadScope
{}\
KEYFOLD_ALLOW_SCAN: \"0\"
KEYFOLD_CONTROL_TABLE: !Ref ControlTable
KEYFOLD_READ_UNITS_MAX: !Ref ReadUnitsMax
KEYFOLD_CALLER_TABLE: !If [LimitsCallers, !Ref CallerTable, !Ref \"AWS::NoValue\"]
KEYFOLD_CALLER_CLAIM: !Ref CallerClaim
KEYFOLD_CALLER_REQUESTS_PER_MINUTE: !If [LimitsRequests, !Ref CallerRequestsPerMinute, !Ref \"AWS::NoValue\"]
KEYFOLD_CALLER_UNITS_PER_DAY: !If [LimitsUnits, !Ref CallerUnitsPerDay, !Ref \"AWS::NoValue\"]
# The function reads the keys from the secret, and again when they change.
KEYFOLD_TOKEN_SECRET: !Ref PageTokenKey
",
            if writes { "KEYFOLD_WRITE_SCOPE: !Ref WriteScope\n" } else { "" }
        ),
        rights: of_query_api(names),
        severity: Severity::Now,
    };
    functions::add(document, &function);
    server_errors(document, "QueryApi");
    let of_writes = WRITE_ROUTES.iter().filter(|_| writes);
    routes(document, "QueryApi", QUERY_ROUTES.iter().chain(of_writes));
}

fn routes<'r>(
    document: &mut Document,
    function: &str,
    routes: impl IntoIterator<Item = &'r (&'r str, &'r str)>,
) {
    document.part(INTEGRATION, &[("Function", function)]);
    for (id, route) in routes {
        document.part(ROUTE, &[("Route", id), ("route", route), ("Function", function)]);
    }
}

/// Denied rights and missing tables are answered with a status inside an invocation that succeeds: Lambda counts no error.
fn server_errors(document: &mut Document, function: &str) {
    let namespace = "Keyfold/${AWS::StackName}";
    let metric = format!("{function}Failures");
    let of = LogMetric {
        filter: &metric,
        function,
        pattern: "{ $.Outcome = \"server-error\" }",
        value: "1",
        namespace,
        metric: &metric,
    };
    alarms::of_log(document, &of);
    let failures = alarms::metric(&format!("!Sub \"{namespace}\""), &metric, "", "Sum", 300, 1);
    let why = format!("{function}Function answers with a status of 500 or above");
    alarms::add(document, &Alarm::new((function, "Failing"), Severity::Now, &why, failures, 1));
}

fn audit_alarms(document: &mut Document) {
    let namespace = "Keyfold/${AWS::StackName}";
    let of = LogMetric {
        filter: "CollectionSize",
        function: "AuditWriter",
        pattern: "{ $.LargeItemCollections > 0 }",
        value: "$.LargeItemCollections",
        namespace,
        metric: "LargeItemCollections",
    };
    alarms::of_log(document, &of);
    let of_queue = |metric: &str, queue: &str| {
        let dimensions = format!("Dimensions: [{{ Name: QueueName, Value: !GetAtt {queue}.QueueName }}]\n");
        alarms::metric("AWS/SQS", metric, &dimensions, "Maximum", 300, 1)
    };
    for (name, severity, description, metric, threshold) in [
        (
            "QueueAge",
            Severity::Now,
            "An audit event has waited in the queue for 15 minutes",
            of_queue("ApproximateAgeOfOldestMessage", "AuditQueue"),
            900,
        ),
        (
            "DeadLetters",
            Severity::Now,
            "Audit events could not be written and wait in the dead-letter queue",
            of_queue("ApproximateNumberOfMessagesVisible", "AuditDeadLetters"),
            1,
        ),
        (
            "FailedCalls",
            Severity::Now,
            "Asynchronous calls of the audit writer failed and wait in their queue",
            of_queue("ApproximateNumberOfMessagesVisible", "AuditFailedCalls"),
            1,
        ),
        (
            "CollectionSize",
            Severity::NextDay,
            "An item collection nears the 10 GB that a table with local indexes allows",
            alarms::metric(&format!("!Sub \"{namespace}\""), "LargeItemCollections", "", "Sum", 300, 1),
            1,
        ),
    ] {
        alarms::add(document, &Alarm::new(("", name), severity, description, metric, threshold));
    }
}
