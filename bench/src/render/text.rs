//! For a terminal: columns of characters.

use std::fmt::Write;

use crate::report::{Report, Table};

/// A report as text.
pub fn report(report: &Report) -> String {
    let mut out = format!("\n== {}\n{}\n", report.title, report.about);
    for shown in &report.tables {
        let _ = write!(out, "\n{}", table(shown));
    }
    if !report.notes.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        let _ = writeln!(out, "- {}", note.replace("**", ""));
    }
    for absent in &report.absent {
        let _ = writeln!(out, "!!! ABSENT: {absent}");
    }
    out
}

fn table(table: &Table) -> String {
    let table = &plain(table);
    let widths = table.widths();
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells.iter().zip(&widths).enumerate().map(padded).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut out = format!("{}\n{}\n", table.caption, line(&table.columns));
    for row in &table.rows {
        let _ = writeln!(out, "{}", line(row));
    }
    out
}

/// The table without marks of Markdown.
fn plain(table: &Table) -> Table {
    let row = |cells: &Vec<String>| cells.iter().map(|cell| cell.replace("**", "")).collect();
    Table { rows: table.rows.iter().map(row).collect(), ..table.clone() }
}

/// Texts to the left, figures to the right.
fn padded((at, (cell, width)): (usize, (&String, &usize))) -> String {
    if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_what_is_absent_is_loud() {
        let mut table = Table::new("Times, ns", ["what", "ns"]);
        table.row(["fold", "**61.2**"].map(str::to_owned));
        table.row(["a plain join", "7"].map(str::to_owned));
        let shown = Report {
            tables: vec![table],
            notes: vec!["fold: **ahead**".to_owned()],
            absent: vec!["boto3: no python3".to_owned()],
            ..Report::new("1. Keys", "What a key costs.")
        };
        let expected = "\n== 1. Keys\nWhat a key costs.\n\nTimes, ns\nwhat            ns\nfold          61.2\n\
a plain join     7\n\n- fold: ahead\n!!! ABSENT: boto3: no python3\n";
        assert_eq!(report(&shown), expected);
    }
}
