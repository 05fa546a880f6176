//! The functions of the two parts, and their slots in the table.
//!
//! Each part calls the other's functions through the table. None is exported for that: an instance makes an object of
//! JavaScript for each export, which took a third of the time to load.

use std::collections::HashSet;

use anyhow::{Context, Result};
use walrus::ir::Value;
use walrus::{
    ConstExpr, ElementItems, ElementKind, FunctionBuilder, FunctionId, FunctionKind, Module, TableId,
};

/// The same module has the same numbers, however often it is read.
pub(crate) fn number(function: FunctionId) -> usize {
    function.index()
}

/// The functions of a part, in the order of their slots in the table.
pub(crate) struct Part {
    table: TableId,
    slot: i32,
    functions: Vec<FunctionId>,
}

/// The first part and the rest. Extends the table by a slot for each function.
pub(crate) fn parts(module: &mut Module, kept: &HashSet<usize>) -> Result<[Part; 2]> {
    let ids = module.funcs.iter_local().map(|(id, _)| id);
    let (first, rest): (Vec<_>, Vec<_>) = ids.partition(|id| kept.contains(&number(*id)));
    let table = main_table(module)?;
    let room = module.tables.get_mut(table);
    let mut part = |functions: Vec<FunctionId>| -> Result<Part> {
        let slot = i32::try_from(room.initial)?;
        room.initial += functions.len() as u64;
        room.maximum = Some(room.initial);
        Ok(Part { table, slot, functions })
    };
    Ok([part(first)?, part(rest)?])
}

pub(crate) fn main_table(module: &Module) -> Result<TableId> {
    module.tables.main_function_table()?.context("the module has no table")
}

impl Part {
    /// Puts the functions into their slots.
    pub(crate) fn fill(self, module: &mut Module) {
        let offset = ConstExpr::Value(Value::I32(self.slot));
        let kind = ElementKind::Active { table: self.table, offset };
        let segment = module.elements.add(kind, ElementItems::Functions(self.functions));
        module.tables.get_mut(self.table).elem_segments.insert(segment);
    }

    /// Replaces each function by one that calls `load`, if there is one, and then the function in the slot.
    pub(crate) fn replace(self, module: &mut Module, load: Option<FunctionId>) {
        for (id, slot) in self.functions.into_iter().zip(self.slot..) {
            let ty = module.funcs.get(id).ty();
            let (parameters, results) = module.types.params_results(ty);
            let (parameters, results) = (parameters.to_vec(), results.to_vec());
            let mut builder = FunctionBuilder::new(&mut module.types, &parameters, &results);
            let arguments: Vec<_> = parameters.iter().map(|ty| module.locals.add(*ty)).collect();
            let mut body = builder.func_body();
            if let Some(load) = load {
                body.call(load);
            }
            for argument in &arguments {
                body.local_get(*argument);
            }
            body.i32_const(slot).call_indirect(ty, self.table);
            module.funcs.get_mut(id).kind = FunctionKind::Local(builder.local_func(arguments));
        }
    }
}
