//! From a manifest to advice. The tests of the integer program are in `program`.

use std::time::Duration;

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::Readiness;
use keyfold_core::query::advise::{advise as plan_all, plan_question};

use crate::price;
use crate::search::{Limits, Search};
use crate::{Advice, AdviseError, IndexState, Options, advise};

const AUDIT: &str = r#"
[tables.audit]
partition = "id"
expect = { items = 5_000_000, item-bytes = 250, writes = "20/s" }
[tables.audit.attributes]
id = "string"
resourceId = "string"
action = { type = "string", values = ["viewed", "edited", "deleted"], required = true }
accessedBy = "string"
timestamp = { type = "timestamp", required = true }
"#;

const SHOP: &str = r#"
[tables.shop]
partition = { attribute = "PK" }
sort = { attribute = "SK" }
entity-attribute = "kind"
expect = { items = 100_000, item-bytes = 300 }
[tables.shop.attributes]
kind = "string"
[tables.shop.entities.customer]
partition = "c#{customerId}"
sort = "c#{customerId}"
attributes = { customerId = "string", email = { type = "string", required = true } }
[tables.shop.entities.order]
partition = "o#{orderId}"
sort = "o#{orderId}"
[tables.shop.entities.order.attributes]
orderId = "string"
customerId = { type = "string", required = true }
at = { type = "timestamp", required = true }
[questions.shop.customerByEmail]
entity = "customer"
where = ["email"]
[questions.shop.ordersOfCustomer]
entity = "order"
where = ["customerId", "at >=?"]
order = "-at"
"#;

fn advice(text: &str, table: &str, options: &Options) -> Advice {
    let advice = advise(text, table, options).unwrap();
    check(text, &advice);
    advice
}

fn of_audit(questions: &str) -> Advice {
    advice(&format!("{AUDIT}{questions}"), "audit", &Options::default())
}

/// The manifest takes the advice without a new word, and the planner answers what the advice says is answered.
fn check(text: &str, advice: &Advice) {
    let with = format!("{}\n{}", text.trim_end(), advice.addition);
    let (before, after) = (manifest::parse("", text), manifest::parse("", &with));
    assert_eq!(before.diagnostics.len(), after.diagnostics.len(), "{}\n{with}", after.render(&with, false));
    let model = after.model.unwrap();
    let planned = plan_all(&model).into_iter().filter(|planned| planned.table.id == advice.table);
    let served =
        planned.filter(|one| one.outcome.as_ref().is_ok_and(|plan| !plan.scans() || one.question.scan));
    assert_eq!(served.count(), advice.advised.served, "{with}");
    assert!(advice.lower_bound <= advice.advised.total + 1e-9);
}

fn names(advice: &Advice) -> Vec<&str> {
    let new = advice.indexes.iter().filter(|index| index.state == IndexState::New);
    new.map(|index| index.name.as_str()).collect()
}

#[test]
fn a_native_key_has_what_is_asked_by_equality_then_the_order() {
    let advice = of_audit(
        "[questions.audit.whatDidUserDo]\nwhere = [\"accessedBy\", \"action\", \"timestamp >=?\"]\norder = \"-timestamp\"\n",
    );
    assert_eq!(names(&advice).len(), 1, "{advice:#?}");
    assert!(advice.indexes[0].text.contains("\"timestamp\""), "{}", advice.addition);
    assert!(!advice.indexes[0].needs_retrofit && !advice.addition.contains("[retrofits"));
    assert!(advice.is_optimal && advice.advised.unserved == 0 && advice.now.unserved == 2);
}

#[test]
fn names_that_rust_would_escape_are_names_of_toml() {
    for name in ["acce\u{301}s", "soft\u{ad}hyphen"] {
        let text = AUDIT.replace("accessedBy =", &format!("\"{name}\" ="));
        let question = format!("[questions.audit.of]\nwhere = [\"{name}\"]\norder = \"-timestamp\"\n");
        let advice = advice(&format!("{text}{question}"), "audit", &Options::default());
        assert!(advice.addition.contains(name), "{}", advice.addition);
    }
}

