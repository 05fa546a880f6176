//! Rules that only `keyfold check` enforces.
//!
//! They are newer than manifests in use, and the model works without them. A function or a retrofit with such a
//! manifest continues after an update, and the error appears when the manifest is checked. So a violation is an error
//! of `check`, and the model is still returned.

mod carried;
mod claims;
mod entity_known;
mod live;
mod paths;
mod rename;
mod shared_target;

use super::code::Code;
use super::diagnostic::Findings;
use super::places::Places;
use crate::model::{Model, Question};

/// Checks all rules for a model. An answer has at most `limit_max` items.
pub(super) fn check(model: &Model, places: &Places, limit_max: u32, findings: &mut Findings<'_>) {
    for question in &model.questions {
        limit(question, places, limit_max, findings);
    }
    claims::check(model, places, findings);
    for retrofit in &model.retrofits {
        live::check(model, retrofit, places, findings);
        rename::check(model, retrofit, places, findings);
        carried::check(model, retrofit, places, findings);
        entity_known::check(model, retrofit, places, findings);
    }
    paths::check(model, places, findings);
    shared_target::check(model, places, findings);
}

/// A question that asks for more items than an answer can have would be refused on every call.
fn limit(question: &Question, places: &Places, most: u32, findings: &mut Findings<'_>) {
    let Some(limit) = question.limit.filter(|limit| *limit > most) else { return };
    let (table, name) = (&question.table, &question.name);
    let span = places.get(&format!("questions.{table}.{name}.limit")).unwrap_or_default();
    let message = format!(
        "question `{name}` of table `{table}` has the limit {limit}, and an answer has at most {most} items"
    );
    findings
        .report(Code::LimitTooHigh, span, message)
        .hint(format!("write a limit of 1 to {most}; without a limit, answers come in pages"));
}
