//! The pieces of a template's text: literals, the contents of braces, and the ends of optional tails.

use std::ops::Range;

use crate::key::error::{TemplateError, TemplateProblem, problem};

/// One piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(String),
    /// The text between the braces.
    Braces(String),
    Open,
    Close,
}

/// Splits a template's text. Doubled braces and brackets are literal text. At the very end, brackets close the open
/// tails first, so that `{a}[#{b}[/{c}]]` has two tails.
pub(super) fn split(text: &str, errors: &mut Vec<TemplateError>) -> Vec<(Piece, Range<usize>)> {
    let mut pieces: Vec<(Piece, Range<usize>)> = Vec::new();
    let mut rest = text.char_indices().peekable();
    let mut open = 0usize;
    while let Some((at, letter)) = rest.next() {
        let closes = letter == ']' && text.len() - at == open && text[at..].bytes().all(|byte| byte == b']');
        let doubled =
            !closes && rest.next_if(|(_, next)| *next == letter && "{}[]".contains(letter)).is_some();
        let end = at + letter.len_utf8() * if doubled { 2 } else { 1 };
        match letter {
            '[' if !doubled => {
                open += 1;
                pieces.push((Piece::Open, at..end));
            }
            ']' if !doubled => {
                open = open.saturating_sub(1);
                pieces.push((Piece::Close, at..end));
            }
            '}' if !doubled => errors.push(problem(at..end, TemplateProblem::StrayBrace)),
            '{' if !doubled => {
                let Some(length) = text[end..].find('}') else {
                    errors.push(problem(at..end, TemplateProblem::UnclosedBrace));
                    continue;
                };
                let close = end + length;
                pieces.push((Piece::Braces(text[end..close].to_owned()), at..close + 1));
                while rest.next_if(|(next, _)| *next <= close).is_some() {}
            }
            letter => match pieces.last_mut() {
                Some((Piece::Literal(literal), span)) if span.end == at => {
                    literal.push(letter);
                    span.end = end;
                }
                _ => pieces.push((Piece::Literal(letter.to_string()), at..end)),
            },
        }
    }
    pieces
}
