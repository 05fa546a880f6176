//! Python with boto3, in an environment of its own.

use std::path::PathBuf;
use std::process::Command;

use super::tool::{Missing, once, read, run};
use crate::{Setting, machine};

/// A Python that has boto3.
#[derive(Debug, Clone)]
pub struct Python {
    program: PathBuf,
    script: PathBuf,
}

impl Python {
    /// Prepares it.
    pub fn prepare(setting: &Setting) -> Result<Python, Missing> {
        let folder = setting.target.join("peers/python");
        let requirements = setting.peer("requirements.txt");
        let program = folder.join("bin/python");
        once(&folder, &read(&requirements)?, || {
            run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
            run(Command::new(&program).args(pip).arg(&requirements))
        })?;
        Ok(Python { program, script: setting.peer("boto3_retrofit.py") })
    }

    /// The command of the script, without the process's own environment for AWS.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(&self.script)
            .env("AWS_REGION", "us-east-1")
            .env("AWS_DEFAULT_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "local")
            .env("AWS_SECRET_ACCESS_KEY", "local")
            .env("AWS_EC2_METADATA_DISABLED", "true");
        command
    }

    /// Its version and that of boto3.
    pub fn versions(&self) -> String {
        let program = self.program.to_string_lossy();
        let boto3 =
            machine::first_line(&program, &["-c", "import boto3; print('boto3 ' + boto3.__version__)"]);
        format!("{boto3}, {}", machine::first_line(&program, &["--version"]))
    }
}
