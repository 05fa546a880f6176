//! Reads: a page of a query or a scan, and a batch of items by their keys.
//!
//! One call each. The caller chooses the pages, the concurrency and the end.

pub use keyfold_core::execute::{
    BATCH_GET_KEYS_MAX, BatchGet, BatchItems, Fetch, PAGE_ITEMS_MAX, Page, PageRequest, QueryPage, ScanPage,
    Segment,
};

mod batch_get;
mod page;
mod request;

pub use batch_get::batch_get;
pub(crate) use batch_get::batch_get_watched;
#[cfg(any(test, fuzzing))]
pub(crate) use batch_get::sdk_batch;
#[cfg(any(test, fuzzing))]
pub(crate) use page::SdkPage;
pub(crate) use page::query_from;
pub use page::query_page;
pub(crate) use page::scan_from;
pub use page::scan_page;
