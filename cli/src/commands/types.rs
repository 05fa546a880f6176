//! `keyfold types`: the items, keys and questions of a manifest as types of a language.
//!
//! A misspelt attribute, a missing required one or a value that is not listed becomes a mistake that the compiler or type checker
//! finds. The types say what the manifest says and no more.

mod python;
mod rust;
mod shape;
mod typescript;

use std::path::Path;
use std::process::ExitCode;

use crate::args::{Language, TypesArgs};
use crate::manifest_file::model;
use crate::output::Output;

pub(super) fn run(path: &Path, args: &TypesArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let tables = shape::tables(&model);
    out.text(match args.lang {
        Language::Typescript => typescript::write(&tables),
        Language::Python => python::write(&tables),
        Language::Rust => rust::write(&tables),
    });
    Ok(ExitCode::SUCCESS)
}
