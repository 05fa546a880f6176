//! The audit writer and the query API, if the manifest asks for them, and the HTTP API in front.

use super::alarms::{self, Alarm};
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
    if let Some(table) = &deploy.audit_writer {
        document.part(AUDIT_WRITER, &[]);
        let journal = deploy.audit_journal.is_some();
        let function = Function {
            id: "AuditWriter".to_owned(),
            binary: "audit-writer",
            log: "audit-writer".to_owned(),
            description: "Writes audit events with all their folded keys",
            properties: &format!(
                "DeadLetterQueue: {{ Type: SQS, TargetArn: !GetAtt AuditFailedCalls.Arn }}\nMemorySize: 512\nTimeout: 30\n{}",
                gradual("AuditWriter")
            ),
            environment: &format!(
                "KEYFOLD_AUDIT_TABLE: {}\n{}KEYFOLD_AUTH: !If [IsOpen, open, claims]\n",
                scalar(table),
                if journal { "KEYFOLD_AUDIT_JOURNAL: !Ref AuditJournalTable\n" } else { "" }
            ),
            rights: of_audit_writer(&names.table(table), journal),
        };
        functions::add(document, &function);
        routes(document, "AuditWriter", &AUDIT_ROUTES);
        audit_alarms(document);
    }
    if !deploy.query_api.is_empty() {
        document.part(QUERY_API, &[]);
        let writes = !deploy.query_api_writes.is_empty();
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
            properties: &format!(
                "MemorySize: 512\nTimeout: 29\n\
ReservedConcurrentExecutions: !If [LimitsApi, !Ref QueryApiConcurrency, !Ref \"AWS::NoValue\"]\n{}",
                gradual("QueryApi")
            ),
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
        };
        functions::add(document, &function);
        let of_writes = WRITE_ROUTES.iter().filter(|_| writes);
        routes(document, "QueryApi", QUERY_ROUTES.iter().chain(of_writes));
    }
}

/// What callers reach is an alias. A new version gets a tenth of the calls for five minutes, then all; if the function's alarm goes off, the
/// version before has all of them again.
fn gradual(id: &str) -> String {
    format!(
        "AutoPublishAlias: live\nDeploymentPreference: {{ Type: Canary10Percent5Minutes, Alarms: [!Ref {id}ErrorsAlarm] }}\n"
    )
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

fn audit_alarms(document: &mut Document) {
    let namespace = "Keyfold/${AWS::StackName}";
    alarms::of_log(
        document,
        "CollectionSize",
        "AuditWriter",
        "LargeItemCollections",
        namespace,
        "LargeItemCollections",
    );
    let of_queue = |queue: &str| {
        let dimensions = format!("Dimensions: [{{ Name: QueueName, Value: !GetAtt {queue}.QueueName }}]\n");
        alarms::metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", &dimensions, "Maximum", 300, 1)
    };
    for (id, description, metric) in [
        (
            "DeadLetters",
            "Audit events could not be written and wait in the dead-letter queue",
            of_queue("AuditDeadLetters"),
        ),
        (
            "FailedCalls",
            "Asynchronous calls of the audit writer failed and wait in their queue",
            of_queue("AuditFailedCalls"),
        ),
        (
            "CollectionSize",
            "An item collection nears the 10 GB that a table with local indexes allows",
            alarms::metric(&format!("!Sub \"{namespace}\""), "LargeItemCollections", "", "Sum", 300, 1),
        ),
    ] {
        let (id, description) = (id.to_owned(), description.to_owned());
        alarms::add(document, &Alarm { id, description, metric, threshold: 1, silent: false });
    }
}
