//! What a figure is to reach, beside the SDK alone, and whether its median does.

use crate::Spread;

/// What a figure is to reach, in times of what the SDK alone takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// The CPU, at most.
    CpuAtMost(f64),
    /// What is done in a second, at least.
    RateAtLeast(f64),
}

impl Goal {
    /// The goal and whether it is met, as a cell; an empty one where there is no goal.
    ///
    /// ```
    /// use keyfold_bench::{Goal, Spread};
    /// let goal = Some(Goal::CpuAtMost(0.8));
    /// assert_eq!(Goal::cell(goal, Spread::exact(0.75)), "CPU ≤ 0.80x: met");
    /// assert_eq!(Goal::cell(goal, Spread::exact(0.95)), "CPU ≤ 0.80x: **missed**");
    /// ```
    pub fn cell(goal: Option<Goal>, measured: Spread) -> String {
        let Some(goal) = goal else { return String::new() };
        let (what, is_met) = match goal {
            Goal::CpuAtMost(most) => (format!("CPU ≤ {most:.2}x"), measured.median <= most),
            Goal::RateAtLeast(least) => (format!("rate ≥ {least:.2}x"), measured.median >= least),
        };
        let said = match is_met {
            _ if measured.median.is_nan() => "not measured",
            true => "met",
            false => "**missed**",
        };
        format!("{what}: {said}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_to_be_high_and_a_figure_that_is_not_there_is_neither() {
        let cell = |median| Goal::cell(Some(Goal::RateAtLeast(0.9)), Spread::exact(median));
        assert_eq!([0.89, 0.9].map(cell), ["rate ≥ 0.90x: **missed**", "rate ≥ 0.90x: met"]);
        assert_eq!(cell(f64::NAN), "rate ≥ 0.90x: not measured");
        assert_eq!(Goal::cell(None, Spread::exact(2.0)), "");
    }
}
