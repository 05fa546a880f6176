//! The state of the retrofits.

use keyfold_core::model::{Model, Retrofit};
use keyfold_core::query::check::Caller;
use keyfold_core::retrofit::Mapping;
use keyfold_edge::Problem;
use serde_json::{Value, json};

use crate::reader::Reader;

/// Maximum retrofits in one answer; others are asked by name.
const RETROFITS_MAX: usize = 20;
/// The fields of a status that count items or name workers: not for a caller with a scope.
const UNSCOPED: [&str; 6] = ["quarantined", "accepted", "misfits", "differences", "late", "rates"];

/// The status of one retrofit, or of all.
pub(crate) async fn status(
    model: &Model,
    reader: &Reader,
    caller: &Caller,
    name: Option<&str>,
) -> Result<Value, Problem> {
    let known: Vec<&Retrofit> = match name {
        // An unknown name is the mapping's error.
        Some(name) => {
            Mapping::of(model, name)?;
            model.retrofits.iter().filter(|one| one.name == name).collect()
        }
        None => model.retrofits.iter().take(RETROFITS_MAX).collect(),
    };
    let mut found = Vec::new();
    for retrofit in known {
        found.push(of(model, reader, caller, retrofit).await?);
    }
    Ok(json!({ "retrofits": found }))
}

async fn of(model: &Model, reader: &Reader, caller: &Caller, retrofit: &Retrofit) -> Result<Value, Problem> {
    let status = reader.status(Mapping::of(model, &retrofit.name)?).await?;
    let mut shown = match &status {
        None => json!({ "phase": "not-started", "means": "the retrofit was not started" }),
        Some(status) => status.json(),
    };
    if let (Caller::Claims(_), Some(members)) = (caller, shown.as_object_mut()) {
        UNSCOPED.iter().for_each(|name| drop(members.remove(*name)));
        // The messages of gates count items, too.
        let gates = members.get_mut("gates").and_then(Value::as_array_mut).into_iter().flatten();
        gates.filter_map(Value::as_object_mut).for_each(|gate| drop(gate.remove("message")));
    }
    shown["retrofit"] = json!(retrofit.name);
    shown["from"] = json!(retrofit.from);
    shown["to"] = json!(retrofit.to);
    shown["fills"] = json!(retrofit.fills);
    Ok(shown)
}
