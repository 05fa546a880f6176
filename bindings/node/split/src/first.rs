//! The first part: functions of the rest are called through their slots in the table, which loads the rest if
//! necessary.

use std::collections::HashSet;

use anyhow::Result;
use walrus::ir::{UnaryOp, Value};
use walrus::{ConstExpr, FunctionBuilder, FunctionId, Module, ValType};

use crate::functions::{main_table, parts};

pub(crate) fn first(mut module: Module, kept: &HashSet<usize>) -> Result<Vec<u8>> {
    let [first, rest] = parts(&mut module, kept)?;
    let load = load(&mut module);
    first.fill(&mut module);
    rest.replace(&mut module, Some(load));
    export(&mut module)?;
    walrus::passes::gc::run(&mut module);
    Ok(module.emit_wasm())
}

/// The function that loads the rest, once.
fn load(module: &mut Module) -> FunctionId {
    let ty = module.types.add(&[], &[]);
    let (more, _) = module.add_import_func("split", "more", ty);
    let loaded = module.globals.add_local(ValType::I32, true, false, ConstExpr::Value(Value::I32(0)));
    let mut load = FunctionBuilder::new(&mut module.types, &[], &[]);
    load.func_body().global_get(loaded).unop(UnaryOp::I32Eqz).if_else(
        None,
        |then| {
            then.call(more).i32_const(1).global_set(loaded);
        },
        |_| {},
    );
    load.finish(Vec::new(), &mut module.funcs)
}

/// Exports the parts that the rest needs.
fn export(module: &mut Module) -> Result<()> {
    let table = main_table(module)?;
    module.exports.add("table", table);
    let globals: Vec<_> = module.globals.iter().map(|global| global.id()).collect();
    for id in globals {
        module.exports.add(&format!("g{}", id.index()), id);
    }
    Ok(())
}
