//! `keyfold-init` from outside: sources in, a manifest out that its own check takes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod formats;
mod generated;
mod hints;
mod items;
mod mutations;
mod overlays;
mod refusals;
mod seeds;

use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_init::{Options, Report, Source, init, read};

/// Imports texts, each as a separate file.
fn import(texts: &[&str]) -> Report {
    let drafts = texts.iter().enumerate().map(|(at, text)| {
        let source = Source { name: format!("source{at}"), text: (*text).to_owned() };
        (source.name.clone(), read(&source).unwrap())
    });
    init(drafts.collect(), &Options::default()).unwrap()
}

/// The model of a report's manifest.
fn model(report: &Report) -> Model {
    let parsed = manifest::parse("keyfold.toml", &report.manifest);
    parsed.model.unwrap_or_else(|| panic!("{:#?}\n{}", parsed.diagnostics, report.manifest))
}

/// The manifest contains these lines in any order, ignoring comments at their ends.
#[track_caller]
fn has(report: &Report, lines: &[&str]) {
    for line in lines {
        let found =
            report.manifest.lines().any(|known| known == *line || known.starts_with(&format!("{line} #")));
        assert!(found, "no line `{line}` in\n{}", report.manifest);
    }
    model(report);
}
