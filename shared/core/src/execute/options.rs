//! The bounds of a run.

use super::page::PAGE_ITEMS_MAX;

/// How many reads a query has under way at once, if the caller does not say.
pub const CONCURRENCY_DEFAULT: usize = 8;

/// The bounds of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// The most reads under way at once; at least one.
    pub concurrency_max: usize,
    /// The most read units that this run may consume. How large items are is known only when they are read, so the run can go over
    /// it, but by no more than one page of 1 MB: reads wait for each other where all of them together could.
    pub read_units_max: Option<f64>,
    /// The most items that one call reads; at most [`PAGE_ITEMS_MAX`].
    pub page_items_max: u32,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            concurrency_max: CONCURRENCY_DEFAULT,
            read_units_max: None,
            page_items_max: PAGE_ITEMS_MAX,
        }
    }
}
