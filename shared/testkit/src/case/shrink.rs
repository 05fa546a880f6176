//! A smaller case that fails too.

use super::Case;
use super::judge::{Failure, judge};
use crate::generate::Asked;

/// Removes items and parts of the request, one by one, while the case still fails.
pub fn shrunk(case: &Case, failure: Failure) -> (Case, Failure) {
    let (mut case, mut failure) = (case.clone(), failure);
    while let Some((smaller, still)) = smaller(&case).into_iter().find_map(fails) {
        (case, failure) = (smaller, still);
    }
    (case, failure)
}

fn fails(case: Case) -> Option<(Case, Failure)> {
    judge(&case).err().map(|failure| (case, failure))
}

fn smaller(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    for at in 0..case.items.len() {
        let mut smaller = case.clone();
        smaller.items.remove(at);
        all.push(smaller);
    }
    for at in 0..case.changed.len() {
        let mut smaller = case.clone();
        smaller.changed.remove(at);
        all.push(smaller);
    }
    for asked in simpler(&case.asking.asked) {
        let mut smaller = case.clone();
        smaller.asking.request.conditions = asked.json(false).into();
        smaller.asking.asked = asked;
        all.push(smaller);
    }
    let mut change = |different: bool, change: &dyn Fn(&mut Case)| {
        if different {
            let mut smaller = case.clone();
            change(&mut smaller);
            all.push(smaller);
        }
    };
    let request = &case.asking.request;
    change(request.select.is_some(), &|case| case.asking.request.select = None);
    change(request.limit.is_some(), &|case| case.asking.request.limit = None);
    change(request.count, &|case| case.asking.request.count = false);
    change(request.consistent, &|case| case.asking.request.consistent = false);
    change(request.scan, &|case| case.asking.request.scan = false);
    change(request.sort_in_memory.is_some(), &|case| case.asking.request.sort_in_memory = None);
    change(!request.entity.is_empty(), &|case| drop(case.asking.request.entity.pop()));
    change(!request.order.is_empty(), &|case| drop(case.asking.request.order.pop()));
    all
}

fn simpler(asked: &Asked) -> Vec<Asked> {
    let (parts, join): (_, fn(Vec<Asked>) -> Asked) = match asked {
        Asked::Is(..) | Asked::Of(_) => return Vec::new(),
        Asked::Not(inner) => {
            let inner_simpler = simpler(inner).into_iter().map(|inner| Asked::Not(Box::new(inner)));
            return std::iter::once(inner.as_ref().clone()).chain(inner_simpler).collect();
        }
        Asked::All(parts) => (parts, Asked::All),
        Asked::Any(parts) => (parts, Asked::Any),
    };
    let mut all = Vec::new();
    for at in 0..parts.len() {
        if parts.len() > 1 {
            let mut fewer = parts.clone();
            fewer.remove(at);
            all.push(if fewer.len() == 1 { fewer.remove(0) } else { join(fewer) });
        }
        for part in simpler(&parts[at]) {
            let mut changed = parts.clone();
            changed[at] = part;
            all.push(join(changed));
        }
    }
    all
}
