//! One finding about a manifest, and the list of all findings.

use std::ops::Range;

use serde::Serialize;

use super::code::{Code, Severity};

/// Maximum number of reported errors. More have a common cause, or the text is no manifest.
const ERRORS_MAX: usize = 100;
/// Maximum number of findings kept until all are known, which bounds the memory for their texts.
const KEPT_MAX: usize = 10_000;

/// One mistake or warning, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Its stable name; see [`codes`](super::codes).
    pub code: &'static str,
    /// The problem: lower case, no final stop.
    pub message: String,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
    /// The line of the span's start, from 1.
    pub line: usize,
    /// The column of the span's start in characters, from 1.
    pub column: usize,
    /// A short text next to the caret.
    pub label: Option<String>,
    /// A suggestion, possibly of several lines.
    pub hint: Option<String>,
    /// A related place.
    pub related: Option<Related>,
}

/// The other place of a diagnostic: where a name was given first, for instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Related {
    /// Where, in bytes of the text.
    pub span: Range<usize>,
    /// A short text next to the place.
    pub label: String,
}

impl Diagnostic {
    pub(super) fn label(&mut self, label: impl Into<String>) -> &mut Self {
        self.label = Some(label.into());
        self
    }

    pub(super) fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn maybe_hint(&mut self, hint: Option<String>) -> &mut Self {
        self.hint = hint.or(self.hint.take());
        self
    }

    pub(super) fn related(&mut self, span: Range<usize>, label: impl Into<String>) -> &mut Self {
        self.related = Some(Related { span, label: label.into() });
        self
    }
}

/// All diagnostics of one parse.
pub(super) struct Findings<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
    found: Vec<Diagnostic>,
    errors: usize,
    /// The number of errors over the limit, and the last of them: the caller may still add to it.
    dropped: (usize, Option<Diagnostic>),
}

impl<'a> Findings<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Findings { text, line_starts, found: Vec::new(), errors: 0, dropped: (0, None) }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// Reports with the code's usual severity.
    pub(super) fn report(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.report_as(code.info().severity, code, span, message)
    }

    pub(super) fn report_as(
        &mut self,
        severity: Severity,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.errors += usize::from(severity == Severity::Error);
        let line = self.line(span.start);
        let line_start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(line_start..span.start).map_or(1, |before| before.chars().count() + 1);
        let code = code.info().code;
        let (label, hint, related) = (None, None, None);
        let message = message.into();
        let found = Diagnostic { severity, code, message, span, line, column, label, hint, related };
        if self.found.len() >= KEPT_MAX {
            self.dropped.0 += usize::from(severity == Severity::Error);
            return self.dropped.1.insert(found);
        }
        self.found.push(found);
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// The number of errors so far.
    pub(super) fn errors(&self) -> usize {
        self.errors
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Diagnostic) -> bool) {
        self.found.retain(keep);
        let kept = self.found.iter().filter(|found| found.severity == Severity::Error).count();
        self.errors = kept + self.dropped.0;
    }

    /// Errors first, then by position. Only the first errors are kept, with the number of the others.
    pub(super) fn into_sorted(mut self) -> Vec<Diagnostic> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|found| (found.severity, found.span.start, found.span.end));
        found.dedup();
        let errors = found.partition_point(|found| found.severity == Severity::Error);
        let left = errors.saturating_sub(ERRORS_MAX) + self.dropped.0;
        if left == 0 {
            return found;
        }
        found.drain(errors.min(ERRORS_MAX)..errors);
        let end = self.text.len();
        let message = format!("and {left} more; correct the ones above first");
        let more = self.report(Code::MoreErrors, end..end, message).clone();
        found.insert(errors.min(ERRORS_MAX), more);
        found
    }
}
