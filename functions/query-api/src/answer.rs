//! What a query came to, as the body of a response.

use keyfold_core::query::explain::Explanation;
use keyfold_core::value::Item;
use serde::Serialize;

use crate::plain::{Format, Items};

/// One answer, or one page of it.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `None`: only the number was asked for.
    pub(crate) items: Option<Vec<Item>>,
    pub(crate) count: u64,
    /// The token of the next page.
    pub(crate) page: Option<String>,
    pub(crate) consumed_read_units: f64,
    /// What was read for it, before any filter.
    pub(crate) items_read: u64,
    /// The plan, if it was asked for.
    pub(crate) plan: Option<Explanation>,
}

/// An answer in a format.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Items<'a>>,
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'a str>,
    consumed_read_units: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    items_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a Explanation>,
}

impl Answer {
    pub(crate) fn body(&self, format: Format) -> AnswerBody<'_> {
        AnswerBody {
            items: self.items.as_deref().map(|items| Items(items, format)),
            count: self.count,
            page: self.page.as_deref(),
            consumed_read_units: self.consumed_read_units,
            items_read: self.plan.is_some().then_some(self.items_read),
            plan: self.plan.as_ref(),
        }
    }
}
