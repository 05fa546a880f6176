//! The rest: everything that is not first; it imports the first part. Its functions fill their slots in the table at
//! instantiation.

use std::collections::HashSet;

use anyhow::Result;
use walrus::{GlobalKind, ImportKind, Module};

use crate::functions::{main_table, parts};

/// The module of the first part, as the rest imports it.
const FIRST: &str = "first";

pub(crate) fn rest(mut module: Module, kept: &HashSet<usize>) -> Result<Vec<u8>> {
    let [first, rest] = parts(&mut module, kept)?;
    first.replace(&mut module, None);
    import_memory(&mut module)?;
    import_globals(&mut module);
    import_table(&mut module)?;
    rest.fill(&mut module);
    let exports: Vec<_> = module.exports.iter().map(|export| export.id()).collect();
    exports.into_iter().for_each(|export| module.exports.delete(export));
    walrus::passes::gc::run(&mut module);
    Ok(module.emit_wasm())
}

/// The first part has already filled its slots.
fn import_table(module: &mut Module) -> Result<()> {
    let table = main_table(module)?;
    let import = module.imports.add(FIRST, "table", ImportKind::Table(table));
    let segments: Vec<_> = module.elements.iter().map(|segment| segment.id()).collect();
    segments.into_iter().for_each(|segment| module.elements.delete(segment));
    let table = module.tables.get_mut(table);
    table.elem_segments.clear();
    table.import = Some(import);
    Ok(())
}

/// The first part has already initialised the data.
fn import_memory(module: &mut Module) -> Result<()> {
    let memory = module.get_memory_id()?;
    let import = module.imports.add(FIRST, "memory", ImportKind::Memory(memory));
    let data: Vec<_> = module.data.iter().map(|data| data.id()).collect();
    data.into_iter().for_each(|data| module.data.delete(data));
    let memory = module.memories.get_mut(memory);
    memory.data_segments.clear();
    memory.import = Some(import);
    Ok(())
}

fn import_globals(module: &mut Module) {
    let globals: Vec<_> = module.globals.iter().map(|global| global.id()).collect();
    for id in globals {
        let import = module.imports.add(FIRST, &format!("g{}", id.index()), ImportKind::Global(id));
        module.globals.get_mut(id).kind = GlobalKind::Import(import);
    }
}
