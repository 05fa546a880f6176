//! A small, dated table of prices, which the manifest can override.
//!
//! On-demand capacity and the Standard table class, without the free tier: <https://aws.amazon.com/dynamodb/pricing/on-demand/>.

/// The prices that dollars are computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// The region they are of.
    pub region: String,
    /// The day on which they were true: `2026-09-11`.
    pub as_of: String,
    /// Dollars for a million read request units.
    pub read_million: f64,
    /// Dollars for a million write request units.
    pub write_million: f64,
    /// Dollars for keeping a GB for a month.
    pub storage_gb_month: f64,
    /// Where some of these figures were taken from for want of the region's own: `us-east-1`.
    pub borrowed_from: Option<String>,
}

/// The manifest's `[prices]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PriceOverrides {
    /// The region.
    pub region: Option<String>,
    /// The day on which its prices were true.
    pub as_of: Option<String>,
    /// Dollars for a million read request units.
    pub read_million: Option<f64>,
    /// Dollars for a million write request units.
    pub write_million: Option<f64>,
    /// Dollars for keeping a GB for a month.
    pub storage_gb_month: Option<f64>,
}

/// An invalid price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the price `{field}` is not a number of dollars, zero or more")]
pub struct PriceError {
    /// The field of `[prices]`.
    pub field: &'static str,
}

impl PriceOverrides {
    /// Is every price a finite number, zero or more?
    pub fn check(&self) -> Result<(), PriceError> {
        let prices = [
            ("read_million", self.read_million),
            ("write_million", self.write_million),
            ("storage_gb_month", self.storage_gb_month),
        ];
        match prices
            .into_iter()
            .find(|(_, price)| price.is_some_and(|price| !(price.is_finite() && price >= 0.0)))
        {
            Some((field, _)) => Err(PriceError { field }),
            None => Ok(()),
        }
    }
}

// The figures of the AWS price list, whose index is
// https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonDynamoDB/current/region_index.json
// They hold since the price cut of 1 November 2024:
// https://aws.amazon.com/blogs/database/new-amazon-dynamodb-lowers-pricing-for-on-demand-throughput-and-global-tables/
/// Region, day, dollars for a million reads, for a million writes, for a GB and month.
const BUILT_IN: [(&str, &str, f64, f64, f64); 2] = [
    ("us-east-1", "2026-07-30", 0.125, 0.625, 0.25),
    // https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonDynamoDB/20260911124422/eu-west-1/index.json
    ("eu-west-1", "2026-09-11", 0.1415, 0.705, 0.283),
];

impl Default for Prices {
    /// Those of us-east-1.
    fn default() -> Prices {
        Prices::built_in(BUILT_IN[0])
    }
}

impl Prices {
    fn built_in(
        (region, as_of, read_million, write_million, storage_gb_month): (&str, &str, f64, f64, f64),
    ) -> Prices {
        let (region, as_of) = (region.to_owned(), as_of.to_owned());
        Prices { region, as_of, read_million, write_million, storage_gb_month, borrowed_from: None }
    }

    /// The built-in prices of a region, if there are any.
    pub fn of_region(region: &str) -> Option<Prices> {
        BUILT_IN.into_iter().find(|built_in| built_in.0 == region).map(Prices::built_in)
    }

    /// These prices with overrides. A region with built-in prices uses those; for another region, values not given stay
    /// unchanged, and [`borrowed_from`](Self::borrowed_from) names their region.
    #[must_use]
    pub fn with(self, overrides: PriceOverrides) -> Prices {
        let mut prices = match &overrides.region {
            Some(region) if *region != self.region => Prices::of_region(region).unwrap_or_else(|| {
                let complete = overrides.read_million.is_some()
                    && overrides.write_million.is_some()
                    && overrides.storage_gb_month.is_some();
                let borrowed_from = if complete { None } else { Some(self.region.clone()) };
                Prices { region: region.clone(), borrowed_from, ..self }
            }),
            _ => self,
        };
        prices.as_of = overrides.as_of.unwrap_or(prices.as_of);
        prices.read_million = overrides.read_million.unwrap_or(prices.read_million);
        prices.write_million = overrides.write_million.unwrap_or(prices.write_million);
        prices.storage_gb_month = overrides.storage_gb_month.unwrap_or(prices.storage_gb_month);
        prices
    }
}
