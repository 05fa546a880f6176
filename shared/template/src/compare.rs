//! Compares a template that was changed by hand with the generated template: resource by resource, with the consequence of each
//! difference.
//!
//! What nothing depends on may differ: tags, the time that logs are kept, and within limits memory, thresholds and batches. Other resources
//! may be there, but none that reads the same stream, or lets others at Keyfold's roles, functions and tables.

use std::fmt;

use super::cloudformation::{Kind, Node};
use super::settings::as_json;

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line in the changed template; 0 where something is missing altogether.
    pub line: usize,
    /// Where: `AuditTable.Properties.KeySchema`.
    pub place: String,
    /// The difference.
    pub what: String,
    /// The consequence; `None` if it is allowed.
    pub breaks: Option<&'static str>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.place, self.what)?;
        match self.breaks {
            Some(breaks) => write!(f, "\n  breaks: {breaks}"),
            None => write!(f, " (allowed)"),
        }
    }
}

/// Type of resource, beginning of the path in it, and what a difference there breaks. The first that fits; `*` fits all.
const CONSEQUENCES: &[(&str, &str, Option<&str>)] = &[
    ("*", "Properties.Tags", None),
    ("*", "Properties.Description", None),
    ("*", "Properties.AlarmDescription", None),
    ("*", "Metadata", Some("`sam build` builds another binary, or none")),
    (
        "*",
        "Condition",
        Some("the resource is there in some deployments and not in others; what refers to it fails"),
    ),
    (
        "*",
        "DeletionPolicy",
        Some("data is deleted with the stack, or a failed first deployment cannot be repeated"),
    ),
    ("*", "UpdateReplacePolicy", Some("data is deleted when an update replaces the resource")),
    ("*", "DependsOn", None),
    (
        "AWS::DynamoDB::Table",
        "Properties.TableName",
        Some(
            "functions and command line look for the table under another name, and a new, empty table is made",
        ),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.KeySchema",
        Some(
            "CloudFormation replaces the table by an empty one, and functions read and write keys that are not there",
        ),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.AttributeDefinitions",
        Some("keys have another type than the manifest says, or DynamoDB refuses the table"),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.GlobalSecondaryIndexes",
        Some("the planner uses indexes as the manifest describes them: queries fail, or miss attributes"),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.LocalSecondaryIndexes",
        Some(
            "the planner uses indexes as the manifest describes them, and local ones cannot be changed later",
        ),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.StreamSpecification",
        Some(
            "a retrofit follows this stream and needs both images of each change: it stops, or loses changes",
        ),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.TimeToLiveSpecification",
        Some("items vanish that the manifest knows no end of, or stay that should vanish"),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.SSESpecification",
        Some("the table is not encrypted with your own key"),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.PointInTimeRecovery",
        Some("there is no way back to an earlier state of the table"),
    ),
    (
        "AWS::DynamoDB::Table",
        "Properties.DeletionProtection",
        Some("the table can be deleted by mistake, or a failed first deployment cannot be repeated"),
    ),
    ("AWS::DynamoDB::Table", "Properties.WarmThroughput", None),
    ("AWS::DynamoDB::Table", "Properties.BillingMode", None),
    ("AWS::DynamoDB::Table", "Properties.ProvisionedThroughput", None),
    ("AWS::DynamoDB::Table", "Properties.KinesisStreamSpecification", None),
    (
        "AWS::Serverless::Function",
        "Properties.MemorySize",
        Some("the function is too slow for its time-out, or too large for Lambda"),
    ),
    ("AWS::Serverless::Function", "Properties.VpcConfig", None),
    (
        "AWS::Serverless::Function",
        "Properties.Timeout",
        Some(
            "work is cut off before its time: the queue's visibility, the API's 30 seconds and the slices' checkpoints count on it",
        ),
    ),
    (
        "AWS::Serverless::Function",
        "Properties.Environment",
        Some("the function works on other tables, or refuses to start"),
    ),
    ("AWS::Serverless::Function", "Properties.Role", Some("the function has the rights of another")),
    (
        "AWS::Serverless::Function",
        "Properties.Events",
        Some("the function is called by something that it was not made for"),
    ),
    (
        "AWS::Serverless::Function",
        "Properties",
        Some("the function is not built, started or logged as the others expect"),
    ),
    ("AWS::IAM::Role", "Properties.PermissionsBoundary", None),
    ("AWS::IAM::Role", "Properties.Path", None),
    (
        "AWS::IAM::Role",
        "Properties",
        Some("a function is denied what it calls, or may do what it never calls"),
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties.FunctionResponseTypes",
        Some("the function's answer is ignored, and failed records are lost"),
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties.BisectBatchOnFunctionError",
        Some("used-up retries drop good records together with the bad one"),
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties.FilterCriteria",
        Some("records that do not match are lost"),
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties.StartingPosition",
        Some("records of the first minutes are missed"),
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties.EventSourceArn",
        Some("the function follows another stream: changes of the source do not reach the target"),
    ),
    ("AWS::Lambda::EventSourceMapping", "Properties.FunctionName", Some("another function gets the records")),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties.Maximum",
        Some("a failing record is lost instead of set aside, or its batch waits too long"),
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties.DestinationConfig",
        Some("records that always fail are lost"),
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties.BatchSize",
        Some("a batch takes longer than the function's time-out, and is repeated for ever"),
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        "Properties",
        Some("records are taken in another way than the function expects"),
    ),
    (
        "AWS::SQS::Queue",
        "Properties.VisibilityTimeout",
        Some("messages are shown again while they are still being written"),
    ),
    (
        "AWS::SQS::Queue",
        "Properties.RedrivePolicy",
        Some("events that always fail are lost, or block the queue for ever"),
    ),
    ("AWS::Logs::LogGroup", "Properties.RetentionInDays", None),
    ("AWS::CloudWatch::Dashboard", "Properties", None),
    ("AWS::CloudWatch::Alarm", "Properties.OKActions", None),
    ("AWS::CloudWatch::Alarm", "Properties.Threshold", Some("the alarm never goes off, or always")),
    ("AWS::CloudWatch::Alarm", "Properties", Some("the alarm watches something else, or sends no message")),
    ("AWS::ApiGatewayV2::Route", "Properties.Auth", Some("others than you meant may call the API")),
];

