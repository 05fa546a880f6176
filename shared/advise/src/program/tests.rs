use std::time::Duration;

use super::{Priced, PricedChoice, Program, Solved};

/// The best of all sets.
fn exhaustive(program: &Program) -> Solved {
    let count = program.candidates.len();
    let sets =
        (0..1u32 << count).map(|bits| (0..count).filter(|at| bits & (1 << at) != 0).collect::<Vec<_>>());
    sets.filter(|set| program.fits(set))
        .map(|set| program.with(set))
        .min_by(|one, other| program.objective(one).total_cmp(&program.objective(other)))
        .expect("the empty set")
}

fn random(random: &mut fastrand::Rng) -> Program {
    let candidates = random.usize(0..=6);
    let dollars = |random: &mut fastrand::Rng| f64::from(random.u32(0..=400)) / 4.0;
    let choice = |random: &mut fastrand::Rng| {
        let mut needs: Vec<usize> = (0..candidates).filter(|_| random.u8(0..3) == 0).collect();
        needs.truncate(2);
        PricedChoice { needs, dollars: dollars(random) }
    };
    Program {
        candidates: (0..candidates)
            .map(|_| Priced { dollars: dollars(random), is_local: random.u8(0..4) == 0 })
            .collect(),
        questions: (0..random.usize(1..=5))
            .map(|_| (0..random.usize(0..=5)).map(|_| choice(random)).collect())
            .collect(),
        global_max: random.usize(0..=4),
        local_max: random.usize(0..=2),
    }
}

#[test]
fn the_solver_finds_what_exhaustive_enumeration_finds() {
    for seed in 0..2_000 {
        let program = random(&mut fastrand::Rng::with_seed(seed));
        let (solved, best) = (program.solve(Duration::from_secs(5)), exhaustive(&program));
        assert!(program.fits(&solved.built), "seed {seed}: {solved:?}");
        let (found, least) = (program.objective(&solved), program.objective(&best));
        assert!((found - least).abs() < 1e-6, "seed {seed}: {found}, but {least} is possible: {program:?}");
        assert!((solved.lower_bound - solved.dollars).abs() < 1e-6, "seed {seed}: {solved:?}");
    }
}

#[test]
fn after_the_time_limit_the_best_set_so_far_keeps_its_limits_and_its_bound() {
    let mut rng = fastrand::Rng::with_seed(7);
    let candidates = 60;
    let question = |rng: &mut fastrand::Rng| {
        let choice = |at: usize, rng: &mut fastrand::Rng| PricedChoice {
            needs: vec![at],
            dollars: f64::from(rng.u32(1..10_000)) / 100.0,
        };
        (0..candidates)
            .filter(|_| rng.bool())
            .collect::<Vec<_>>()
            .into_iter()
            .map(|at| choice(at, rng))
            .collect()
    };
    let program = Program {
        questions: (0..60).map(|_| question(&mut rng)).collect(),
        candidates: (0..candidates)
            .map(|_| Priced { dollars: f64::from(rng.u32(2_000..4_000)) / 100.0, is_local: false })
            .collect(),
        global_max: 20,
        local_max: 0,
    };
    let solved = program.solve(Duration::from_millis(1));
    assert!(program.fits(&solved.built));
    assert!(solved.chosen.iter().all(Option::is_some));
    assert!(solved.lower_bound <= solved.dollars, "{} of {}", solved.lower_bound, solved.dollars);
}
