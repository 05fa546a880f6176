//! The output: results to standard output, errors to standard error, JSON with `--json`.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::refusal::Refusal;

/// Where and how to print.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// JSON instead of text.
    pub(crate) json: bool,
    /// Collects the values instead of printing them, for a command that runs another command.
    collected: Option<CollectedValues>,
}

/// The values that a command would otherwise print.
pub(crate) type CollectedValues = Arc<Mutex<Vec<Value>>>;

impl Output {
    pub(crate) fn new(json: bool) -> Output {
        Output { json, collected: None }
    }

    /// The same output, but values are collected instead of printed. Used when one command runs another.
    pub(crate) fn collecting(&self) -> (Output, CollectedValues) {
        let collected = CollectedValues::default();
        (Output { json: true, collected: Some(Arc::clone(&collected)) }, collected)
    }

    /// May a progress bar be drawn? Not next to printed JSON.
    pub(crate) fn draws(&self) -> bool {
        !self.json || self.collected.is_some()
    }

    /// The value for programs, or the text for people.
    pub(crate) fn show(&self, value: &Value, text: impl Display) -> anyhow::Result<()> {
        match self.json {
            true => self.value(value),
            false => {
                self.text(text);
                Ok(())
            }
        }
    }

    /// A text for people. A closed pipe is not an error.
    pub(crate) fn text(&self, text: impl Display) {
        let _ = write!(anstream::stdout().lock(), "{text}");
    }

    /// A value for programs.
    pub(crate) fn value(&self, value: &impl Serialize) -> anyhow::Result<()> {
        if let Some(collected) = &self.collected {
            collected.lock().unwrap_or_else(PoisonError::into_inner).push(serde_json::to_value(value)?);
            return Ok(());
        }
        let text = serde_json::to_string_pretty(value)?;
        let _ = writeln!(anstream::stdout().lock(), "{text}");
        Ok(())
    }

    /// A value for programs, on one line.
    pub(crate) fn line(&self, value: &Value) {
        self.text(format!("{value}\n"));
    }

    /// A text on standard error: diagnostics, progress.
    pub(crate) fn note(&self, text: impl Display) {
        let _ = write!(anstream::stderr().lock(), "{text}");
    }

    /// An error with all its causes; for programs a problem document, with a code where there is one.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        if self.json {
            let document = match error.downcast_ref::<Refusal>() {
                Some(Refusal(problem)) => problem.document(None),
                None => serde_json::json!({ "title": "Failed", "detail": format!("{error:#}") }),
            };
            let _ = writeln!(anstream::stderr().lock(), "{document}");
        } else {
            let _ = writeln!(anstream::stderr().lock(), "error: {error:#}");
        }
    }

    /// A bold text, where the terminal has colours.
    pub(crate) fn strong(&self, text: &str) -> String {
        format!("\x1b[1m{text}\x1b[0m")
    }

    /// A dim text, where the terminal has colours.
    pub(crate) fn faint(&self, text: &str) -> String {
        format!("\x1b[2m{text}\x1b[0m")
    }

    /// Should diagnostics be coloured? Not with `NO_COLOR`, not into a pipe.
    pub(crate) fn colour(&self) -> bool {
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }
}

/// A row of two columns.
pub(crate) fn row(name: &str, value: impl Into<String>) -> Vec<String> {
    vec![name.to_owned(), value.into()]
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Names in backticks.
pub(crate) fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Lays rows out in columns, each as wide as its widest cell.
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

/// A number with commas between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_have_commas() {
        let shown = [0, 999, 1000, 100_000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "100,000", "1,234,567"]);
    }
}
