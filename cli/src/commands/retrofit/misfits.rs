//! Which items do not fit, as a short table: attribute, reason, index, how many, and the keys of a few.

use keyfold_core::retrofit::Misfits;
use keyfold_core::retrofit::misfit::MisfitCount;

use crate::output::columns;

/// The table with a line above it; nothing if all items fit.
pub(super) fn table(title: &str, misfits: &Misfits) -> String {
    if misfits.is_empty() {
        return String::new();
    }
    let head = ["attribute", "reason", "index", "items", "keys"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(misfits.counts().map(row)).collect();
    format!("{title}\n{}", columns(&rows))
}

fn row(count: MisfitCount<'_>) -> Vec<String> {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
    let keys: Vec<String> =
        count.examples.iter().map(|key| serde_json::to_string(key).unwrap_or_default()).collect();
    vec![
        name(&count.misfit.attribute),
        count.misfit.reason().to_owned(),
        name(&count.misfit.index),
        count.items.to_string(),
        keys.join(" "),
    ]
}
