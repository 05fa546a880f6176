//! The CloudFormation template of a manifest: the whole deployment.
//!
//! [`generate`] lays parts together, section by section: `parts/*.yaml` are small templates with gaps, and read like the result.
//! `tables`, `retrofits` and `services` say which parts, and what fills the gaps; `rights` is the table of who may do what.
//! [`compare`] holds a template that somebody changed against what would be generated. Nothing here prints, and nothing
//! calls AWS.

mod alarms;
pub mod cloudformation;
mod compare;
mod document;
mod functions;
mod names;
mod retrofits;
mod rights;
mod services;
mod settings;
mod stages;
mod tables;

use keyfold_core::model::{Index, Model, Table};

pub use cloudformation::{Node, TemplateError, read};
pub use compare::{Finding, compare};
pub use names::GenerateError;
pub use settings::{as_json, settings};
pub use stages::{Stage, stages};

use document::Document;
use names::Names;

const HEADER: &str = "\
# Everything that Keyfold needs in AWS for one manifest. Made by `keyfold template` from keyfold.toml: change the manifest and make it
# again. If you must change it by hand, `keyfold template --check` tells what each difference breaks.
#
#   keyfold template > template.yaml && sam build && sam deploy --guided
#
# docs/operations.md leads from the deployment to the cut-over, and explains each alarm.
AWSTemplateFormatVersion: \"2010-09-09\"
Transform: AWS::Serverless-2016-10-31
Description: \"Keyfold: tables with folded keys, the functions that write and query them, and the retrofit of live tables\"
";

/// The template of a model. `wanted` leaves indexes out, for a deployment that brings them one after the other.
pub fn generate(model: &Model, wanted: &dyn Fn(&Table, &Index) -> bool) -> Result<String, GenerateError> {
    let names = Names::of(model)?;
    let mut document = Document::default();
    document.part(include_str!("parts/base.yaml"), &[("names", &names.assignments())]);
    document.heading("Tables.");
    tables::add(&mut document, &names, wanted);
    retrofits::add(&mut document, &names)?;
    services::add(&mut document, &names);
    Ok(document.text(HEADER))
}