#[test]
fn questions_about_the_same_attributes_share_an_index() {
    let advice = of_audit(
        "[questions.audit.ofUser]\nwhere = [\"accessedBy\"]\norder = \"-timestamp\"\n\
         [questions.audit.ofUserSince]\nwhere = [\"accessedBy\", \"timestamp >=\"]\n\
         [questions.audit.event]\nwhere = [\"id\"]\n",
    );
    assert_eq!(names(&advice), ["byAccessedByTimestamp"], "{}", advice.addition);
    assert_eq!(advice.indexes[0].questions, ["ofUser", "ofUserSince"]);
}

#[test]
fn a_key_of_few_values_gets_shards() {
    let advice =
        of_audit("[questions.audit.latest]\nwhere = [\"action\"]\norder = \"-timestamp\"\nlimit = 20\n");
    assert!(advice.addition.contains("{action}#{id|shard:4}"), "{}", advice.addition);
    assert!(advice.indexes[0].needs_retrofit && advice.addition.contains("fills = [\"byActionTimestamp\"]"));
    let next = advice.next.join("; ");
    assert!(
        next.contains("keyfold index add audit byActionTimestamp; keyfold retrofit plan auditAdvised"),
        "{next}"
    );
}

#[test]
fn a_design_that_the_manifest_warns_about_is_not_advised() {
    let text = AUDIT.replace("\"viewed\"", "\"view#1\"");
    let question = "[questions.audit.latest]\nwhere = [\"action\"]\norder = \"-timestamp\"\nlimit = 20\n";
    advice(&format!("{text}{question}"), "audit", &Options::default());
}

#[test]
fn a_sort_attribute_that_not_every_item_has_becomes_a_tail() {
    let text =
        AUDIT.replace("timestamp = { type = \"timestamp\", required = true }", "timestamp = \"timestamp\"");
    let question = "[questions.audit.of]\nwhere = [\"resourceId\"]\norder = \"-timestamp\"\n";
    let advice = advice(&format!("{text}{question}"), "audit", &Options::default());
    assert!(advice.addition.contains("sort = \"timestamp#[{timestamp}]\""), "{}", advice.addition);
    assert_eq!(advice.advised.unserved, 0);
}

#[test]
fn many_writes_to_one_partition_get_shards_by_their_rate() {
    let text = AUDIT.replace("20/s", "9000/s");
    let question = "[questions.audit.latest]\nwhere = [\"action\"]\norder = \"-timestamp\"\nlimit = 20\n";
    let quiet = of_audit(question);
    let busy = advice(
        &format!("{}{question}", text.replace("\"viewed\", \"edited\", \"deleted\"", "\"viewed\"")),
        "audit",
        &Options::default(),
    );
    assert!(quiet.addition.contains("shard:4"), "{}", quiet.addition);
    assert!(busy.addition.contains("shard:10"), "{}", busy.addition);
    let hot = text.replace("expect = {", "expect = { items-per-partition = 2_500_000,");
    let hot = advice(
        &format!("{hot}[questions.audit.of]\nwhere = [\"accessedBy\"]\n"),
        "audit",
        &Options::default(),
    );
    assert!(hot.addition.contains("{accessedBy}#{id|shard:5}"), "{}", hot.addition);
}

#[test]
fn the_projection_is_what_questions_select() {
    let advice = of_audit(
        "[questions.audit.who]\nwhere = [\"resourceId\"]\nselect = [\"accessedBy\"]\nrate = \"5/s\"\n",
    );
    assert!(advice.addition.contains("projection = [\"accessedBy\"]"), "{}", advice.addition);
    let rare = of_audit("[questions.audit.who]\nwhere = [\"resourceId\"]\nrate = \"1/day\"\n");
    assert!(rare.addition.contains("projection = \"keys-only\""), "{}", rare.addition);
    let all = of_audit("[questions.audit.who]\nwhere = [\"resourceId\"]\nrate = \"1000/s\"\n");
    assert!(all.addition.contains("projection = \"all\""), "{}", all.addition);
}

