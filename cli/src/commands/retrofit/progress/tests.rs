//! The rate and the time left.

use super::*;

#[test]
fn time_left_is_judged_by_this_run_alone() {
    let pace = |items, new| Pace::new((items, new), 1000, Duration::from_secs(10)).to_string();
    assert_eq!(pace(600, 100), "600 of about 1000 items, 10 items/s, 40 s left");
    assert_eq!(pace(1000, 0), "1000 of about 1000 items, 0 items/s, 0 s left");
    assert_eq!(pace(600, 0), "600 of about 1000 items, 0 items/s, time left unknown");
}

#[test]
fn without_a_count_of_the_table_there_is_no_end() {
    let pace = Pace::new((600, 100), 500, Duration::from_secs(10));
    assert_eq!(pace.to_string(), "600 items, 10 items/s, time left unknown");
    assert_eq!(
        (pace.done().to_string(), pace.done().seconds_left()),
        ("done, 600 items".to_owned(), Some(0))
    );
}
