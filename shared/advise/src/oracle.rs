//! Every way in which candidates answer a question, by asking the planner.
//!
//! The planner is asked with all candidates, then again without those that it chose, and so on: what it answers for any set of
//! candidates is among the choices. A candidate is taken away by calling it pending, as an index that is not there yet.

use std::collections::BTreeSet;

use keyfold_core::model::Table;
use keyfold_core::query::Readiness;
use keyfold_core::query::advise::plan_question;
use keyfold_core::query::plan::{PlanError, QueryPlan};
use keyfold_core::query::readiness::Pending;

use crate::design::Form;
use crate::screen::Candidate;
use crate::shape::{Key, Part};
use crate::workload::Asked;

/// The most choices of one question, and the most plans that are asked for to find them.
const CHOICES_MAX: usize = 64;
const PLANS_MAX: usize = 400;

/// The candidates with which a question is answered, and its read units then.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    /// Numbers of candidates, ascending. Empty: the table as it is answers.
    pub(crate) needs: Vec<usize>,
    pub(crate) units: f64,
}

/// The choices of one question, or why it has none.
pub(crate) fn choices(
    base: &Table,
    candidates: &[Candidate],
    asked: Asked<'_>,
) -> Result<Vec<Choice>, Box<PlanError>> {
    let parts = Part::all(base, asked.question);
    let relevant: Vec<usize> =
        (0..candidates.len()).filter(|at| may_serve(base, &candidates[*at], &parts)).collect();
    let mut table = base.clone();
    table.indexes.extend(relevant.iter().map(|at| candidates[*at].index.clone()));
    let number = |name: &str| relevant.iter().copied().find(|at| candidates[*at].index.name == name);
    let plan = |without: &BTreeSet<usize>| {
        let mut readiness = Readiness::complete();
        for at in without {
            readiness.add_index(&table.id, &candidates[*at].index.name, Pending::Missing);
        }
        plan_question(&table, asked.question, asked.with_optional, &readiness)
    };
    let choice = |plan: &QueryPlan| Choice { needs: used(plan, &number), units: plan.estimated_units };
    let mut found: Vec<Choice> = Vec::new();
    found.extend(plan(&relevant.iter().copied().collect()).ok().as_ref().map(choice));
    let mut open = vec![BTreeSet::new()];
    let mut seen: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
    let mut refusal = None;
    while let Some(without) = open.pop() {
        if found.len() >= CHOICES_MAX || seen.len() >= PLANS_MAX || !seen.insert(without.clone()) {
            continue;
        }
        let plan = match plan(&without) {
            Ok(plan) => choice(&plan),
            Err(error) => {
                refusal = refusal.or_else(|| without.is_empty().then(|| Box::new(error)));
                continue;
            }
        };
        for need in &plan.needs {
            let mut less = without.clone();
            less.insert(*need);
            open.push(less);
        }
        if !found.contains(&plan) {
            found.push(plan);
        }
    }
    match refusal {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

fn used(plan: &QueryPlan, number: &dyn Fn(&str) -> Option<usize>) -> Vec<usize> {
    let names = plan.accesses.iter().filter_map(|access| access.source.index());
    names.filter_map(number).collect::<BTreeSet<usize>>().into_iter().collect()
}

/// Could the planner use it? The partition key must be asked by equality, or have values that are listed.
fn may_serve(table: &Table, candidate: &Candidate, parts: &[Part<'_>]) -> bool {
    let is_given = |part: &Part<'_>, key: &Key| {
        key.partition.iter().all(|name| {
            part.by_equality().any(|asked| asked == name)
                || table.attribute_of(&part.entities, name).is_some_and(|known| known.values.is_some())
        })
    };
    parts.iter().any(|part| match &candidate.design.form {
        Form::Plain(key) => is_given(part, key),
        Form::ByEntity(slots) => slots.iter().any(|slot| {
            (part.entities.is_empty() || part.entities.contains(&slot.entity)) && is_given(part, &slot.key)
        }),
    })
}
