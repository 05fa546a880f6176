//! TOML's own syntax errors, and which findings remain valid after them.

use std::collections::BTreeSet;

use super::code::Code;
use super::diagnostic::{Diagnostic, Findings};

/// Codes about a single field, valid regardless of the rest of the text.
const LOCAL: &[&str] = &[
    "unknown-field",
    "wrong-type",
    "bad-name",
    "bad-value",
    "bad-values",
    "bad-map",
    "bad-precision",
    "unknown-warning",
];

/// The syntax errors of a text.
pub(super) struct Syntax {
    /// The position of the first error after which tables may be misplaced or lost.
    broken_from: Option<usize>,
    lines: BTreeSet<usize>,
}

impl Syntax {
    /// Reports one syntax error for each line: the first one usually causes the others.
    pub(super) fn report(errors: &[toml::de::Error], findings: &mut Findings<'_>) -> Syntax {
        let mut syntax = Syntax { broken_from: None, lines: BTreeSet::new() };
        for error in errors {
            let end = findings.text().len();
            let span = error.span().unwrap_or(end..end);
            let message = error.message();
            if message == "duplicate key" {
                let name = findings.text().get(span.clone()).unwrap_or_default().to_owned();
                findings
                    .report(
                        Code::DuplicateName,
                        span,
                        format!("`{}` is given twice", name.trim_matches(['"', '\''])),
                    )
                    .label("again here");
                continue;
            }
            // An invalid value keeps its place; any other error can move the text after it.
            if !message.starts_with("string values must be quoted") {
                syntax.broken_from = Some(syntax.broken_from.map_or(span.start, |from| from.min(span.start)));
            }
            if syntax.lines.insert(findings.line(span.start)) {
                findings.report(Code::TomlSyntax, span, message);
            }
        }
        syntax
    }

    /// Removes findings that only follow from syntax errors.
    pub(super) fn take_back(&self, findings: &mut Findings<'_>) {
        findings.retain(|found| self.believable(found));
    }

    fn believable(&self, found: &Diagnostic) -> bool {
        if found.code == Code::TomlSyntax.info().code || found.label.as_deref() == Some("again here") {
            return true;
        }
        let before =
            self.broken_from.is_none_or(|from| found.span.start < from && LOCAL.contains(&found.code));
        before && !self.lines.contains(&found.line)
    }
}
