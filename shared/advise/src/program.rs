//! The integer program: which candidates to build, and how each question is answered then.
//!
//! One 0/1 variable for each candidate and one for each choice of each question. A question takes one choice; a choice needs its
//! candidates; there are limits on global and on local indexes. The cost is dollars a month.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOptions, Variable};

/// The problem to solve.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) candidates: Vec<Priced>,
    /// The choices of each question.
    pub(crate) questions: Vec<Vec<PricedChoice>>,
    pub(crate) global_max: usize,
    pub(crate) local_max: usize,
}

/// A candidate with what it adds to writes and storage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Priced {
    pub(crate) dollars: f64,
    pub(crate) is_local: bool,
}

/// A choice with what its reads cost.
#[derive(Debug, Clone)]
pub(crate) struct PricedChoice {
    pub(crate) needs: Vec<usize>,
    pub(crate) dollars: f64,
}

/// The best set that was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Solved {
    /// The candidates that are built.
    pub(crate) built: Vec<usize>,
    /// Each question's choice; `None` where the limits leave it none.
    pub(crate) chosen: Vec<Option<usize>>,
    /// Dollars a month for what is built and for reads.
    pub(crate) dollars: f64,
    /// No set costs less. It is the cost itself if the optimum is proven.
    pub(crate) lower_bound: f64,
}

impl Program {
    /// Solves it, or returns the best set after the time limit.
    pub(crate) fn solve(&self, limit: Duration) -> Solved {
        let unserved = self.penalty();
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        // The solver wants numbers of similar size.
        let scale = 1.0 / (unserved / 1000.0);
        let needed = self.needed();
        let build: BTreeMap<usize, Variable> = needed
            .iter()
            .map(|at| (*at, problem.add_binary_var(self.candidates[*at].dollars * scale)))
            .collect();
        let mut take: Vec<(Vec<Variable>, Variable)> = Vec::new();
        for choices in &self.questions {
            let vars: Vec<Variable> =
                choices.iter().map(|choice| problem.add_var(choice.dollars * scale, (0.0, 1.0))).collect();
            let none = problem.add_var(unserved * scale, (0.0, 1.0));
            let one = vars.iter().chain([&none]).map(|var| (*var, 1.0));
            problem.add_constraint(one, ComparisonOp::Eq, 1.0);
            for (choice, var) in choices.iter().zip(&vars) {
                for need in &choice.needs {
                    problem.add_constraint([(*var, 1.0), (build[need], -1.0)], ComparisonOp::Le, 0.0);
                }
            }
            take.push((vars, none));
        }
        for (is_local, max) in [(true, self.local_max), (false, self.global_max)] {
            let of_kind: Vec<(Variable, f64)> = build
                .iter()
                .filter(|(at, _)| self.candidates[**at].is_local == is_local)
                .map(|(_, var)| (*var, 1.0))
                .collect();
            if of_kind.len() > max {
                problem.add_constraint(of_kind, ComparisonOp::Le, max as f64);
            }
        }
        let greedy = self.greedy();
        let hint = build.iter().map(|(at, var)| (*var, f64::from(u8::from(greedy.built.contains(at)))));
        let mut options = SolveOptions::default();
        options.time_limit = Some(limit);
        options.warm_start = Some(hint.collect());
        let Ok(outcome) = problem.solve_with(options) else { return greedy };
        let bound = outcome.stats().best_bound.map_or(0.0, |bound| bound / scale);
        let Some(solution) = outcome.solution() else { return Solved { lower_bound: bound, ..greedy } };
        let built = build.iter().filter(|(_, var)| solution.var_value(**var) > 0.5).map(|(at, _)| *at);
        let mut solved = self.with(built.collect());
        // A set that limits cut short may cost less than the greedy one, or more.
        if self.objective(&greedy) < self.objective(&solved) {
            solved = greedy;
        }
        let missing = solved.chosen.iter().filter(|choice| choice.is_none()).count() as f64 * unserved;
        solved.lower_bound = if outcome.is_optimal() { solved.dollars } else { (bound - missing).max(0.0) };
        solved
    }

    /// The cost of an unserved question: more than any set of indexes can cost.
    pub(crate) fn penalty(&self) -> f64 {
        let build: f64 = self.candidates.iter().map(|one| one.dollars).sum();
        let dearest = |choices: &Vec<PricedChoice>| choices.iter().map(|one| one.dollars).fold(0.0, f64::max);
        1.0 + build + self.questions.iter().map(dearest).sum::<f64>()
    }

    /// The cost with a penalty for each unserved question.
    pub(crate) fn objective(&self, solved: &Solved) -> f64 {
        let missing = solved.chosen.iter().filter(|choice| choice.is_none()).count() as f64;
        solved.dollars + missing * self.penalty()
    }

    fn needed(&self) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.questions.iter().flatten().flat_map(|choice| choice.needs.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The cost with these candidates: each question takes its cheapest choice, and what none takes is not built.
    pub(crate) fn with(&self, built: Vec<usize>) -> Solved {
        let is_there = |choice: &PricedChoice| choice.needs.iter().all(|need| built.contains(need));
        let chosen: Vec<Option<usize>> = self
            .questions
            .iter()
            .map(|choices| {
                let open = choices.iter().enumerate().filter(|(_, choice)| is_there(choice));
                open.min_by(|one, other| one.1.dollars.total_cmp(&other.1.dollars)).map(|(at, _)| at)
            })
            .collect();
        let taken = || self.questions.iter().zip(&chosen).filter_map(|(all, at)| Some(&all[(*at)?]));
        let used: Vec<usize> =
            built.into_iter().filter(|at| taken().any(|choice| choice.needs.contains(at))).collect();
        let dollars = used.iter().map(|at| self.candidates[*at].dollars).sum::<f64>()
            + taken().map(|choice| choice.dollars).sum::<f64>();
        Solved { built: used, chosen, dollars, lower_bound: 0.0 }
    }

    /// Builds, one after the other, what lowers the cost most.
    fn greedy(&self) -> Solved {
        let mut best = self.with(Vec::new());
        let steps: BTreeSet<&Vec<usize>> =
            self.questions.iter().flatten().map(|choice| &choice.needs).collect();
        loop {
            let step = steps
                .iter()
                .map(|needs| {
                    let mut built = best.built.clone();
                    built.extend(needs.iter().filter(|need| !best.built.contains(need)));
                    self.with(built)
                })
                .filter(|solved| self.fits(&solved.built))
                .min_by(|one, other| self.objective(one).total_cmp(&self.objective(other)));
            match step {
                Some(step) if self.objective(&step) < self.objective(&best) => best = step,
                _ => return best,
            }
        }
    }

    /// Do the limits allow these candidates?
    pub(crate) fn fits(&self, built: &[usize]) -> bool {
        let local = built.iter().filter(|at| self.candidates[**at].is_local).count();
        local <= self.local_max && built.len() - local <= self.global_max
    }
}

#[cfg(test)]
mod tests;
