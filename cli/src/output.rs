//! What is printed: results on standard output, errors on standard error, JSON where it was asked for.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use serde::Serialize;

/// Where and how to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// JSON instead of text.
    pub(crate) json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Output {
        Output { json }
    }

    /// A text for people. A closed pipe is nobody's mistake.
    pub(crate) fn text(&self, text: impl Display) {
        let _ = write!(anstream::stdout().lock(), "{text}");
    }

    /// A value for machines.
    pub(crate) fn value(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        let _ = writeln!(anstream::stdout().lock(), "{text}");
        Ok(())
    }

    /// A text on standard error: diagnostics, progress.
    pub(crate) fn note(&self, text: impl Display) {
        let _ = write!(anstream::stderr().lock(), "{text}");
    }

    /// What went wrong, with all its causes.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        if self.json {
            let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
            let _ =
                writeln!(anstream::stderr().lock(), "{}", serde_json::json!({ "error": causes.join(": ") }));
        } else {
            let _ = writeln!(anstream::stderr().lock(), "error: {error:#}");
        }
    }

    /// Should diagnostics be coloured? `NO_COLOR` and pipes say no.
    pub(crate) fn colour(&self) -> bool {
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }
}

/// Lines in columns: every column as wide as its widest cell, the last one free.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