/// Numbers that may differ within limits: type, path, the least and the most of what the template has.
const WITHIN: [(&str, &str, f64, f64); 4] = [
    ("AWS::Serverless::Function", "Properties.MemorySize", 0.5, 20.0),
    ("AWS::Lambda::EventSourceMapping", "Properties.BatchSize", 0.01, 2.0),
    // A stream keeps records for four times what the alarm on its age waits.
    ("AWS::CloudWatch::Alarm", "Properties.Threshold", 0.01, 3.0),
    ("Parameters", "ReadUnitsMax.Default", 0.0, 10.0),
];

/// Defaults that matter: the end of the parameter's name, the value (`*`: each), what it breaks.
const DEFAULTS: [(&str, &str, &str); 6] = [
    ("Authorization", "open", "without the parameter, the API is open"),
    ("AnchorLockMode", "COMPLIANCE", "without the parameter, anchors can never be deleted"),
    ("TablePrefix", "*", "without the parameter, all tables are made again, and are empty"),
    ("ControlTableName", "*", "without the parameter, nothing knows how far the retrofits are"),
    ("FollowBack", "true", "without the parameter, the replicator may write to the source before a switch"),
    (
        "ReadUnitsMax",
        "*",
        "without the parameter, one request may read more than you want to pay, or nothing",
    ),
];

/// What `sam package` puts in a bucket. The digest in the functions' environment says which manifest the layer has.
const PACKAGED: [&str; 3] = ["Properties.CodeUri", "Properties.ContentUri", "Properties.DefinitionUri"];

