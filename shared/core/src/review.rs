//! What `keyfold check` has to say of a manifest beyond what a program needs of it: rules that are newer than manifests in use,
//! and what the planner finds. It needs both, so it stands above both.

use crate::manifest::Parsed;
use crate::query::advise::advise;
use crate::query::limits::PAGE_ITEMS_MAX;

/// Adds to a parsed manifest's diagnostics: errors that a program goes on with, and questions that nothing serves.
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
