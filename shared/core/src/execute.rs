//! Executes a query plan: chooses the requests and combines their responses. Nothing here sends anything.
//!
//! An [`Execution`] returns the next requests and takes their responses in any order; its driver sends them.
//! `keyfold-dynamo` is the driver for Rust, the Node and Python packages have their own. All share the reads, merges,
//! checks, limits and pages.
//!
//! Nothing is decided here that the plan could decide. Every access of the plan has a lane: its entries that are read
//! and not yet returned, and its position. `sequential`, `merged`, `sorted` and `counted` combine the lanes into one
//! answer.

mod answer;
mod budget;
mod error;
mod execution;
mod hydrate;
mod lane;
mod lanes;
mod merged;
mod page;
mod position;
mod reader;
mod sequential;
mod shape;
mod sorted;

pub use answer::{Answer, HANDLE};
pub use budget::{CONCURRENCY_DEFAULT, RunOptions};
pub use budget::{REQUESTS_MAX, cap_overrun};
pub use error::AnswerError;
pub use execution::{Execution, Next, page_sources};
pub use page::Consumed;
pub use page::{
    BATCH_GET_KEYS_MAX, BatchGet, BatchItems, Fetch, PAGE_ITEMS_MAX, Page, PageRequest, QueryPage, ScanPage,
    Segment,
};
pub use position::Position;
pub use reader::PageSource;
pub use reader::{Read, ReadRequest, ReadResponse};
