//! What reading, writing and keeping items costs: units by DynamoDB's rules, dollars by a dated price table.

/// The prices that dollars are computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {}
