//! What a section found, as data: tables, plots, sentences. How it looks is `render`'s business.

pub mod plot;
pub mod table;

pub use plot::{Bar, Bars, Line, Lines, Plot};
pub use table::Table;

/// What a section found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Its heading.
    pub title: String,
    /// What was measured, and what that means, in a sentence or two.
    pub about: String,
    /// The figures.
    pub tables: Vec<Table>,
    /// The figures, drawn.
    pub plots: Vec<Plot>,
    /// What they say: who is ahead, and why that stays.
    pub notes: Vec<String>,
    /// Rows that are missing, and why.
    pub absent: Vec<String>,
}

impl Report {
    /// A report with nothing in it yet.
    pub fn new(title: &str, about: &str) -> Report {
        Report { title: title.to_owned(), about: about.to_owned(), ..Report::default() }
    }
}
