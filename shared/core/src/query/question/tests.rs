use serde_json::json;

use crate::json::Json;
use crate::manifest;
use crate::query::check::{Caller, check};

use super::*;

const MANIFEST: &str = r#"
[tables.things]
partition = "id"
[tables.things.attributes]
id = "string"
and = "number"
page = "string"
flag = "boolean"
tags = "string-set"
sizes = "number-set"
[questions.things.all]
where = ["id in", "and between?", "page?", "flag?", "tags contains?", "sizes contains?", "flag exists?"]
order = "-id"
limit = 10
"#;

fn pairs(query: &str) -> Params {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (name.replace("%3D", "="), value.to_owned())
    };
    query.split('&').filter(|text| !text.is_empty()).map(pair).collect()
}

fn ask(query: &str) -> Result<QueryRequest, QuestionError> {
    let parsed = manifest::parse("keyfold.toml", MANIFEST);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let (table, question) = find(&model, "things", "all")?;
    request(table, question, pairs(query))
}

fn conditions(query: &str) -> Json {
    ask(query).unwrap().conditions
}

fn is(attribute: &str, operator: &str, value: &Value) -> Value {
    json!({ "attribute": attribute, "operator": operator, "value": value })
}

#[test]
fn values_between_commas_and_values_given_one_by_one() {
    let several = |values: &[&str]| {
        let values: Vec<Value> = values.iter().map(|value| json!({ "S": value })).collect();
        Json::from(json!([is("id", "in", &json!(values))]))
    };
    assert_eq!(conditions("id.in=a,b"), several(&["a", "b"]));
    assert_eq!(conditions("id.in=a,b&id.in=c"), several(&["a,b", "c"]));
    assert_eq!(conditions("id.in="), several(&[]));
}

#[test]
fn an_attribute_may_be_called_like_a_word_of_the_language_or_of_the_api() {
    let range = json!([{ "N": "-1" }, { "N": "2.5" }]);
    let wanted = Json::from(json!([
        is("id", "in", &json!([{ "S": "a" }])),
        is("and", "between", &range),
        is("page", "=", &json!({ "S": "x" }))
    ]));
    assert_eq!(conditions("id.in=a&and.between=-1..2.50&page.eq=x"), wanted);
    assert_eq!(conditions("id.in=a&and.between=-1&and.between=2.5&page.%3D=x"), wanted);
    assert_eq!(ask("id.in=a&page=token").unwrap().page.as_deref(), Some("token"));
}

#[test]
fn members_of_sets_have_the_type_of_members() {
    let wanted =
        [is("tags", "contains", &json!({ "S": "1" })), is("sizes", "contains", &json!({ "N": "1" }))];
    let got = conditions("id.in=a&tags.contains=1&sizes.contains=1");
    assert_eq!(got.as_list().unwrap()[1..], wanted.map(Json::from));
}

#[test]
fn flags_are_true_or_false() {
    let got = conditions("id.in=a&flag=true&flag.exists=false");
    assert_eq!(
        got.as_list().unwrap()[1..],
        [is("flag", "=", &json!({ "BOOL": true })), is("flag", "exists", &json!(false))].map(Json::from)
    );
    assert_eq!(ask("id.in=a&flag=yes").unwrap_err().code(), "invalid-value");
    assert_eq!(ask("id.in=a&flag.exists=yes").unwrap_err().code(), "invalid-parameter");
}

#[test]
fn the_questions_order_and_limit_hold_where_the_asker_says_nothing() {
    let request = ask("id.in=a").unwrap();
    assert_eq!((request.order, request.limit), (vec!["-id".to_owned()], Some(10)));
    let request = ask("id.in=a&order=id,-and&limit=9").unwrap();
    assert_eq!((request.order, request.limit), (vec!["id".to_owned(), "-and".to_owned()], Some(9)));
    assert_eq!(ask("id.in=a&limit=11").unwrap_err().code(), "invalid-parameter");
}

#[test]
fn a_mistake_says_what_would_do() {
    let hint = |query: &str| ask(query).unwrap_err().hint().unwrap();
    assert!(hint("id.in=a&colour=red").contains("`and.between`"));
    assert_eq!(ask("").unwrap_err().to_string(), "question `all` needs the parameter `id.in`");
}

#[test]
fn a_branch_can_ask_for_an_entity_that_only_its_key_tells() {
    let text = |named: &str| {
        format!(
            r#"
            [tables.things]
            partition = {{ attribute = "PK" }}
            attributes = {{ id = "string", {named} = "string" }}
            entities.user = {{ when = {{ {named} = "u" }}, partition = "U#{{id}}" }}
            entities.order = {{ when = {{ PK = {{ begins-with = "O#" }} }}, partition = "O#{{id}}" }}
            [questions.things.one]
            or = [{{ entity = "user", where = ["id"] }}, {{ entity = "order", where = ["id"] }}]
            "#
        )
    };
    let ask = |named: &str| {
        let parsed = manifest::parse("keyfold.toml", &text(named));
        let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let (table, question) = find(&model, "things", "one").unwrap();
        let request = request(table, question, pairs("id=1")).unwrap();
        check(&model, &request, &Caller::Trusted).map(drop)
    };
    ask("kind").unwrap();
    // If an attribute uses the reserved word, the key cannot be named, and the refusal names the key.
    assert!(ask("entity").unwrap_err().to_string().contains("declares no attribute `PK`"));
}
