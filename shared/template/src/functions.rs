//! A function, its log and its role.

use super::alarms::{self, Alarm, Severity};
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
    /// That of failed and throttled invocations.
    pub(super) severity: Severity,
}

/// The function with its alarms, which are returned.
pub(super) fn add(document: &mut Document, function: &Function<'_>) -> Vec<String> {
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
    let alarm = |name: &str, what: &str, severity| {
        let description = format!("Invocations of {}Function {what}", function.id);
        // Repeated work matters when it lasts.
        let periods = if severity == Severity::NextDay { 3 } else { 1 };
        let metric = alarms::of_function(name, "Sum", 300, periods, &function.id);
        Alarm::new((&function.id, name), severity, &description, metric, 1)
    };
    let errors = alarm("Errors", "fail", function.severity);
    // A reservation throttles where it works as it was set. The state machine repeats what is throttled.
    let reserved = function.properties.contains("ReservedConcurrentExecutions");
    let severity = if reserved { Severity::NextDay } else { function.severity };
    let throttles =
        (function.severity != Severity::Quiet).then(|| alarm("Throttles", "are throttled", severity));
    [errors].iter().chain(&throttles).map(|alarm| alarms::add(document, alarm)).collect()
}
