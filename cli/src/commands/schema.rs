//! `keyfold schema`

use std::process::ExitCode;

use crate::output::Output;

pub(super) fn run(out: &Output) -> anyhow::Result<ExitCode> {
    out.text(keyfold_core::manifest::schema());
    Ok(ExitCode::SUCCESS)
}
