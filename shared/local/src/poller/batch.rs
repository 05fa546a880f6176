//! The event of a batch, and the choice of its records.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::options::{PAYLOAD_BYTES_MAX, PollerOptions};
use super::stream::StreamRecord;

/// The event of these records.
pub(super) fn event(records: &[StreamRecord]) -> String {
    let records: Vec<&str> = records.iter().map(|record| record.json.as_str()).collect();
    format!("{{\"Records\":[{}]}}", records.join(","))
}

/// The parts of a page that can be processed concurrently: all records of one item are in one part, in their order.
pub(super) fn lanes(page: Vec<StreamRecord>, parallel: usize) -> Vec<Vec<StreamRecord>> {
    let mut lanes: Vec<Vec<StreamRecord>> = vec![Vec::new(); parallel.max(1)];
    for record in page {
        let mut hasher = DefaultHasher::new();
        record.key.hash(&mut hasher);
        let lane = hasher.finish() % lanes.len() as u64;
        lanes[usize::try_from(lane).unwrap_or(0)].push(record);
    }
    lanes.retain(|lane| !lane.is_empty());
    lanes
}

/// The batches of a lane, limited by records and by the size of an event.
pub(super) fn batches(lane: &[StreamRecord], options: &PollerOptions) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for (place, record) in lane.iter().enumerate() {
        bytes += record.json.len() + 1;
        match batches.last_mut() {
            Some(batch) if batch.len() < options.batch_records() && bytes < PAYLOAD_BYTES_MAX => {
                batch.end = place + 1;
            }
            _ => {
                batches.push(place..place + 1);
                bytes = record.json.len() + 1;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, bytes: usize) -> StreamRecord {
        StreamRecord { json: "x".repeat(bytes), sequence: String::new(), key: key.to_owned(), seconds: 0.0 }
    }

    #[test]
    fn a_batch_is_closed_by_its_records_or_by_its_size() {
        let options = PollerOptions { batch_records: 3, ..PollerOptions::default() };
        let sizes = |sizes: &[usize]| {
            let lane: Vec<_> = sizes.iter().map(|bytes| record("a", *bytes)).collect();
            batches(&lane, &options).iter().map(Range::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[1; 7]), [3, 3, 1]);
        assert_eq!(sizes(&[PAYLOAD_BYTES_MAX, 1, 1]), [1, 2]);
        assert_eq!(sizes(&[]), [0; 0]);
    }

    #[test]
    fn records_of_one_item_stay_in_one_lane() {
        let page: Vec<_> = (0..100).map(|number| record(&format!("{}", number % 10), number)).collect();
        let lanes = lanes(page, 4);
        assert!(lanes.len() > 1, "all in one lane");
        for key in 0..10 {
            let with = |lane: &&Vec<StreamRecord>| lane.iter().any(|record| record.key == key.to_string());
            assert_eq!(lanes.iter().filter(with).count(), 1);
        }
        for lane in &lanes {
            assert!(lane.windows(2).all(|pair| pair[0].json.len() < pair[1].json.len()), "out of order");
        }
    }
}
