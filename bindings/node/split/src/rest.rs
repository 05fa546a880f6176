//! The rest: everything that is not first; it imports the first part. Its functions fill their slots in the table at
//! instantiation.

use std::collections::HashSet;

use anyhow::{Context, Result};
use walrus::ir::Value;
use walrus::{
    ConstExpr, ElementItems, ElementKind, FunctionId, FunctionKind, GlobalKind, ImportKind, ImportedFunction,
    Module,
};

use crate::functions::{make_room, name, number, of_rest};

/// The module of the first part, as the rest imports it.
const FIRST: &str = "first";

pub(crate) fn rest(mut module: Module, kept: &HashSet<usize>) -> Result<Vec<u8>> {
    let rest = of_rest(&module, kept);
    let slot = make_room(&mut module, rest.len())?;
    import_functions(&mut module, kept);
    import_memory(&mut module)?;
    import_globals(&mut module);
    let table = module.tables.main_function_table()?.context("the module has no table")?;
    let import = module.imports.add(FIRST, "table", ImportKind::Table(table));
    module.tables.get_mut(table).import = Some(import);
    // The first part's table had stand-ins; the segments of the whole module put these functions there too.
    let offset = ConstExpr::Value(Value::I32(i32::try_from(slot)?));
    let segment = module.elements.add(ElementKind::Active { table, offset }, ElementItems::Functions(rest));
    module.tables.get_mut(table).elem_segments.insert(segment);
    let exports: Vec<_> = module.exports.iter().map(|export| export.id()).collect();
    exports.into_iter().for_each(|export| module.exports.delete(export));
    walrus::passes::gc::run(&mut module);
    Ok(module.emit_wasm())
}

fn import_functions(module: &mut Module, kept: &HashSet<usize>) {
    let functions: Vec<FunctionId> = module.funcs.iter_local().map(|(id, _)| id).collect();
    for id in functions.into_iter().filter(|id| kept.contains(&number(*id))) {
        let ty = module.funcs.get(id).ty();
        let import = module.imports.add(FIRST, &name(id), ImportKind::Function(id));
        module.funcs.get_mut(id).kind = FunctionKind::Import(ImportedFunction { import, ty });
    }
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
