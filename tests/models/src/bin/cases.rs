//! `cases`: asks published models their access patterns and compares the answers.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use keyfold_models::{Options, run};

/// Loads each NAME.json by NAME.toml, asks its access patterns by their meaning, and compares with the expected answers.
///
/// The number after each plan is the read units that the answer consumed.
#[derive(Debug, Parser)]
#[command(name = "cases")]
struct Arguments {
    /// The folder with the cases.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The folder with their manifests.
    #[arg(long, value_name = "DIR")]
    manifests: PathBuf,
    /// Fail if fewer than P percent are right.
    #[arg(long, value_name = "P")]
    require_right: Option<f64>,
    /// Only this case; can be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Let scans answer what nothing else does, even where the published model does not scan.
    #[arg(long)]
    allow_scan: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = Options {
        data: arguments.data.clone(),
        manifests: arguments.manifests.clone(),
        only: arguments.only.clone(),
        allow_scan: arguments.allow_scan,
    };
    let report = match run(&options).await {
        Ok(report) => report,
        Err(error) => {
            eprintln!("error: {}", keyfold_models::subject::chain(&error));
            return ExitCode::FAILURE;
        }
    };
    print!("{report}");
    ExitCode::from(u8::from(!report.totals().is_success(arguments.require_right)))
}
