//! `console`: looks at the console in a headless Chromium, and fails if anything is not as it should be.

use std::io::Write;
use std::path::PathBuf;

use clap::Parser;
use keyfold_tests::console::browser::Browser;
use keyfold_tests::console::checks;
use keyfold_tests::console::fixture::Fixture;
use keyfold_tests::console::page::Page;

/// Looks at the console in a headless Chromium.
#[derive(Debug, Parser)]
#[command(name = "console")]
struct Arguments {
    /// The browser's program.
    #[arg(long, default_value = "chromium")]
    browser: String,
    /// Where the pictures go.
    #[arg(long, value_name = "DIR", default_value = "target/console")]
    pictures: PathBuf,
    /// Read the page's files from this folder instead of the binary.
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let fixture = Fixture::start(arguments.files, 0).await?;
    let mut page = Page::new(Browser::start(&arguments.browser).await?, &arguments.pictures)?;
    let mut out = std::io::stdout();
    let mut held = 0;
    let mut told = |name: &str| {
        held += 1;
        // Nobody is left to tell if standard output is gone.
        let _ = writeln!(out, "ok: {name}");
    };
    checks::all(&mut page, &fixture, &mut told).await?;
    writeln!(out, "{held} checks of the console hold; pictures are in {}", arguments.pictures.display())?;
    Ok(())
}