#[test]
fn entities_share_an_index() {
    let advice = advice(SHOP, "shop", &Options::default());
    assert_eq!(names(&advice), ["shared1"], "{}", advice.addition);
    assert_eq!(advice.indexes[0].questions, ["customerByEmail", "ordersOfCustomer"]);
    assert!(advice.addition.contains("partition = \"order#{customerId}\""), "{}", advice.addition);
    assert_eq!(advice.advised.unserved, 0);
}

#[test]
fn existing_indexes_are_kept_and_unused_ones_are_listed() {
    let text = format!(
        "{AUDIT}[tables.audit.indexes.old]\npartition = \"resourceId\"\n[tables.audit.indexes.used]\npartition = \"accessedBy\"\n\
         [questions.audit.ofUser]\nwhere = [\"accessedBy\"]\n"
    );
    let advice = advice(&text, "audit", &Options::default());
    let states: Vec<_> = advice.indexes.iter().map(|index| (index.name.as_str(), index.state)).collect();
    assert_eq!(states, [("old", IndexState::Unused), ("used", IndexState::Kept)]);
    assert!(advice.addition.is_empty() && advice.next.is_empty());
    assert!(advice.indexes[0].cost.total() > 0.0);
}

#[test]
fn limits_hold_and_what_they_leave_open_is_said() {
    let questions = "[questions.audit.a]\nwhere = [\"resourceId\"]\nrate = \"1/day\"\n[questions.audit.b]\nwhere = [\"accessedBy\"]\n";
    let text = format!("{AUDIT}{questions}");
    for (global_max, unserved) in [(2, 0), (1, 1), (0, 2)] {
        let options = Options { global_max, ..Options::default() };
        let advice = advice(&text, "audit", &options);
        assert_eq!((advice.indexes.len(), advice.advised.unserved), (global_max, unserved));
        let needs = advice.questions.iter().filter_map(|question| question.needs.as_deref());
        assert!(needs.clone().all(|needs| needs.contains("allow one more")) && needs.count() == unserved);
    }
}

#[test]
fn a_new_table_may_get_local_indexes_and_needs_no_retrofit() {
    let text = "[tables.t]\nname = \"tbl\"\npartition = \"owner\"\nsort = \"id\"\nexpect = { items-per-partition = 100, item-bytes = 300 }\n[tables.t.attributes]\nowner = \"string\"\nid = \"string\"\n\
                at = { type = \"timestamp\", required = true }\n[questions.t.latest]\nwhere = [\"owner\"]\norder = \"-at\"\nconsistent = true\n";
    let live = advice(text, "t", &Options::default());
    assert_eq!((live.advised.unserved, live.indexes.len()), (1, 0));
    let new = advice(text, "t", &Options { local_allowed: true, ..Options::default() });
    assert!(new.addition.contains("type = \"local\"") && new.advised.unserved == 0, "{}", new.addition);
    assert!(new.next.iter().any(|step| step == "keyfold tables apply"));
}

#[test]
fn the_attribute_that_is_missing_is_named() {
    let advice = of_audit(
        "[questions.audit.search]\nwhere = [\"resourceId contains\"]\n[questions.audit.since]\nwhere = [\"timestamp >=\", \"resourceId >=\"]\nlimit = 1000\n\
         [questions.audit.latest]\nwhere = [\"timestamp >=\"]\nlimit = 20\n",
    );
    let needs = |name: &str| {
        let found = advice.questions.iter().find(|question| question.question == name);
        found.and_then(|question| question.needs.clone()).unwrap_or_default()
    };
    assert!(needs("search").contains("`resourceIdValue`"), "{}", needs("search"));
    assert!(needs("since").contains("month of `timestamp`"), "{}", needs("since"));
    let since = advice.questions.iter().find(|question| question.question == "since").unwrap();
    assert!(since.unserved.is_none() && since.read_units.unwrap() > 300.0, "{since:?}");
    assert_eq!(needs("latest"), "", "ten shards give it at a low price");
}

#[test]
fn assumed_figures_are_listed() {
    let advice = advice(SHOP, "shop", &Options::default());
    assert_eq!(
        advice.assumed,
        [
            "questions without `rate` are asked 1/s: customerByEmail, ordersOfCustomer",
            "table `shop` has no `expect.writes`: 1/s are assumed",
        ]
    );
}

