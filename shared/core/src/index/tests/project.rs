use crate::index::fixture::{forum, global, include, item, local, table, thread};
use crate::index::{Absence, KeyProblem};
use crate::model::{Projection, ScalarType};
use crate::value::{Item, Name};

fn names(entry: Result<Item, Absence>) -> Vec<String> {
    let mut names: Vec<String> = entry.unwrap().keys().map(Name::to_string).collect();
    names.sort_unstable();
    names
}

fn missing(attribute: &str) -> Absence {
    Absence { attribute: attribute.to_owned(), problem: KeyProblem::Missing }
}

fn last_post(projection: Projection) -> Result<Item, Absence> {
    let index = local("LastPostIndex", "LastPostDateTime", projection);
    index.entry(&forum(vec![index.clone()]), &thread())
}

#[test]
fn keys_only_holds_the_keys_of_the_table_and_of_the_index() {
    assert_eq!(names(last_post(Projection::KeysOnly)), ["ForumName", "LastPostDateTime", "Subject"]);
}

#[test]
fn include_holds_the_named_attributes_besides_the_keys() {
    let names = names(last_post(include(&["Replies", "NotThere", "Subject"])));
    assert_eq!(names, ["ForumName", "LastPostDateTime", "Replies", "Subject"]);
}

#[test]
fn all_holds_everything_as_it_is_stored() {
    assert_eq!(last_post(Projection::All), Ok(thread()));
}

#[test]
fn a_projected_attribute_may_be_of_any_type() {
    let entry = last_post(include(&["Tags"])).unwrap();
    assert_eq!(entry.get("Tags"), thread().get("Tags"));
}

#[test]
fn an_item_without_the_sort_key_is_not_in_the_index() {
    let index = local("LastPostIndex", "LastPostDateTime", Projection::All);
    let mut stored = thread();
    stored.remove("LastPostDateTime");
    let absence = missing("LastPostDateTime");
    assert_eq!(index.entry(&forum(vec![]), &stored), Err(absence.clone()));
    assert_eq!(absence.to_string(), "attribute `LastPostDateTime` is missing");
}

#[test]
fn an_item_that_lacks_any_part_of_a_multi_attribute_key_is_not_in_the_index() {
    let index = global("byUserAction", &["accessedBy"], &["action", "timestamp"], Projection::All);
    let stored = item(r#"{"id":{"S":"1"},"accessedBy":{"S":"joe1"},"timestamp":{"S":"2017"}}"#);
    assert_eq!(index.absence(&stored), Some(missing("action")));
}

#[test]
fn an_item_from_before_the_index_is_left_out_if_its_key_has_the_wrong_form() {
    let mut index = global("g", &["g"], &["s"], Projection::All);
    index.sort[0].scalar = ScalarType::N;
    let stored = |g: &str| item(&format!(r#"{{"id":{{"S":"1"}},"g":{g},"s":{{"N":"1"}}}}"#));
    let problem = |g: &str| index.absence(&stored(g)).map(|absence| absence.problem);
    assert_eq!(problem(r#"{"S":"x"}"#), None);
    assert_eq!(problem(r#"{"N":"1"}"#), Some(KeyProblem::WrongType { expected: "S", found: "N" }));
    assert_eq!(problem(r#"{"S":""}"#), Some(KeyProblem::Empty));
    let long = format!(r#"{{"S":"{}"}}"#, "x".repeat(2049));
    assert_eq!(problem(&long), Some(KeyProblem::TooLong { bytes: 2049, bytes_max: 2048 }));
}

#[test]
fn an_index_projects_keys_included_attributes_or_all() {
    let table = forum(vec![]);
    let projects = |projection: Projection, attribute: &str| {
        local("i", "LastPostDateTime", projection).projects(&table, attribute)
    };
    for key in ["ForumName", "Subject", "LastPostDateTime"] {
        assert!(projects(Projection::KeysOnly, key), "{key}");
    }
    assert!(!projects(Projection::KeysOnly, "Replies"));
    assert!(projects(include(&["Replies"]), "Replies"));
    assert!(!projects(include(&["Replies"]), "Tags"));
    assert!(projects(Projection::All, "Tags"));
}

#[test]
fn the_entry_of_a_global_index_holds_the_tables_key() {
    let index = global("g", &["g"], &[], Projection::KeysOnly);
    let table = table("t", "id", Some("at"), vec![index.clone()]);
    let stored: Item = item(r#"{"id":{"S":"1"},"at":{"S":"2"},"g":{"S":"x"},"other":{"S":"y"}}"#);
    assert_eq!(names(index.entry(&table, &stored)), ["at", "g", "id"]);
}
