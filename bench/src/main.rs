//! `keyfold-bench`: measures, prints, and writes the page of figures.
//!
//! `cargo run --release -p keyfold-bench` measures everything and writes `docs/figures.md` with its plots; `--quick` measures a
//! little of everything and writes below `target/`; `--only SECTION` measures one section and writes nothing.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::process::ExitCode;
use std::time::Instant;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use keyfold_bench::retrofit::worker::{self, Work};
use keyfold_bench::section::Section;
use keyfold_bench::{Report, SECTIONS, Scale, Setting, machine, page, render};

/// Measures Keyfold beside what people use today.
#[derive(Debug, Parser)]
#[command(name = "keyfold-bench")]
struct Arguments {
    /// A little of everything, to see that it works; judges nothing and leaves the documentation alone.
    #[arg(long)]
    quick: bool,
    /// Only this section; can be given several times. No page is written.
    #[arg(long, value_name = "SECTION", value_parser = PossibleValuesParser::new(SECTIONS.map(|section| section.name)))]
    only: Vec<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One retrofit in a process of its own, for the section `retrofit`.
    #[command(hide = true)]
    Worker(Work),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        Some(Command::Worker(work)) => worker::run(work).map(|done| println!("{done}")),
        None => measure(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let scale = if arguments.quick { Scale::Quick } else { Scale::Full };
    let setting = Setting::of_process(scale, |what| eprintln!("  {what}"))?;
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build: its figures say nothing");
    }
    // Before anything of ours makes the machine busy.
    let measured_on = machine::table();
    let begun = Instant::now();
    let chosen = |section: &&Section| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == section.name)
    };
    let mut reports = Vec::new();
    for section in SECTIONS.iter().filter(chosen) {
        reports.push(measured(section, &setting)?);
    }
    eprintln!("all of it took {:.0} s", begun.elapsed().as_secs_f64());
    if arguments.only.is_empty() {
        println!("\nwritten: {}", page::write(&setting.page_folder(), &measured_on, &reports)?.display());
    }
    Ok(())
}

fn measured(section: &Section, setting: &Setting) -> anyhow::Result<Report> {
    eprintln!("{} ...", section.name);
    let begun = Instant::now();
    let report =
        (section.run)(setting).map_err(|error| error.context(format!("section `{}`", section.name)))?;
    print!("{}", render::text::report(&report));
    eprintln!("{}: {:.0} s", section.name, begun.elapsed().as_secs_f64());
    Ok(report)
}
