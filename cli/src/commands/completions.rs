//! `keyfold completions`: the script with which a shell completes commands and arguments.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Args;
use crate::output::Output;

pub(super) fn run(shell: Shell, out: &Output) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    generate(shell, &mut Args::command(), "keyfold", &mut script);
    out.text(String::from_utf8(script)?);
    Ok(ExitCode::SUCCESS)
}
