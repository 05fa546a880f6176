//! The report of a section, in Markdown.

use std::fmt::{Display, Formatter, Result, Write};

use crate::goal::Goal;
use crate::spread::Spread;

/// A section of the page.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Heading, tables and notes.
    pub(crate) text: String,
    /// Rows of the table of goals.
    pub(crate) goals: Vec<[String; 4]>,
}

impl Report {
    /// A report with its heading and description.
    pub(crate) fn new(title: &str, about: &str) -> Report {
        Report { text: format!("## {title}\n\n{about}\n"), goals: Vec::new() }
    }

    /// Adds a table or a paragraph.
    pub(crate) fn add(&mut self, part: impl Display) {
        // Writing to a text does not fail.
        let _ = write!(self.text, "\n{part}\n");
    }

    /// Reports a missing measurement, with the reason.
    pub(crate) fn absent(&mut self, what: &str, why: &anyhow::Error) {
        self.add(format!("**Not measured:** {what}: {why:#}"));
    }

    /// Judges a figure.
    pub(crate) fn judge(&mut self, goal: Goal, of: &str, measured: Spread) {
        self.goals.push(goal.row(of, measured));
    }
}

/// A table: the first column names what the others are about.
#[derive(Debug)]
pub(crate) struct Table {
    caption: String,
    columns: usize,
    lines: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<const N: usize>(caption: &str, columns: [&str; N]) -> Table {
        let rule = format!("|---|{}", "---:|".repeat(N - 1));
        let mut table = Table { caption: caption.to_owned(), columns: N, lines: Vec::new() };
        table.row(columns.map(str::to_owned));
        table.lines.push(rule);
        table
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect();
        debug_assert_eq!(cells.len(), self.columns, "{cells:?}");
        self.lines.push(format!("| {} |", cells.join(" | ")));
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if !self.caption.is_empty() {
            write!(f, "{}\n\n", self.caption)?;
        }
        f.write_str(&self.lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_in_a_cell_does_not_end_it() {
        let mut table = Table::new("Times.", ["template", "ns"]);
        table.row(["`{id|shard:10}`", "9"].map(str::to_owned));
        let mut report = Report::new("1. Keys", "Keys.");
        report.add(table);
        let expected =
            "## 1. Keys\n\nKeys.\n\nTimes.\n\n| template | ns |\n|---|---:|\n| `{id\\|shard:10}` | 9 |\n";
        assert_eq!(report.text, expected);
    }
}
