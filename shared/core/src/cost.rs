//! What reading, writing and keeping items costs: units by DynamoDB's rules, dollars by a dated price table.

/// The prices that dollars are computed from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {}

/// What a manifest's `[prices]` says: each value replaces the built-in one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PriceOverrides {
    /// The region that the prices are of.
    pub region: Option<String>,
    /// The day they were read, `2026-11-01`.
    pub as_of: Option<String>,
    /// Dollars for a million read request units.
    pub read_million: Option<f64>,
    /// Dollars for a million write request units.
    pub write_million: Option<f64>,
    /// Dollars for a gigabyte kept for a month.
    pub storage_gb_month: Option<f64>,
}

impl Prices {
    /// These prices, with the overrides laid over them.
    pub fn with(self, overrides: PriceOverrides) -> Prices {
        // filled by cost
        drop(overrides);
        self
    }
}
