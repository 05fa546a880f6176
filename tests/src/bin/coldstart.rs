//! `coldstart`: how long each function needs from the start of its process to its first request for an event, beside a
//! function that does nothing.
//!
//! It starts what `cargo lambda build` has put into a folder, each in turn, as Lambda does: with the variables of the
//! template and no endpoint, so that the client for AWS is made. Nothing is sent to AWS.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use keyfold_tests::start::{Start, start};

/// Measures the start of functions.
#[derive(Debug, Parser)]
#[command(name = "coldstart")]
struct Arguments {
    /// The folder with NAME/bootstrap for each function.
    #[arg(long, value_name = "DIR", default_value = "target/lambda")]
    binaries: PathBuf,
    /// How often each is started.
    #[arg(long, default_value_t = 40, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1000))]
    runs: u32,
    /// The manifest.
    #[arg(long, value_name = "FILE", default_value = "keyfold.toml")]
    manifest: PathBuf,
    /// A file of certificates for `SSL_CERT_FILE`.
    #[arg(long, value_name = "FILE")]
    certificates: Option<PathBuf>,
    /// Fail if a function needs more than so many times what the bare one needs.
    #[arg(long, value_name = "TIMES")]
    require: Option<f64>,
}

/// The function that does nothing.
const BARE: &str = "bare";

/// One function and its starts.
struct Function {
    name: String,
    binary: PathBuf,
    wall: Vec<Duration>,
    cpu: Vec<Duration>,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's own output")]
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match measured(&arguments) {
        Ok(functions) => {
            println!("{}", table(&functions));
            ExitCode::from(u8::from(arguments.require.is_some_and(|most| slower(&functions, most))))
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measured(arguments: &Arguments) -> anyhow::Result<Vec<Function>> {
    let mut functions = functions(&arguments.binaries)?;
    // In turns, so that whatever else the machine does falls on all alike. The first start of each reads its file.
    for run in 0..=arguments.runs {
        for function in &mut functions {
            let Start { wall, cpu } = start(|runtime| command(&function.binary, runtime, arguments))
                .with_context(|| format!("function `{}`", function.name))?;
            if run > 0 {
                function.wall.push(wall);
                function.cpu.push(cpu);
            }
        }
    }
    functions.iter_mut().for_each(|function| {
        function.wall.sort();
        function.cpu.sort();
    });
    Ok(functions)
}

fn functions(folder: &Path) -> anyhow::Result<Vec<Function>> {
    let entries = std::fs::read_dir(folder).with_context(|| {
        format!("cannot read `{}`: build with `cargo lambda build --release` first", folder.display())
    })?;
    let mut functions = Vec::new();
    for entry in entries {
        let entry = entry?;
        let (name, binary) =
            (entry.file_name().to_string_lossy().into_owned(), entry.path().join("bootstrap"));
        if binary.is_file() {
            functions.push(Function { name, binary, wall: Vec::new(), cpu: Vec::new() });
        }
    }
    functions.sort_by_key(|function| (function.name != BARE, function.name.clone()));
    match functions.first() {
        Some(first) if first.name == BARE => Ok(functions),
        _ => bail!("there is no `{BARE}`: `cargo lambda build --release -p keyfold-bare`"),
    }
}

fn command(binary: &Path, runtime: &str, arguments: &Arguments) -> anyhow::Result<Command> {
    let mut command = Command::new(binary);
    command
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", runtime)
        .env("AWS_LAMBDA_FUNCTION_NAME", "function")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "none")
        .env("AWS_SECRET_ACCESS_KEY", "none")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("KEYFOLD_MANIFEST", arguments.manifest.canonicalize().context("the manifest")?)
        .env("KEYFOLD_RETROFIT", "auditV2")
        .env("KEYFOLD_CONTROL_TABLE", "keyfold-control")
        .env("KEYFOLD_TOKEN_KEYS", format!("one:{}", "A".repeat(43)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(file) = &arguments.certificates {
        command.env("SSL_CERT_FILE", file);
    }
    Ok(command)
}

fn median(sorted: &[Duration]) -> f64 {
    sorted[sorted.len() / 2].as_secs_f64() * 1000.0
}

fn slower(functions: &[Function], most: f64) -> bool {
    functions.iter().any(|function| median(&function.wall) > most * median(&functions[0].wall))
}

fn table(functions: &[Function]) -> String {
    let bare = median(&functions[0].wall);
    let mut lines = vec!["function        start, p50   of the bare   CPU, p50       bytes".to_owned()];
    for function in functions {
        let wall = median(&function.wall);
        let bytes = std::fs::metadata(&function.binary).map_or(0, |metadata| metadata.len());
        lines.push(format!(
            "{:<14} {wall:>8.2} ms {:>12.2}x {:>7.2} ms {bytes:>11}",
            function.name,
            wall / bare,
            median(&function.cpu)
        ));
    }
    lines.join("\n")
}