#[test]
fn an_explanation_names_the_next_best() {
    let text = format!("{AUDIT}[questions.audit.ofUser]\nwhere = [\"accessedBy\"]\norder = \"-timestamp\"\n");
    let options = Options { explain: Some("ofUser".to_owned()), ..Options::default() };
    let explanation = advice(&text, "audit", &options).explanation.unwrap();
    assert!(explanation.contains("next best: "), "{explanation}");
}

#[test]
fn refusals_have_codes() {
    let code = |text: &str, table: &str, explain: Option<&str>| {
        let options = Options { explain: explain.map(str::to_owned), ..Options::default() };
        advise(text, table, &options).unwrap_err().code()
    };
    let asked = format!("{AUDIT}[questions.audit.a]\nwhere = [\"accessedBy\"]\n");
    assert_eq!(code("tables = 1", "audit", None), "manifest");
    assert_eq!(code(&asked, "orders", None), "unknown-table");
    assert_eq!(code(AUDIT, "audit", None), "no-questions");
    assert_eq!(code(&asked, "audit", Some("b")), "unknown-question");
    let inline = "tables.t = { name = \"tbl\", partition = \"id\", attributes = { id = \"string\", a = \"string\" }, indexes = {} }\n\
                  questions.t.q = { where = [\"a\"] }\n";
    assert_eq!(code(inline, "t", None), "inline-tables");
    assert!(AdviseError::NoQuestions { table: "t".to_owned() }.hint().is_some());
}

/// A random table with questions. Small, so that every set of candidates can be tried.
fn random_manifest(random: &mut fastrand::Rng) -> String {
    let mut text = "[tables.t]\nname = \"tbl\"\npartition = \"id\"\n".to_owned();
    text += &format!(
        "expect = {{ items = {}, item-bytes = {}, writes = \"{}/s\" }}\n[tables.t.attributes]\nid = \"string\"\n",
        random.u64(1_000..5_000_000),
        random.u64(100..3_000),
        random.u64(1..50),
    );
    let kinds = [
        "\"string\"",
        "\"timestamp\"",
        "\"number\"",
        "{ type = \"string\", values = [\"x\", \"y\"], required = true }",
    ];
    let required = ["{ type = \"string\", required = true }", "{ type = \"timestamp\", required = true }"];
    for name in ["a", "b", "c", "d"] {
        let of: &[&str] = if random.bool() { &kinds } else { &required };
        text += &format!("{name} = {}\n", of[random.usize(0..of.len())]);
    }
    for number in 0..random.usize(1..=4) {
        let mut names = ["a", "b", "c", "d"];
        random.shuffle(&mut names);
        let asked: Vec<String> = names[..random.usize(1..=3)]
            .iter()
            .enumerate()
            .map(|(at, name)| match (at, random.u8(0..4)) {
                (0, _) | (_, 0) => format!("\"{name}\""),
                (_, 1) => format!("\"{name}?\""),
                (_, 2) => format!("\"{name} >=\""),
                _ => format!("\"{name} in\""),
            })
            .collect();
        text += &format!(
            "[questions.t.q{number}]\nwhere = [{}]\nrate = \"{}/minute\"\n",
            asked.join(", "),
            random.u64(1..500)
        );
        if random.bool() {
            text += &format!("order = \"{}\"\n", names[3]);
        }
        if random.bool() {
            text += &format!("select = [\"{}\"]\nlimit = {}\n", names[random.usize(0..4)], random.u32(1..50));
        }
    }
    text
}

/// The cost of a table with these candidates, each question planned by the planner. An unserved question costs the penalty.
fn planned_cost(search: &Search<'_>, model: &Model, built: &[usize], penalty: f64) -> f64 {
    let mut table: Table = search.table.clone();
    table.indexes.extend(built.iter().map(|at| search.candidates[*at].index.clone()));
    let reads = search.workload.asked.iter().map(|asked| {
        match plan_question(&table, asked.question, asked.with_optional, &Readiness::complete()) {
            Ok(plan) => price::of_reads(plan.estimated_units, asked.times_a_month, &model.prices),
            Err(_) => penalty,
        }
    });
    reads.sum::<f64>() + built.iter().map(|at| search.program.candidates[*at].dollars).sum::<f64>()
}

