//! The limits of a request and of its execution.

/// The deepest nesting of `and`, `or` and `not`.
pub const DEPTH_MAX: usize = 16;
/// Maximum comparisons in one request.
pub const COMPARISONS_MAX: usize = 100;
/// Maximum values in one `in`, as in DynamoDB.
pub const IN_VALUES_MAX: usize = 100;
/// Maximum DynamoDB queries for one request.
pub const FAN_OUT_MAX: usize = 100;
/// Maximum reads spelled out in an explanation: the reads of a fan-out repeat one filter.
pub const READS_EXPLAINED_MAX: usize = 10;
/// Maximum alternatives that an `or` is split into.
pub const ALTERNATIVES_MAX: usize = 20;
/// Maximum items on one page.
pub const PAGE_ITEMS_MAX: u32 = 1000;
/// Default items on one page.
pub const PAGE_ITEMS_DEFAULT: u32 = 100;
/// Maximum items that a request may have sorted in memory.
pub const SORT_ITEMS_MAX: u32 = 100_000;
/// Maximum attributes of an order.
pub const ORDER_MAX: usize = 8;
