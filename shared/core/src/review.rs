//! The additional findings of `keyfold check`: rules that are newer than manifests in use, and the planner's findings.
//! It needs the manifest and the planner, so it is above both.

use crate::manifest::Parsed;
use crate::query::advise::advise;
use crate::query::limits::PAGE_ITEMS_MAX;

/// Adds errors that do not stop a program, and questions that no index answers, to a parsed manifest's diagnostics.
pub fn review(parsed: &mut Parsed, text: &str) {
    let Some(model) = parsed.model.clone() else { return };
    parsed.hold_to_rules(text, PAGE_ITEMS_MAX);
    for advice in advise(&model) {
        if let Err(error) = &advice.outcome {
            let (table, question) = (&advice.table.id, &advice.question.name);
            parsed.warn_unserved(text, table, question, &error.to_string(), error.hint());
        }
    }
}
