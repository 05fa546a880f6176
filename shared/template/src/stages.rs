//! Deployments that each add at most one global index to each table: CloudFormation refuses several.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::model::{Index, IndexKind, Table};

use super::{GenerateError, Manifest, generate};

/// One deployment.
#[derive(Debug)]
pub struct Stage {
    /// Its number, from 1.
    pub number: usize,
    /// Table id -> the global index that it adds.
    pub adds: BTreeMap<String, String>,
    /// Its template.
    pub template: String,
}

/// The deployments that bring all global indexes to tables that have only these, given as `table.index`.
pub fn stages(manifest: &Manifest<'_>, have: &BTreeSet<String>) -> Result<Vec<Stage>, GenerateError> {
    let missing = |table: &Table| -> Vec<String> {
        let global = table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
        let names = global.map(|index| index.name.clone());
        names.filter(|name| !have.contains(&format!("{}.{name}", table.id))).collect()
    };
    let missing: BTreeMap<String, Vec<String>> =
        manifest.model.tables.iter().map(|table| (table.id.clone(), missing(table))).collect();
    let count = missing.values().map(Vec::len).max().unwrap_or(0);
    let stage = |number: usize| {
        let later = |table: &Table, index: &Index| {
            missing[&table.id].get(number..).unwrap_or_default().contains(&index.name)
        };
        let adds =
            missing.iter().filter_map(|(table, names)| Some((table.clone(), names.get(number - 1)?.clone())));
        let template = generate(manifest, &|table, index| !later(table, index))?;
        Ok(Stage { number, adds: adds.collect(), template })
    };
    (1..=count).map(stage).collect()
}
