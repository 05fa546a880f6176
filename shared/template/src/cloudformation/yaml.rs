//! From YAML (or JSON, which is YAML) to nodes. CloudFormation's short forms become long ones: `!Ref X` is `{Ref: X}`.

use std::iter::Peekable;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

use super::node::{Kind, Node};

/// The largest template that CloudFormation takes.
pub const TEMPLATE_BYTES_MAX: usize = 1024 * 1024;
/// The deepest nesting.
const DEPTH_MAX: usize = 64;

/// Why a text is no template.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum TemplateError {
    /// It is too large.
    #[error("the template has more than {TEMPLATE_BYTES_MAX} bytes, CloudFormation's limit")]
    TooLarge,
    /// It is no YAML.
    #[error("line {line}: {what}")]
    Syntax { line: usize, what: String },
    /// It has something that is not read here.
    #[error("line {line}: {what} are not understood here")]
    NotRead { line: usize, what: &'static str },
    /// A mapping has one name twice.
    #[error("line {line}: `{name}` is given twice")]
    Twice { line: usize, name: String },
}

type Events<'t> = Peekable<Parser<'t, StrInput<'t>>>;
type Tagged<'t> = Option<std::borrow::Cow<'t, Tag>>;

/// Reads the first document of a text.
pub fn read(text: &str) -> Result<Node, TemplateError> {
    if text.len() > TEMPLATE_BYTES_MAX {
        return Err(TemplateError::TooLarge);
    }
    let mut events = Parser::new_from_str(text).peekable();
    loop {
        match next(&mut events)? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (event, span) => return node(event, span.start.line(), &mut events, 0),
        }
    }
}

fn next<'t>(events: &mut Events<'t>) -> Result<(Event<'t>, Span), TemplateError> {
    match events.next() {
        Some(Ok(event)) => Ok(event),
        Some(Err(error)) => {
            Err(TemplateError::Syntax { line: error.marker().line(), what: error.info().to_owned() })
        }
        None => Err(TemplateError::Syntax { line: 0, what: "the template is empty".to_owned() }),
    }
}

fn node<'t>(
    event: Event<'t>,
    line: usize,
    events: &mut Events<'t>,
    depth: usize,
) -> Result<Node, TemplateError> {
    if depth > DEPTH_MAX {
        return Err(TemplateError::NotRead { line, what: "more than 64 levels" });
    }
    let (kind, tag) = match event {
        Event::Scalar(text, style, _, tag) => {
            (Kind::Text { text: text.into_owned(), plain: style == ScalarStyle::Plain }, tag)
        }
        Event::SequenceStart(_, tag) => (Kind::List(list(events, depth)?), tag),
        Event::MappingStart(_, tag) => (Kind::Map(map(events, depth)?), tag),
        Event::Alias(_) => return Err(TemplateError::NotRead { line, what: "aliases" }),
        _ => return Err(TemplateError::Syntax { line, what: "the template is empty".to_owned() }),
    };
    Ok(long_form(Node { line, kind }, tag))
}

fn list(events: &mut Events<'_>, depth: usize) -> Result<Vec<Node>, TemplateError> {
    let mut nodes = Vec::new();
    loop {
        match next(events)? {
            (Event::SequenceEnd, _) => return Ok(nodes),
            (event, span) => nodes.push(node(event, span.start.line(), events, depth + 1)?),
        }
    }
}

fn map(events: &mut Events<'_>, depth: usize) -> Result<Vec<(String, Node)>, TemplateError> {
    let mut members: Vec<(String, Node)> = Vec::new();
    loop {
        let (event, span) = next(events)?;
        let line = span.start.line();
        let name = match event {
            Event::MappingEnd => return Ok(members),
            Event::Scalar(name, ..) => name.into_owned(),
            _ => return Err(TemplateError::NotRead { line, what: "names that are no texts" }),
        };
        if members.iter().any(|(known, _)| *known == name) {
            return Err(TemplateError::Twice { line, name });
        }
        let (event, span) = next(events)?;
        members.push((name, node(event, span.start.line(), events, depth + 1)?));
    }
}

fn long_form(node: Node, tag: Tagged<'_>) -> Node {
    let Some(tag) = tag.filter(|tag| tag.handle == "!" && !tag.suffix.is_empty()) else { return node };
    let line = node.line;
    let (name, node) = match tag.suffix.as_str() {
        name @ ("Ref" | "Condition") => (name.to_owned(), node),
        "GetAtt" => ("Fn::GetAtt".to_owned(), dotted(node)),
        name => (format!("Fn::{name}"), node),
    };
    Node { line, kind: Kind::Map(vec![(name, node)]) }
}

/// `A.B` as the list that the long form of `GetAtt` has.
fn dotted(node: Node) -> Node {
    let Some((resource, attribute)) = node.as_text().and_then(|text| text.split_once('.')) else {
        return node;
    };
    let parts = [Node::text(resource), Node::text(attribute)];
    Node { line: node.line, kind: Node::list(parts).kind }
}
