//! Chains of retrofits. A cycle would read the tables that it fills.

use std::collections::BTreeSet;

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::places::Places;
use crate::model::{Model, Retrofit};

/// Reports each retrofit that is on a cycle, once for each set of retrofits.
pub(super) fn check(model: &Model, places: &Places, findings: &mut Findings<'_>) {
    let mut known: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
    for retrofit in model.retrofits.iter().filter(|retrofit| retrofit.from != retrofit.to) {
        let Some(way) = way_back(model, retrofit) else { continue };
        if !known.insert(way.iter().map(|one| one.name.as_str()).collect()) {
            continue;
        }
        let tables: Vec<String> = way.iter().map(|one| format!("`{}`", one.from)).collect();
        let names: Vec<String> = way.iter().map(|one| format!("`{}`", one.name)).collect();
        let message = format!(
            "retrofits {} lead from table {} back to `{}`",
            names.join(", "),
            tables.join(" to "),
            retrofit.from
        );
        let span = places.get(&format!("retrofits.{}", retrofit.name)).unwrap_or_default();
        findings.report(Code::RetrofitCycle, span, message).hint(
            "to move writers back, use `keyfold retrofit switch --back`; a retrofit that is finished or abandoned can leave the manifest",
        );
    }
}

/// The shortest chain of retrofits from this one back to its source, if it is on a cycle.
fn way_back<'m>(model: &'m Model, first: &'m Retrofit) -> Option<Vec<&'m Retrofit>> {
    let mut ways = vec![vec![first]];
    let mut seen = BTreeSet::from([first.to.as_str()]);
    // Each round reaches only new tables, so the loop ends.
    while !ways.is_empty() {
        if let Some(way) = ways.iter().find(|way| way.last().is_some_and(|last| last.to == first.from)) {
            return Some(way.clone());
        }
        let mut longer = Vec::new();
        for way in &ways {
            let Some(last) = way.last() else { continue };
            for next in model.retrofits.iter().filter(|next| next.from == last.to) {
                if seen.insert(&next.to) {
                    longer.push(way.iter().copied().chain([next]).collect());
                }
            }
        }
        ways = longer;
    }
    None
}
