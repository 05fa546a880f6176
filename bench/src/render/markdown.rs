//! For the documentation: Markdown tables, with the plots beside them.

use std::fmt::Write;

use crate::report::{Report, Table};

/// A report as a section of a page. Plots are looked for in this folder.
pub fn report(report: &Report, plots: &str) -> String {
    let mut out = format!("## {}\n\n{}\n", report.title, report.about);
    for shown in &report.tables {
        let _ = write!(out, "\n{}", table(shown));
    }
    for plot in &report.plots {
        let (title, file) = (plot.title(), plot.file());
        let _ = write!(out, "\n![{title}]({plots}/{file}.svg)\n");
    }
    let absent = report.absent.iter().map(|absent| format!("**Absent:** {absent}"));
    let lines: Vec<String> = report.notes.iter().cloned().chain(absent).collect();
    if !lines.is_empty() {
        out.push('\n');
    }
    for line in lines {
        let _ = writeln!(out, "- {line}");
    }
    out
}

/// A table, below its caption.
pub fn table(table: &Table) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = String::new();
    if !table.caption.is_empty() {
        let _ = write!(out, "{}\n\n", table.caption);
    }
    out += &line(&table.columns);
    let rule: Vec<&str> = (0..table.columns.len()).map(|at| if at == 0 { "---" } else { "---:" }).collect();
    let _ = writeln!(out, "|{}|", rule.join("|"));
    for row in &table.rows {
        out += &line(row);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Bars, Plot};

    #[test]
    fn a_bar_in_a_cell_does_not_end_it() {
        let mut shown = Table::new("", ["template", "ns"]);
        shown.row(["`{id|shard:10}`", "9"].map(str::to_owned));
        assert_eq!(table(&shown), "| template | ns |\n|---|---:|\n| `{id\\|shard:10}` | 9 |\n");
    }

    #[test]
    fn a_section_has_its_tables_its_plots_and_what_is_absent() {
        let shown = Report {
            tables: vec![Table::new("Times", ["what"])],
            plots: vec![Plot::Bars(Bars::new("keys", "Folding", "ns"))],
            notes: vec!["ours is ahead".to_owned()],
            absent: vec!["boto3: no python3".to_owned()],
            ..Report::new("1. Keys", "What a key costs.")
        };
        let expected = "## 1. Keys\n\nWhat a key costs.\n\nTimes\n\n| what |\n|---|\n\n![Folding](figures/keys.svg)\n\n\
- ours is ahead\n- **Absent:** boto3: no python3\n";
        assert_eq!(report(&shown, "figures"), expected);
    }
}
