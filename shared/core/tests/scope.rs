//! Where a caller with claims is answered from: only from partitions that no other caller's item can be in.

use std::collections::BTreeMap;

use keyfold_core::manifest::parse;
use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::plan::RejectReason;
use keyfold_core::query::{PlanError, QueryPlan, Readiness, check, plan};

fn model(text: &str) -> Model {
    let parsed = parse("keyfold.toml", text);
    assert!(parsed.model.is_some(), "{:?}", parsed.diagnostics);
    parsed.model.unwrap_or_else(|| unreachable!())
}

fn planned(model: &Model, request: serde_json::Value) -> Result<QueryPlan, PlanError> {
    let caller = Caller::Claims(BTreeMap::from([("jwt.org".to_owned(), "acme".to_owned())]));
    let request = serde_json::from_value(request).unwrap_or_else(|error| panic!("{error}"));
    let checked = check(model, &request, &caller).unwrap_or_else(|error| panic!("{error}"));
    plan(&checked, &Readiness::complete())
}

/// Where a request is answered from; the error's code if it is refused.
fn served(model: &Model, request: serde_json::Value) -> String {
    match planned(model, request) {
        Ok(plan) => {
            let sources =
                plan.accesses.iter().map(|access| access.source.index().unwrap_or("table").to_owned());
            sources.collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.code().to_owned(),
    }
}

const TASKS: &str = r#"
[tables.tasks]
partition = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = { type = "string", required = true }, owner = { type = "string", required = true }, at = { type = "number", required = true } }
indexes.byOwner = { partition = "owner", sort = "at" }
indexes.byOrg = { partition = "org", sort = "at", projection = "keys-only", expect = { items-per-partition = 100_000 } }
indexes.byOrgShard = { partition = "{org}#{owner}#{id|shard:4}", sort = "at" }
indexes.byLowerOrg = { partition = "{org|lower}#{at}", sort = "id" }
"#;

#[test]
fn an_index_serves_a_scope_only_if_its_partition_key_fixes_it() {
    let model = model(TASKS);
    let ask = |conditions: serde_json::Value| {
        served(&model, serde_json::json!({ "table": "tasks", "where": conditions }))
    };
    assert_eq!(ask(serde_json::json!({})), "byOrg");
    // The shards belong to one organisation, so reading all of them reveals nothing of another.
    assert_eq!(ask(serde_json::json!({ "owner": "joe" })), "byOrgShard byOrgShard byOrgShard byOrgShard");
    // In lower case, `Acme` and `acme` are one partition.
    assert_eq!(ask(serde_json::json!({ "at": 1 })), "byOrg");
    assert_eq!(ask(serde_json::json!({ "id": "1" })), "table");
    assert_eq!(ask(serde_json::json!({ "id": { "in": ["1", "2"] } })), "byOrg");
}

#[test]
fn without_such_an_index_the_refusal_names_one_and_no_scan() {
    let model = model(&TASKS.lines().filter(|line| !line.contains("byOrg")).collect::<Vec<_>>().join("\n"));
    let request = serde_json::json!({ "table": "tasks", "where": { "owner": "joe" }, "order": "at", "scan": true, "sortInMemory": 9 });
    let Err(error) = planned(&model, request) else { panic!("it has a plan") };
    assert_eq!(error.code(), "needs-scoped-index");
    assert_eq!(
        error.hint(),
        "add an index that answers it:\n\n[tables.tasks.indexes.byOrgOwnerAt]\npartition = [\"org\", \"owner\"]\nsort = \"at\"\n"
    );
    let of_owner = error.rejected.iter().find(|path| path.index.as_deref() == Some("byOwner"));
    assert_eq!(of_owner.map(|path| &path.reason), Some(&RejectReason::Scope { attribute: "org".into() }));
}

#[test]
fn one_item_by_its_key_hides_its_cost_and_several_are_refused() {
    let model = model(
        "[tables.things]\npartition = \"id\"\nscope = { org = \"jwt.org\" }\nattributes = { id = \"string\", org = \"string\" }\n",
    );
    let ask = |conditions| planned(&model, serde_json::json!({ "table": "things", "where": conditions }));
    assert!(ask(serde_json::json!({ "id": "1" })).is_ok_and(|plan| plan.hides_cost));
    for several in [
        serde_json::json!({ "id": { "in": ["1", "2"] } }),
        serde_json::json!({ "or": [{ "id": "1" }, { "id": "2" }] }),
        serde_json::json!({ "id": { ">": "1" } }),
    ] {
        assert_eq!(
            ask(several.clone()).map_err(|error| error.code()),
            Err("needs-scoped-index"),
            "{several}"
        );
    }
}

/// Two entities in one index: where the key of a team can be that of an organisation, a partition can hold both.
#[test]
fn an_entity_whose_key_can_lie_in_the_partition_must_fix_the_scope_too() {
    let text = |team: &str| {
        format!(
            r#"
[tables.things]
partition = "id"
entity-attribute = "kind"
scope = {{ org = "jwt.org" }}
attributes = {{ id = "string", kind = "string", org = {{ type = "string", required = true }}, team = {{ type = "string", required = true }} }}
[tables.things.entities.project]
when = {{ kind = "project" }}
indexes.shared.partition = "{{org}}"
[tables.things.entities.member]
when = {{ kind = "member" }}
indexes.shared.partition = "{team}"
[tables.things.indexes.shared]
partition = {{ attribute = "pk" }}
"#
        )
    };
    let ask = |team: &str| {
        served(
            &model(&text(team)),
            serde_json::json!({ "table": "things", "entity": "project", "where": {} }),
        )
    };
    assert_eq!(ask("{team}"), "needs-scoped-index");
    assert_eq!(ask("{org}"), "shared");
    assert_eq!(ask("TEAM#{team}"), "shared");
}

#[test]
fn a_question_that_only_another_scope_s_items_could_serve_is_warned_of() {
    let text = format!("{TASKS}[questions.tasks.ofOwner]\nwhere = [\"owner\"]\norder = \"at\"\n")
        .lines()
        .filter(|line| !line.contains("byOrg"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut parsed = parse("keyfold.toml", &text);
    keyfold_core::review::review(&mut parsed, &text);
    let found = parsed.diagnostics.iter().find(|found| found.code == "question-unserved");
    assert!(found.is_some_and(|found| found.message.contains("scope")), "{:?}", parsed.diagnostics);
}
