//! Rules that `keyfold check` enforces, and that programs do without.
//!
//! They are newer than manifests in use, and no model breaks for lack of them: a function or a retrofit that runs with such a
//! manifest goes on after an update, while whoever changes the manifest is told. So a broken rule is an error of `check`, and
//! there is a model all the same.

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

/// Holds a model against all of the rules. An answer has `limit_max` items at most.
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

/// A question that asks for more than an answer can have is refused each time that it is asked.
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
