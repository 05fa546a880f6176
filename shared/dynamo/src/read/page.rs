//! What a page of a query and a page of a scan have in common.

use aws_sdk_dynamodb::types::{ConsumedCapacity, Select};
use keyfold_core::execute::{Fetch, PAGE_ITEMS_MAX, Page, PageRequest};

use crate::consumed;
use crate::error::{Call, DynamoError};
use crate::values::{SdkItem, from_sdk};

/// The limit to send.
pub(super) fn sent_limit(limit: Option<u32>) -> i32 {
    limit.unwrap_or(PAGE_ITEMS_MAX).clamp(1, PAGE_ITEMS_MAX).cast_signed()
}

/// The call, for errors.
pub(super) fn call(page: &PageRequest, operation: &'static str) -> Call {
    Call::on(operation, &page.table, page.index.as_deref())
}

pub(super) fn select(fetch: &Fetch) -> Option<Select> {
    match fetch {
        Fetch::All => Some(Select::AllAttributes),
        Fetch::Count => Some(Select::Count),
        Fetch::Projected | Fetch::Expression(_) => None,
    }
}

pub(super) fn projection(fetch: &Fetch) -> Option<String> {
    match fetch {
        Fetch::Expression(expression) => Some(expression.clone()),
        Fetch::Projected | Fetch::All | Fetch::Count => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_always_has_a_limit_that_dynamodb_takes() {
        for (asked, sent) in
            [(None, 1000), (Some(0), 1), (Some(20), 20), (Some(1001), 1000), (Some(u32::MAX), 1000)]
        {
            assert_eq!(sent_limit(asked), sent, "{asked:?}");
        }
    }
}
