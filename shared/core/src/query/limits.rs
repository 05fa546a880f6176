//! The bounds of a request and of what is done for it, each with its name.

/// The deepest nesting of `and`, `or` and `not`.
pub const DEPTH_MAX: usize = 16;
/// The most comparisons in one request.
pub const COMPARISONS_MAX: usize = 100;
/// The most values of one `in`, as DynamoDB has it.
pub const IN_VALUES_MAX: usize = 100;
/// The most DynamoDB queries that one request may be split into.
pub const FAN_OUT_MAX: usize = 100;
/// The most reads of a plan that an explanation spells out: the reads of a fan-out repeat one filter.
pub const READS_EXPLAINED_MAX: usize = 10;
/// The most alternatives that an `or` is taken apart into.
pub const ALTERNATIVES_MAX: usize = 20;
/// The most items of one answer page.
pub const PAGE_ITEMS_MAX: u32 = 1000;
/// The items of one answer page when the request does not say.
pub const PAGE_ITEMS_DEFAULT: u32 = 100;
/// The most items that a request may have sorted in memory.
pub const SORT_ITEMS_MAX: u32 = 100_000;
/// The most attributes of an order.
pub const ORDER_MAX: usize = 8;
