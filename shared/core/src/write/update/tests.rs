//! Which updates need no read, in a table of several entities.

use super::*;
use crate::condition::Path;
use crate::model::Table;
use crate::value::{AttributeValue, Item};
use crate::write::{AttributeOperation, Expected, WriteExpressions};

/// Keys distinguish customers and orders; an attribute distinguishes refunds.
const SHOP: &str = r##"
[tables.shop]
partition = { attribute = "PK" }
sort = { attribute = "SK" }
attributes = { customer = "string", order = "string", status = "string", placed = "timestamp", kind = "string", note = "string", visits = "number" }
indexes.byStatus.partition = { attribute = "GSI1PK" }
indexes.byStatus.sort = { attribute = "GSI1SK" }
[tables.shop.entities.customer]
when = { PK = { begins-with = "c#" }, SK = { begins-with = "profile" } }
partition = "c#{customer}"
sort = "profile"
indexes.byStatus.partition = "customer#{status}"
indexes.byStatus.sort = "{note}"
[tables.shop.entities.order]
when = { PK = { begins-with = "c#" }, SK = { begins-with = "o#" } }
partition = "c#{customer}"
sort = "o#{order}"
indexes.byStatus.partition = "order#{status}"
indexes.byStatus.sort = "{placed}#{customer}"
[tables.shop.entities.refund]
when = { kind = "refund" }
partition = "r#{order}"
sort = "refund"
indexes.byStatus.partition = "{kind}#{status}"
indexes.byStatus.sort = "{order}"
"##;

/// One natural key, and entities that only an attribute distinguishes.
const PAPERS: &str = r##"
[tables.papers]
partition = "id"
attributes = { id = "string", kind = "string", status = "string", amount = "number" }
indexes.byState.partition = { attribute = "GSI1PK" }
[tables.papers.entities.invoice]
when = { kind = "invoice" }
indexes.byState.partition = "invoice#{status}"
[tables.papers.entities.payment]
when = { kind = "payment" }
indexes.byState.partition = "payment#{amount}"
"##;

fn table(text: &str) -> Table {
    let parsed = crate::manifest::parse("keyfold.toml", text);
    parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)).tables.remove(0)
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn item(values: &[(&str, &str)]) -> Item {
    values.iter().map(|(name, value)| (*name, text(value))).collect()
}

fn sent(task: &UpdateTask<&Table>) -> WriteExpressions {
    task.expressions().expect("the item is not read")
}

fn values(sent: &WriteExpressions) -> Vec<AttributeValue> {
    sent.values.values().cloned().collect()
}

#[test]
fn an_update_of_an_entity_that_its_key_tells_is_one_request() {
    let shop = table(SHOP);
    let key = item(&[("PK", "c#ann"), ("SK", "o#7")]);
    let update = Update::new().set("status", text("paid"));
    let task = UpdateTask::new(&shop, &key, update.clone()).unwrap();
    let sent = sent(&task);
    assert!(values(&sent).contains(&text("order#paid")), "{sent:?}");
    assert_eq!(
        sent.condition.as_deref(),
        Some("attribute_exists(#n0) AND NOT #n1 = :v0"),
        "it is no refund as well"
    );
    // The customer is in the primary key, the time is not.
    let moved =
        UpdateTask::new(&shop, &key, Update::new().set("placed", text("2024-03-01T10:00:00Z"))).unwrap();
    assert!(values(&self::sent(&moved)).contains(&text("2024-03-01T10:00:00.000Z#ann")), "{moved:?}");
    let customer = item(&[("PK", "c#ann"), ("SK", "profile")]);
    assert!(UpdateTask::new(&shop, &customer, update).is_ok());
}

#[test]
fn an_entity_that_the_primary_key_can_only_have_is_a_condition_of_the_write() {
    let shop = table(SHOP);
    let key = item(&[("PK", "r#7"), ("SK", "refund")]);
    let mut task = UpdateTask::new(&shop, &key, Update::new().set("status", text("done")).reading()).unwrap();
    let sent = sent(&task);
    assert!(values(&sent).contains(&text("refund#done")), "{sent:?}");
    assert!(values(&sent).contains(&text("refund")), "the condition says that it is a refund: {sent:?}");
    // The item is not a refund, so no template makes its key.
    let mut stored = key.clone();
    stored.insert("status", text("open"));
    let refused = task.was_refused(Some(stored)).unwrap_err();
    assert_eq!(refused.code(), "update-primary-key");
}

