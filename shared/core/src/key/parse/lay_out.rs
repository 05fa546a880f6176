//! The layout of the pieces: optional tails at the end, separators between free texts, no attribute repeated.

use std::ops::Range;

use super::resolve::Resolved;
use crate::key::codec::{Codec, KeyMode, KeyRole};
use crate::key::error::{TemplateError, TemplateProblem as P, problem};
use crate::key::field::Field;
use crate::key::fold::FIELDS_MAX;
use crate::key::follow::Follow;
use crate::key::template::Element;

type Placed = (Element, Range<usize>);

/// Places the pieces, and determines what can follow each attribute.
pub(super) fn lay_out(
    pieces: Vec<(Resolved, Range<usize>)>,
    role: KeyRole,
    end: usize,
    errors: &mut Vec<TemplateError>,
) -> Vec<Element> {
    if pieces.is_empty() && errors.is_empty() {
        errors.push(problem(0..end, P::Empty));
    }
    let broken = pieces.iter().any(|(piece, _)| *piece == Resolved::Broken);
    let mut placed = nest(pieces, errors);
    check_counts(&placed, role, end, errors);
    if !broken && errors.is_empty() {
        check_neighbours(&mut placed, errors);
        check_repeats(&placed, errors);
    }
    placed.into_iter().map(|(element, _)| element).collect()
}

/// Gives every piece the number of tails around it.
fn nest(pieces: Vec<(Resolved, Range<usize>)>, errors: &mut Vec<TemplateError>) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::new();
    let mut open: Vec<(Range<usize>, usize)> = Vec::new();
    let mut closed = false;
    for (piece, span) in pieces {
        if closed && piece != Resolved::Close {
            errors.push(problem(span.clone(), P::AfterOptional));
            closed = false;
        }
        let level = open.len();
        match piece {
            Resolved::Literal(text) => placed.push((Element::Literal { text, level }, span)),
            Resolved::Field(field) => placed.push((Element::Field { field, level }, span)),
            Resolved::Broken => {}
            Resolved::Open => {
                if placed.is_empty() && errors.is_empty() {
                    errors.push(problem(span.clone(), P::OnlyOptional));
                }
                open.push((span, placed.len()));
            }
            Resolved::Close => match open.pop() {
                None => errors.push(problem(span, P::StrayBracket)),
                Some((begin, first)) => {
                    let inside = &placed[first.min(placed.len())..];
                    let own = inside.iter().any(|(element, _)| {
                        matches!(element, Element::Field { level, .. } if *level == open.len() + 1)
                    });
                    if !own && errors.is_empty() {
                        errors.push(problem(begin.start..span.end, P::EmptyOptional));
                    }
                    closed = true;
                }
            },
        }
    }
    errors.extend(open.into_iter().map(|(span, _)| problem(span, P::UnclosedBracket)));
    placed
}

fn check_counts(placed: &[Placed], role: KeyRole, end: usize, errors: &mut Vec<TemplateError>) {
    let fields = placed.iter().filter(|(element, _)| matches!(element, Element::Field { .. })).count();
    if fields > FIELDS_MAX {
        errors.push(problem(0..end, P::TooMany { most: FIELDS_MAX }));
    }
    let shortest =
        placed.iter().filter(|(element, _)| element.level() == 0).map(|(element, _)| match element {
            Element::Literal { text, .. } => text.len(),
            Element::Field { field, .. } => match field.codec {
                Codec::Integer { width } => width as usize,
                Codec::Timestamp(_) | Codec::LowerTimestamp(_) => 20,
                Codec::Date => 10,
                _ => 0,
            },
        });
    let (bytes, bytes_max) = (shortest.sum(), role.bytes_max());
    if bytes > bytes_max {
        errors.push(problem(0..end, P::TooLong { bytes, bytes_max }));
    }
}

/// Determines what follows each attribute, and whether a reader can find its end.
fn check_neighbours(placed: &mut [Placed], errors: &mut Vec<TemplateError>) {
    for at in 0..placed.len() {
        let follow = follow(placed, at);
        let next_name = match placed.get(at + 1) {
            Some((Element::Field { field, .. }, _)) => Some(field.attribute.clone()),
            _ => None,
        };
        let end = placed.get(at + 1).map_or(0, |(_, span)| span.end);
        let (element, span) = &mut placed[at];
        let Element::Field { field, .. } = element else { continue };
        field.follow = follow;
        settle(field, span, errors);
        if let (true, false, Some(second)) = (field.follow.adjacent, field.is_self_delimiting(), next_name) {
            let first = field.attribute.clone();
            errors.push(problem(span.start..end, P::Adjacent { first, second }));
        }
    }
}

fn follow(placed: &[Placed], at: usize) -> Follow {
    let Some((next, _)) = placed.get(at + 1) else { return Follow { end: true, ..Follow::default() } };
    let end = next.level() > placed[at].0.level();
    match next {
        Element::Literal { text, .. } => Follow { separators: vec![text.clone()], end, adjacent: false },
        Element::Field { .. } => Follow { separators: Vec::new(), end, adjacent: true },
    }
}

/// Decides whether listed values stay unescaped, and whether a verbatim key can hold them.
fn settle(field: &mut Field, span: &Range<usize>, errors: &mut Vec<TemplateError>) {
    let follow = field.follow.clone();
    if let Some(finite) = &mut field.finite {
        finite.plain = finite.is_readable_before(&follow);
        finite.ordered = finite.keeps_order(&follow);
    }
    if let (Some(finite), KeyMode::Verbatim) = (&field.finite, field.mode) {
        let refused = finite.entries.iter().find_map(|(_, text)| field.separator_in(text));
        if let (false, Some(separator)) = (finite.plain, refused) {
            let (attribute, separator) = (field.attribute.clone(), separator.to_owned());
            errors.push(problem(span.clone(), P::VerbatimValues { attribute, separator }));
        }
    }
    if field.escapes() && follow.begins('%') {
        errors.push(problem(span.clone(), P::PercentSeparator { attribute: field.attribute.clone() }));
    }
    // With ten shards or fewer the number is one digit long; else a reader would take the separator for a part of it.
    let digit = |separator: &String| separator.starts_with(|letter: char| letter.is_ascii_digit());
    if matches!(field.codec, Codec::Modulo(11..)) && follow.separators.iter().any(digit) {
        errors.push(problem(span.clone(), P::DigitSeparator { attribute: field.attribute.clone() }));
    }
    let hex_digit = |separator: &String| separator.starts_with(|letter: char| letter.is_ascii_hexdigit());
    if field.codec == Codec::Hex && follow.separators.iter().any(hex_digit) {
        errors.push(problem(span.clone(), P::HexSeparator { attribute: field.attribute.clone() }));
    }
}

/// An attribute may appear once in a key, and once more as its shard.
fn check_repeats(placed: &[Placed], errors: &mut Vec<TemplateError>) {
    let mut seen: Vec<(&str, bool)> = Vec::new();
    for (element, span) in placed {
        let Element::Field { field, .. } = element else { continue };
        let this = (field.attribute.as_str(), field.codec.shards().is_some());
        if seen.contains(&this) {
            errors.push(problem(span.clone(), P::Repeated { attribute: field.attribute.clone() }));
        }
        seen.push(this);
    }
}
