//! `cases`: asks published models their access patterns and compares the answers.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use keyfold_models::run::RunError;
use keyfold_models::{Options, run};

/// Loads each NAME.json by NAME.toml, asks its access patterns by their meaning, and compares with the expected answers.
///
/// Units are read units: consumed here / consumed by the published request.
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
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Succeed if the folder with the cases is not there.
    #[arg(long)]
    if_present: bool,
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
        Err(error) => return not_run(&error, arguments.if_present),
    };
    let totals = report.totals();
    let text = if arguments.json {
        format!("{:#}\n", serde_json::json!({ "cases": report.cases, "totals": totals }))
    } else {
        report.to_string()
    };
    let written = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(u8::from(written.is_err() || !totals.is_success(arguments.require_right)))
}

fn not_run(error: &RunError, if_present: bool) -> ExitCode {
    let is_skipped = if_present && matches!(error, RunError::NoData { .. });
    let kind = if is_skipped { "SKIPPED" } else { "error" };
    let text = format!("{kind}: {}\n", keyfold_models::subject::chain(error));
    let _ = std::io::stderr().write_all(text.as_bytes());
    if is_skipped {
        let _ = std::io::stderr().write_all(b"NO CASE WAS ASKED\n");
    }
    ExitCode::from(u8::from(!is_skipped))
}
