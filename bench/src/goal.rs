//! Goals of figures, and whether they are met.

use crate::spread::{Spread, number};

/// The goal of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    figure: &'static str,
    bound: Bound,
    unit: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

use Bound::{AtLeast, AtMost};

pub(crate) const PLAN: Goal = goal("a plan", AtMost(5.0), " µs");
pub(crate) const PAGE_OF_1: Goal = goal("CPU relative to the SDK", AtMost(1.15), "x");
pub(crate) const PAGE_OF_20: Goal = goal("CPU relative to the SDK", AtMost(0.95), "x");
pub(crate) const PAGE_OF_100: Goal = goal("CPU relative to the SDK", AtMost(0.75), "x");
pub(crate) const BACKFILL: Goal = goal("CPU of a backfill relative to the SDK", AtMost(0.85), "x");
pub(crate) const CHANGES: Goal = goal("CPU relative to the SDK", AtMost(1.05), "x");
pub(crate) const SINGLE_RECORD: Goal = goal("rate relative to the SDK", AtLeast(0.9), "x");
/// "Flat": from the smallest table to the largest.
pub(crate) const MEMORY: Goal = goal("peak memory of a backfill as the table grows", AtMost(1.25), "x");

const fn goal(figure: &'static str, bound: Bound, unit: &'static str) -> Goal {
    Goal { figure, bound, unit }
}

impl Goal {
    /// A row of the table of goals: the figure, the goal, what was measured, and whether that meets the goal.
    pub(crate) fn row(self, of: &str, measured: Spread) -> [String; 4] {
        let shown = |value: f64| match self.unit {
            "x" => format!("{value:.2}x"),
            unit => format!("{}{unit}", number(value)),
        };
        let (goal, is_met) = match self.bound {
            AtMost(most) => (format!("at most {}", shown(most)), measured.median <= most),
            AtLeast(least) => (format!("at least {}", shown(least)), measured.median >= least),
        };
        let found = match is_met {
            _ if measured.median.is_nan() => "not measured",
            true => "met",
            false => "**missed**",
        };
        [format!("{of}: {}", self.figure), goal, shown(measured.median), found.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_was_not_measured_meets_nothing() {
        let found = |goal: Goal, measured: &[f64]| goal.row("one", Spread::of(measured))[3].clone();
        assert_eq!([0.95, 0.96].map(|ratio| found(PAGE_OF_20, &[ratio])), ["met", "**missed**"]);
        assert_eq!([0.89, 0.9].map(|ratio| found(SINGLE_RECORD, &[ratio])), ["**missed**", "met"]);
        assert_eq!([PAGE_OF_20, SINGLE_RECORD].map(|goal| found(goal, &[])), ["not measured"; 2]);
    }
}
