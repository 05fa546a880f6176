//! Which indexes a retrofit still fills: the rows of the control table that say so, and what they come to.

use keyfold_core::model::{Model, Table};
use keyfold_core::query::Readiness;
use keyfold_core::retrofit::control::{self, Head, Phase};
use keyfold_core::retrofit::readiness::{Filling, readiness};
use keyfold_core::retrofit::{Mapping, Pass, progress};
use keyfold_core::value::Item;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::requests;

/// The most segments of a backfill that are read to say how far it is.
const SEGMENTS_READ_MAX: u32 = 500;

/// What the control table says of one retrofit.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rows {
    /// The retrofit's own row; none if there is none, or no control table.
    head: Option<Item>,
    /// The rows of its segments.
    segments: Vec<Item>,
    /// Are there more?
    more: bool,
}

fn mappings<'m>(model: &'m Model, table: &'m Table) -> impl Iterator<Item = Mapping> + 'm {
    let into = model.retrofits.iter().filter(|retrofit| retrofit.to == table.id);
    into.filter_map(|retrofit| Mapping::of(model, &retrofit.name).ok())
}

/// The reads of the control table for the retrofits into a table; none for a table that no retrofit fills.
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
    mappings(model, table).map(read).collect()
}

/// What is pending of a table, by the rows of its retrofits, in the order of [`reads`]. A row that is not there is no proof
/// that an index is complete.
pub(crate) fn of_rows(model: &Model, table: &Table, rows: Vec<Rows>) -> Readiness {
    let mut rows = rows.into_iter();
    let fillings: Vec<Filling> =
        mappings(model, table).map(|mapping| filling(mapping, &rows.next().unwrap_or_default())).collect();
    readiness(&fillings)
}

fn filling(mapping: Mapping, rows: &Rows) -> Filling {
    let head = Head::read(mapping.name(), rows.head.as_ref()).ok();
    let mut segments = Vec::new();
    if let Some(head) = head.as_ref().filter(|head| head.phase == Phase::Running) {
        let job = head.job(mapping.clone());
        segments.extend(rows.segments.iter().filter_map(|row| {
            let segment = progress::segment_of(&job, Pass::Backfill, row)?;
            progress::read_checkpoint(&job, Pass::Backfill, segment, row)
        }));
    }
    Filling { mapping, head, segments, more: rows.more }
}
