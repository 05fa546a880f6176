//! Splits a module in two, because start-up time grows with its size: functions that ran in a sample of calls come
//! first, the rest is loaded when one of its functions is first called.
//!
//! - `keyfold-node-split mark MODULE MARKED` instruments a module to report the functions that run: it calls
//!   `split.mark` with their numbers.
//! - `keyfold-node-split split MODULE NUMBERS FOLDER` writes `keyfold.wasm` with the functions of these numbers,
//!   `rest.wasm` with the others, and `build.js` with a number that is unique to the build.
//!
//! Both parts are one program: the rest uses memory, stack and table of the first.

mod first;
mod functions;
mod rest;

use std::collections::HashSet;
use std::path::Path;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use walrus::{Module, ModuleConfig};

use functions::number;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["mark", module, marked] => {
            let mut module = parsed(&fs::read(module)?)?;
            mark(&mut module);
            Ok(fs::write(marked, module.emit_wasm())?)
        }
        ["split", module, numbers, folder] => {
            let numbers = fs::read_to_string(numbers)?;
            let numbers: Vec<usize> = numbers
                .split_whitespace()
                .map(str::parse)
                .collect::<Result<_, _>>()
                .context("the numbers")?;
            split(&fs::read(module)?, numbers, Path::new(folder))
        }
        _ => bail!("usage: keyfold-node-split mark MODULE MARKED, or split MODULE NUMBERS FOLDER"),
    }
}

fn parsed(module: &[u8]) -> Result<Module> {
    ModuleConfig::new().generate_name_section(false).generate_producers_section(false).parse(module)
}

fn mark(module: &mut Module) {
    let ty = module.types.add(&[walrus::ValType::I32], &[]);
    let (mark, _) = module.add_import_func("split", "mark", ty);
    for (id, function) in module.funcs.iter_local_mut() {
        let number = i32::try_from(number(id)).unwrap_or(i32::MAX);
        let mut body = function.builder_mut().func_body();
        body.instr_at(0, walrus::ir::Call { func: mark });
        body.instr_at(0, walrus::ir::Const { value: walrus::ir::Value::I32(number) });
    }
}

fn split(bytes: &[u8], numbers: Vec<usize>, folder: &Path) -> Result<()> {
    let kept: HashSet<usize> = numbers.into_iter().collect();
    let first = first::first(parsed(bytes)?, &kept)?;
    let rest = rest::rest(parsed(bytes)?, &kept)?;
    println!("{} bytes first, {} bytes with the rest", first.len(), rest.len());
    fs::write(folder.join("keyfold.wasm"), first)?;
    fs::write(folder.join("rest.wasm"), rest)?;
    // FNV-1a, 64 bits: it only has to distinguish builds.
    let number = |number: u64, byte: &u8| (number ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let build = bytes.iter().fold(0xcbf2_9ce4_8422_2325, number);
    fs::write(folder.join("build.js"), format!("export const BUILD = \"{build:016x}\";\n"))?;
    Ok(())
}
