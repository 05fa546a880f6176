//! What a run sends, and what comes back.

use std::sync::Arc;

use super::page::{BatchGet, Got, Page};
use super::reader::PageSource;
use crate::value::Item;

/// A request that a run wants sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadRequest {
    /// The access of the plan that it is for. An access has one request under way at most.
    pub access: usize,
    /// What is read.
    pub read: Read,
}

/// What is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// A page.
    Page {
        /// Where from, and how.
        source: Arc<PageSource>,
        /// After this key; from the beginning if absent.
        start: Option<Item>,
        /// The most items to read, before the filter.
        items: u32,
    },
    /// Items by their keys, all of them, in as many calls as it takes.
    Items(BatchGet),
}

/// What a request brought.
#[derive(Debug, Clone, PartialEq)]
pub enum Brought {
    /// A page.
    Page {
        /// The page.
        page: Page,
        /// How many calls it took.
        calls: u32,
    },
    /// Items by their keys.
    Items(Got),
}
