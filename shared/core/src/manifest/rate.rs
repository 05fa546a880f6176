//! How often something happens, as written: `rate = "40/s"`.

use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use crate::model::{Rate, RateError};

/// The rate in a field.
pub(super) fn rate(fields: &Fields<'_>, field: &str, findings: &mut Findings<'_>) -> Option<Rate> {
    let text = fields.text(field, findings)?;
    let rate = text.value.parse::<Rate>();
    if rate.is_err() {
        let message = format!("{} cannot be `{}`", fields.what(field), text.value);
        findings.report(Code::BadValue, text.span, message).hint(RateError.to_string());
    }
    rate.ok()
}
