//! Answers a query plan: which requests are sent, and what their responses come to. Nothing here sends anything.
//!
//! An [`Execution`] says which requests come next and takes in their responses, in whatever order they arrive; who drives it
//! sends them. `keyfold-dynamo` does so for Rust, the packages for Node and Python do so for theirs: the same reads, merges,
//! checks, limits and pages.
//!
//! Nothing is decided here that the plan could decide. Every access of the plan is a lane: what it has read and not yet
//! given out, and how far it has come. How the lanes become one answer is the way: `sequential`, `merged`, `sorted` or
//! `counted`.

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
    BATCH_GET_KEYS_MAX, BatchGet, Fetch, Got, PAGE_ITEMS_MAX, Page, PageRequest, QueryPage, ScanPage, Segment,
};
pub use position::Position;
pub use reader::PageSource;
pub use reader::{Brought, Read, ReadRequest};
