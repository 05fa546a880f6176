//! What a page of a query and a page of a scan have in common.

use aws_sdk_dynamodb::types::ConsumedCapacity;
use keyfold_core::execute::{Page, PageRequest};

use crate::consumed;
use crate::error::{Call, DynamoError};
use crate::values::{SdkItem, from_sdk};

/// The call, for errors.
pub(super) fn call(page: &PageRequest, operation: &'static str) -> Call {
    Call::on(operation, &page.table, page.index.as_deref())
}

/// An answer to a query or a scan, as the SDK has it.
pub(crate) struct SdkPage {
    pub(crate) items: Option<Vec<SdkItem>>,
    pub(crate) count: i32,
    pub(crate) scanned: i32,
    pub(crate) last_key: Option<SdkItem>,
    pub(crate) consumed: Option<ConsumedCapacity>,
}

impl SdkPage {
    pub(crate) fn page(self, call: impl Fn() -> Call) -> Result<Page, DynamoError> {
        let unreadable = |_| DynamoError::Unreadable { call: call() };
        let arrived = self.items.unwrap_or_default();
        let mut items = Vec::with_capacity(arrived.len());
        for item in arrived {
            items.push(from_sdk(item).map_err(unreadable)?);
        }
        // An empty key is no key: it means that there is no more.
        let last_key = self.last_key.filter(|key| !key.is_empty()).map(from_sdk).transpose();
        Ok(Page {
            items,
            count: self.count.max(0).unsigned_abs().into(),
            scanned: self.scanned.max(0).unsigned_abs().into(),
            last_key: last_key.map_err(unreadable)?,
            consumed: consumed::of(self.consumed.as_ref()),
        })
    }
}
