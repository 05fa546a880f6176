//! A table of texts: the first column names what the others are about.

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What it shows, and in which unit.
    pub caption: String,
    /// The heads of its columns.
    pub columns: Vec<String>,
    /// Its rows, each with as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<const N: usize>(caption: impl Into<String>, columns: [&str; N]) -> Table {
        Table { caption: caption.into(), columns: columns.map(str::to_owned).into(), rows: Vec::new() }
    }

    /// Adds a row. Cells that are missing stay empty; cells too many have no column and are left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().take(self.columns.len()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// How wide each column is, in characters.
    pub fn widths(&self) -> Vec<usize> {
        let width = |at: usize| {
            let cells = self.rows.iter().map(|row| &row[at]).chain([&self.columns[at]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(width).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_as_many_cells_as_there_are_columns() {
        let mut table = Table::new("", ["what", "ns"]);
        table.row(["fold".to_owned()]);
        table.row(["join", "61", "more"].map(str::to_owned));
        assert_eq!(table.rows, [["fold", ""], ["join", "61"]]);
        assert_eq!(table.widths(), [4, 2]);
    }
}
