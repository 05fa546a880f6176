//! The protocol without guards that everything began with: changes update what exists, deletes delete, and a scan
//! writes what does not exist yet.

use keyfold_core::retrofit::{ChangeRecord, TableRole};
use keyfold_core::value::Item;

use super::scenario::{Flaw, Scenario, item, key, number_of};
use super::state::SimulationState;

/// Records that come once more, of a hundred.
const LATE_PERCENT: usize = 5;
/// Turns of a history.
const TURNS: usize = 60;

/// Plays the history of this seed, without any fault but late duplicates; is the target right at its end?
pub fn naive(scenario: &Scenario, seed: u64) -> bool {
    let mut state = SimulationState::new(scenario, seed, None, false);
    state.faults.end();
    for _ in 0..state.random.below(6) {
        write(&mut state);
    }
    state.stream.begin(&mut state.random, 0);
    let (mut applied, mut scanned) = (0, false);
    // The page that the scan has read and not yet written.
    let mut page: Vec<Item> = Vec::new();
    for turn in 0.. {
        let over = applied == state.stream.records.len() && scanned && page.is_empty();
        if turn >= TURNS && over {
            break;
        }
        match state.random.below(3) {
            0 if turn < TURNS => write(&mut state),
            1 if applied < state.stream.records.len() => {
                // Delivery is at least once, and the second time may be late.
                let late = applied > 0 && state.random.chance(LATE_PERCENT);
                let at = if late { state.random.below(applied) } else { applied };
                let record = state.stream.records[at].record.clone();
                apply(&mut state, &record);
                applied += usize::from(!late);
            }
            2 => match page.pop() {
                Some(item) => {
                    let mapped = scenario.mapping().target_item(&item).ok().flatten();
                    if let Some(mapped) =
                        mapped.filter(|mapped| state.get(TableRole::Target, mapped).is_none())
                    {
                        state.set(TableRole::Target, &mapped, Some(mapped.clone()), false);
                    }
                }
                None if !scanned => {
                    page = state.source.items();
                    scanned = true;
                }
                None => {}
            },
            _ => {}
        }
    }
    state.is_right_bare()
}

fn write(state: &mut SimulationState<'_>) {
    let number = state.random.below(state.keys);
    let new = (!state.random.chance(25)).then(|| item(&mut state.random, number, Flaw::None, true));
    state.set(TableRole::Source, &key(number), new, false);
}

/// An update is written if the item exists, at the place that its image has.
fn apply(state: &mut SimulationState<'_>, record: &ChangeRecord) {
    let mapping = state.scenario.mapping();
    let at = |item: Option<&Item>| mapping.target_item(item?).ok().flatten();
    match (at(record.old.as_ref()), at(record.new.as_ref())) {
        (Some(old), None) => state.set(TableRole::Target, &old, None, false),
        (None, Some(new)) => state.set(TableRole::Target, &new, Some(new.clone()), false),
        (Some(_), Some(new)) if state.get(TableRole::Target, &new).is_some() => {
            state.set(TableRole::Target, &new, Some(new.clone()), false);
        }
        _ => {}
    }
}

impl SimulationState<'_> {
    /// Has the target exactly the items that the source maps to?
    fn is_right_bare(&self) -> bool {
        let mapped = |item: &Item| self.scenario.mapping().target_item(item).ok().flatten();
        let wanted: Vec<Item> = self.source.iter().filter_map(|(_, item)| mapped(item)).collect();
        let there = self.target.items();
        there.iter().all(|item| wanted.contains(item))
            && wanted
                .iter()
                .all(|item| there.iter().any(|other| number_of(other) == number_of(item) && other == item))
    }
}
