//! The programs: how each is started, and what it says at its end.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::Where;
use crate::Setting;
use crate::peers::Python;
use crate::retrofit::Done;
use crate::retrofit::worker;

/// The tables of `bench/keyfold.toml`.
pub(super) const SOURCE: &str = "benchAuditLegacy";
pub(super) const TARGET: &str = "benchAudit";

/// A program.
#[derive(Debug, Clone)]
pub(super) enum Program {
    /// This one, in a role.
    Rust { program: PathBuf, role: worker::Role },
    /// The script.
    Boto3(Python),
}

impl Program {
    /// Those that are part of this one. The raw loop is first: the others are compared with it.
    pub(super) fn of_ours(setting: &Setting) -> Vec<Program> {
        let roles = [worker::Role::Raw, worker::Role::Ours, worker::Role::Seed];
        roles.map(|role| Program::Rust { program: setting.program.clone(), role }).into()
    }

    pub(super) fn is_ours(&self) -> bool {
        matches!(self, Program::Rust { role: worker::Role::Ours, .. })
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Program::Rust { role: worker::Role::Raw, .. } => "raw loop, same calls",
            Program::Rust { role: worker::Role::Ours, .. } => "Keyfold",
            Program::Rust { role: worker::Role::Seed, .. } => "scan, queue, 10 plain puts",
            Program::Boto3(_) => "boto3 script",
        }
    }

    /// The largest table that it is given: what would take longer than all the others together is left out.
    pub(super) fn items_max(&self, place: Where) -> u64 {
        match (self, place) {
            (Program::Boto3(_), Where::NewTable) => 100_000,
            (Program::Boto3(_), Where::InPlace) => 10_000,
            (Program::Rust { role: worker::Role::Seed, .. }, _) => 100_000,
            (Program::Rust { .. }, _) => u64::MAX,
        }
    }

    /// What it is made of, if that is not ours.
    pub(super) fn versions(&self) -> Option<String> {
        match self {
            Program::Boto3(python) => Some(format!("The script is run by {}.", python.versions())),
            Program::Rust { .. } => None,
        }
    }

    fn command(&self, endpoint: &str, place: Where, items: u64) -> Command {
        match self {
            Program::Rust { program, role } => {
                let mut command = Command::new(program);
                command.args(["worker", "--program", role.argument(), "--endpoint", endpoint]);
                command.args(["--items", &items.to_string()]);
                command.args((place == Where::InPlace).then_some("--in-place"));
                command
            }
            Program::Boto3(python) => {
                let mut command = python.command();
                command.args([endpoint, if place == Where::InPlace { TARGET } else { SOURCE }, TARGET]);
                command
            }
        }
    }

    /// Lets it carry a table over.
    pub(super) fn run(&self, endpoint: &str, place: Where, items: u64) -> anyhow::Result<Done> {
        let mut command = self.command(endpoint, place, items);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("`{}` does not start", self.name()))?;
        ensure!(output.status.success(), "`{}` failed: {}", self.name(), output.status);
        let done = Done::read(&String::from_utf8_lossy(&output.stdout));
        let done = done.with_context(|| format!("`{}` did not say what it took", self.name()))?;
        ensure!(done.items == items, "`{}` wrote {} items of {items}", self.name(), done.items);
        Ok(done)
    }
}

/// Is there a `dy`?
pub(super) fn dynein_is_there() -> bool {
    crate::peers::found("dy").is_some()
}
