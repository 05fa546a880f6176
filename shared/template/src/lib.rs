//! The CloudFormation template of a manifest: the whole deployment.
//!
//! [`generate`] lays parts together, section by section: `parts/*.yaml` are small templates with gaps, and read like the result.
//! `tables`, `retrofits` and `services` say which parts, and what fills the gaps; `rights` is the table of who may do what.
//! [`compare()`] checks a template that was changed by hand, [`expand()`] makes plain CloudFormation of it. Nothing here prints, and nothing
//! calls AWS.

mod alarms;
pub mod cloudformation;
mod compare;
mod document;
mod expand;
mod functions;
mod limits;
mod names;
mod retrofits;
mod rights;
mod services;
mod settings;
mod stages;
mod tables;

use keyfold_core::model::{Index, Model, Table};

pub use cloudformation::{Node, TEMPLATE_BYTES_MAX, TemplateError, read};
pub use compare::{Finding, compare};
pub use expand::{Architecture, CodeKeys, code_of, expand};
pub use names::GenerateError;
pub use settings::{as_json, settings};
pub use stages::{Stage, stages};

use document::{Document, scalar};
use names::Names;

const HEADER: &str = "\
# Everything that Keyfold needs in AWS for one manifest. Made by `keyfold template` from keyfold.toml: change the manifest and make it
# again. If you must change it by hand, `keyfold template --check` says what each difference breaks.
#
#   keyfold template --out template.yaml && sam build && sam deploy --guided
#
# docs/deploy.md has the other ways to deploy, docs/operations.md leads from the deployment to the switch, docs/runbooks.md explains each alarm.
AWSTemplateFormatVersion: \"2010-09-09\"
Transform: AWS::Serverless-2016-10-31
Description: \"Keyfold: tables with folded keys, the functions that write and query them, and the retrofit of live tables\"
";

/// The folder next to a template with the manifest's layer and the definition of the state machines.
pub const PACKED: &str = ".keyfold";
/// The definition of the state machines, in [`PACKED`].
pub const MACHINE_FILE: &str = "retrofit.asl.json";
/// The definition of the state machines.
pub const MACHINE: &str = include_str!("../retrofit.asl.json");
/// How much of the digest is in the name of the layer's folder.
const LAYER_DIGITS: usize = 12;

/// A manifest, as a template binds it.
#[derive(Debug, Clone)]
pub struct Manifest<'m> {
    /// Its model.
    pub model: &'m Model,
    /// The SHA-256 of its text, in hexadecimal. Functions refuse to start with another manifest.
    pub digest: String,
}

impl Manifest<'_> {
    /// The folder of its layer, in [`PACKED`]: two templates of two manifests can stand side by side.
    pub fn layer(&self) -> String {
        format!("manifest-{}", &self.digest[..LAYER_DIGITS])
    }
}

/// The template of a manifest. `wanted` leaves indexes out, for a deployment that brings them one after the other.
pub fn generate(
    manifest: &Manifest<'_>,
    wanted: &dyn Fn(&Table, &Index) -> bool,
) -> Result<String, GenerateError> {
    let names = Names::of(manifest.model)?;
    let mut document = Document::default();
    document.part(
        include_str!("parts/base.yaml"),
        &[
            ("names", &names.assignments()),
            ("digest", &scalar(&manifest.digest)),
            ("layer", &manifest.layer()),
        ],
    );
    document.heading("Tables.");
    tables::add(&mut document, &names, wanted);
    retrofits::add(&mut document, &names)?;
    services::add(&mut document, &names);
    let text = document.text(HEADER);
    limits::check(&text)?;
    Ok(text)
}
