//! `mutants`: rules of the planner, of retrofits and of write scopes, each broken once. The oracle or the tests of core must catch every one.
//!
//! `cargo run -p keyfold-mutants` copies core and testkit to `target/mutants`, puts the mutants of all `.toml` files next to this package's
//! into the copy, each behind a switch, builds it once, and runs the oracle and core's unit tests once for each mutant. Without a mutant both must pass.

mod judge;
mod patch;
mod workspace;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use clap::Parser;
use judge::{Caught, Judge};
use workspace::Copy;

const DAY_SECONDS: u64 = 86_400;

/// Breaks one rule of the planner at a time, and says what noticed.
#[derive(Debug, Parser)]
#[command(name = "mutants")]
struct Arguments {
    /// Only mutants whose name contains this; can be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only this number of mutants, others each day: for a short run.
    #[arg(long, value_name = "N")]
    few: Option<usize>,
    /// Print the mutants with what they break, and do nothing.
    #[arg(long)]
    list: bool,
    /// How many cases the oracle looks at for each mutant.
    #[arg(long, default_value_t = 20_000)]
    cases: u64,
    /// How many histories of switches are played for each mutant of a retrofit; without any, core's tests judge alone.
    #[arg(long, default_value_t = 0, value_name = "N")]
    histories: u64,
    /// Run a mutant that was caught through core's tests too.
    #[arg(long)]
    both: bool,
    /// A judge that takes longer than this is stopped; a mutant that does not end is caught.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    patience: u64,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's own output")]
fn main() -> ExitCode {
    match run(&Arguments::parse(), &mut |line| println!("{line}")) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// How many survive.
fn run(arguments: &Arguments, say: &mut dyn FnMut(&str)) -> anyhow::Result<usize> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let all = patch::read()?;
    let is_chosen = |name: &str| {
        arguments.only.is_empty() || arguments.only.iter().any(|part| name.contains(part.as_str()))
    };
    let mut chosen: Vec<_> = all.iter().filter(|mutant| is_chosen(&mutant.name)).collect();
    ensure!(!chosen.is_empty(), "no mutant has such a name");
    if let Some(few) = arguments.few {
        let days = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / DAY_SECONDS;
        let from = usize::try_from(days)? * few % chosen.len();
        chosen.rotate_left(from);
        chosen.truncate(few);
    }
    if arguments.list {
        chosen.iter().for_each(|mutant| say(&format!("{:<32} {}", mutant.name, mutant.breaks)));
        return Ok(0);
    }
    let copy = Copy::make(&workspace, patch::patched(&workspace, &all)?)?;
    let patience = Duration::from_secs(arguments.patience);
    let judge = Judge::build(&copy, arguments.cases, arguments.histories, patience)?;
    if let Some(caught) = judge.judge("", true, true)?.first() {
        anyhow::bail!("without a mutant: {caught}");
    }
    let mut survivors = 0;
    for mutant in &chosen {
        let is_of_retrofit = mutant.file.starts_with("shared/core/src/retrofit/");
        let caught = judge.judge(&mutant.name, is_of_retrofit, arguments.both)?;
        let words: Vec<String> = caught.iter().map(Caught::to_string).collect();
        survivors += usize::from(caught.is_empty());
        let what = if caught.is_empty() { format!("SURVIVES: {}", mutant.breaks) } else { words.join("; ") };
        say(&format!("{:<32} {what}", mutant.name));
    }
    say(&format!(
        "{} weakened planners: {} caught, {survivors} survive",
        chosen.len(),
        chosen.len() - survivors
    ));
    Ok(survivors)
}