#[test]
fn an_entity_that_is_named_or_expected_makes_one_request_and_is_checked() {
    let papers = table(PAPERS);
    let key = item(&[("id", "1")]);
    let update = || Update::new().set("status", text("paid"));
    let refused = UpdateTask::new(&papers, &key, update()).unwrap_err();
    assert_eq!(refused.code(), "update-needs-reading");
    let expected = Expected::nothing().value("kind", text("invoice"));
    for named in [update().of_entity("invoice"), update().expecting(expected)] {
        let task = UpdateTask::new(&papers, &key, named).unwrap();
        let sent = sent(&task);
        assert!(values(&sent).contains(&text("invoice#paid")), "{sent:?}");
        assert_eq!(sent.condition.as_deref(), Some("attribute_exists(#n0) AND #n1 = :v0"), "{sent:?}");
    }
    let unknown = UpdateTask::new(&papers, &key, update().of_entity("order")).unwrap_err();
    assert_eq!(unknown.code(), "item-unknown-entity");
    let mut task = UpdateTask::new(&papers, &key, update().of_entity("invoice")).unwrap();
    let refused = task.was_refused(Some(item(&[("id", "1"), ("kind", "payment")]))).unwrap_err();
    assert_eq!(refused.to_string(), "the item of table `papers` is not as expected: `kind`");
    // After a read too.
    let other = Update::new().set("amount", AttributeValue::N("7".to_owned())).of_entity("invoice").reading();
    let mut task = UpdateTask::new(&papers, &key, other).unwrap();
    let stored = item(&[("id", "1"), ("kind", "payment")]);
    assert!(matches!(task.was_refused(Some(stored)), Err(UpdateRefusal::Expectation { .. })));
}

#[test]
fn a_key_of_another_entity_is_refused() {
    let shop = table(SHOP);
    let key = item(&[("PK", "c#ann"), ("SK", "o#7")]);
    let refused =
        UpdateTask::new(&shop, &key, Update::new().set("status", text("paid")).of_entity("customer"))
            .unwrap_err();
    assert_eq!(refused.code(), "item-not-this-entity");
}

#[test]
fn what_dynamodb_computes_must_not_be_in_a_key() {
    let shop = table(SHOP);
    let key = item(&[("PK", "c#ann"), ("SK", "o#7")]);
    let operations = || {
        vec![
            AttributeOperation::Count(Path::attribute("visits"), AttributeValue::N("1".to_owned())),
            AttributeOperation::Append(Path::attribute("log"), AttributeValue::L(vec![text("x")])),
            AttributeOperation::AddElements("tags".to_owned(), AttributeValue::Ss(vec!["a".to_owned()])),
        ]
    };
    let task =
        UpdateTask::with_operations(&shop, &key, Update::new().set("note", text("n")), operations()).unwrap();
    assert_eq!(
        sent(&task).update.as_deref(),
        Some(
            "SET #n2 = :v1, #n3 = if_not_exists(#n3, :v2) + :v3, #n4 = list_append(if_not_exists(#n4, :v4), :v5) \
             ADD #n5 :v6"
        )
    );
    let of_key = vec![AttributeOperation::SetIfAbsent(Path::attribute("status"), text("new"))];
    let refused = UpdateTask::with_operations(&shop, &key, Update::new(), of_key).unwrap_err();
    assert_eq!(refused.code(), "update-computed-key");
    let wrong = vec![AttributeOperation::Append(Path::attribute("visits"), AttributeValue::L(Vec::new()))];
    let refused = UpdateTask::with_operations(&shop, &key, Update::new(), wrong).unwrap_err();
    assert_eq!(refused.code(), "item-attribute-type");
}

/// One entity has an attribute that the other never has.
const NOTES: &str = r##"
[tables.app]
partition = { attribute = "PK" }
attributes = { id = "string", kind = "string", visits = "number" }
[tables.app.entities.page]
when = { PK = { begins-with = "page#" } }
partition = "page#{id}"
[tables.app.entities.user]
when = { PK = { begins-with = "user#" } }
partition = "user#{id}"
attributes.email = "string"
attributes.profile = "map"
[tables.app.entities.draft]
when = { kind = "draft" }
partition = "x#{id}"
attributes.title = "string"
[tables.app.entities.final]
when = { kind = "final" }
partition = "x#{id}"
"##;

#[test]
fn an_attribute_that_the_entity_never_has_is_refused_without_a_read() {
    let app = table(NOTES);
    let code = |key: &str, update: Update| {
        UpdateTask::new(&app, &item(&[("PK", key)]), update).map(drop).map_err(|refusal| refusal.code())
    };
    let never = Err("item-attribute-never");
    let email = || Update::new().set("email", text("a@b"));
    let title = || Update::new().set("title", text("t"));
    let kind = |kind: &str| Expected::nothing().value("kind", text(kind));
    assert_eq!(code("page#1", email()), never, "the key shows the entity");
    assert_eq!(code("page#1", email().reading()), never, "a read would change nothing");
    assert_eq!(code("user#1", email()), Ok(()));
    assert_eq!(code("x#1", title().expecting(kind("final"))), never);
    assert_eq!(code("x#1", title().expecting(kind("draft"))), Ok(()));
    assert_eq!(code("x#1", title().of_entity("final")), never);
    assert_eq!(code("x#1", title().of_entity("draft")), Ok(()));
    assert_eq!(code("x#1", title().set("kind", text("final"))), never, "the entity after the update");
    assert_eq!(code("x#1", title()), Err("update-needs-reading"), "the entity is not known");
    let inside = |key: &str| {
        let path = Path { root: "profile".to_owned(), inner: vec!["city".to_owned()] };
        let operations = vec![AttributeOperation::Set(path, text("Rome"))];
        UpdateTask::with_operations(&app, &item(&[("PK", key)]), Update::new(), operations)
            .map(drop)
            .map_err(|refusal| refusal.code())
    };
    assert_eq!((inside("page#1"), inside("user#1")), (never, Ok(())), "also inside a map");
}
