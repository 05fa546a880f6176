//! `console-fixture`: serves the console with sample data until it is stopped, to look at it with a browser.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use keyfold_tests::console::fixture::Fixture;

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
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let fixture = Fixture::start(arguments.files, arguments.port).await?;
    let mut out = std::io::stdout();
    writeln!(out, "audit  {}/\npets   {}/\norders {}/", fixture.audit, fixture.pets, fixture.orders)?;
    while fixture.step().await? {
        tokio::time::sleep(STEP_PAUSE).await;
    }
    std::future::pending().await
}
