//! `allow = ["hot-partition"]`: warnings that the reader has accepted.

use std::cell::Cell;
use std::ops::Range;

use super::code::{ALLOWABLE, Code};
use super::diagnostic::Findings;
use super::fields::Fields;
use super::suggest::{did_you_mean, one_of};

/// The warnings that a table or an index silences.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    codes: Vec<AllowedCode>,
}

/// One warning that is silenced.
#[derive(Debug)]
struct AllowedCode {
    code: &'static str,
    span: Range<usize>,
    /// Has the warning occurred?
    used: Cell<bool>,
}

impl Allowed {
    pub(super) fn read(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Allowed {
        let mut allowed = Allowed::default();
        for text in fields.texts("allow", findings) {
            match ALLOWABLE.iter().find(|code| **code == text.value) {
                Some(code) => {
                    allowed.codes.push(AllowedCode { code, span: text.span, used: Cell::new(false) });
                }
                None => {
                    let near = did_you_mean(text.value, ALLOWABLE.iter().copied());
                    findings
                        .report(
                            Code::UnknownWarning,
                            text.span,
                            format!("there is no warning `{}`", text.value),
                        )
                        .hint(format!("you can allow {}", one_of(ALLOWABLE.iter().copied())))
                        .maybe_hint(near);
                }
            }
        }
        allowed
    }

    /// Is this warning silenced? Call it only when the warning occurs: an `allow` that is never read is reported.
    pub(super) fn has(&self, code: Code) -> bool {
        let mut all = self.codes.iter().filter(|allowed| allowed.code == code.info().code);
        all.next().inspect(|allowed| allowed.used.set(true)).is_some()
    }

    /// Reports `allow` entries that match nothing: they would hide a later warning.
    pub(super) fn report_unused(&self, findings: &mut Findings<'_>) {
        for allowed in self.codes.iter().filter(|allowed| !allowed.used.get()) {
            findings
                .report(
                    Code::UnusedAllow,
                    allowed.span.clone(),
                    format!("the warning `{}` does not occur here", allowed.code),
                )
                .hint("take it out of `allow`: it would hide the warning if it occurs later");
        }
    }
}
