//! What a page of a query and a page of a scan have in common.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{ConsumedCapacity, Select};
use keyfold_core::value::{AttributeValue, Item};

use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::{SdkItem, from_sdk};

/// The most items that are read for one page. A page always has a limit: DynamoDB's own, 1 MB, can be many thousands of
/// small items.
pub const PAGE_ITEMS_MAX: u32 = 1000;

/// Where a page is read from, and how. Expressions are as DynamoDB wants them, with their placeholders.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageRequest {
    /// The table's name in DynamoDB.
    pub table: String,
    /// The index; `None` for the table itself.
    pub index: Option<String>,
    /// The filter expression.
    pub filter: Option<String>,
    /// The placeholders for names, of all expressions: `#a` -> `action`.
    pub names: BTreeMap<String, String>,
    /// The placeholders for values: `:a` -> `viewed`.
    pub values: BTreeMap<String, AttributeValue>,
    /// What is wanted of each item.
    pub fetch: Fetch,
    /// The most items to read, before the filter; at most, and by default, [`PAGE_ITEMS_MAX`].
    pub limit: Option<u32>,
    /// Strongly consistent? Never from a global index.
    pub consistent: bool,
    /// The [`Page::last_key`] of the page before.
    pub start_key: Option<Item>,
}

/// What is wanted of each item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fetch {
    /// What the index holds; everything, of a table.
    #[default]
    Projected,
    /// Everything. A local index fetches what it lacks from the table, at the price of a read for each item; a global one
    /// cannot.
    All,
    /// What this projection expression says. Of a local index only what it holds: ask for [`Fetch::All`] instead.
    Expression(String),
    /// Only the number of items.
    Count,
}

/// A page: what was read in one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The items, in the order of the index. None if only the count was wanted.
    pub items: Vec<Item>,
    /// How many items passed the filter.
    pub count: u64,
    /// How many items were read.
    pub scanned: u64,
    /// Where the next page starts; `None` if there is no more.
    pub last_key: Option<Item>,
    /// The read units it cost.
    pub consumed: Consumed,
}

/// The limit to send.
pub(super) fn sent_limit(limit: Option<u32>) -> i32 {
    limit.unwrap_or(PAGE_ITEMS_MAX).clamp(1, PAGE_ITEMS_MAX).cast_signed()
}

impl PageRequest {
    /// The call, for errors.
    pub(super) fn call(&self, operation: &'static str) -> Call {
        Call::on(operation, &self.table, self.index.as_deref())
    }
}

impl Fetch {
    pub(super) fn select(&self) -> Option<Select> {
        match self {
            Fetch::All => Some(Select::AllAttributes),
            Fetch::Count => Some(Select::Count),
            Fetch::Projected | Fetch::Expression(_) => None,
        }
    }

    pub(super) fn expression(&self) -> Option<String> {
        match self {
            Fetch::Expression(expression) => Some(expression.clone()),
            Fetch::Projected | Fetch::All | Fetch::Count => None,
        }
    }
}

/// An answer to a query or a scan, as the SDK has it.
pub(super) struct Answer {
    pub(super) items: Option<Vec<SdkItem>>,
    pub(super) count: i32,
    pub(super) scanned: i32,
    pub(super) last_key: Option<SdkItem>,
    pub(super) consumed: Option<ConsumedCapacity>,
}

impl Answer {
    pub(super) fn page(self, call: impl Fn() -> Call) -> Result<Page, DynamoError> {
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
            consumed: Consumed::of(self.consumed.as_ref()),
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
