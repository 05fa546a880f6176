//! What the planner has to say of a manifest: it needs both, so it stands above both.

use crate::manifest::Parsed;
use crate::query::advise::advise;

/// Adds to a parsed manifest's diagnostics what the planner has to say: questions that nothing serves.
pub fn review(parsed: &mut Parsed, text: &str) {
    let Some(model) = parsed.model.clone() else { return };
    for advice in advise(&model) {
        if let Err(error) = &advice.outcome {
            let (table, question) = (&advice.table.id, &advice.question.name);
            parsed.warn_unserved(text, table, question, &error.to_string(), error.hint());
        }
    }
}
