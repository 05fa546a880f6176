//! Who judges a mutant: the oracle of the planner, the unit tests of core, and for a retrofit the simulator.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::patch::VARIABLE;
use crate::workspace::Copy;

/// The pause between two checks of a running judge.
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// How many cases the property tests of core draw: enough to see a broken rule, and quick.
const PROPERTY_CASES: &str = "256";

/// The programs that judge.
pub(crate) struct Judge {
    oracle: PathBuf,
    tests: PathBuf,
    /// The simulator; `None` if no histories are asked for.
    simulator: Option<PathBuf>,
    histories: u64,
    folder: PathBuf,
    cases: u64,
    patience: Duration,
}

/// The judge that caught a mutant, and its reason.
pub(crate) struct Caught {
    by: &'static str,
    what: String,
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "caught by {}: {}", self.by, self.what)
    }
}

impl Judge {
    /// Builds the copy.
    pub(crate) fn build(
        copy: &Copy,
        cases: u64,
        histories: u64,
        patience: Duration,
    ) -> anyhow::Result<Judge> {
        let core = ["-p", "keyfold-core", "--lib", "-p", "keyfold-testkit", "--test", "oracle"];
        let tests = built(copy, &[&["test", "--no-run"][..], &core[..]].concat())?;
        // A hundred times as fast with optimisation.
        let build = ["build", "--release", "-p", "keyfold-testkit", "--bin", "simulate"];
        let simulator = match histories {
            0 => None,
            _ => Some(program(&built(copy, &build)?, "simulate", false)?),
        };
        Ok(Judge {
            oracle: program(&tests, "oracle", true)?,
            tests: program(&tests, "keyfold_core", true)?,
            simulator,
            histories,
            folder: copy.folder.clone(),
            cases,
            patience,
        })
    }

    /// The judges that catch this mutant. `both`: all of them run even if one caught it.
    pub(crate) fn judge(
        &self,
        mutant: &str,
        is_of_retrofit: bool,
        both: bool,
    ) -> anyhow::Result<Vec<Caught>> {
        let mut caught = Vec::new();
        if let Some(simulator) = self.simulator.as_ref().filter(|_| is_of_retrofit) {
            let found = self.run(simulator, mutant, "simulate")?;
            caught.extend(found.map(|what| Caught { by: "a history", what }));
        }
        if caught.is_empty() || both {
            let found = self.run(&self.oracle, mutant, "oracle")?;
            caught.extend(found.map(|what| Caught { by: "the oracle", what }));
        }
        if caught.is_empty() || both {
            let found = self.run(&self.tests, mutant, "tests")?;
            caught.extend(found.map(|what| Caught { by: "a test", what }));
        }
        Ok(caught)
    }

    /// The failure; `None` without one.
    fn run(&self, program: &Path, mutant: &str, name: &str) -> anyhow::Result<Option<String>> {
        let log = self.folder.join(format!("../{name}.log"));
        let histories = self.histories.to_string();
        let arguments: &[&str] = if name == "simulate" { &["--histories", &histories] } else { &[] };
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.folder.join("shared/core"))
            .env(VARIABLE, mutant)
            .env("KEYFOLD_CASES", self.cases.to_string())
            .env("PROPTEST_CASES", PROPERTY_CASES)
            .env("PROPTEST_FAILURE_PERSISTENCE", "off")
            .env("INSTA_UPDATE", "no")
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(File::create(log.with_extension("err"))?)
            .spawn()
            .with_context(|| format!("`{}` does not start", program.display()))?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if started.elapsed() > self.patience {
                child.kill()?;
                child.wait()?;
                return Ok(Some(format!("no end after {} s", self.patience.as_secs())));
            }
            std::thread::sleep(LOOK_PAUSE);
        };
        if status.success() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&log)? + &std::fs::read_to_string(log.with_extension("err"))?;
        Ok(Some(reason(&text)))
    }
}

/// Cargo's messages about a build.
fn built(copy: &Copy, arguments: &[&str]) -> anyhow::Result<String> {
    let cargo = std::env::var("CARGO_COMMAND").unwrap_or_else(|_| "cargo".to_owned());
    let built = Command::new(cargo)
        .args(arguments)
        .args(["--message-format", "json-render-diagnostics", "--quiet"])
        .current_dir(&copy.folder)
        .env("CARGO_TARGET_DIR", copy.folder.join("../target"))
        .env("RUSTFLAGS", "--cap-lints allow")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo does not start")?;
    if !built.status.success() {
        bail!("the mutants do not compile");
    }
    Ok(String::from_utf8_lossy(&built.stdout).into_owned())
}

/// The executable with this name, a test or another program.
fn program(built: &str, name: &str, is_test: bool) -> anyhow::Result<PathBuf> {
    let of = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name && message["profile"]["test"] == is_test;
        is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
    };
    built.lines().find_map(of).with_context(|| format!("cargo built no program `{name}`"))
}

/// The most informative line.
fn reason(log: &str) -> String {
    let failed = log
        .lines()
        .filter(|line| line.ends_with("... FAILED"))
        .map(|line| line.trim_end_matches(" ... FAILED"));
    let wrong = log.lines().find(|line| line.starts_with("wrong: ") || line.contains("seed ")).map(str::trim);
    let first = failed.map(|line| line.trim_start_matches("test ")).next();
    wrong.or(first).unwrap_or("it ended with an error").chars().take(160).collect()
}
