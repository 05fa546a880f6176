//! Functions from the start of their process to their first answer, measured by `bench/coldstart.py`.

use std::process::Command;

use crate::peers;
use crate::report::Report;
use crate::setting::{Setting, WORKSPACE};

const ABOUT: &str = "From the start of the process to its first request for an event, then to its first answer; `bare` is a function that \
does nothing. The processes have the template's settings. A script in Python plays Lambda's Runtime API and DynamoDB over HTTP: its own \
time is in the milliseconds of all rows, but not in their CPU. The query API's event is a question with 20 items. A function has a whole \
core here; Lambda gives it a share of a core that depends on its memory. docs/adr/0009 says what a start consists of.";

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new("6. Cold start and size", ABOUT);
    let mut script = Command::new("python3");
    script.arg("bench/coldstart.py").args(["--runs", setting.scale.of("3", "40")]);
    script.arg("--binaries").arg(setting.target().join("lambda")).current_dir(WORKSPACE);
    match peers::run(&mut script) {
        Ok(table) => report.add(table.trim()),
        Err(error) => report.absent("the functions", &error),
    }
    Ok(report)
}
