//! The output: results to standard output, errors to standard error, JSON with `--json`.

use std::borrow::Cow;
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
        let _ = write!(anstream::stdout().lock(), "{}", printable(&text.to_string()));
    }

    /// A file for programs, as it is. On a terminal, it is a text for people.
    pub(crate) fn file(&self, text: &str) {
        match std::io::stdout().is_terminal() {
            true => self.text(text),
            false => drop(std::io::stdout().lock().write_all(text.as_bytes())),
        }
    }

    /// Moves the cursor of a terminal, then shows a text.
    pub(crate) fn redraw(&self, movement: &str, text: &str) {
        let _ = write!(anstream::stdout().lock(), "{movement}{}", printable(text));
    }

    /// A value for programs.
    pub(crate) fn value(&self, value: &impl Serialize) -> anyhow::Result<()> {
        if let Some(collected) = &self.collected {
            collected.lock().unwrap_or_else(PoisonError::into_inner).push(serde_json::to_value(value)?);
            return Ok(());
        }
        let text = serde_json::to_string_pretty(value)?;
        let _ = writeln!(anstream::stdout().lock(), "{}", printable(&text));
        Ok(())
    }

    /// A value for programs, on one line.
    pub(crate) fn line(&self, value: &Value) {
        self.text(format!("{value}\n"));
    }

    /// A text on standard error: diagnostics, progress.
    pub(crate) fn note(&self, text: impl Display) {
        let _ = write!(anstream::stderr().lock(), "{}", printable(&text.to_string()));
    }

    /// A text on standard error with its own colours or cursor movements. It contains no item's data.
    pub(crate) fn styled_note(&self, text: impl Display) {
        let _ = write!(anstream::stderr().lock(), "{text}");
    }

    /// An error with all its causes; for programs a problem document, with a code where there is one.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        if self.json {
            let document = match error.downcast_ref::<Refusal>() {
                Some(Refusal(problem)) => problem.document(None),
                None => serde_json::json!({ "title": "Failed", "detail": format!("{error:#}") }),
            };
            self.note(format!("{document}\n"));
        } else {
            self.note(format!("error: {error:#}\n"));
        }
    }

    /// A line for people in a style of a terminal, where it has colours.
    pub(crate) fn styled(&self, style: &str, text: &str) {
        let _ = writeln!(anstream::stdout().lock(), "{style}{}\x1b[0m", printable(text));
    }

    /// Should diagnostics be coloured? Not with `NO_COLOR`, not into a pipe.
    pub(crate) fn colour(&self) -> bool {
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }
}

/// The text without characters that change what a terminal shows of others: data could hide or reorder text with them. They are escaped as
/// in JSON, so JSON stays the same JSON.
fn printable(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            letter if letter.is_control() || is_invisible(letter) => {
                let units = letter
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}"))
                    .collect::<String>();
                shown.push_str(&units);
            }
            letter => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Characters that set the direction of text, break lines, or take no place.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
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
    #[test]
    fn what_would_change_a_terminal_is_escaped_and_json_stays_the_same() {
        for letter in [
            '\u{7f}',
            '\u{9b}',
            '\u{202e}',
            '\u{2066}',
            '\u{200f}',
            '\u{61c}',
            '\u{2028}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            let value = serde_json::json!({ format!("a{letter}"): format!("b{letter}\x1b[8m") });
            let shown = super::printable(&serde_json::to_string_pretty(&value).unwrap()).into_owned();
            assert!(!shown.contains(letter) && !shown.contains('\x1b'), "{shown:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
        assert_eq!(super::printable("\r\x1b[2J\u{202e}x"), "\\u000d\\u001b[2J\\u202ex");
        let kept = "Łódź 東京 \u{1f469}\u{200d}\u{1f467}\n\ta";
        assert_eq!(super::printable(kept), kept);
        assert_eq!(super::printable("\u{fdd0}a\u{fdd1}"), "\u{fdd0}a\u{fdd1}", "no data become a style");
    }
    use super::grouped;

    #[test]
    fn thousands_have_commas() {
        let shown = [0, 999, 1000, 100_000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "100,000", "1,234,567"]);
    }
}
