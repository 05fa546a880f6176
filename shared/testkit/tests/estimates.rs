//! Estimated against consumed read units, over generated models whose `expect` is measured.
//!
//! `KEYFOLD_CASES`: the number of cases; `KEYFOLD_SEED`: the first seed.

#![expect(clippy::print_stdout, reason = "the person who runs the test reads the figures")]

use keyfold_core::execute::RunOptions;
use keyfold_core::measure::Sample;
use keyfold_core::model::Table;
use keyfold_core::query::{Condition, check, plan};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_testkit::ModelTable;
use keyfold_testkit::case::{Case, setting};
use keyfold_testkit::generate::Random;
use keyfold_testkit::run::run;

const CASES_DEFAULT: u64 = 1_000;

/// The items of a case, of a size that makes the number of read items show in the cost.
fn larger(case: &Case) -> Vec<Item> {
    let mut random = Random::new(case.seed);
    let bytes = *random.pick(&[100, 1_000, 4_000, 20_000]);
    let filled = case.items.iter().map(|item| {
        let mut item = item.stored.clone();
        let filler = "x".repeat(random.between(bytes / 2, bytes * 3 / 2));
        item.insert("filler".to_owned(), AttributeValue::S(filler));
        item
    });
    filled.collect()
}

/// The figures of all items.
fn measure(table: &mut Table, items: &[Item]) {
    let of = |partition: &[_], items: &[&Item]| {
        let sample = Sample::of(partition, items.iter().copied());
        sample.expect(sample.items())
    };
    let partition = std::slice::from_ref(&table.partition);
    let expect = of(partition, &items.iter().collect::<Vec<_>>());
    let entities: Vec<_> = (0..table.entities.len())
        .map(|number| {
            let is_of = |item: &&Item| table.entity_of(item).ok().flatten().is_some_and(|id| id.0 == number);
            of(partition, &items.iter().filter(is_of).collect::<Vec<_>>())
        })
        .collect();
    let indexes: Vec<_> = table
        .indexes
        .iter()
        .map(|index| {
            let entries: Vec<Item> = items.iter().filter_map(|item| index.entry(table, item).ok()).collect();
            of(&index.partition, &entries.iter().collect::<Vec<_>>())
        })
        .collect();
    table.expect = expect;
    table.entities.iter_mut().zip(entities).for_each(|(entity, expect)| entity.expect = expect);
    table.indexes.iter_mut().zip(indexes).for_each(|(index, expect)| index.expect = expect);
}

/// Estimate and consumption of the first page; `None` if the request is refused.
fn both(case: &mut Case) -> Option<(f64, f64)> {
    let items = larger(case);
    measure(&mut case.model.tables[0], &items);
    let request = check(&case.model, &case.asking.request, &case.asking.caller).ok()?;
    let plan = plan(&request, &case.readiness()).ok()?;
    let mut table = ModelTable::new(case.table());
    for item in items {
        table.put(item, &Condition::always()).ok()?;
    }
    case.pending.iter().for_each(|index| table.empty_index(index));
    let ran = run(&plan, &table, None, &RunOptions::default(), &mut Random::new(case.seed)).ok()?;
    (!plan.accesses.is_empty()).then_some((plan.estimated_units, ran.units))
}

#[test]
fn nine_of_ten_estimates_are_within_a_factor_of_two() {
    let (first, count) = (setting("KEYFOLD_SEED", 0), setting("KEYFOLD_CASES", CASES_DEFAULT));
    let (mut all, mut above, mut below) = (0, 0, 0);
    let mut is_misjudged = |seed: u64| {
        let Some((estimated, consumed)) = both(&mut Case::new(seed)) else { return };
        all += 1;
        above += u32::from(estimated > 2.0 * consumed);
        below += u32::from(estimated < consumed / 2.0);
    };
    (first..first + count).for_each(&mut is_misjudged);
    let within = all - above - below;
    println!(
        "{all} questions: {within} within a factor of 2, {above} cost less than half, {below} more than twice"
    );
    assert!(all * 2 >= count as u32, "too few questions are answered: {all} of {count}");
    assert!(within * 10 >= all * 9, "{within} of {all} estimates are within a factor of 2");
}
