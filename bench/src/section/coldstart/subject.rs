//! A function that is started: its program, its environment, its size.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use super::binaries::FUNCTIONS;
use crate::Setting;
use crate::peers::Node;
use crate::start::as_in_aws;

/// What the Node function is called.
const NODE: &str = "Node with ElectroDB";

/// A function.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) name: String,
    /// Is it one of Keyfold's?
    pub(super) is_keyfold: bool,
    /// Does it answer the question?
    pub(super) asks: bool,
    /// What is deployed of it.
    pub(super) bytes: u64,
    program: PathBuf,
    arguments: Vec<PathBuf>,
}

impl Subject {
    /// The one that does nothing, then ours.
    pub(super) fn ours(binaries: &BTreeMap<&str, PathBuf>) -> Vec<Subject> {
        let known = FUNCTIONS.iter().filter_map(|(name, _)| Some((*name, binaries.get(name)?)));
        let subject = |(name, program): (&str, &PathBuf)| Subject {
            name: if name == "bare" { "bare: does nothing".to_owned() } else { name.to_owned() },
            is_keyfold: name != "bare",
            asks: name == "query-api",
            bytes: std::fs::metadata(program).map_or(0, |metadata| metadata.len()),
            program: program.clone(),
            arguments: Vec::new(),
        };
        known.map(subject).collect()
    }

    /// The Node function: as npm brings it, and bundled.
    pub(super) fn node(node: &Node) -> [Subject; 2] {
        [false, true].map(|bundled| {
            let (main, bytes) = node.main(bundled);
            Subject {
                name: format!("{NODE}{}", if bundled { ", bundled" } else { "" }),
                is_keyfold: false,
                asks: true,
                bytes,
                program: node.program().to_owned(),
                arguments: vec![main],
            }
        })
    }

    /// The command with the environment that Lambda gives a function, and no endpoint: the client for AWS is made.
    pub(super) fn as_in_aws(&self, setting: &Setting, runtime: &str) -> Command {
        let mut command = as_in_aws(&self.program, &setting.workspace.join("keyfold.toml"), runtime);
        command.args(&self.arguments);
        command
    }

    /// The same with a DynamoDB on this machine.
    pub(super) fn here(&self, setting: &Setting, runtime: &str, endpoint: &str) -> Command {
        let mut command = self.as_in_aws(setting, runtime);
        command.env("KEYFOLD_ENDPOINT", endpoint);
        command
    }
}
