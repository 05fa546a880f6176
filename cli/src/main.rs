//! The `keyfold` command: reads the arguments, runs one command, and turns its outcome into an exit code.
//!
//! Exit codes: 0 done; 1 the answer is no (mistakes in the manifest, a refused request, a failed call); 2 wrong usage; 130 ctrl-C.

mod args;
mod commands;
mod items;
mod manifest_file;
mod output;
mod refusal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let out = output::Output::new(args.json);
    match commands::run(&args, &out) {
        Ok(code) => code,
        Err(error) => {
            out.error(&error);
            ExitCode::from(1)
        }
    }
}
