//! `console-fixture`: the console with sample data, for a browser.
//!
//! By default the sample's retrofit advances by itself. `check.mjs` starts it with `--by-hand` and controls each step.

mod fixture;
mod items;

use std::io::Write;
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
    /// Take a step of the retrofit for each line on standard input and answer `step` or `end`; end with the input.
    #[arg(long)]
    by_hand: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let fixture = Fixture::start().await?;
    say(&format!("audit {}\npets  {}", fixture.audit.url(), fixture.pets.url()))?;
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
