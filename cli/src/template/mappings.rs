//! Mappings from streams and queues to functions that lose records quietly, and that cfn-lint lets through.

use keyfold_init::cloudformation::{Template, intrinsic};

use super::{Finding, Node};

const PARTIAL: &str = "ReportBatchItemFailures";
/// How long a stream keeps a record.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html>
const STREAM_SECONDS: u64 = 24 * 60 * 60;

/// What a function reads from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Stream,
    Queue,
}

/// Everything about the mappings that loses records.
pub(crate) fn refuse(template: &Template) -> Vec<Finding> {
    let mut findings = Vec::new();
    for resource in template.resources() {
        let Some(properties) = resource.node.get("Properties") else { continue };
        match resource.kind {
            "AWS::Lambda::EventSourceMapping" => {
                let source = if is_stream(template, properties) { Source::Stream } else { Source::Queue };
                mapping(template, resource.id, source, properties, resource.line, &mut findings);
            }
            "AWS::Serverless::Function" => {
                for (name, event) in properties.get("Events").map(Node::members).unwrap_or_default() {
                    let source = match event.text_of("Type") {
                        Some("DynamoDB" | "Kinesis") => Source::Stream,
                        Some("SQS") => Source::Queue,
                        _ => continue,
                    };
                    let (id, line) = (format!("{}.{name}", resource.id), event.line);
                    let Some(properties) = event.get("Properties") else { continue };
                    mapping(template, &id, source, properties, line, &mut findings);
                }
            }
            _ => {}
        }
    }
    findings
}

fn is_stream(template: &Template, properties: &Node) -> bool {
    let of_stream = |arn: &Node| match intrinsic(arn) {
        Some(("Fn::GetAtt", of)) => of.nodes().get(1).and_then(Node::as_text) == Some("StreamArn"),
        _ => arn.as_text().is_some_and(|text| text.contains("/stream/") || text.contains(":kinesis:")),
    };
    properties.get("StartingPosition").is_some()
        || properties.get("EventSourceArn").is_some_and(|arn| template.possible(arn).iter().any(of_stream))
}

fn mapping(
    template: &Template,
    id: &str,
    source: Source,
    properties: &Node,
    line: usize,
    findings: &mut Vec<Finding>,
) {
    let possible = |name: &str| properties.get(name).map(|node| (node.line, template.possible(node)));
    let mut say = |line: usize, code, what: &str| {
        findings.push(Finding::new(line, code, format!("mapping `{id}` {what}")));
    };
    response_types(line, possible("FunctionResponseTypes"), &mut say);
    if source == Source::Queue {
        return;
    }
    match possible("StartingPosition") {
        Some((line, positions)) if positions.iter().any(|node| node.as_text() != Some("TRIM_HORIZON")) => {
            say(
                line,
                "not-from-the-beginning",
                "can start elsewhere than at TRIM_HORIZON: records of the first minutes can be missed",
            );
        }
        Some(_) => {}
        None => say(line, "not-from-the-beginning", "does not start at TRIM_HORIZON"),
    }
    match possible("BisectBatchOnFunctionError") {
        Some((_, values)) if values.iter().all(|node| node.as_text() == Some("true")) => {}
        found => say(
            found.map_or(line, |(line, _)| line),
            "no-bisect",
            "does not bisect: used-up retries would drop good records with the bad one",
        ),
    }
    if let Some((line, _)) = possible("FilterCriteria") {
        say(line, "filtered", "has a filter: what does not match it is lost");
    }
    record_age(line, possible("MaximumRecordAgeInSeconds"), &mut say);
    let destination = properties.at(&["DestinationConfig", "OnFailure", "Destination"]);
    if destination.is_none() {
        say(line, "no-failure-destination", "has no destination for records that always fail");
    }
}

type Possible = Option<(usize, Vec<Node>)>;

fn response_types(line: usize, found: Possible, say: &mut dyn FnMut(usize, &'static str, &str)) {
    let Some((line, lists)) = found else {
        return say(
            line,
            "no-partial-failures",
            "does not say ReportBatchItemFailures: its function's answer is ignored",
        );
    };
    for list in lists {
        if !list.nodes().iter().any(|node| node.as_text() == Some(PARTIAL)) {
            say(
                line,
                "no-partial-failures",
                "does not say ReportBatchItemFailures: its function's answer is ignored",
            );
        }
        for node in list.nodes().iter().filter(|node| node.as_text() != Some(PARTIAL)) {
            let what = format!("has the unknown response type `{}`", node.as_text().unwrap_or("?"));
            say(node.line, "unknown-response-type", &what);
        }
    }
}

fn record_age(line: usize, found: Possible, say: &mut dyn FnMut(usize, &'static str, &str)) {
    let below = |node: &Node| {
        node.as_text().and_then(|text| text.parse::<u64>().ok()).is_some_and(|age| age < STREAM_SECONDS)
    };
    match found {
        Some((_, ages)) if ages.iter().all(below) => {}
        found => say(
            found.map_or(line, |(line, _)| line),
            "record-age",
            "keeps a failing record for as long as the stream does: it would be lost instead of set aside",
        ),
    }
}
