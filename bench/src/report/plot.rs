//! A plot as data: bars beside each other, or lines over a quantity.

use crate::Spread;

/// A plot, and the name of its file without the ending.
#[derive(Debug, Clone, PartialEq)]
pub enum Plot {
    /// Horizontal bars.
    Bars(Bars),
    /// Lines.
    Lines(Lines),
}

impl Plot {
    /// The name of its file.
    pub fn file(&self) -> &str {
        match self {
            Plot::Bars(bars) => &bars.file,
            Plot::Lines(lines) => &lines.file,
        }
    }

    /// What it shows.
    pub fn title(&self) -> &str {
        match self {
            Plot::Bars(bars) => &bars.title,
            Plot::Lines(lines) => &lines.title,
        }
    }
}

/// Bars.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// The name of its file.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// What the axis counts.
    pub unit: String,
    /// Is each step of the axis ten times the one before?
    pub is_log: bool,
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is about.
    pub label: String,
    /// Is it one of ours?
    pub is_ours: bool,
    /// How long it is.
    pub value: Spread,
}

impl Bars {
    /// Without bars.
    pub fn new(file: &str, title: &str, unit: &str) -> Bars {
        Bars { file: file.to_owned(), title: title.to_owned(), unit: unit.to_owned(), ..Bars::default() }
    }

    /// Adds a bar of ours.
    pub fn ours(&mut self, label: impl Into<String>, value: Spread) {
        self.bars.push(Bar { label: label.into(), is_ours: true, value });
    }

    /// Adds the bar of a peer.
    pub fn peer(&mut self, label: impl Into<String>, value: Spread) {
        self.bars.push(Bar { label: label.into(), is_ours: false, value });
    }
}

/// Lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// The name of its file.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// What the horizontal axis counts.
    pub x: String,
    /// What the vertical axis counts.
    pub y: String,
    /// Is each step of the horizontal axis ten times the one before?
    pub x_is_log: bool,
    /// And of the vertical one?
    pub y_is_log: bool,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is about.
    pub name: String,
    /// Where it passes, from left to right.
    pub points: Vec<(f64, Spread)>,
}
