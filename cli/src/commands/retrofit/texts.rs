//! The texts that several commands print: closed gates, and tables below a title.

use keyfold_core::retrofit::gates::Gate;

use crate::output::columns;

/// The gates as one line.
pub(super) fn listed(gates: &[Gate]) -> String {
    if gates.is_empty() {
        return "nothing".to_owned();
    }
    gates.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The table with a line above it; nothing if it is empty.
pub(super) fn titled(title: &str, rows: &[Vec<String>]) -> String {
    if rows.is_empty() { String::new() } else { format!("{title}\n{}", columns(rows)) }
}
