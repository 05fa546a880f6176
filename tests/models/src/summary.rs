//! A plan in a few words, for a column of a table: `GSI1, filter` or `GSI_1 x2, merged`.

use std::collections::BTreeMap;

use keyfold_core::query::QueryPlan;
use keyfold_core::query::plan::{Access, Delivery, Hydration, Operation};

/// The plan in a few words.
pub fn summary(plan: &QueryPlan) -> String {
    if plan.accesses.is_empty() {
        return "nothing to read".to_owned();
    }
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for access in &plan.accesses {
        *places.entry(place(access)).or_default() += 1;
    }
    let some = |test: &dyn Fn(&Access) -> bool| plan.accesses.iter().any(test);
    let mut words: Vec<String> = places
        .into_iter()
        .map(|(place, number)| if number > 1 { format!("{place} x{number}") } else { place })
        .collect();
    let mut add = |holds: bool, word: &str| {
        if holds {
            words.push(word.to_owned());
        }
    };
    add(some(&|access| !access.filter.is_always()), "filter");
    add(some(&|access| !access.recheck.is_always()), "recheck");
    add(some(&|access| access.hydration == Hydration::Fetched), "fetched");
    add(some(&|access| access.hydration == Hydration::ByKey), "read by key");
    add(plan.delivery == Delivery::Merged, "merged");
    add(matches!(plan.delivery, Delivery::SortedInMemory { .. }), "sorted");
    words.join(", ")
}

fn place(access: &Access) -> String {
    let source = access.source.index().unwrap_or("table");
    match access.operation {
        Operation::Query { .. } => source.to_owned(),
        Operation::Scan => format!("scan of {source}"),
    }
}
