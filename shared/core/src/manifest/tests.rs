//! Tests of internals: the schema against the parser's words, and resolved keys.

use std::collections::BTreeSet;

use serde_json::Value;

use super::code::ALLOWABLE;
use super::{grammar, parse, schema};
use crate::condition::Comparison;
use crate::model::{Attribute, IndexKind, KeySource, Model, Table};
use crate::value::AttributeValue;

fn words(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::Object(map) => map.keys().map(String::as_str).collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn the_schema_and_the_parser_know_the_same_words() {
    let schema: Value = serde_json::from_str(schema()).unwrap();
    let same = |pointer: &str, known: &[&str]| {
        let found = schema.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        assert_eq!(words(found), known.iter().copied().collect(), "{pointer}");
    };
    same("/properties", grammar::ROOT);
    for (name, fields) in [
        ("prices", grammar::PRICES),
        ("deploy", grammar::DEPLOY),
        ("table", grammar::TABLE),
        ("expect", grammar::EXPECT),
        ("entityExpect", grammar::ENTITY_EXPECT),
        ("indexExpect", grammar::INDEX_EXPECT),
        ("attribute", grammar::ATTRIBUTE),
        ("index", grammar::INDEX),
        ("entity", grammar::ENTITY),
        ("entityIndex", grammar::ENTITY_INDEX),
        ("whenTest", grammar::WHEN_TEST),
        ("question", grammar::QUESTION),
        ("branch", grammar::BRANCH),
        ("retrofit", grammar::RETROFIT),
    ] {
        same(&format!("/$defs/{name}/properties"), fields);
        assert_eq!(
            schema.pointer(&format!("/$defs/{name}/additionalProperties")),
            Some(&Value::Bool(false)),
            "{name}"
        );
    }
    same("/$defs/key/anyOf/2/properties", grammar::KEY);
    same("/$defs/type/enum", grammar::TYPES);
    same("/$defs/attribute/properties/precision/enum", grammar::PRECISIONS);
    same("/$defs/index/properties/type/enum", grammar::INDEX_TYPES);
    same("/$defs/index/properties/projection/anyOf/0/enum", grammar::PROJECTIONS);
    same("/$defs/allow/items/enum", ALLOWABLE);
    let asked =
        schema.pointer("/$defs/question/properties/where/description").and_then(Value::as_str).unwrap();
    assert!(asked.contains(&grammar::OPERATORS.join(" ")), "the schema lists the operators");
}

#[test]
fn every_allowable_code_is_a_code() {
    let all: BTreeSet<&str> = super::codes().iter().map(|info| info.code).collect();
    assert_eq!(ALLOWABLE.iter().find(|code| !all.contains(**code)), None);
}

fn model(text: &str) -> Model {
    let parsed = parse("keyfold.toml", text);
    parsed
        .model
        .unwrap_or_else(|| panic!("{}", super::render("keyfold.toml", text, &parsed.diagnostics, false)))
}

/// The codes and messages of a manifest's mistakes.
fn mistakes(text: &str) -> Vec<String> {
    let parsed = parse("keyfold.toml", text);
    parsed.diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect()
}

#[test]
fn what_is_deployed_must_be_there() {
    const TABLES: &str = "[tables.pets]\nname = \"Pets\"\npartition = \"id\"\nattributes = { id = \"string\" }\nmanaged = false\n";
    let deployed = |lines: &str| format!("[deploy]\n{lines}\n{TABLES}");
    let model = model(&deployed("audit-writer = \"pets\"\nquery-api = true"));
    assert_eq!(model.deploy.audit_writer.as_deref(), Some("pets"));
    assert_eq!(model.deploy.query_api, ["pets"]);
    assert!(model.deploy.query_api_writes.is_empty(), "off unless it is asked for");
    let writes = self::model(&deployed("query-api = true\nquery-api-writes = [\"pets\"]"));
    assert_eq!(writes.deploy.query_api_writes, ["pets"]);
    assert!(model.deploy.existing.contains("pets"));
    assert_eq!(model.deploy.audit_journal, None, "off unless it is asked for");
    let with_journal = self::model(&deployed("audit-writer = \"pets\"\naudit-journal = \"Journal\""));
    assert_eq!(with_journal.deploy.audit_journal.as_deref(), Some("Journal"));
    assert!(self::model(TABLES).deploy.query_api.is_empty(), "only what is asked for");
    for (lines, wanted) in [
        ("audit-writer = \"cats\"", "cats"),
        ("query-api = [\"cats\"]", "cats"),
        ("query-api = 3", "`true`, `false` or a list of tables"),
        ("query-api = true\nquery-api-writes = [\"cats\"]", "cats"),
        ("query-api-writes = [\"pets\"]", "but does not read it"),
        (
            "audit-writer = \"pets\"\nquery-api = true\nquery-api-writes = [\"pets\"]",
            "nothing else writes it",
        ),
        ("retrofits = [\"moved\"]", "the manifest has no retrofit `moved`"),
        ("writer = \"pets\"", "writer"),
        ("audit-journal = \"Journal\"", "no `audit-writer` that would keep it"),
        ("audit-writer = \"pets\"\naudit-journal = \"Pets\"", "is also table `pets`"),
        ("audit-writer = \"pets\"\naudit-journal = \"a b\"", "as the name of the journal's table"),
        ("audit-writer = \"pets\"\naudit-keep-days = 30", "the audit writer's table has no `ttl`"),
    ] {
        let found = mistakes(&deployed(lines));
        assert!(found.iter().any(|found| found.contains(wanted)), "{lines}: {found:?}");
    }
}

fn only_table(text: &str) -> Table {
    model(text).tables.remove(0)
}

const ATTRIBUTES: &str =
    "attributes = { id = \"string\", kind = \"string\", n = \"number\", user = \"string\" }\n";

#[test]
fn an_inverted_index_uses_the_tables_own_folded_keys() {
    let table = only_table(&format!(
        "[tables.app]\npartition = {{ attribute = \"PK\" }}\nsort = {{ attribute = \"SK\" }}\n{ATTRIBUTES}\
         indexes.inverted = {{ partition = {{ attribute = \"SK\" }}, sort = \"PK\" }}\n\
         [tables.app.entities.a]\nwhen = {{ kind = \"a\" }}\npartition = \"a#{{id}}\"\nsort = \"root\"\n\
         [tables.app.entities.b]\nwhen = {{ kind = \"b\" }}\npartition = \"a#{{id}}\"\nsort = \"b#{{user}}\"\n"
    ));
    let inverted = table.index("inverted").unwrap();
    assert_eq!(inverted.kind, IndexKind::Global);
    assert_eq!(Some(&inverted.partition[0]), table.sort.as_ref());
    assert_eq!(inverted.sort[0], table.partition);
    let KeySource::Folded(rules) = &table.partition.source else { panic!("folded") };
    assert_eq!(rules.iter().map(|rule| rule.entity.unwrap().0).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn an_entity_can_override_a_keys_own_template() {
    let table = only_table(&format!(
        "[tables.app]\npartition = \"id\"\n{ATTRIBUTES}indexes.byUser.partition = \"u#{{user|lower}}\"\n\
         [tables.app.entities.a]\nwhen = {{ kind = \"a\" }}\nindexes.byUser.partition = \"admin#{{user}}\"\n"
    ));
    let KeySource::Folded(rules) = &table.index("byUser").unwrap().partition[0].source else {
        panic!("folded")
    };
    let rules: Vec<_> =
        rules.iter().map(|rule| (rule.entity.map(|entity| entity.0), rule.template.text())).collect();
    assert_eq!(rules, [(Some(0), "admin#{user}"), (None, "u#{user|lower}")], "the general rule comes last");
}

#[test]
fn a_bare_attribute_is_that_attribute_and_a_named_one_is_a_copy() {
    let table = only_table(&format!(
        "[tables.app]\npartition = \"{{id}}\"\n{ATTRIBUTES}\
         indexes.one.partition = {{ attribute = \"user\", fold = \"{{user}}\" }}\n\
         indexes.two = {{ partition = {{ attribute = \"copy\", fold = \"{{user}}\" }}, allow = [\"native-would-serve\"] }}\n"
    ));
    assert_eq!(table.partition.source, KeySource::Natural);
    assert_eq!(table.index("one").unwrap().partition[0].source, KeySource::Natural);
    let copy = &table.index("two").unwrap().partition[0];
    assert_eq!(copy.name, "copy");
    assert!(matches!(copy.source, KeySource::Folded(_)));
}

#[test]
fn a_key_that_only_entities_give_needs_no_line_of_its_own() {
    let table = only_table(&format!(
        "[tables.app]\npartition = \"id\"\nsort = \"n\"\n{ATTRIBUTES}allow = [\"collection-may-pass-10gb\"]\n\
         indexes.loc = {{}}\n[tables.app.entities.a]\nwhen = {{ kind = \"a\" }}\nindexes.loc.sort = \"a:{{user}}\"\n"
    ));
    let index = table.index("loc").unwrap();
    assert_eq!((index.kind, index.sort[0].name.as_str()), (IndexKind::Local, "loc_sk"));
}

#[test]
fn tables_and_questions_keep_the_manifests_order() {
    let model = model(
        "[tables.zoo]\npartition = \"id\"\nattributes.id = \"string\"\n[tables.ant]\npartition = \"id\"\n\
         attributes.id = \"string\"\n[questions.zoo.b]\nwhere = [\"id\"]\n[questions.zoo.a]\nwhere = [\"id?\"]\n",
    );
    assert_eq!(model.tables.iter().map(|table| table.id.as_str()).collect::<Vec<_>>(), ["zoo", "ant"]);
    assert_eq!(model.questions.iter().map(|question| question.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
}

#[test]
fn places_point_at_fields_tables_and_elements() {
    let text = "[tables.app]\npartition = \"id\"\nattributes.id = \"string\"\n[questions.app.q]\nwhere = [\"id?\"]\n";
    let places = parse("keyfold.toml", text).places;
    let at = |path: &str| places.get(path).map(|span| &text[span]);
    assert_eq!(at("tables.app.partition"), Some("\"id\""));
    assert_eq!(at("tables.app.attributes.id"), Some("\"string\""));
    assert_eq!(at("questions.app.q"), Some("q"));
    assert_eq!(at("questions.app.q.where.0"), Some("\"id?\""));
    assert_eq!(at("questions.app.r"), None);
}

/// The codes of a text's findings.
fn codes_of(text: &str) -> Vec<&'static str> {
    parse("keyfold.toml", text).diagnostics.iter().map(|found| found.code).collect()
}

const TWO_INDEXES: &str = "[tables.app]\npartition = \"id\"\n\
    attributes = { id = \"string\", kind = \"string\", n = \"number\", user = \"string\" }\n\
    indexes.old = { partition = \"u#{user}\", expect = { items-per-partition = 7 } }\n\
    indexes.new = { partition = \"k#{kind}\" }\nindexes.plain = { partition = \"user\" }\n";

#[test]
fn a_retrofit_fills_every_folded_index_unless_it_names_the_new_ones() {
    let of = |line: &str| {
        let model = model(&format!("{TWO_INDEXES}[retrofits.r]\nfrom = \"app\"\nto = \"app\"\n{line}"));
        let table = &model.tables[0];
        let filled: Vec<_> = ["old", "new", "plain"]
            .into_iter()
            .filter(|index| model.filled_by(table, index).next().is_some())
            .collect();
        assert_eq!(filled.len(), model.retrofits[0].fills.len());
        filled.join(" ")
    };
    assert_eq!(of(""), "old new");
    assert_eq!(of("fills = [\"new\"]"), "new", "an index that is complete stays usable");
    assert_eq!(of("fills = []"), "");
    assert_eq!(of("set = { user = \"x\" }"), "old new plain", "what it supplies makes natural keys too");
}

#[test]
fn a_retrofit_fills_only_what_it_writes() {
    let of =
        |line: &str| codes_of(&format!("{TWO_INDEXES}[retrofits.r]\nfrom = \"app\"\nto = \"app\"\n{line}"));
    assert_eq!(of("fills = [\"nwe\"]"), ["unknown-index"]);
    assert_eq!(of("fills = [\"plain\"]"), ["bad-value"]);
    assert_eq!(of("fills = [\"new\", \"new\"]"), ["duplicate-name"]);
}

#[test]
fn an_index_has_an_expectation_of_its_own() {
    let table = only_table(TWO_INDEXES);
    assert_eq!(table.index("old").unwrap().expect.items_per_partition, Some(7));
    assert_eq!(table.index("new").unwrap().expect, crate::model::Expect::default());
}

/// Two entities with attributes of their own.
fn two_entities(one: &str, other: &str) -> String {
    format!(
        "[tables.app]\npartition = \"id\"\n{ATTRIBUTES}[tables.app.entities.a]\nwhen = {{ kind = \"a\" }}\n{one}\n\
         [tables.app.entities.b]\nwhen = {{ kind = \"b\" }}\n{other}\n"
    )
}

#[test]
fn an_entity_has_the_attributes_of_all_items_and_its_own() {
    let table = model(&two_entities(
        "attributes = { total = { type = \"number\", required = true }, state = { type = \"string\", values = [\"x\"] } }",
        "attributes = { state = { type = \"string\", values = [\"y\", \"x\"] }, note = \"string\" }",
    ))
    .tables
    .remove(0);
    let [a, b] = table.entities.as_slice() else { panic!("two entities") };
    assert_eq!(table.never(a).collect::<Vec<_>>(), ["note"]);
    assert_eq!(table.never(b).collect::<Vec<_>>(), ["total"]);
    assert_eq!((table.requires(a).collect::<Vec<_>>(), table.requires(b).next()), (vec!["total"], None));
    assert!(a.attributes.contains_key("user") && b.attributes.contains_key("user"), "declared for all items");
    let values = |attribute: &Attribute| attribute.values.as_ref().map(Vec::len);
    assert_eq!(values(&table.attributes["state"]), Some(2), "what any item can have");
    assert_eq!(values(&a.attributes["state"]), Some(1));
    assert!(!table.attributes["total"].required, "not of every item of the table");
}

#[test]
fn two_entities_can_give_an_attribute_different_types() {
    let types = ("attributes.amount = \"number\"", "attributes.amount = \"string\"");
    let with = |more: &str| codes_of(&(two_entities(types.0, types.1) + more));
    assert_eq!(with(""), [""; 0]);
    let index = "[tables.app.indexes.byAmount]\n";
    assert_eq!(with(&format!("{index}partition = \"amount\"\n")), ["mixed-type"]);
    assert_eq!(with(&format!("{index}partition = \"{{amount}}#{{id}}\"\n")), ["mixed-type"]);
    let question = |more: &str| with(&format!("[questions.app.q]\nscan = true\n{more}"));
    assert_eq!(question("where = [\"amount\"]"), ["mixed-type"]);
    assert_eq!(question("where = [\"amount\"]\nentity = [\"a\", \"b\"]"), ["mixed-type"]);
    assert_eq!(question("where = [\"amount\"]\nentity = \"a\""), [""; 0]);
    assert_eq!(question("where = [\"amount contains\"]\nentity = \"a\""), ["operator-misfit"], "a number");
    assert_eq!(question("where = [\"amount contains\"]\nentity = \"b\""), [""; 0], "a string");
    let branch = |entity: &str| format!("{{ entity = \"{entity}\", where = [\"amount\"] }}");
    let or = |one: &str, other: &str| format!("where = [\"id\"]\nor = [{}, {}]", branch(one), branch(other));
    assert_eq!(question(&or("a", "b")), ["mixed-type"], "one parameter, two types");
    assert_eq!(question(&or("a", "a")), [""; 0]);
}

#[test]
fn what_all_items_have_is_declared_once() {
    assert_eq!(codes_of(&two_entities("attributes.user = \"string\"", "")), ["duplicate-name"]);
    let own = two_entities("attributes.mine = \"string\"", "indexes.over.partition = \"b#{mine}\"");
    let text = format!("{own}[tables.app.indexes.over]\npartition = {{ attribute = \"OP\" }}\n");
    let parsed = parse("keyfold.toml", &text);
    assert_eq!(parsed.diagnostics[0].code, "bad-template");
    let hint = "declare it in `[tables.app.entities.b.attributes]`, or for the whole table";
    assert_eq!(parsed.diagnostics[0].hint.as_deref(), Some(hint));
}

#[test]
fn an_attribute_can_be_in_the_key_of_one_entity_and_stored_in_another() {
    let keys = |one: &str, other: &str| {
        format!(
            "[tables.app]\npartition = {{ attribute = \"PK\" }}\n[tables.app.entities.customer]\npartition = \"c#{{id}}\"\n{one}\n\
             [tables.app.entities.order]\npartition = \"o#{{number}}\"\nattributes = {{ number = \"number\", {other} }}\n"
        )
    };
    let from_key = "{ type = \"string\", from-key = true }";
    let text = keys(&format!("attributes.id = {from_key}"), "id = \"string\"");
    let table = model(&text).tables.remove(0);
    let item = |text: &str| serde_json::from_str::<crate::value::Item>(text).unwrap();
    let customer = item(r#"{"PK":{"S":"c#7"}}"#);
    assert_eq!(table.with_key_parts(&customer)["id"], AttributeValue::S("7".to_owned()));
    let order = item(r#"{"PK":{"S":"o#1"},"number":{"N":"1"},"id":{"S":"7"}}"#);
    assert_eq!(table.with_keys(order.clone()).unwrap(), order, "stored attributes stay");
    assert_eq!(codes_of(&keys("attributes.id = \"string\"", &format!("id = {from_key}"))), ["bad-from-key"]);
}

#[test]
fn a_question_with_or_has_one_parameter_for_each_attribute_and_operator() {
    let model = model(&format!(
        "[tables.app]\npartition = \"id\"\n{ATTRIBUTES}[tables.app.entities.a]\nwhen = {{ kind = \"a\" }}\n\
         [questions.app.q]\nwhere = [\"n >\"]\n\
         or = [{{ entity = \"a\", where = [\"id\"] }}, {{ where = [\"id?\", \"user?\"] }}]\nscan = true\n"
    ));
    let question = &model.questions[0];
    let asked: Vec<_> =
        question.parameters().into_iter().map(|asked| (asked.attribute, asked.optional)).collect();
    let expected = [("n", false), ("id", false), ("user", true)];
    assert_eq!(asked, expected.map(|(name, optional)| (name.to_owned(), optional)));
    let condition = question.condition(&model.tables[0], &|asked| {
        (asked.attribute != "user").then_some(Comparison::Exists(true))
    });
    let holds = |json: &str| condition.holds(&crate::index::fixture::item(json));
    assert!(holds(r#"{"n":{"N":"1"},"id":{"S":"x"}}"#), "the second branch");
    assert!(!holds(r#"{"n":{"N":"1"},"kind":{"S":"a"}}"#), "no branch holds without `id`");
    assert!(!holds(r#"{"id":{"S":"x"}}"#), "what all branches share is asked too");
}

#[test]
fn an_or_has_branches_that_ask_for_something() {
    let of = |or: &str| {
        codes_of(&format!(
            "[tables.app]\npartition = \"id\"\n{ATTRIBUTES}[questions.app.q]\nor = {or}\nscan = true\n"
        ))
    };
    assert_eq!(of("[{ where = [\"id\"] }, { where = [\"user\"] }]"), [""; 0]);
    assert_eq!(of("[{ where = [\"id\"] }]"), ["bad-value"]);
    assert_eq!(of("[{ where = [\"id\"] }, {}]"), ["bad-value"]);
    assert_eq!(of("[{ where = [\"id\"] }, { wher = [\"id\"] }]"), ["bad-value", "unknown-field"]);
    assert_eq!(of("\"id\""), ["wrong-type"]);
}

#[test]
fn names_that_keyfold_keeps_for_itself_are_refused() {
    let text = |name: &str| {
        format!("[tables.app]\npartition = \"id\"\nattributes = {{ id = \"string\", {name} = \"string\" }}\n")
    };
    assert_eq!(codes_of(&text("keyfold_fence")), ["bad-name"]);
    assert_eq!(codes_of(&text("keyfoldFence")), [""; 0]);
}

#[test]
fn an_entity_without_when_is_told_by_how_its_keys_begin() {
    let text = "[tables.app]\npartition = { attribute = \"PK\" }\nsort = { attribute = \"SK\" }\n\
        attributes = { id = \"string\", title = \"string\" }\n\
        entities.person = { partition = \"e#{id}\", sort = \"root\" }\n\
        entities.title = { partition = \"e#{id}\", sort = \"title#{title}[#{id}]\" }\n";
    let parsed = parse("keyfold.toml", text);
    let table = &parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)).tables[0];
    let whens: Vec<String> = table.entities.iter().map(|entity| format!("{:?}", entity.when)).collect();
    assert!(
        whens[0].contains(r#"BeginsWith("e#")"#) && whens[0].contains(r#"BeginsWith("root")"#),
        "{whens:?}"
    );
    assert!(whens[1].contains(r#"BeginsWith("title#")"#), "{whens:?}");
    // Two that begin alike cannot be distinguished.
    let alike = text.replace("\"root\"", "\"title#\"");
    let codes: Vec<_> = parse("keyfold.toml", &alike).diagnostics.iter().map(|one| one.code).collect();
    assert!(codes.contains(&"same-when"), "{codes:?}");
}
