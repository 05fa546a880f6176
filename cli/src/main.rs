//! The `keyfold` command: reads the arguments, runs one command, and turns its outcome into an exit code.
//!
//! Exit codes: 0 done; 1 the answer is no (mistakes in the manifest, a refused request, a failed call); 2 wrong usage; 130 ctrl-C.

mod answer;
mod commands;
mod globals;
mod items;
mod line;
mod made_manifest;
mod manifest_file;
mod output;
mod refusal;
mod request;
mod support;
mod zip;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = commands::Args::parse();
    let out = output::Output::new(args.globals.json);
    match commands::run(&args, &out) {
        Ok(code) => code,
        Err(error) => {
            out.error(&error);
            ExitCode::from(1)
        }
    }
}
