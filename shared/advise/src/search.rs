//! The search: designs, candidates, choices, the program, and once more with what can be merged.

use std::collections::BTreeSet;
use std::time::Duration;

use keyfold_core::model::{EntityId, IndexKind, Model, Projection, Rate, Table};
use keyfold_core::query::plan::PlanError;

use crate::design::{Design, designs, included};
use crate::merge::{Group, group, merged};
use crate::oracle::{Choice, choices};
use crate::price;
use crate::program::{Priced, PricedChoice, Program, Solved};
use crate::screen::{Candidate, NotExtensible, Screen};
use crate::shape::Part;
use crate::workload::{Asked, Workload};

/// The most designs of one table.
const DESIGNS_MAX: usize = 600;
/// Added to the price of each index: of equal sets, the one with fewer indexes wins.
const CARE_DOLLARS: f64 = 0.05;

/// The limits of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) global_max: usize,
    pub(crate) local_max: usize,
    pub(crate) time: Duration,
    /// The most candidates. Only tests set it.
    pub(crate) candidates_max: usize,
}

/// The input and the result of a search.
#[derive(Debug)]
pub(crate) struct Search<'m> {
    pub(crate) table: &'m Table,
    pub(crate) workload: Workload<'m>,
    pub(crate) candidates: Vec<Candidate>,
    /// The choices of each asked question, or why there are none.
    pub(crate) choices: Vec<Result<Vec<Choice>, Box<PlanError>>>,
    pub(crate) program: Program,
    pub(crate) solved: Solved,
    pub(crate) time: Duration,
}

/// Why nothing was searched.
#[derive(Debug)]
pub(crate) enum SearchError {
    /// No section can be added to the table.
    NotExtensible,
    /// No typical item can be made, so nothing has a price.
    Unpriced,
}

impl From<NotExtensible> for SearchError {
    fn from(_: NotExtensible) -> SearchError {
        SearchError::NotExtensible
    }
}

impl<'m> Search<'m> {
    pub(crate) fn run(
        model: &'m Model,
        text: &str,
        table: &'m Table,
        limits: Limits,
    ) -> Result<Search<'m>, SearchError> {
        let workload = Workload::of(model, table);
        let screen = Screen { text, table };
        let mut wanted = all_designs(table, &workload);
        wanted.retain(|design| limits.local_max > 0 || design.kind == IndexKind::Global);
        // Also where no index is allowed: the answer then says what one more would serve.
        let candidates = screen.candidates(wanted, 0)?;
        let program =
            Program { global_max: limits.global_max, local_max: limits.local_max, ..Program::default() };
        let mut search = Search {
            table,
            workload,
            candidates: Vec::new(),
            choices: Vec::new(),
            solved: program.with(Vec::new()),
            program,
            time: limits.time,
        };
        search.solve_with(model, candidates, limits)?;
        let designs = merged(&search.groups());
        if !designs.is_empty() && search.candidates.len() < limits.candidates_max {
            let more =
                screen.candidates(designs, search.candidates.len().max(DESIGNS_MAX)).unwrap_or_default();
            search.solve_with(model, more, limits)?;
        }
        Ok(search)
    }

    /// Adds candidates, and solves the program of all.
    fn solve_with(&mut self, model: &Model, more: Vec<Candidate>, limits: Limits) -> Result<(), SearchError> {
        let prices = &model.prices;
        let base = price::of(self.table, &self.workload.kinds, prices).ok_or(SearchError::Unpriced)?;
        for candidate in more.into_iter().take(limits.candidates_max - self.candidates.len()) {
            let mut table = self.table.clone();
            table.indexes.push(candidate.index.clone());
            let Some(cost) = price::of(&table, &self.workload.kinds, prices) else { continue };
            let is_local = candidate.index.kind == IndexKind::Local;
            let dollars = cost.without(base).total().max(0.0) + CARE_DOLLARS;
            self.program.candidates.push(Priced { dollars, is_local });
            self.candidates.push(candidate);
        }
        let all = |asked: &Asked<'_>| choices(self.table, &self.candidates, *asked);
        self.choices = self.workload.asked.iter().map(all).collect();
        let priced = |(asked, choices): (&Asked<'_>, &Result<Vec<Choice>, _>)| {
            let one = |choice: &Choice| PricedChoice {
                needs: choice.needs.clone(),
                dollars: price::of_reads(choice.units, asked.times_a_month, prices),
            };
            choices.iter().flatten().map(one).collect::<Vec<_>>()
        };
        self.program.questions = self.workload.asked.iter().zip(&self.choices).map(priced).collect();
        // There are two solutions: without merged indexes, and with them.
        self.solved = self.program.solve(limits.time / 2);
        Ok(())
    }

    /// The candidates that are built, with the entities for which they answer.
    fn groups(&self) -> Vec<Group> {
        let entities = |at: usize| -> Option<Vec<EntityId>> {
            let mut all = BTreeSet::new();
            for (number, choice) in self.solved.chosen.iter().enumerate() {
                let choices = self.choices[number].as_ref().ok()?;
                if choice.is_some_and(|choice| choices[choice].needs.contains(&at)) {
                    for part in Part::all(self.table, self.workload.asked[number].question) {
                        all.extend(part.entities);
                    }
                }
            }
            Some(all.into_iter().collect())
        };
        let of = |at: &usize| group(self.table, &self.candidates[*at].design, &entities(*at)?);
        self.solved.built.iter().filter_map(of).collect()
    }
}

/// The designs of all questions, each once.
pub(crate) fn all_designs(table: &Table, workload: &Workload<'_>) -> Vec<Design> {
    let a_second = |asked: &Asked<'_>| {
        asked.times_a_month / Rate { times: 1, per: keyfold_core::model::Period::Second }.a_month()
    };
    let mut found: Vec<Design> = Vec::new();
    let each = DESIGNS_MAX / workload.asked.len().max(1);
    for asked in &workload.asked {
        let select = asked.question.select.as_deref();
        let mut own = 0;
        for part in Part::all(table, asked.question) {
            let keys = part.keys(table, workload, a_second(asked));
            for design in designs(table, &part, &keys, select) {
                if own < each && !found.contains(&design) {
                    own += 1;
                    found.push(design);
                }
            }
        }
    }
    // Questions that share a key can share a projection.
    let mut unions: Vec<Design> = Vec::new();
    for design in &found {
        let same = || found.iter().filter(|other| other.form == design.form && other.kind == design.kind);
        let names: BTreeSet<&String> = same()
            .filter_map(|other| match &other.projection {
                Projection::Include(names) => Some(names),
                _ => None,
            })
            .flatten()
            .collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        let union = Design { projection: included(table, &design.form, &names), ..design.clone() };
        if !names.is_empty() && !found.contains(&union) && !unions.contains(&union) {
            unions.push(union);
        }
    }
    found.extend(unions);
    found
}
