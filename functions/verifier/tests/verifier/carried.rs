//! What is there to be compared: a retrofit that is carried over.

use std::collections::HashMap;
use std::ops::ControlFlow;

use keyfold_core::retrofit::{Checkpoint, Pass, SegmentId};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::retrofit::{SliceOptions, backfill_slice};

use crate::function::Function;

impl Function {
    /// Carries everything over, as the backfiller does.
    pub(crate) async fn backfill(&self, retrofit: &str) {
        let sender = self.sender(retrofit);
        sender.begin_writing().await.unwrap();
        let begun = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
        let options = SliceOptions { store: true, ..SliceOptions::default() };
        let end = backfill_slice(&sender, begun, &options, &mut |_| ControlFlow::Continue(())).await;
        assert!(end.error.is_none() && end.checkpoint.is_done());
    }
}

/// The key of the event with this id.
pub(crate) fn key(id: &str) -> Item {
    HashMap::from([("id".to_owned(), AttributeValue::S(id.to_owned()))]).into()
}
