//! The protocol without guards that everything began with: changes update what exists, deletes delete, and a scan
//! writes what does not exist yet.

use keyfold_core::retrofit::{ChangeRecord, Place};
use keyfold_core::value::Item;

use super::scene::{Flaw, Scene, item, key, number_of};
use super::world::World;

/// Records that come once more, of a hundred.
const LATE_PERCENT: usize = 5;
/// Turns of a history.
const TURNS: usize = 60;

/// Plays the history of this seed, without any fault but late duplicates; is the target right at its end?
pub fn naive(scene: &Scene, seed: u64) -> bool {
    let mut world = World::new(scene, seed, None, false);
    world.faults.end();
    for _ in 0..world.random.below(6) {
        write(&mut world);
    }
    world.stream.begin(&mut world.random, 0);
    let (mut applied, mut scanned) = (0, false);
    // The page that the scan has read and not yet written.
    let mut page: Vec<Item> = Vec::new();
    for turn in 0.. {
        let over = applied == world.stream.records.len() && scanned && page.is_empty();
        if turn >= TURNS && over {
            break;
        }
        match world.random.below(3) {
            0 if turn < TURNS => write(&mut world),
            1 if applied < world.stream.records.len() => {
                // Delivery is at least once, and the second time may be late.
                let late = applied > 0 && world.random.chance(LATE_PERCENT);
                let at = if late { world.random.below(applied) } else { applied };
                let record = world.stream.records[at].record.clone();
                apply(&mut world, &record);
                applied += usize::from(!late);
            }
            2 => match page.pop() {
                Some(item) => {
                    let mapped = scene.mapping().target_item(&item).ok().flatten();
                    if let Some(mapped) = mapped.filter(|mapped| world.get(Place::Target, mapped).is_none()) {
                        world.set(Place::Target, &mapped, Some(mapped.clone()), false);
                    }
                }
                None if !scanned => {
                    page = world.source.items();
                    scanned = true;
                }
                None => {}
            },
            _ => {}
        }
    }
    world.is_right_bare()
}

fn write(world: &mut World<'_>) {
    let number = world.random.below(world.keys);
    let new = (!world.random.chance(25)).then(|| item(&mut world.random, number, Flaw::None, true));
    world.set(Place::Source, &key(number), new, false);
}

/// An update is written if the item exists, at the place that its image has.
fn apply(world: &mut World<'_>, record: &ChangeRecord) {
    let mapping = world.scene.mapping();
    let at = |item: Option<&Item>| mapping.target_item(item?).ok().flatten();
    match (at(record.old.as_ref()), at(record.new.as_ref())) {
        (Some(old), None) => world.set(Place::Target, &old, None, false),
        (None, Some(new)) => world.set(Place::Target, &new, Some(new.clone()), false),
        (Some(_), Some(new)) if world.get(Place::Target, &new).is_some() => {
            world.set(Place::Target, &new, Some(new.clone()), false);
        }
        _ => {}
    }
}

impl World<'_> {
    /// Has the target exactly the items that the source maps to?
    fn is_right_bare(&self) -> bool {
        let mapped = |item: &Item| self.scene.mapping().target_item(item).ok().flatten();
        let wanted: Vec<Item> = self.source.iter().filter_map(|(_, item)| mapped(item)).collect();
        let there = self.target.items();
        there.iter().all(|item| wanted.contains(item))
            && wanted
                .iter()
                .all(|item| there.iter().any(|other| number_of(other) == number_of(item) && other == item))
    }
}
