//! The first part: functions of the rest are called through their slots in the table, which loads the rest if
//! necessary.

use std::collections::HashSet;

use anyhow::{Context, Result};
use walrus::ir::{UnaryOp, Value};
use walrus::{ConstExpr, FunctionBuilder, FunctionId, FunctionKind, Module, TableId, TypeId, ValType};

use crate::functions::{make_room, name, number, of_rest};

pub(crate) fn first(mut module: Module, kept: &HashSet<usize>) -> Result<Vec<u8>> {
    let rest = of_rest(&module, kept);
    let slot = make_room(&mut module, rest.len())?;
    let table = module.tables.main_function_table()?.context("the module has no table")?;
    let load = load(&mut module);
    for (id, slot) in rest.into_iter().zip(slot..) {
        let ty = module.funcs.get(id).ty();
        let stand_in = stand_in(&mut module, load, table, ty, i32::try_from(slot)?);
        module.funcs.get_mut(id).kind = FunctionKind::Local(stand_in);
    }
    export(&mut module, kept, table);
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

fn stand_in(
    module: &mut Module,
    load: FunctionId,
    table: TableId,
    ty: TypeId,
    slot: i32,
) -> walrus::LocalFunction {
    let (parameters, results) = module.types.params_results(ty);
    let (parameters, results) = (parameters.to_vec(), results.to_vec());
    let mut builder = FunctionBuilder::new(&mut module.types, &parameters, &results);
    let arguments: Vec<_> = parameters.iter().map(|ty| module.locals.add(*ty)).collect();
    let mut body = builder.func_body();
    body.call(load);
    for argument in &arguments {
        body.local_get(*argument);
    }
    body.i32_const(slot).call_indirect(ty, table);
    builder.local_func(arguments)
}

/// Exports the parts that the rest needs.
fn export(module: &mut Module, kept: &HashSet<usize>, table: TableId) {
    let functions: Vec<FunctionId> = module.funcs.iter_local().map(|(id, _)| id).collect();
    for id in functions.into_iter().filter(|id| kept.contains(&number(*id))) {
        module.exports.add(&name(id), id);
    }
    module.exports.add("table", table);
    let globals: Vec<_> = module.globals.iter().map(|global| global.id()).collect();
    for id in globals {
        module.exports.add(&format!("g{}", id.index()), id);
    }
}
