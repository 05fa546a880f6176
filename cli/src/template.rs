//! The CloudFormation template: what the manifest wants of it, and what a template is.
//!
//! [`build`] makes the tables' part from the model. [`keyfold_init::cloudformation`] reads a template and works its intrinsic
//! functions out, [`compare`] and [`refuse`] say what is wrong with it. Nothing here prints, and nothing here calls AWS.

mod build;
mod compare;
mod emit;
mod finding;
mod mappings;
mod refuse;

#[cfg(test)]
mod tests;

pub(crate) use build::{Stage, stages, tables};
pub(crate) use emit::{json, text};
pub(crate) use finding::Finding;
pub(crate) use keyfold_init::cloudformation::{Node, TemplateError};

use keyfold_core::model::Model;
use keyfold_init::cloudformation::{Template, read};

/// Everything that is wrong with a template, in the order of its lines.
pub(crate) fn check(model: &Model, control: &str, text: &str) -> Result<Vec<Finding>, TemplateError> {
    let template = Template::of(read(text)?);
    let mut findings = compare::compare(model, control, &template);
    findings.extend(refuse::refuse(&template));
    findings.extend(mappings::refuse(&template));
    findings.sort_by_key(|finding| finding.line);
    Ok(findings)
}
