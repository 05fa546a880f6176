//! The tables, items and records that both loops work on.

use std::collections::HashMap;

use keyfold_core::model::{Model, Table};
use keyfold_core::retrofit::{ChangeKind, ChangeRecord, SequenceNumber};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{TableOptions, load};
use keyfold_local::EmbeddedDynamo;

/// Both tables; the one that is read with this many items that have no folded keys.
pub(crate) async fn tables(dynamo: &EmbeddedDynamo, model: &Model, in_place: bool, items: usize) {
    let (old, new) = (model.table("audit-legacy").unwrap(), model.table("audit").unwrap());
    dynamo.create_tables([old, new], TableOptions::default()).await.unwrap();
    let source = if in_place { new } else { old };
    let plain = Table { indexes: Vec::new(), ..source.clone() };
    load(&dynamo.client(), &plain, futures_util::stream::iter((0..items).map(item))).await.unwrap();
}

/// One record for each item.
pub(crate) fn records(items: usize) -> Vec<ChangeRecord> {
    let record = |at: usize| ChangeRecord {
        sequence: SequenceNumber::parse(&format!("1000000000000000{at:08}")).unwrap(),
        key: HashMap::from([("id".to_owned(), AttributeValue::S(id(at)))]).into(),
        kind: ChangeKind::Insert,
        old: None,
        new: Some(item(at)),
    };
    (0..items).map(record).collect()
}

fn id(at: usize) -> String {
    format!("event-{at:08}")
}

pub(crate) fn item(at: usize) -> Item {
    let attributes = [
        ("id", id(at)),
        ("resourceId", format!("resource-{}", at % 1000)),
        ("resourceName", "a resource of a usual length".to_owned()),
        ("action", "viewed".to_owned()),
        ("accessedBy", format!("user-{}", at % 77)),
        ("timestamp", "2017-03-01T08:00:00.000Z".to_owned()),
        ("note", "something else that was said of it".to_owned()),
    ];
    let attributes = attributes.map(|(name, text)| (name.to_owned(), AttributeValue::S(text)));
    HashMap::from(attributes).into()
}