/// Types that give rights to, or take calls for, the resources that they name.
const ACCESS: [&str; 15] = [
    "AWS::IAM::",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Url",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::ApiGatewayV2::",
    "AWS::S3::BucketPolicy",
    "AWS::Lambda::LayerVersionPermission",
    "AWS::DynamoDB::",
    "AWS::Pipes::",
    "AWS::Scheduler::",
    "AWS::SQS::QueuePolicy",
    "AWS::SQS::QueueInlinePolicy",
    "AWS::SNS::TopicPolicy",
    "AWS::SNS::TopicInlinePolicy",
    "AWS::SecretsManager::ResourcePolicy",
];

/// The consequence of a missing resource.
const MISSING: [(&str, &str); 6] = [
    ("AWS::DynamoDB::Table", "functions find no table"),
    ("AWS::IAM::Role", "a function has no rights"),
    ("AWS::Lambda::EventSourceMapping", "nothing follows the stream or the queue"),
    ("AWS::CloudWatch::Alarm", "nobody is told"),
    ("AWS::Lambda::Permission", "calls are refused"),
    ("AWS::S3::Bucket", "records that always fail are lost"),
];

/// Lists whose order means nothing, by the member that names each of their elements.
const NAMED: [&str; 5] = ["Sid", "AttributeName", "IndexName", "PolicyName", "Id"];

/// Every difference between the template that would be generated and another one.
pub fn compare(wanted: &Node, found: &Node) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (section, breaks) in [
        ("Parameters", "what refers to the parameter has another value, or none"),
        ("Rules", "settings that contradict each other are not refused"),
        ("Conditions", "resources are made, and rights given, on another condition"),
        ("Globals", "all functions are built, or start, in another way"),
        ("Transform", "SAM does not work the template out"),
        ("Outputs", "commands and scripts that read the output get another value, or none"),
    ] {
        let (wanted, found) = (wanted.get(section), found.get(section));
        let mut differences = Differences { findings: &mut findings, kind: section, fallback: breaks };
        differences.optional(section, 0, wanted, found);
    }
    let empty = Node::map([]);
    let resources = |root: &Node| root.get("Resources").unwrap_or(&empty).members().to_vec();
    let (wanted, found) = (resources(wanted), resources(found));
    for (id, wanted) in &wanted {
        let kind = wanted.text_of("Type").unwrap_or_default();
        // Without SAM, a function has another type and the same consequences.
        let kind = if kind == "AWS::Lambda::Function" { "AWS::Serverless::Function" } else { kind };
        match found.iter().find(|(known, _)| known == id) {
            Some((_, found)) => {
                let fallback = "the resource works in another way than the others expect";
                Differences { findings: &mut findings, kind, fallback }.compare(id, "", wanted, found);
                let property = |name| found.at(&["Properties", name]);
                if let Some(mode) =
                    property("BillingMode").filter(|mode| mode.as_text() == Some("PROVISIONED"))
                    && property("ProvisionedThroughput").is_none()
                {
                    findings.push(Finding {
                        line: mode.line,
                        place: format!("{id}.Properties.ProvisionedThroughput"),
                        what: "is missing, and the table is PROVISIONED".to_owned(),
                        breaks: Some("CloudFormation refuses the table"),
                    });
                }
            }
            None => {
                let breaks = MISSING.iter().find(|(known, _)| *known == kind);
                findings.push(Finding {
                    line: 0,
                    place: id.clone(),
                    what: format!("is missing ({kind})"),
                    breaks: Some(
                        breaks.map_or("what refers to the resource cannot be deployed", |(_, what)| *what),
                    ),
                });
            }
        }
    }
    for (id, node) in found.iter().filter(|(id, _)| wanted.iter().all(|(known, _)| known != id)) {
        findings.push(extra(id, node, &wanted));
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// A resource that is not the manifest's.
fn extra(id: &str, node: &Node, own: &[(String, Node)]) -> Finding {
    let kind = node.text_of("Type").unwrap_or("no type");
    let names_own = own.iter().any(|(id, _)| names(node, id));
    let source = node.at(&["Properties", "EventSourceArn"]).map(as_json).unwrap_or_default().to_string();
    let breaks = match kind {
        "AWS::Lambda::EventSourceMapping" if source.contains("Stream") || source.contains("/stream/") => {
            Some("a stream has at most two readers for each shard: the replicator is slowed down")
        }
        "AWS::Lambda::EventSourceMapping" if names_own => {
            Some("messages are shared out between two functions")
        }
        _ if names_own && ACCESS.iter().any(|access| kind.starts_with(access)) => Some(
            "others may do more with Keyfold's resources, or its functions with others', than the manifest says",
        ),
        _ => None,
    };
    let what = format!("is not of the manifest ({kind})");
    Finding { line: node.line, place: id.to_owned(), what, breaks }
}

/// Does the node point at this resource?
fn names(node: &Node, id: &str) -> bool {
    match &node.kind {
        Kind::Text { text, .. } => {
            text == id || text.contains(&format!("${{{id}}}")) || text.contains(&format!("${{{id}."))
        }
        Kind::List(nodes) => nodes.iter().any(|node| names(node, id)),
        Kind::Map(members) => members.iter().any(|(_, node)| names(node, id)),
    }
}

struct Differences<'f> {
    findings: &'f mut Vec<Finding>,
    /// The type of the resource, or the section.
    kind: &'f str,
    fallback: &'static str,
}

