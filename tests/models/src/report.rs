//! The results of a run, as a table.

use std::fmt;

/// The results of all cases.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The cases, by name.
    pub cases: Vec<CaseReport>,
}

/// The result of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// Did the case run?
    pub state: State,
    /// Its patterns.
    pub rows: Vec<Row>,
}

/// Whether a case ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It was.
    Asked,
    /// It has no manifest.
    NoManifest,
    /// The case or its manifest cannot be used.
    Unusable {
        /// The problem.
        what: String,
    },
}

/// The result of one pattern.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// The pattern's id.
    pub pattern: String,
    /// The result.
    pub verdict: PatternResult,
    /// Was the refusal expected?
    pub is_right_to_refuse: bool,
    /// The plan, in a few words.
    pub plan: String,
    /// Does the plan scan?
    pub scans: bool,
    /// The read units consumed.
    pub units: Option<f64>,
}

/// The result of a pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PatternResult {
    /// Answered as expected: whole, in small pages and counted.
    #[default]
    Right,
    /// Refused.
    Refused {
        /// Why.
        what: String,
    },
    /// A wrong answer, or an error.
    Wrong {
        /// How.
        what: String,
    },
}

/// The numbers of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Answered as expected, or refused where that was expected.
    pub right: usize,
    /// Refused.
    pub refused: usize,
    /// Answered wrongly.
    pub wrong: usize,
    /// Cases that cannot be used.
    pub unusable: usize,
    /// Cases without a manifest.
    pub without_manifest: usize,
    /// Right by a scan.
    pub scans: usize,
}

impl Row {
    fn is_right(&self) -> bool {
        match self.verdict {
            PatternResult::Right => true,
            PatternResult::Refused { .. } => self.is_right_to_refuse,
            PatternResult::Wrong { .. } => false,
        }
    }

    fn words(&self) -> (&'static str, &str) {
        match &self.verdict {
            PatternResult::Right => ("right", ""),
            PatternResult::Refused { what } if self.is_right_to_refuse => ("right", what),
            PatternResult::Refused { what } => ("REFUSED", what),
            PatternResult::Wrong { what } => ("WRONG", what),
        }
    }
}

impl Report {
    /// The numbers.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for case in &self.cases {
            match case.state {
                State::Asked => {}
                State::NoManifest => totals.without_manifest += 1,
                State::Unusable { .. } => totals.unusable += 1,
            }
            for row in &case.rows {
                totals.add(row);
            }
        }
        totals
    }
}

impl Totals {
    fn add(&mut self, row: &Row) {
        match row.verdict {
            _ if row.is_right() => self.right += 1,
            PatternResult::Refused { .. } => self.refused += 1,
            _ => self.wrong += 1,
        }
        self.scans += usize::from(row.scans);
    }

    /// The number of patterns that ran.
    pub fn asked(&self) -> usize {
        self.right + self.refused + self.wrong
    }

    /// The percentage of correct answers; 0 if no pattern ran.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand patterns at most")]
    pub fn right_percent(&self) -> f64 {
        if self.asked() == 0 { 0.0 } else { 100.0 * self.right as f64 / self.asked() as f64 }
    }

    /// The number of failures.
    pub fn failed(&self) -> usize {
        self.refused + self.wrong + self.unusable
    }

    /// Is the run a success? No wrong answer, nothing unusable, and, if required, this percentage of correct answers.
    pub fn is_success(&self, require_right: Option<f64>) -> bool {
        self.wrong == 0
            && self.unusable == 0
            && self.asked() > 0
            && require_right.is_none_or(|least| self.right_percent() >= least)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in &self.cases {
            writeln!(f, "{case}")?;
        }
        let totals = self.totals();
        writeln!(
            f,
            "{} patterns: {} right, {} refused, {} wrong; {} by a scan",
            totals.asked(),
            totals.right,
            totals.refused,
            totals.wrong,
            totals.scans
        )?;
        if totals.without_manifest + totals.unusable > 0 {
            writeln!(
                f,
                "{} cases without a manifest, {} unusable",
                totals.without_manifest, totals.unusable
            )?;
        }
        writeln!(f, "{} passed, {} failed", totals.right, totals.failed())
    }
}

impl fmt::Display for CaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            State::NoManifest => return writeln!(f, "{}: no manifest", self.name),
            State::Unusable { what } => return writeln!(f, "{}: UNUSABLE\n{what}", self.name),
            State::Asked => writeln!(f, "{}", self.name)?,
        }
        let width = |of: &dyn Fn(&Row) -> usize| self.rows.iter().map(of).max().unwrap_or(0);
        let (pattern, plan) = (width(&|row| row.pattern.len()), width(&|row| row.plan.len()));
        for row in &self.rows {
            let (verdict, what) = row.words();
            let units = row.units.map_or_else(|| "-".to_owned(), |units| format!("{units:.1}"));
            let line =
                format!("  {:pattern$}  {verdict:7}  {:plan$}  {units:>5} {what}", row.pattern, row.plan);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
