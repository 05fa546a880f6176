//! Several reads merged in order: together they read little more than the answer and the next item of each.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use keyfold_core::execute::{Answer, Position, RunOptions};
use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::plan::{Delivery, QueryPlan};
use keyfold_core::query::{Condition, Readiness, check, plan};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_testkit::ModelTable;
use keyfold_testkit::generate::Random;
use keyfold_testkit::run::run;
use serde_json::{Value, json};

const TEAMS: usize = 20;
const ITEMS: usize = 2_000;

/// Each team is a partition of the index, or of the table if the index is local.
const MANIFEST: &str = r#"
[tables.games]
partition = "PARTITION"
sort = "id"
expect = { items = 2000, items-per-partition = 100 SIZE }
[tables.games.attributes]
id = "string"
kind = "string"
team = "string"
text = "string"
score = { type = "number", required = true }
[tables.games.indexes.byScore]
INDEX
"#;

struct Stage {
    model: Model,
    table: ModelTable,
}

/// Items read, requests, consumed units, estimated units.
type Cost = (u64, u32, f64, f64);

impl Stage {
    /// `is_stated`: does the manifest state the size? `team`: the team of the item with this score.
    fn new(index: &str, is_stated: bool, bytes: usize, team: impl Fn(usize) -> usize) -> Stage {
        let (partition, index) = match index {
            "local" => ("team", "sort = \"score\"\nprojection = \"keys-only\""),
            "keys-only" => ("kind", "partition = \"team\"\nsort = \"score\"\nprojection = \"keys-only\""),
            _ => ("kind", "partition = \"team\"\nsort = \"score\""),
        };
        let size = if is_stated { format!(", item-bytes = {bytes}") } else { String::new() };
        let text = MANIFEST.replace("PARTITION", partition).replace("INDEX", index).replace("SIZE", &size);
        let parsed = keyfold_core::manifest::parse("keyfold.toml", &text);
        let report = parsed.render(&text, false);
        let model = parsed.model.unwrap_or_else(|| panic!("{report}"));
        let mut table = ModelTable::new(&model.tables[0]);
        for score in 0..ITEMS {
            let texts = [
                ("kind", "chess".to_owned()),
                ("id", format!("{score:05}")),
                ("team", format!("t{:02}", team(score))),
                ("text", "x".repeat(bytes - 60)),
            ];
            let named = texts.map(|(name, value)| (name, AttributeValue::S(value)));
            let mut item = Item::from_iter(named);
            item.insert("score".to_owned(), AttributeValue::N(score.to_string()));
            table.put(item, &Condition::always()).unwrap();
        }
        Stage { model, table }
    }

    /// The lowest scores of all teams. `more`: a further condition.
    fn plan(&self, limit: u32, more: Option<(&str, Value)>) -> QueryPlan {
        let teams: Vec<_> = (0..TEAMS).map(|team| format!("t{team:02}")).collect();
        let mut asked = json!({ "team": { "in": teams } });
        if let Some((attribute, test)) = more {
            asked[attribute] = test;
        }
        let request = json!({ "table": "games", "where": asked, "order": "score", "limit": limit });
        let request = serde_json::from_value(request).unwrap();
        let checked = check(&self.model, &request, &Caller::Trusted).unwrap();
        let plan = plan(&checked, &Readiness::complete()).unwrap();
        assert_eq!((plan.accesses.len(), plan.delivery), (TEAMS, Delivery::Merged));
        plan
    }

    fn page(&self, plan: &QueryPlan, from: Option<&Position>) -> Answer {
        run(plan, &self.table, from, &RunOptions::default(), &mut Random::new(1)).unwrap().answer.unwrap()
    }

    fn cost(&self, limit: u32) -> Cost {
        let plan = self.plan(limit, None);
        let answer = self.page(&plan, None);
        let scores: Vec<_> = answer.items.iter().map(|item| item["score"].clone()).collect();
        let expected: Vec<_> = (0..limit).map(|score| AttributeValue::N(score.to_string())).collect();
        assert_eq!(scores, expected);
        (answer.items_read, answer.requests, answer.consumed_read_units, plan.estimated_units)
    }
}

/// Any team, without a pattern.
fn mixed(score: usize) -> usize {
    Random::new(score as u64).below(TEAMS)
}

#[test]
fn a_merged_top_ten_reads_little_more_than_its_items() {
    let cost = |index, is_stated, bytes| Stage::new(index, is_stated, bytes, mixed).cost(10);
    assert_eq!(cost("all", true, 4_000), (44, 21, 22.0, 20.0));
    assert_eq!(cost("all", false, 4_000), (44, 21, 22.0, 10.0), "the estimate assumes small items");
    // Ten small items are half a unit, as one is.
    assert_eq!(cost("all", true, 400), (200, 20, 10.0, 10.0));
    assert_eq!(cost("all", false, 400), (44, 21, 10.5, 10.0));
    // Each item is read from the table, too.
    assert_eq!(cost("local", true, 4_000), (44, 21, 32.5, 30.0));
    assert_eq!(cost("local", true, 400), (44, 21, 32.5, 30.0));
    assert_eq!(cost("keys-only", true, 4_000), (44, 42, 32.5, 30.0));
}

#[test]
fn a_read_that_has_most_of_the_answer_takes_pages_that_double() {
    let of_one = Stage::new("all", true, 4_000, |score| if score < 100 { 7 } else { mixed(score) });
    assert_eq!(of_one.cost(10), (48, 22, 24.0, 20.0));
    assert_eq!(of_one.cost(100), (290, 23, 144.5, 100.0));
}

#[test]
fn the_last_read_takes_the_whole_page() {
    let stage = Stage::new("all", true, 4_000, |score| score.min(TEAMS - 1));
    let plan = stage.plan(50, None);
    let first = stage.page(&plan, None);
    let second = stage.page(&plan, first.next.as_ref());
    assert_eq!((second.items.len(), second.items_read, second.requests), (50, 50, 1));
}

#[test]
fn pages_double_while_a_filter_passes_nothing() {
    let filters = [("all", "text", json!({ "contains": "y" })), ("keys-only", "kind", json!("go"))];
    for (index, attribute, test) in filters {
        let stage = Stage::new(index, true, 4_000, |score| score % TEAMS);
        let answer = stage.page(&stage.plan(10, Some((attribute, test))), None);
        assert_eq!((answer.items.len(), answer.items_read, answer.requests), (0, 2_000, 120), "{index}");
    }
}
