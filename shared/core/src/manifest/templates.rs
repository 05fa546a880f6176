//! `[tables.ID.templates]`: named templates, for text that several keys repeat.
//!
//! `{@owner}` in a template is replaced by the text of the template `owner` before parsing, so a name changes no key.

use std::collections::BTreeMap;
use std::ops::Range;

use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::key_text::span_within;
use super::name::check_id;
use super::node::Text;
use super::suggest::did_you_mean;

/// The named templates of one table.
#[derive(Debug, Default)]
pub(super) struct Templates<'a> {
    by_name: BTreeMap<&'a str, Text<'a>>,
}

/// A template's text after expansion.
pub(super) struct Expanded {
    pub(super) text: String,
    /// The position of each piece in the template as written; text from a name has the position of the name.
    pieces: Vec<(Range<usize>, Range<usize>)>,
}

impl<'a> Templates<'a> {
    pub(super) fn read(fields: &Fields<'a>, findings: &mut Findings<'_>) -> Templates<'a> {
        let mut templates = Templates::default();
        for entry in fields.entries("templates", findings) {
            check_id(&entry.name, "a template", findings);
            let what = format!("template `{}`", entry.name.value);
            let Some(text) = entry.node.text(findings, &what) else { continue };
            if text.value.contains("{@") {
                findings
                    .report(
                        Code::BadTemplate,
                        text.span.clone(),
                        format!("{what} uses another named template"),
                    )
                    .hint("named templates do not nest: write the text out");
            }
            templates.by_name.insert(entry.name.value, text);
        }
        templates
    }

    /// Expands named templates. `None` if one does not exist, which is reported.
    pub(super) fn expand(&self, text: &Text<'_>, findings: &mut Findings<'_>) -> Option<Expanded> {
        let mut expanded = Expanded { text: String::with_capacity(text.value.len()), pieces: Vec::new() };
        let mut at = 0;
        while let Some((begin, end)) = next_name(text.value, at) {
            let name = &text.value[begin + 2..end - 1];
            let Some(named) = self.by_name.get(name) else {
                let near = did_you_mean(name, self.by_name.keys().copied());
                let span = span_within(findings.text(), text, begin..end);
                findings
                    .report(Code::BadTemplate, span, format!("there is no template `{name}`"))
                    .hint("declare it among the table's `templates`")
                    .maybe_hint(near);
                return None;
            };
            expanded.push(&text.value[at..begin], at..begin);
            expanded.push(named.value, begin..end);
            at = end;
        }
        expanded.push(&text.value[at..], at..text.value.len());
        Some(expanded)
    }
}

/// The position of the next `{@NAME}`. A doubled brace is literal text.
fn next_name(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        let begin = at + text[at..].find('{')?;
        match text[begin + 1..].chars().next() {
            Some('{') => at = begin + 2,
            Some('@') => return Some((begin, begin + text[begin..].find('}')? + 1)),
            _ => at = begin + 1,
        }
    }
}

impl Expanded {
    fn push(&mut self, text: &str, written: Range<usize>) {
        let start = self.text.len();
        self.text.push_str(text);
        self.pieces.push((start..self.text.len(), written));
    }

    /// The position of a part of the text in the template as written.
    pub(super) fn written(&self, part: Range<usize>) -> Range<usize> {
        let place = |at: usize, is_end: bool| {
            let holds = |(piece, _): &&(Range<usize>, Range<usize>)| {
                piece.contains(&at) || (is_end && piece.end == at) || piece.start == at
            };
            let Some((piece, written)) = self.pieces.iter().find(holds) else { return at };
            match piece.len() == written.len() {
                true => written.start + (at - piece.start),
                false if is_end => written.end,
                false => written.start,
            }
        };
        let (start, end) = (place(part.start, false), place(part.end, true));
        start..end.max(start)
    }
}
