//! A condition as clauses joined by `and`, or as alternatives of an `or`.

use std::borrow::Cow;

use crate::condition::{Comparison, Condition};
use crate::query::limits::ALTERNATIVES_MAX;

/// The clauses of a condition: the parts joined by `and`, flattened. Keys can use a clause, but nothing inside an `or`
/// or a `not`, so `not` is moved inwards where that yields more clauses. Only rewritten clauses are copied.
pub(super) fn clauses(condition: &Condition) -> Vec<Cow<'_, Condition>> {
    let parts = if let Condition::All(parts) = condition { parts.len() } else { 1 };
    let mut all = Vec::with_capacity(parts);
    add_clauses(condition, &mut all);
    all
}

fn add_clauses<'a>(condition: &'a Condition, all: &mut Vec<Cow<'a, Condition>>) {
    match condition {
        Condition::All(parts) => parts.iter().for_each(|part| add_clauses(part, all)),
        Condition::Not(inner) => match inner.as_ref() {
            Condition::Not(again) => add_clauses(again, all),
            Condition::Is(path, Comparison::Exists(wanted)) => {
                all.push(Cow::Owned(Condition::Is(path.clone(), Comparison::Exists(!wanted))));
            }
            // `not (a or b)` becomes `not a and not b`.
            Condition::Any(parts) => {
                for part in parts {
                    let none = Condition::Not(Box::new(part.clone()));
                    all.extend(owned(clauses(&none)).into_iter().map(Cow::Owned));
                }
            }
            _ => all.push(Cow::Borrowed(condition)),
        },
        Condition::Any(parts) if parts.len() == 1 => add_clauses(&parts[0], all),
        other => all.push(Cow::Borrowed(other)),
    }
}

fn owned(clauses: Vec<Cow<'_, Condition>>) -> Vec<Condition> {
    clauses.into_iter().map(Cow::into_owned).collect()
}

/// The alternatives of clauses with an `or`, each a conjunction. `None` without an `or`, or with more alternatives than
/// are worth planning.
fn alternatives(clauses: &[Cow<'_, Condition>]) -> Option<Vec<Vec<Condition>>> {
    if !clauses.iter().any(|clause| matches!(clause.as_ref(), Condition::Any(_))) {
        return None;
    }
    let mut all = vec![Vec::new()];
    for clause in clauses {
        let choices = match clause.as_ref() {
            Condition::Any(parts) => choices(parts),
            _ => vec![vec![clause.as_ref().clone()]],
        };
        if all.len() * choices.len() > ALTERNATIVES_MAX {
            return None;
        }
        all = all
            .iter()
            .flat_map(|known: &Vec<Condition>| {
                choices.iter().map(|choice| [known.as_slice(), choice].concat())
            })
            .collect();
    }
    (all.len() > 1).then_some(all)
}

fn choices(parts: &[Condition]) -> Vec<Vec<Condition>> {
    let mut choices = Vec::new();
    for part in parts {
        let clauses = clauses(part);
        match alternatives(&clauses) {
            Some(several) => choices.extend(several),
            None => choices.push(owned(clauses)),
        }
    }
    choices
}

/// The alternatives made disjoint: each also requires that no earlier one holds. Otherwise an item that fulfils two of
/// them would be returned twice. Empty if the clauses are not split.
pub(super) fn disjoint_alternatives(clauses: &[Cow<'_, Condition>]) -> Vec<Vec<Cow<'static, Condition>>> {
    let mut earlier: Vec<Condition> = Vec::new();
    let disjoint = |alternative: Vec<Condition>| {
        let none_of_these = Condition::Not(Box::new(Condition::all(alternative.iter().cloned())));
        let conjunct = alternative.into_iter().chain(earlier.iter().cloned()).map(Cow::Owned).collect();
        earlier.push(none_of_these);
        conjunct
    };
    alternatives(clauses).unwrap_or_default().into_iter().map(disjoint).collect()
}
