//! Diagnostics as text: file, line, caret, hint.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::code::Severity;
use super::diagnostic::Diagnostic;

/// Maximum width of a rendered line.
const COLUMNS_MAX: usize = 120;

/// Renders diagnostics in the order given ([`parse`](super::parse) gives errors first, each by position).
///
/// Empty for no diagnostics; otherwise the text ends with a line end.
pub fn render(file_name: &str, text: &str, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() }.term_width(COLUMNS_MAX);
    diagnostics
        .iter()
        .map(|diagnostic| render_one(&renderer, file_name, text, diagnostic))
        .collect::<Vec<_>>()
        .join("\n")
}

fn render_one(renderer: &Renderer, file_name: &str, text: &str, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let mut group = title.element(snippet(file_name, text, diagnostic));
    let hint = diagnostic.hint.as_deref().unwrap_or_default();
    // The lines below the first are parts of a manifest: they are shown as they can be pasted.
    let (first, lines) = hint.split_once('\n').unwrap_or((hint, ""));
    if !first.is_empty() {
        group = group.element(Level::HELP.with_name("hint").message(first.to_owned()));
    }
    let groups: [Group<'_>; 1] = [group];
    let lines = if lines.is_empty() { String::new() } else { format!("{}\n", lines.trim_end()) };
    renderer.render(&groups) + "\n" + &lines
}

/// Only the affected lines are rendered, so that the work does not grow with the file.
fn snippet<'a>(
    file_name: &'a str,
    text: &'a str,
    diagnostic: &'a Diagnostic,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let span = within(text, &diagnostic.span);
    let related =
        diagnostic.related.as_ref().map(|related| (within(text, &related.span), related.label.as_str()));
    let first = related.iter().fold(span.start, |first, (span, _)| first.min(span.start));
    let last = related.iter().fold(span.end, |last, (span, _)| last.max(span.end));
    let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
    let end = text[last..].find('\n').map_or(text.len(), |at| last + at);
    let here = |span: Range<usize>| span.start - start..span.end - start;

    let lines_before = text[start..span.start].matches('\n').count();
    let mut primary = AnnotationKind::Primary.span(here(span));
    if let Some(label) = &diagnostic.label {
        primary = primary.label(label.as_str());
    }
    let context = related.map(|(span, label)| AnnotationKind::Context.span(here(span)).label(label));
    Snippet::source(&text[start..end])
        .line_start(diagnostic.line.saturating_sub(lines_before).max(1))
        .path(file_name)
        .annotation(primary)
        .annotations(context)
}

/// The span, moved to character boundaries of this text: a caller may pass another text than the parsed one.
fn within(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    // The caret stays on its own line.
    let line_end = text[start..end].find('\n').map_or(end, |at| start + at);
    start..line_end
}
