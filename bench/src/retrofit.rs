//! Retrofits, each in a process of its own, so that CPU and memory are the program's alone: ours, a raw loop that makes the
//! same calls without deciding anything, and what one writes first.

pub mod done;
mod ours;
mod raw;
mod seed;
pub mod worker;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

pub use done::Done;

/// An item as the SDK has it.
type SdkItem = HashMap<String, AttributeValue>;

/// The attribute with the key of the index.
pub const KEY: &str = "byResourceActionUser_pk";
/// What it is made of.
const PARTS: [&str; 3] = ["resourceId", "action", "accessedBy"];

/// The three parts joined, as one does it by hand.
fn joined(item: &SdkItem) -> anyhow::Result<String> {
    let mut texts = Vec::with_capacity(PARTS.len());
    for part in PARTS {
        let text = item.get(part).and_then(|value| value.as_s().ok());
        texts.push(text.ok_or_else(|| anyhow::anyhow!("an item has no text `{part}`"))?.as_str());
    }
    Ok(texts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    #[test]
    fn the_join_is_what_a_fold_makes_of_these_events() {
        let model = data::model(data::MANIFEST).unwrap();
        let table = data::table(&model, "audit").unwrap();
        for at in 0..100 {
            let folded = table.with_keys(data::event(at)).unwrap();
            let item: SdkItem = data::event(at).into();
            assert_eq!(joined(&item).unwrap(), data::text(&folded, KEY));
        }
    }

    #[test]
    fn an_item_without_a_part_is_an_error() {
        assert!(joined(&SdkItem::new()).unwrap_err().to_string().contains("`resourceId`"));
    }
}
