//! `coldstart`: how long each function needs from the start of its process to its first request for an event, beside a
//! function that does nothing.
//!
//! It starts what `cargo lambda build` has put into a folder, each in turn, as Lambda does: with the variables of the
//! template and no endpoint, so that the client for AWS is made. Then it starts each anew and gives it an event, with a server
//! of its own in place of DynamoDB: what the first HTTPS call costs, and what the same event costs again. Nothing is sent to
//! AWS.

mod call;
mod server;
mod start;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use keyfold_bench::start::{Start, start};

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
    /// The folder of events.
    #[arg(long, value_name = "DIR", default_value = "events")]
    events: PathBuf,
    /// A file of certificates for `SSL_CERT_FILE` of starts.
    #[arg(long, value_name = "FILE")]
    certificates: Option<PathBuf>,
    /// Fail if a function needs more than so many times what the bare one needs.
    #[arg(long, value_name = "TIMES")]
    require: Option<f64>,
    /// Fail if an event with a first HTTPS call needs more than so many times the CPU of the bare function's start.
    #[arg(long, value_name = "TIMES")]
    require_call: Option<f64>,
}

/// The function that does nothing.
const BARE: &str = "bare";
/// An event for each function that makes it ask DynamoDB.
const EVENTS: [(&str, &str); 5] = [
    ("audit-writer", "audit-writer/40-direct-one.json"),
    ("backfiller", "backfiller/04-slice.json"),
    ("query-api", "query-api/query.json"),
    ("replicator", "replicator/01-insert-modify-remove.json"),
    ("verifier", "verifier/01-source.json"),
];

/// One function, its starts and its first two events.
struct Function {
    name: String,
    binary: PathBuf,
    wall: Vec<Duration>,
    cpu: Vec<Duration>,
    event: Option<String>,
    first: Vec<Duration>,
    second: Vec<Duration>,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's own output")]
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match measured(&arguments) {
        Ok(functions) => {
            println!("{}", table(&functions));
            let slow = arguments.require.is_some_and(|most| slower(&functions, most));
            let dear = arguments.require_call.is_some_and(|most| dearer(&functions, most));
            ExitCode::from(u8::from(slow || dear))
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measured(arguments: &Arguments) -> anyhow::Result<Vec<Function>> {
    let mut functions = functions(arguments)?;
    let server = server::Server::start()?;
    // In turns, so that whatever else the machine does falls on all alike. The first start of each reads its file.
    for run in 0..=arguments.runs {
        for function in &mut functions {
            measure(function, run > 0, arguments, &server)
                .with_context(|| format!("function `{}`", function.name))?;
        }
    }
    functions.iter_mut().for_each(|function| {
        for times in [&mut function.wall, &mut function.cpu, &mut function.first, &mut function.second] {
            times.sort();
        }
    });
    Ok(functions)
}

fn measure(
    function: &mut Function,
    kept: bool,
    arguments: &Arguments,
    server: &server::Server,
) -> anyhow::Result<()> {
    let Start { wall, cpu } = start(|runtime| start::command(&function.binary, runtime, arguments))?;
    let calls = match &function.event {
        Some(event) => Some(call::calls(&function.binary, event, arguments, server)?),
        None => None,
    };
    if kept {
        function.wall.push(wall);
        function.cpu.push(cpu);
        function.first.extend(calls.map(|(first, _)| first));
        function.second.extend(calls.map(|(_, second)| second));
    }
    Ok(())
}

fn event(name: &str, folder: &Path) -> anyhow::Result<Option<String>> {
    let Some((_, file)) = EVENTS.iter().find(|(known, _)| *known == name) else { return Ok(None) };
    let path = folder.join(file);
    Ok(Some(std::fs::read_to_string(&path).with_context(|| format!("event `{}`", path.display()))?))
}

fn functions(arguments: &Arguments) -> anyhow::Result<Vec<Function>> {
    let folder = &arguments.binaries;
    let entries = std::fs::read_dir(folder).with_context(|| {
        format!("cannot read `{}`: build with `cargo lambda build --release` first", folder.display())
    })?;
    let mut functions = Vec::new();
    for entry in entries {
        let entry = entry?;
        let (name, binary) =
            (entry.file_name().to_string_lossy().into_owned(), entry.path().join("bootstrap"));
        if binary.is_file() {
            let event = event(&name, &arguments.events)?;
            let (wall, cpu, first, second) = Default::default();
            functions.push(Function { name, binary, wall, cpu, event, first, second });
        }
    }
    functions.sort_by_key(|function| (function.name != BARE, function.name.clone()));
    match functions.first() {
        Some(first) if first.name == BARE => Ok(functions),
        _ => bail!("there is no `{BARE}`: `cargo lambda build --release -p keyfold-bare`"),
    }
}

fn median(sorted: &[Duration]) -> f64 {
    sorted[sorted.len() / 2].as_secs_f64() * 1000.0
}

fn slower(functions: &[Function], most: f64) -> bool {
    functions.iter().any(|function| median(&function.wall) > most * median(&functions[0].wall))
}

fn dearer(functions: &[Function], most: f64) -> bool {
    let most = most * median(&functions[0].cpu);
    functions.iter().any(|function| !function.first.is_empty() && median(&function.first) > most)
}

fn table(functions: &[Function]) -> String {
    let (bare_wall, bare_cpu) = (median(&functions[0].wall), median(&functions[0].cpu));
    let mut lines = vec![
        "                 start, p50              CPU, p50              first call   again         "
            .to_owned(),
        "function                ms  of the bare         ms  of the bare    CPU, ms  CPU, ms       bytes"
            .to_owned(),
    ];
    for function in functions {
        let (wall, cpu) = (median(&function.wall), median(&function.cpu));
        let bytes = std::fs::metadata(&function.binary).map_or(0, |metadata| metadata.len());
        let call = |times: &[Duration]| match times {
            [] => String::new(),
            times => format!("{:.2}", median(times)),
        };
        lines.push(format!(
            "{:<14} {wall:>11.2} {:>11.2}x {cpu:>10.2} {:>11.2}x {:>10} {:>8} {bytes:>11}",
            function.name,
            wall / bare_wall,
            cpu / bare_cpu,
            call(&function.first),
            call(&function.second),
        ));
    }
    lines.join("\n")
}
