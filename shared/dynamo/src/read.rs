//! Reads: a page of a query or a scan, and a batch of items by their keys.
//!
//! One call each. Which pages to ask for, how many at once and when to stop is the caller's business.

mod batch_get;
mod page;
mod query;
mod scan;

pub(crate) use batch_get::batch_get_watched;
pub use batch_get::{BATCH_GET_KEYS_MAX, BatchGet, Got, batch_get};
pub use page::{Fetch, PAGE_ITEMS_MAX, Page, PageRequest};
pub(crate) use query::query_from;
pub use query::{QueryPage, query_page};
pub(crate) use scan::scan_from;
pub use scan::{ScanPage, Segment, scan_page};
