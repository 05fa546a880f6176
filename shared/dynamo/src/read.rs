//! Reads: a page of a query or a scan, and a batch of items by their keys.
//!
//! One call each. Which pages to ask for, how many at once and when to stop is the caller's business.

pub use keyfold_core::execute::{
    BATCH_GET_KEYS_MAX, BatchGet, Fetch, Got, PAGE_ITEMS_MAX, Page, PageRequest, QueryPage, ScanPage, Segment,
};

mod batch_get;
mod page;
mod query;
mod request;
mod scan;

pub use batch_get::batch_get;
pub(crate) use batch_get::batch_get_watched;
#[cfg(any(test, fuzzing))]
pub(crate) use batch_get::sdk_batch;
#[cfg(any(test, fuzzing))]
pub(crate) use page::SdkPage;
pub(crate) use query::query_from;
pub use query::query_page;
pub(crate) use scan::scan_from;
pub use scan::scan_page;