#[test]
fn for_random_models_the_set_is_the_best_of_all_sets_as_the_planner_prices_them() {
    let (mut compared, mut with_index) = (0, 0);
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let text = random_manifest(&mut random);
        let model = manifest::model("", &text).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let limits = Limits {
            global_max: random.usize(0..=3),
            local_max: 0,
            time: Duration::from_secs(10),
            candidates_max: random.usize(1..=6),
        };
        let search = Search::run(&model, &text, &model.tables[0], limits).unwrap();
        let (penalty, count) = (search.program.penalty(), search.candidates.len());
        let sets = (0..1u32 << count)
            .map(|bits| (0..count).filter(|at| bits & (1 << at) != 0).collect::<Vec<_>>())
            .filter(|set| search.program.fits(set));
        let least =
            sets.map(|set| planned_cost(&search, &model, &set, penalty)).fold(f64::INFINITY, f64::min);
        let found = planned_cost(&search, &model, &search.solved.built, penalty);
        assert!((found - least).abs() < 1e-6, "seed {seed}: {found}, but {least} is possible\n{text}");
        compared += 1;
        with_index += usize::from(!search.solved.built.is_empty());
    }
    assert!(compared == 300 && with_index > 100, "{with_index} of {compared} build an index");
}

#[test]
fn for_random_models_the_planner_answers_the_advised_manifest_without_a_scan() {
    for seed in 1_000..1_040 {
        let text = random_manifest(&mut fastrand::Rng::with_seed(seed));
        let advice =
            advice(&text, "t", &Options { time_limit: Duration::from_secs(10), ..Options::default() });
        let unserved = advice.questions.iter().filter(|question| question.unserved.is_some());
        assert!(unserved.clone().all(|question| question.needs.is_some()), "seed {seed}");
        assert_eq!(unserved.count(), advice.advised.unserved);
    }
}

/// Twenty questions about a shop of eight entities, with conditions and orders of all kinds.
fn twenty_questions() -> String {
    let mut text = "[tables.big]\npartition = { attribute = \"PK\" }\nsort = { attribute = \"SK\" }\nentity-attribute = \"kind\"\n\
                    attributes.kind = \"string\"\nexpect = { items = 50_000_000, item-bytes = 700, writes = \"500/s\" }\n"
        .to_owned();
    for number in 0..8 {
        text += &format!(
            "[tables.big.entities.e{number}]\npartition = \"e{number}#{{id{number}}}\"\nsort = \"e{number}\"\n\
             [tables.big.entities.e{number}.attributes]\nid{number} = \"string\"\n"
        );
        for name in ["owner", "group", "place"] {
            text += &format!("{name} = {{ type = \"string\", required = true }}\n");
        }
        text += "state = { type = \"string\", values = [\"a\", \"b\", \"c\"], required = true }\n\
                 at = { type = \"timestamp\", required = true }\nprice = { type = \"number\", required = true }\n";
    }
    let asked = [
        ("\"owner\"", "-at"),
        ("\"owner\", \"state?\", \"at >=?\"", "at"),
        ("\"group\", \"place\", \"price between?\"", "price"),
        ("\"place\", \"owner\", \"group\", \"state\"", "-at"),
        ("\"state\", \"at >=\"", "at"),
    ];
    for number in 0..20 {
        let (asked, order) = asked[number % asked.len()];
        text += &format!(
            "[questions.big.q{number}]\nentity = \"e{}\"\nwhere = [{asked}]\norder = \"{order}\"\nlimit = 20\nrate = \"{}/s\"\n",
            number % 8,
            number + 1
        );
    }
    text
}

#[test]
fn twenty_questions_are_all_served_within_the_limits() {
    let text = twenty_questions();
    let advice = advise(&text, "big", &Options::default()).unwrap();
    check(&text, &advice);
    assert_eq!(advice.advised.unserved, 0);
    assert!(advice.advised.indexes <= 20, "{}", advice.advised.indexes);
}
