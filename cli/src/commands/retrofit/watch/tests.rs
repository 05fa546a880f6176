//! What several samples say together.

use super::*;

fn sample(seconds: u64, started: Instant, items: u64, done: u32) -> (Instant, BTreeMap<Pass, PassProgress>) {
    let walked = PassProgress { items, segments: 2, done };
    (started + Duration::from_secs(seconds), BTreeMap::from([(Pass::Backfill, walked)]))
}

#[test]
fn rate_and_time_left_follow_from_the_samples() {
    let started = Instant::now();
    let text = |samples: &[_], total| paces(&samples.iter().cloned().collect(), (total, 0))[0].1.to_string();
    let (first, second) = (sample(0, started, 100, 0), sample(10, started, 400, 1));
    assert_eq!(
        text(std::slice::from_ref(&first), 1000),
        "100 of about 1000 items, 0 items/s, time left unknown"
    );
    assert_eq!(
        text(&[first.clone(), second.clone()], 1000),
        "400 of about 1000 items, 30 items/s, 20 s left"
    );
    assert_eq!(text(&[first.clone(), second], 300), "400 items, 30 items/s, time left unknown");
    assert_eq!(text(&[first, sample(20, started, 400, 2)], 300), "done, 400 items");
}
