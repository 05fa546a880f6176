use crate::index::fixture::{audit, forum, item, pets, thread, value};
use crate::model::EntityId;
use crate::value::{AttributeValue, Item};

fn viewed() -> Item {
    item(
        r#"{"id":{"S":"111aaa"},"resourceId":{"S":"123ccc"},"action":{"S":"viewed"},"accessedBy":{"S":"joe1"},
            "timestamp":{"S":"2017-03-01T00:00:00Z"}}"#,
    )
}

fn pet(species: &str) -> Item {
    item(&format!(
        r#"{{"id":{{"S":"1"}},"owner":{{"S":"ann"}},"name":{{"S":"rex"}},"species":{{"S":"{species}"}}}}"#
    ))
}

#[test]
fn an_item_is_of_the_entity_whose_when_it_fulfils() {
    assert_eq!(pets().entity_of(&pet("hound")), Ok(Some(EntityId(0))));
    assert_eq!(pets().entity_of(&pet("parrot")), Ok(Some(EntityId(1))));
    assert_eq!(pets().entity_of(&pet("fish")), Ok(None));
}

#[test]
fn an_item_of_two_entities_is_an_error() {
    let mut both = pet("dog");
    both.insert("whiskers".to_owned(), value(r#"{"BOOL":true}"#));
    let error = pets().entity_of(&both).unwrap_err();
    assert_eq!(error.code(), "item-two-entities");
    assert_eq!(error.to_string(), "the item is both a `dog` and a `cat` (table `pets`, item id=\"1\")");
    assert_eq!(error.hint(), Some("let the `when` of the two entities exclude each other"));
}

#[test]
fn as_entity_puts_in_what_the_item_does_not_say() {
    let nameless = item(r#"{"id":{"S":"1"}}"#);
    let dog = pets().as_entity(nameless, "dog").unwrap();
    assert_eq!(dog.get("species"), Some(&value(r#"{"S":"dog"}"#)));
    assert_eq!(pets().as_entity(pet("hound"), "dog").unwrap(), pet("hound"));
}

#[test]
fn as_entity_refuses_what_the_item_contradicts() {
    let error = pets().as_entity(pet("parrot"), "dog").unwrap_err();
    assert_eq!(error.code(), "item-not-this-entity");
    assert_eq!(
        error.to_string(),
        "the attribute contradicts the `when` of entity `dog` (table `pets`, attribute `species`, item id=\"1\")"
    );
    assert_eq!(pets().as_entity(pet("dog"), "cat").unwrap_err().code(), "item-not-this-entity");
    assert_eq!(pets().as_entity(pet("dog"), "fish").unwrap_err().code(), "item-unknown-entity");
    let mut cat = item(r#"{"id":{"S":"1"}}"#);
    cat.insert("whiskers".to_owned(), AttributeValue::Bool(true));
    assert_eq!(pets().as_entity(cat, "dog").unwrap_err().code(), "item-two-entities");
}

#[test]
fn the_key_of_an_item_is_its_primary_key_and_nothing_else() {
    let table = forum(vec![]);
    let key = item(r#"{"ForumName":{"S":"EC2"},"Subject":{"S":"b"}}"#);
    assert_eq!(table.key_of(&thread()), Some(key));
    assert_eq!(table.key_of(&item(r#"{"ForumName":{"S":"EC2"}}"#)), None);
    assert_eq!(table.key_of(&item(r#"{"ForumName":{"S":"EC2"},"Subject":{"N":"1"}}"#)), None);
}

#[test]
fn a_folded_key_that_has_no_value_is_taken_away() {
    let mut stale = viewed();
    stale.remove("action");
    stale.insert("byUserKey".to_owned(), value(r#"{"S":"123ccc-viewed-joe1"}"#));
    assert_eq!(audit().folded(&stale), Ok(vec![("byUserKey", None)]));
    assert!(!audit().with_keys(stale).unwrap().contains_key("byUserKey"));
}

#[test]
fn an_item_of_no_entity_has_no_key_of_the_entities() {
    let mut fish = pet("fish");
    fish.insert("index1Sort".to_owned(), value(r#"{"S":"dog:rex"}"#));
    assert_eq!(pets().with_keys(fish), Ok(pet("fish")));
}

#[test]
fn an_attribute_in_several_keys_is_folded_once() {
    let mut table = audit();
    let mut second = table.indexes[0].clone();
    second.name = "byUser2".to_owned();
    table.indexes.push(second);
    assert_eq!(table.folded(&viewed()).unwrap().len(), 1);
}

#[test]

fn an_item_gets_the_key_that_its_template_makes() {
    let keyed = audit().with_keys(viewed()).unwrap();
    assert_eq!(keyed.get("byUserKey"), Some(&value(r#"{"S":"123ccc-viewed-joe1"}"#)));
    assert_eq!(keyed.len(), viewed().len() + 1);
}

#[test]

fn an_item_gets_the_key_of_its_entity() {
    let key = |species| pets().with_keys(pet(species)).unwrap().get("index1Sort").cloned();
    assert_eq!(key("dog"), Some(value(r#"{"S":"dog:rex"}"#)));
    assert_eq!(key("parrot"), Some(value(r#"{"S":"parrot:rex"}"#)));
    assert_eq!(key("fish"), None);
}

#[test]

fn a_key_that_cannot_be_folded_names_index_and_item() {
    let mut wrong = viewed();
    wrong.insert("action".to_owned(), value(r#"{"L":[{"S":"secret"}]}"#));
    let error = audit().with_keys(wrong).unwrap_err();
    assert_eq!(error.code(), "item-key-not-foldable");
    assert_eq!(
        error.to_string(),
        "the key cannot be folded: template `{resourceId}-{action}-{accessedBy}`: attribute `action` is of type `L`, but the manifest declares `S` \
         (table `audit`, index `byUser`, attribute `byUserKey`, item id=\"111aaa\")"
    );
}
