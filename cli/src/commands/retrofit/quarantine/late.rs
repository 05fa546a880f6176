//! The changes that came to a table after its writers should have stopped, and that the open table lacks. The operator writes each to the
//! open table, or forgets it.

use keyfold_core::retrofit::late::LateChange;
use keyfold_dynamo::retrofit::RequestSender;
use serde_json::{Value, json};

use super::super::env::explained;
use crate::refusal::refuse;

/// Forgets the change with this name; how many are left?
pub(super) async fn forget(sender: &RequestSender, name: &str) -> anyhow::Result<usize> {
    let changes = sender.late().await.map_err(explained)?;
    let Some(change) = changes.iter().find(|change| change.name() == name) else {
        refuse!(
            "unknown-late-change",
            "retrofit `{}` has no late change with this name",
            sender.job().mapping().name()
        );
    };
    sender.forget_late(change).await.map_err(explained)?;
    Ok(changes.len() - 1)
}

pub(super) fn line(change: &LateChange) -> Vec<String> {
    let key = serde_json::to_string(&change.key).unwrap_or_default();
    vec![change.table.clone(), change.what().to_owned(), key, change.name().to_owned()]
}

/// The contents of items are shown only with `--images`.
pub(super) fn as_json(change: &LateChange, images: bool) -> Value {
    let mut value = json!({
        "name": change.name(), "table": change.table, "key": change.key, "what": change.what(),
    });
    if images {
        value["old"] = json!(change.old);
        value["new"] = json!(change.new);
    }
    value
}
