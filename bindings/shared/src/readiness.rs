//! Which indexes a retrofit still fills: the rows of the control table to read, and their meaning.

use keyfold_core::model::{Model, Table};
use keyfold_core::query::Readiness;
use keyfold_core::retrofit::Mapping;
use keyfold_core::retrofit::control::{self, ControlError, RetrofitState};
use keyfold_core::retrofit::readiness::{Filling, SEGMENTS_READ_MAX, readiness, retrofits_into};
use keyfold_core::value::Item;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::requests;

/// The rows of one retrofit in the control table.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rows {
    /// The retrofit's own row; `None` if it is missing, or without a control table.
    head: Option<Item>,
    /// The rows of its segments.
    segments: Vec<Item>,
    /// Are there more?
    more: bool,
}

/// The reads of the control table for the retrofits into a table; empty if no retrofit fills it.
pub(crate) fn reads(model: &Model, table: &Table, control_table: &str) -> Vec<Value> {
    let read = |mapping: Mapping| {
        let partition = control::segments_partition(mapping.name());
        json!({
            "head": requests::get(control_table, &control::head_key(mapping.name())),
            "segments": {
                "TableName": control_table,
                "KeyConditionExpression": "#pk = :pk",
                "ExpressionAttributeNames": { "#pk": control::PARTITION },
                "ExpressionAttributeValues": { ":pk": { "S": partition } },
                "ConsistentRead": true,
                "Limit": SEGMENTS_READ_MAX,
            },
        })
    };
    retrofits_into(model, &table.id).map(read).collect()
}

/// The pending indexes of a table, from the rows of its retrofits, in the order of [`reads`]. A missing row does not
/// prove that an index is complete.
pub(crate) fn of_rows(model: &Model, table: &Table, rows: Vec<Rows>) -> Result<Readiness, Failure> {
    let mut rows = rows.into_iter();
    let fillings: Result<Vec<Filling>, Failure> = retrofits_into(model, &table.id)
        .map(|mapping| filling(mapping, &rows.next().unwrap_or_default()))
        .collect();
    Ok(readiness(&fillings?))
}

fn filling(mapping: Mapping, rows: &Rows) -> Result<Filling, Failure> {
    match RetrofitState::read(mapping.name(), rows.head.as_ref()) {
        Ok(head) => {
            rows.segments.iter().try_for_each(control::check_format).map_err(ControlError::from)?;
            Ok(Filling::of_rows(mapping, head, &rows.segments, rows.more)?)
        }
        Err(unknown @ ControlError::UnknownFormat(_)) => Err(unknown.into()),
        Err(_) => Ok(Filling::unknown(mapping)),
    }
}
