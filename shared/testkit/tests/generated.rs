//! Retrofits of generated tables, a short run: `--bin generated` plays many more.
//!
//! `KEYFOLD_HISTORIES`: the number for each protocol; `KEYFOLD_SEED`: the first seed.

#![expect(clippy::print_stdout, reason = "the person who runs the test reads the tally")]

use keyfold_testkit::case::setting;
use keyfold_testkit::generated::{Counts, Mutant, Shape, play};

const HISTORIES_DEFAULT: u64 = 6_700;
/// The number of histories of a protocol within which a fault must show.
const HISTORIES_OF_MUTANT: u64 = 3_000;

fn all_right(shape: Shape) -> Counts {
    let counts =
        play(shape, setting("KEYFOLD_SEED", 0), setting("KEYFOLD_HISTORIES", HISTORIES_DEFAULT), None);
    let counts = counts.unwrap_or_else(|(seed, fault)| panic!("{shape:?}, seed {seed}: {fault}"));
    println!("{shape:?}: {counts:?}");
    assert!(
        counts.judged > 0 && counts.changed > 0 && counts.quarantined > 0 && counts.planted > 0,
        "{counts:?}"
    );
    counts
}

#[test]
fn in_place_every_item_ends_as_the_plan_announced() {
    all_right(Shape::InPlace);
}

#[test]
fn in_a_table_with_a_fixed_key_every_item_ends_as_announced_there_and_back() {
    let counts = all_right(Shape::Fixed);
    assert!(counts.back > 0 && counts.refused_back > 0, "{counts:?}");
}

#[test]
fn in_a_table_where_each_entity_has_its_key_every_item_ends_as_announced_there_and_back() {
    let counts = all_right(Shape::ByEntity);
    assert!(counts.back > 0 && counts.refused_back > 0, "{counts:?}");
}

#[test]
fn in_a_table_whose_keys_move_every_item_ends_as_announced_there_and_back() {
    let counts = all_right(Shape::Moving);
    assert!(counts.back > 0 && counts.refused_back > 0, "{counts:?}");
}

/// Seeds of histories that once ended wrong.
const WRONG_ONCE: [(Shape, &[u64]); 3] = [
    // A folded key that an update made wrong after its item had left `only`.
    (Shape::InPlace, &[20_055_054, 20_078_617, 20_081_496, 20_102_413]),
    // A key of the target was folded from an attribute that only the source's key held. In the last one a write changed nothing.
    (Shape::Fixed, &[10_721, 20_025_875, 20_033_521, 20_035_568, 20_071_135]),
    (Shape::Moving, &[20_060_022, 20_088_810]),
];

#[test]
fn histories_that_were_wrong_are_right() {
    for (shape, seeds) in WRONG_ONCE {
        for seed in seeds {
            play(shape, *seed, 1, None)
                .unwrap_or_else(|(_, fault)| panic!("{shape:?}, seed {seed}: {fault}"));
        }
    }
}

#[test]
fn the_judge_sees_every_mutant() {
    for mutant in Mutant::ALL {
        let mut seen = Shape::ALL.into_iter().filter_map(|shape| {
            let (seed, fault) = play(shape, 0, HISTORIES_OF_MUTANT, Some(mutant)).err()?;
            Some(format!("{shape:?}, seed {seed}: {}", fault.lines().next().unwrap_or_default()))
        });
        println!("{mutant:?}: {}", seen.next().unwrap_or_else(|| panic!("{mutant:?} is not seen")));
    }
}
