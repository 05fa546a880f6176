//! How large the item collection of a written item is: the early warning before DynamoDB's limit of 10 GB.

use aws_sdk_dynamodb::types::ItemCollectionMetrics;
use keyfold_core::index::{CollectionLevel, collection_level};
use keyfold_core::model::Table;

/// DynamoDB's estimate of an item collection's size, in the table and its local indexes together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collection {
    /// The lower end of its size, in GB.
    pub lower_gb: f64,
    /// The upper end of its size, in GB.
    pub upper_gb: f64,
    /// How near the limit that is.
    pub level: CollectionLevel,
}

impl Collection {
    /// DynamoDB's report; `None` for a table without local indexes, and for an invalid report.
    pub(super) fn of(table: &Table, reported: Option<&ItemCollectionMetrics>) -> Option<Collection> {
        let [lower_gb, upper_gb] = *reported?.size_estimate_range_gb() else { return None };
        let level = collection_level(lower_gb, upper_gb, table.collection_bytes_warn)?;
        Some(Collection { lower_gb, upper_gb, level })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(range: &[f64]) -> ItemCollectionMetrics {
        ItemCollectionMetrics::builder().set_size_estimate_range_gb(Some(range.to_vec())).build()
    }

    #[test]
    fn the_warning_comes_before_the_limit() {
        let text = "[tables.visits]\npartition = \"user\"\nsort = \"at\"\ncollection-warning-gb = 8\n[tables.visits.attributes]\nuser = \"string\"\nat = \"string\"\n";
        let parsed = keyfold_core::manifest::parse("keyfold.toml", text);
        let table = parsed.model.unwrap().tables.remove(0);
        let level = |range: &[f64]| Collection::of(&table, Some(&report(range))).map(|found| found.level);
        assert_eq!(level(&[7.0, 8.0]), Some(CollectionLevel::Fine));
        assert_eq!(level(&[8.0, 9.0]), Some(CollectionLevel::Warn));
        assert_eq!(level(&[10.0, 11.0]), Some(CollectionLevel::Over));
        assert_eq!((level(&[]), level(&[2.0, 1.0])), (None, None));
        assert_eq!(Collection::of(&table, None), None);
    }
}
