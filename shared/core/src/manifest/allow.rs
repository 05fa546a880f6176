//! `allow = ["hot-partition"]`: warnings that the reader has accepted.

use super::code::{ALLOWABLE, Code};
use super::diagnostic::Findings;
use super::fields::Fields;
use super::suggest::{did_you_mean, one_of};

/// The warnings that a table or an index silences.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    codes: Vec<&'static str>,
}

impl Allowed {
    pub(super) fn read(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Allowed {
        let mut allowed = Allowed::default();
        for text in fields.texts("allow", findings) {
            match ALLOWABLE.iter().find(|code| **code == text.value) {
                Some(code) => allowed.codes.push(code),
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

    pub(super) fn has(&self, code: Code) -> bool {
        self.codes.contains(&code.info().code)
    }
}
