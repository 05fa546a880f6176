//! The functions of a module: their numbers and names, and their slots in the table.

use std::collections::HashSet;

use anyhow::{Context, Result};
use walrus::{FunctionId, Module};

/// The same module has the same numbers, however often it is read.
pub(crate) fn number(function: FunctionId) -> usize {
    function.index()
}

/// The functions of the rest, in the order of their slots in the table.
pub(crate) fn of_rest(module: &Module, kept: &HashSet<usize>) -> Vec<FunctionId> {
    let ids = module.funcs.iter_local().map(|(id, _)| id);
    ids.filter(|id| !kept.contains(&number(*id))).collect()
}

/// The name of a kept function between the parts.
pub(crate) fn name(function: FunctionId) -> String {
    format!("f{}", number(function))
}

/// Extends the table by this number of slots. Returns the first slot.
pub(crate) fn make_room(module: &mut Module, functions: usize) -> Result<u64> {
    let table = module.tables.main_function_table()?.context("the module has no table")?;
    let table = module.tables.get_mut(table);
    let first = table.initial;
    table.initial += functions as u64;
    table.maximum = Some(table.initial);
    Ok(first)
}