impl Differences<'_> {
    fn optional(&mut self, id: &str, line: usize, wanted: Option<&Node>, found: Option<&Node>) {
        match (wanted, found) {
            (Some(wanted), Some(found)) => self.compare(id, "", wanted, found),
            (Some(wanted), None) => self.say(id, "", line, format!("is missing: {}", shown(wanted))),
            (None, Some(_)) | (None, None) => {}
        }
    }

    fn compare(&mut self, id: &str, path: &str, wanted: &Node, found: &Node) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match (&wanted.kind, &found.kind) {
            (Kind::Text { .. }, _) if PACKAGED.contains(&path) && in_s3(found) => {}
            (Kind::Map(members), Kind::Map(others)) => {
                for (name, wanted) in members {
                    match found.get(name) {
                        Some(found) => self.compare(id, &below(name), wanted, found),
                        None => {
                            self.say(id, &below(name), found.line, format!("is missing: {}", shown(wanted)));
                        }
                    }
                }
                // A parameter, a condition or a rule more is one's own.
                let own = path.is_empty() && !self.kind.starts_with("AWS::");
                for (name, node) in others.iter().filter(|(name, _)| !own && wanted.get(name).is_none()) {
                    self.say(id, &below(name), node.line, format!("is added: {}", shown(node)));
                }
            }
            (Kind::List(nodes), Kind::List(others)) => {
                let key =
                    NAMED.iter().find(|key| nodes.iter().chain(others).any(|node| node.get(key).is_some()));
                match key {
                    Some(key) if !path.ends_with("KeySchema") => self.by_name(id, path, key, nodes, found),
                    _ if in_order(path, nodes) != in_order(path, others) => {
                        self.differs(id, path, wanted, found);
                    }
                    _ => {}
                }
            }
            (Kind::Text { text, .. }, Kind::Text { text: other, .. }) if text == other => {}
            _ => self.differs(id, path, wanted, found),
        }
    }

    fn by_name(&mut self, id: &str, path: &str, key: &str, wanted: &[Node], found: &Node) {
        let name = |node: &Node| {
            // An element on a condition has the name of what it is then.
            let then = node.get("Fn::If").and_then(|parts| parts.nodes().get(1)).unwrap_or(node);
            then.text_of(key).map(str::to_owned).unwrap_or_else(|| shown(node))
        };
        for wanted in wanted {
            let path = format!("{path}.{}", name(wanted));
            match found.nodes().iter().find(|node| name(node) == name(wanted)) {
                Some(found) => self.compare(id, &path, wanted, found),
                None => self.say(id, &path, found.line, format!("is missing: {}", shown(wanted))),
            }
        }
        for node in found.nodes() {
            if !wanted.iter().any(|wanted| name(wanted) == name(node)) {
                self.say(
                    id,
                    &format!("{path}.{}", name(node)),
                    node.line,
                    format!("is added: {}", shown(node)),
                );
            }
        }
    }

    fn differs(&mut self, id: &str, path: &str, wanted: &Node, found: &Node) {
        let line = found.line;
        let limits = WITHIN.iter().find(|(kind, place, ..)| *kind == self.kind && *place == path);
        if let (Some((_, _, least, most)), Some(wanted), Some(found)) =
            (limits, number(wanted), number(found))
            && (wanted * least..=wanted * most).contains(&found)
        {
            let (place, what) = (format!("{id}.{path}"), format!("is {found} instead of {wanted}"));
            return self.findings.push(Finding { line, place, what, breaks: None });
        }
        self.say(id, path, found.line, format!("is {} instead of {}", shown(found), shown(wanted)));
    }

    fn say(&mut self, id: &str, path: &str, line: usize, what: String) {
        let fits = |kind: &str, begin: &str| (kind == "*" || kind == self.kind) && path.starts_with(begin);
        let known = CONSEQUENCES.iter().find(|(kind, begin, _)| fits(kind, begin));
        let parameter = path.strip_suffix(".Default").filter(|_| self.kind == "Parameters");
        let is = |value: &str| {
            value == "*"
                || [format!("is \"{value}\" "), format!("is {value} ")].iter().any(|is| what.starts_with(is))
        };
        let ends = |name: &str| parameter.is_some_and(|parameter| parameter.ends_with(name));
        let default = DEFAULTS.iter().find(|(name, value, _)| ends(name) && is(value));
        let described = ["Parameters", "Outputs"].contains(&self.kind) && path.ends_with(".Description");
        // The key may be used through some services alone.
        let via = path.contains(".UseTheKey") && path.contains(".Condition.");
        let breaks = match known {
            _ if parameter.is_some() => default.map(|(_, _, breaks)| *breaks),
            // `sam build` adds its own.
            _ if path.starts_with("Metadata") && what.starts_with("is added") => None,
            _ if described || via => None,
            Some((_, _, breaks)) if self.kind.starts_with("AWS::") => *breaks,
            _ => Some(self.fallback),
        };
        let place = if path.is_empty() { id.to_owned() } else { format!("{id}.{path}") };
        self.findings.push(Finding { line, place, what, breaks });
    }
}

/// Elements as texts: sorted where their order means nothing.
fn in_order(path: &str, nodes: &[Node]) -> Vec<String> {
    let mut texts: Vec<String> = nodes.iter().map(bare).collect();
    if ["Action", "Resource", "NonKeyAttributes", "AllowedValues"].iter().any(|list| path.ends_with(list)) {
        texts.sort();
    }
    texts
}

/// A place in S3, as `sam package` writes it: a URI, or for a state machine bucket and key.
fn in_s3(node: &Node) -> bool {
    node.as_text().is_some_and(|text| text.starts_with("s3://")) || node.get("Bucket").is_some()
}

fn number(node: &Node) -> Option<f64> {
    node.as_text()?.parse().ok()
}

fn shown(node: &Node) -> String {
    as_json(node).to_string()
}

/// The node with all scalars as texts: `true` and `"true"` are one to CloudFormation.
fn bare(node: &Node) -> String {
    fn value(node: &Node) -> serde_json::Value {
        match &node.kind {
            Kind::Text { text, .. } => text.as_str().into(),
            Kind::List(nodes) => nodes.iter().map(value).collect(),
            Kind::Map(members) => members.iter().map(|(name, node)| (name.clone(), value(node))).collect(),
        }
    }
    value(node).to_string()
}
