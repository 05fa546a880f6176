//! `keyfold explain`: shows the plan of a request without running it.

use std::path::Path;
use std::process::ExitCode;

use keyfold_core::query::Readiness;

use super::request;
use crate::args::RequestArgs;
use crate::manifest_file::model;
use crate::output::Output;

pub(super) fn run(path: &Path, args: &RequestArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let request = request::read(&model, args)?;
    let checked = request::checked(&model, &request)?;
    let explained =
        keyfold_core::query::explain::explain(&request::planned(&checked, &Readiness::complete())?);
    if out.json {
        out.value(&explained)?;
    } else {
        out.text(explained);
    }
    Ok(ExitCode::SUCCESS)
}
