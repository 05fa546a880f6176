//! New items are inserted together; existing ones are left to single puts.

use std::collections::{BTreeMap, HashMap};

use keyfold_core::retrofit::attributes::FENCE_ATTRIBUTE;
use keyfold_core::retrofit::{Epoch, Fence, SequenceNumber, TableRole};
use keyfold_core::value::{AttributeValue, Item};
use serde_json::{Value, json};

use crate::function::Function;

fn fence(sequence: &str) -> AttributeValue {
    Fence::of_record(Epoch::FIRST, SequenceNumber::parse(sequence).unwrap()).value()
}

impl Function {
    /// Puts an earlier item into the target.
    async fn there(&self, id: &str, fence: Option<AttributeValue>) {
        let texts = [
            ("id", id),
            ("resourceId", "r"),
            ("action", "edited"),
            ("accessedBy", "before"),
            ("timestamp", "2017-03-01T07:00:00.000Z"),
        ];
        let text = |(name, text): (&str, &str)| (name.to_owned(), AttributeValue::S(text.to_owned()));
        let mut item = Item::from(HashMap::from(texts.map(text)));
        item.extend(fence.map(|fence| (FENCE_ATTRIBUTE.to_owned(), fence)));
        let put = self.dynamo.client().put_item().table_name(&self.sender.table(TableRole::Target).name);
        put.set_item(Some(item.into())).send().await.unwrap();
    }

    /// The `accessedBy` of each item of the target.
    async fn accessed_by(&self) -> BTreeMap<String, String> {
        let text = |item: &Item, name: &str| match item.get(name) {
            Some(AttributeValue::S(text)) => text.clone(),
            other => panic!("{other:?}"),
        };
        self.targets().await.iter().map(|item| (text(item, "id"), text(item, "accessedBy"))).collect()
    }
}

#[tokio::test]
async fn a_batch_of_new_items_leaves_alone_what_is_newer_or_of_somebody_else() {
    let function = Function::start("moved").await;
    function.there("older", Some(Fence::of_scan(Epoch::FIRST).value())).await;
    function.there("newer", Some(fence("9"))).await;
    function.there("foreign", None).await;
    let ids = (0..60).map(|at| format!("new-{at}"));
    let ids: Vec<String> = ["older", "newer", "foreign"].map(str::to_owned).into_iter().chain(ids).collect();
    let records: Vec<Value> = ids.iter().map(|id| function.record(id, 5)).collect();
    let wanted: BTreeMap<String, String> = ids
        .iter()
        .map(|id| (id.clone(), if id == "newer" || id == "foreign" { "before" } else { "joe1" }.to_owned()))
        .collect();
    // Redelivering the batch changes nothing.
    for _ in 0..2 {
        assert_eq!(function.answer(&records).await, json!({ "batchItemFailures": [] }));
        assert_eq!(function.accessed_by().await, wanted);
        let quarantine = function.sender.quarantine().await.unwrap();
        assert_eq!(
            quarantine.iter().map(|entry| entry.code.as_str()).collect::<Vec<_>>(),
            ["target-item-foreign"]
        );
    }
    let log = function.log();
    let counts: Vec<_> = log
        .iter()
        .filter(|line| line["message"] == "batch")
        .map(|line| (line["written"].clone(), line["superseded"].clone(), line["quarantined"].clone()))
        .collect();
    assert_eq!(counts, [(json!(61), json!(1), json!(1)), (json!(0), json!(62), json!(1))]);
}
