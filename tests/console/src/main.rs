//! `console-fixture`: the query API's console with sample data, to look at with a browser.
//!
//! A person starts it and looks; the sample's retrofit then moves on by itself. `check.mjs` starts it with `--by-hand` and takes
//! each step of the retrofit itself.

mod fixture;
mod items;
mod serve;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use fixture::Fixture;
use tokio::io::{AsyncBufReadExt, BufReader};

/// How long the retrofit of the sample rests between two steps.
const STEP_PAUSE: Duration = Duration::from_secs(1);

/// Serves the console with sample data on an embedded DynamoDB.
#[derive(Debug, Parser)]
#[command(name = "console-fixture")]
struct Arguments {
    /// The first of three ports; 0 for any that are free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Read the page's files from this folder instead of the binary.
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Take a step of the retrofit for each line on standard input and answer `step` or `end`; end with the input.
    #[arg(long)]
    by_hand: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let fixture = Fixture::start(arguments.files, arguments.port).await?;
    say(&format!("audit  {}\npets   {}\norders {}", fixture.audit, fixture.pets, fixture.orders))?;
    if arguments.by_hand {
        return by_hand(&fixture).await;
    }
    while fixture.step().await? {
        tokio::time::sleep(STEP_PAUSE).await;
    }
    std::future::pending().await
}

async fn by_hand(fixture: &Fixture) -> anyhow::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while lines.next_line().await?.is_some() {
        say(if fixture.step().await? { "step" } else { "end" })?;
    }
    Ok(())
}

fn say(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{text}")?;
    out.flush()
}
