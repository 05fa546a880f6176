//! Legal names.

use super::code::Code;
use super::diagnostic::Findings;
use super::node::Text;
use crate::attribute::OWN_ATTRIBUTE_PREFIX;

/// DynamoDB's limits for table and index names, and for names of key attributes.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html>
const DYNAMO_NAME_LENGTHS: std::ops::RangeInclusive<usize> = 3..=255;
const ATTRIBUTE_NAME_BYTES_MAX: usize = 255;

/// A name of Keyfold's own: of a table in the manifest, an entity, a question, a retrofit, a value map.
pub(super) fn check_id(name: &Text<'_>, what: &str, findings: &mut Findings<'_>) {
    let rest = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !(name.value.starts_with(|first: char| first.is_ascii_alphabetic()) && name.value.chars().all(rest)) {
        findings
            .report(
                Code::BadName,
                name.span.clone(),
                format!("`{}` cannot be the name of {what}", name.value),
            )
            .hint("a name starts with a letter and has letters, digits, `_` and `-`");
    }
}

/// The name of a table or an index in DynamoDB.
pub(super) fn check_dynamo_name(
    name: &str,
    span: std::ops::Range<usize>,
    what: &str,
    findings: &mut Findings<'_>,
) {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    let message = format!("DynamoDB does not accept `{name}` as the name of {what}");
    if let Some(wrong) = name.chars().find(|letter| !legal(*letter)) {
        let hint = format!("`{}` is not one of the letters, digits, `_`, `.` and `-`", wrong.escape_debug());
        findings.report(Code::BadName, span, message).hint(hint);
    } else if !DYNAMO_NAME_LENGTHS.contains(&name.len()) {
        let hint = format!("it has {} characters; a name has 3 to 255", name.len());
        findings.report(Code::BadName, span, message).hint(hint);
    }
}

/// The name of an attribute that may be part of a key. Names of Keyfold's own attributes are refused: readers never see
/// those, so such an attribute would be missing from every answer.
pub(super) fn check_attribute_name(name: &Text<'_>, findings: &mut Findings<'_>) {
    if name.value.starts_with(OWN_ATTRIBUTE_PREFIX) {
        findings
            .report(
                Code::BadName,
                name.span.clone(),
                format!("`{}` is a name that Keyfold reserves for itself", name.value),
            )
            .hint(format!(
                "names that begin with `{OWN_ATTRIBUTE_PREFIX}` are reserved for what retrofits keep on items"
            ));
    }
    if name.value.is_empty() || name.value.len() > ATTRIBUTE_NAME_BYTES_MAX {
        let message = format!("an attribute's name has 1 to 255 bytes, not {}", name.value.len());
        findings.report(Code::BadName, name.span.clone(), message);
    }
}
