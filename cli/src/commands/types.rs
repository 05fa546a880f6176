//! `keyfold types`: the items, keys and questions of a manifest as types of a language.
//!
//! A misspelt attribute, a missing required one or a value that is not listed becomes a mistake that the compiler or type checker
//! finds.

mod pydantic;
mod python;
mod rust;
mod shape;
mod typescript;
mod zod;

use std::process::ExitCode;

use crate::globals::Globals;
use crate::manifest_file::model;
use crate::output::Output;

/// A language that `keyfold types` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// Interfaces, for the npm package.
    Typescript,
    /// Interfaces and schemas of zod.
    Zod,
    /// Typed dictionaries.
    Python,
    /// Models of pydantic.
    Pydantic,
    /// Structs for serde.
    Rust,
}

pub(super) fn run(globals: &Globals, language: Language, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let tables = shape::tables(&model);
    out.text(match language {
        Language::Typescript => typescript::write(&tables),
        Language::Zod => zod::write(&tables),
        Language::Pydantic => pydantic::write(&tables),
        Language::Python => python::write(&tables),
        Language::Rust => rust::write(&tables),
    });
    Ok(ExitCode::SUCCESS)
}
