//! `keyfold query`: runs a request and prints the answer.

use std::path::Path;
use std::process::ExitCode;

use super::answer::answer;
use super::request;
use crate::args::QueryArgs;
use crate::manifest_file::model;
use crate::output::Output;

pub(super) fn run(path: &Path, args: &QueryArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let mut request = request::read(&model, &args.request)?;
    request.page = args.answer.page.clone().or(request.page);
    answer((path, &model), &request, &args.answer, out)
}
