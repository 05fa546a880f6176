//! `keyfold-bench`: compares Keyfold with what people use today, and writes docs/figures.md.
//!
//! Each module of `section` measures one section of the page. Things that are compared are measured in turns ([`turns`],
//! [`micro`]), so that other work of the machine affects all of them alike. [`goal`] has the goals.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod allocations;
mod data;
mod goal;
mod machine;
mod micro;
mod peers;
mod report;
mod sdk;
mod section;
mod setting;
mod spread;
mod turns;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use report::{Report, Table};
use section::{SECTIONS, Section, Work};
use setting::{Scale, Setting, WORKSPACE};

const HEAD: &str = "# Figures

What Keyfold costs, compared with what people use today. One command measures everything in one run and writes this page:

```sh
.ci/bindings && .ci/template build              # what is deployed, for sections 6 and 7
cargo run --release $(python3 release/names.py --optimised) -p keyfold-bench
```

Things that are compared are measured in turns, round by round, so that other work of the machine affects all of them alike. A figure is a
median; the brackets after it are the quartiles. A ratio is computed within each round, then its median is taken. **Absolute times are
those of one machine** on which client and server share the cores; the ratios carry over to others.
";

/// Compares Keyfold with what people use today.
#[derive(Debug, Parser)]
#[command(name = "keyfold-bench")]
struct Arguments {
    /// A little of everything, to see that it works, without the goals; the page is written below `target`.
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
    /// One retrofit in its own process, for the section `retrofit`.
    #[command(hide = true)]
    Worker(Work),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        Some(Command::Worker(work)) => work.run().map(|done| println!("{done}")),
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
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build: its figures mean nothing");
    }
    let scale = if arguments.quick { Scale::Quick } else { Scale::Full };
    let setting = Setting { scale, program: std::env::current_exe()? };
    // Before the measurements make the machine busy.
    let machine = machine::table();
    let is_chosen = |section: &&Section| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == section.name)
    };
    let mut reports = Vec::new();
    for section in SECTIONS.iter().filter(is_chosen) {
        let started = Instant::now();
        let report = (section.run)(&setting).with_context(|| format!("section `{}`", section.name))?;
        println!("{}", report.text);
        eprintln!("{}: {:.0} s", section.name, started.elapsed().as_secs_f64());
        reports.push(report);
    }
    // A little of everything is too little to judge by.
    let goals = scale.of(String::new(), format!("{}\n", goals(&reports)));
    println!("{goals}");
    if arguments.only.is_empty() {
        let page =
            scale.of(setting.target().join("figures.md"), Path::new(WORKSPACE).join("docs/figures.md"));
        let sections: String = reports.iter().map(|report| format!("\n{}", report.text)).collect();
        std::fs::write(&page, format!("{HEAD}\n{machine}\n\n{goals}{sections}"))
            .with_context(|| format!("cannot write `{}`", page.display()))?;
        println!("\nwritten: {}", page.display());
    }
    Ok(())
}

/// All goals, and whether they are met.
fn goals(reports: &[Report]) -> Table {
    let mut table = Table::new("Goals.", ["", "goal", "measured", ""]);
    reports.iter().flat_map(|report| report.goals.iter().cloned()).for_each(|row| table.row(row));
    table
}
