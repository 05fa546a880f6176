//! `keyfold-node-bindgen MODULE.wasm FOLDER`: writes the JavaScript that loads the module.

use std::env;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: keyfold-node-bindgen MODULE.wasm FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.remove_name_section(true).remove_producers_section(true);
    let done = bindgen.web(true).and_then(|bindgen| {
        bindgen.input_path(module).out_name("keyfold").typescript(false).generate(folder)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}
