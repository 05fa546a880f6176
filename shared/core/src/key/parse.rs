//! Parses a template's text: split it into pieces, resolve each piece, then lay the pieces out.

mod lay_out;
mod pieces;
mod resolve;

use std::collections::BTreeMap;

use super::codec::{KeyMode, KeyRole};
use super::error::TemplateError;
use super::template::{Element, Part, Template};
use crate::attribute::Attribute;

impl Template {
    /// Reads a template. All mistakes are reported, not the first alone.
    pub fn parse(
        text: &str,
        attributes: &BTreeMap<String, Attribute>,
        role: KeyRole,
        mode: KeyMode,
    ) -> Result<Template, Vec<TemplateError>> {
        let mut errors = Vec::new();
        let pieces = pieces::split(text, &mut errors);
        let resolved = resolve::resolve(pieces, attributes, mode, &mut errors);
        let elements = lay_out::lay_out(resolved, role, text.len(), &mut errors);
        if errors.is_empty() {
            let parts = elements.iter().map(part).collect();
            let firsts = firsts(&elements);
            Ok(Template { text: text.to_owned(), role, mode, parts, elements, firsts })
        } else {
            errors.sort_by_key(|error| (error.span.start, error.span.end));
            Err(errors)
        }
    }
}

fn firsts(elements: &[Element]) -> Vec<usize> {
    let attribute = |at: usize| match &elements[at] {
        Element::Field { field, .. } => Some(field.attribute.as_str()),
        Element::Literal { .. } => None,
    };
    let is_first = |at: &usize| {
        attribute(*at).is_some_and(|name| !(0..*at).any(|before| attribute(before) == Some(name)))
    };
    (0..elements.len()).filter(is_first).collect()
}

fn part(element: &Element) -> Part {
    match element {
        Element::Literal { text, .. } => Part::Literal(text.clone()),
        Element::Field { field, level } => Part::Attribute {
            name: field.attribute.clone(),
            codec: field.codec.clone(),
            optional: *level > 0,
        },
    }
}
