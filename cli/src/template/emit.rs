//! From nodes to text: YAML for people, JSON for machines.

use serde_json::Value;

use keyfold_init::cloudformation::{Kind, Node};

/// The node as YAML, in block style.
pub(crate) fn text(node: &Node) -> String {
    let mut out = String::new();
    write(node, 0, &mut out);
    out
}

fn write(node: &Node, indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    match &node.kind {
        Kind::Text { text, plain } => out.push_str(&format!("{margin}{}\n", scalar(text, *plain))),
        Kind::Map(members) => {
            for (name, node) in members {
                out.push_str(&format!("{margin}{}:", scalar(name, false)));
                below(node, indent + 2, out);
            }
        }
        Kind::List(nodes) => {
            for node in nodes {
                let mut one = String::new();
                write(node, indent + 2, &mut one);
                out.push_str(&format!("{margin}- {}", one.trim_start()));
            }
        }
    }
}

/// What stands behind a name.
fn below(node: &Node, indent: usize, out: &mut String) {
    match &node.kind {
        Kind::Text { text, plain } => out.push_str(&format!(" {}\n", scalar(text, *plain))),
        Kind::List(nodes) if nodes.is_empty() => out.push_str(" []\n"),
        Kind::Map(members) if members.is_empty() => out.push_str(" {}\n"),
        Kind::List(_) | Kind::Map(_) => {
            out.push('\n');
            write(node, indent, out);
        }
    }
}

/// A scalar, in quotes where it could be mistaken. A JSON text is a YAML text.
fn scalar(text: &str, plain: bool) -> String {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let word =
        text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| letters(c) || c == '-');
    let mistaken = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let mistakable = mistaken.contains(&text.to_ascii_lowercase().as_str()) || text.ends_with(':');
    if plain || (word && !mistakable) { text.to_owned() } else { Value::from(text).to_string() }
}

/// The node as JSON.
pub(crate) fn json(node: &Node) -> Value {
    match &node.kind {
        Kind::Text { text, plain: true } => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
        }
        Kind::Text { text, plain: false } => Value::from(text.as_str()),
        Kind::List(nodes) => nodes.iter().map(json).collect(),
        Kind::Map(members) => members.iter().map(|(name, node)| (name.clone(), json(node))).collect(),
    }
}
