//! AWS's limits, checked when the template is made: CloudFormation would name them in the middle of a deployment.

use std::collections::BTreeMap;

use super::cloudformation::{Kind, Node, TEMPLATE_BYTES_MAX, intrinsic, read};
use super::names::GenerateError;
use super::settings::as_json;

/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>
const RESOURCES_MAX: usize = 500;
const PARAMETERS_MAX: usize = 200;
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html>
const ROLE_POLICY_BYTES_MAX: usize = 10_240;
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
const ENVIRONMENT_BYTES_MAX: usize = 4096;
/// More readers of a shard throttle each other.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.Lambda.html>
const STREAM_READERS_MAX: usize = 2;
/// How long a physical name can be that only the deployment knows, such as a queue's.
const UNKNOWN_NAME_BYTES: usize = 80;
/// How long a prefix of all tables may be, so that the policies still fit.
const PREFIX_BYTES: usize = 16;
/// The services through which a key is used: six, such as `secretsmanager.ap-southeast-2.amazonaws.com`.
const SERVICES_BYTES: usize = 240;
const ARN_BYTES: usize = "arn:aws:dynamodb:ap-southeast-2:123456789012:table/".len();

const FEWER_RETROFITS: &str = "deploy fewer retrofits with this stack (`[deploy] retrofits`), and the others with another manifest and stack";

/// The first limit that the template exceeds.
pub(super) fn check(text: &str) -> Result<(), GenerateError> {
    within("the template", text.len(), "bytes", TEMPLATE_BYTES_MAX, FEWER_RETROFITS)?;
    let root = read(text).unwrap_or_else(|error| unreachable!("a generated template is YAML: {error}"));
    let members = |section| root.get(section).map(Node::members).unwrap_or_default();
    within("the template", members("Resources").len(), "resources", RESOURCES_MAX, FEWER_RETROFITS)?;
    within("the template", members("Parameters").len(), "parameters", PARAMETERS_MAX, FEWER_RETROFITS)?;
    let mut readers: BTreeMap<String, usize> = BTreeMap::new();
    for (id, resource) in members("Resources") {
        let Some(properties) = resource.get("Properties") else { continue };
        match resource.text_of("Type") {
            Some("AWS::IAM::Role") => policies(&root, id, properties)?,
            Some("AWS::Serverless::Function") => environment(&root, id, properties)?,
            Some("AWS::Lambda::EventSourceMapping") => {
                let source = properties.get("EventSourceArn").map(as_json).unwrap_or_default().to_string();
                // A queue shares its messages out; a stream has limits.
                if source.contains("Stream") {
                    *readers.entry(source).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    readers.iter().try_for_each(|(stream, count)| {
        let hint = "a shard has two readers at most: deploy the retrofits of one table one after the other (`[deploy] retrofits`)";
        within(&format!("the stream {stream}"), *count, "readers", STREAM_READERS_MAX, hint)
    })
}

fn within(what: &str, count: usize, unit: &'static str, max: usize, hint: &str) -> Result<(), GenerateError> {
    if count <= max {
        return Ok(());
    }
    Err(GenerateError::Limit { what: what.to_owned(), count, unit, max, hint: hint.to_owned() })
}

/// All inline policies of a role count together.
fn policies(root: &Node, role: &str, properties: &Node) -> Result<(), GenerateError> {
    let documents = properties.get("Policies").map(Node::nodes).unwrap_or_default().iter();
    let bytes =
        documents.filter_map(|policy| policy.get("PolicyDocument")).map(|node| json_bytes(root, node));
    let hint = "name fewer tables in `[deploy] query-api`, or give some of their indexes and tables to a second manifest and stack";
    within(&format!("the policy of `{role}`"), bytes.sum(), "bytes", ROLE_POLICY_BYTES_MAX, hint)
}

fn environment(root: &Node, function: &str, properties: &Node) -> Result<(), GenerateError> {
    let all = root.at(&["Globals", "Function", "Environment", "Variables"]);
    let own = properties.at(&["Environment", "Variables"]);
    let bytes =
        |node: &Node| node.members().iter().map(|(name, value)| name.len() + json_bytes(root, value)).sum();
    let bytes: Vec<usize> = all.into_iter().chain(own).map(bytes).collect();
    let hint = "`KEYFOLD_TABLES` names every table of the manifest: give some of the tables to a second manifest and stack";
    within(
        &format!("the environment of `{function}`"),
        bytes.iter().sum(),
        "bytes",
        ENVIRONMENT_BYTES_MAX,
        hint,
    )
}

/// How long a value is as JSON without white space, with everything that is known only later as long as it can be.
fn json_bytes(root: &Node, node: &Node) -> usize {
    if let Some((name, argument)) = intrinsic(node) {
        return match (name, argument.nodes()) {
            ("Fn::If", [_, then, otherwise]) => json_bytes(root, then).max(json_bytes(root, otherwise)),
            ("Ref", _) if argument.as_text() == Some("AWS::NoValue") => 0,
            ("Ref", _) => reference_bytes(root, argument.as_text().unwrap_or_default()) + 2,
            ("Fn::GetAtt", [resource, _]) => arn_bytes(root, resource.as_text().unwrap_or_default()) + 2,
            ("Fn::Sub", _) => substituted_bytes(root, argument.as_text().unwrap_or_default()) + 2,
            _ => as_json(node).to_string().len(),
        };
    }
    let separators = |count: usize| count.saturating_sub(1) + 2;
    match &node.kind {
        Kind::Text { text, .. } => text.len() + 2,
        Kind::List(nodes) => {
            nodes.iter().map(|node| json_bytes(root, node)).sum::<usize>() + separators(nodes.len())
        }
        Kind::Map(members) => {
            let member = |(name, node): &(String, Node)| name.len() + 3 + json_bytes(root, node);
            members.iter().map(member).sum::<usize>() + separators(members.len())
        }
    }
}

fn substituted_bytes(root: &Node, text: &str) -> usize {
    let mut pieces = text.split("${");
    let first = pieces.next().unwrap_or_default().len();
    let piece = |piece: &str| {
        let (name, rest) = piece.split_once('}').unwrap_or((piece, ""));
        let bytes = match name.strip_suffix(".Arn") {
            Some(resource) => arn_bytes(root, resource),
            None => reference_bytes(root, name),
        };
        bytes + rest.len()
    };
    first + pieces.map(piece).sum::<usize>()
}

/// The name of a resource, or the value of a parameter.
fn reference_bytes(root: &Node, name: &str) -> usize {
    match name {
        "AWS::Partition" => "aws-us-gov".len(),
        "AWS::Region" => "ap-southeast-2".len(),
        "AWS::AccountId" => "123456789012".len(),
        "TablePrefix" => PREFIX_BYTES,
        "KmsViaServices" => SERVICES_BYTES,
        _ => {
            match (table_name(root, name), root.at(&["Parameters", name, "Default"]).and_then(Node::as_text))
            {
                (Some(table), _) => substituted_bytes(root, table),
                (None, Some(default)) if !default.is_empty() => default.len(),
                _ => UNKNOWN_NAME_BYTES,
            }
        }
    }
}

fn arn_bytes(root: &Node, resource: &str) -> usize {
    ARN_BYTES + reference_bytes(root, resource)
}

fn table_name<'r>(root: &'r Node, resource: &str) -> Option<&'r str> {
    root.at(&["Resources", resource, "Properties", "TableName", "Fn::Sub"])?.as_text()
}
