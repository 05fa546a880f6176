//! A function, its log and its role.

use super::alarms::{self, Alarm};
use super::document::Document;
use super::rights::Right;

const FUNCTION: &str = include_str!("parts/function.yaml");

/// A function of the stack.
pub(super) struct Function<'f> {
    /// `AuditWriter`
    pub(super) id: String,
    /// The binary, and the folder that it is made from.
    pub(super) binary: &'f str,
    /// The end of its log group's name.
    pub(super) log: String,
    pub(super) description: &'f str,
    /// Memory, time-out and what else is the function's own.
    pub(super) properties: &'f str,
    pub(super) environment: &'f str,
    pub(super) rights: Vec<Right>,
}

/// The function with its alarm, which is returned.
pub(super) fn add(document: &mut Document, function: &Function<'_>) -> String {
    let rights: String = function.rights.iter().map(Right::text).collect();
    document.part(
        FUNCTION,
        &[
            ("Id", &function.id),
            ("binary", function.binary),
            ("log", &function.log),
            ("description", function.description),
            ("properties", function.properties),
            ("environment", function.environment),
            ("rights", &rights),
        ],
    );
    alarms::add(
        document,
        &Alarm {
            id: format!("{}Errors", function.id),
            description: format!("Invocations of {}Function fail", function.id),
            metric: alarms::of_function("Errors", "Sum", 300, 1, &function.id),
            threshold: 1,
            silent: false,
        },
    )
}
