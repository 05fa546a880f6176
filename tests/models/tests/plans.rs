//! The plans by core's execution over the model table, without DynamoDB.

use std::path::Path;

use keyfold_core::execute::RunOptions;
use keyfold_core::manifest;
use keyfold_core::query::check::Caller;
use keyfold_core::query::{Condition, Readiness, check, plan};
use keyfold_models::case::Case;
use keyfold_models::compare::Identities;
use keyfold_models::request::request;
use keyfold_models::subject::{stored, table_for};
use keyfold_testkit::generate::Random;
use keyfold_testkit::run::pages;
use keyfold_testkit::table::ModelTable;

#[test]
fn a_plan_selects_what_is_asked_and_nothing_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut planned = 0;
    for name in ["library", "neighbours", "promises"] {
        let case = Case::read(&folder.join(format!("{name}.json"))).unwrap();
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        let model = manifest::parse(name, &text).model.unwrap();
        let table = table_for(&model, &case).unwrap();
        let mut held = ModelTable::new(table);
        for item in stored(&case, table).unwrap() {
            held.put(item, &Condition::always()).unwrap();
        }
        let identities = Identities::new(&case, table);
        for pattern in &case.patterns {
            let Some(meaning) = &pattern.meaning else { continue };
            let mut asked = request(table, &case, meaning);
            asked.scan = true;
            let plan =
                plan(&check(&model, &asked, &Caller::Trusted).unwrap(), &Readiness::complete()).unwrap();
            let options = RunOptions { page_items_max: 3, ..RunOptions::default() };
            let pages = pages(&plan, &held, &options, &mut Random::new(0), 1_000).unwrap();
            let mut items: Vec<_> = pages.into_iter().flat_map(|page| page.unwrap().items).collect();
            items.truncate(meaning.limit.unwrap_or(usize::MAX));
            let fault = identities.fault(meaning, pattern.expected.as_ref(), &items);
            assert_eq!(fault, None, "{name} {}", pattern.id);
            planned += 1;
        }
    }
    assert_eq!(planned, 17);
}
