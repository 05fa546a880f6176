//! The rate and the time left.

use super::*;

#[test]
fn time_left_is_judged_by_this_run_alone() {
    let pace = Pace::new(600, 100, Some(1000), 10.0);
    assert_eq!(pace.to_string(), "600 of about 1000 items, 10 items/s");
    assert_eq!((pace.share(), pace.left()), (Some(60), "40 s left".to_owned()));
    assert_eq!(Pace::new(1000, 0, Some(1000), 10.0).left(), "0 s left");
    assert_eq!(Pace::new(600, 0, Some(1000), 10.0).left(), "time left unknown");
}

#[test]
fn without_a_count_of_the_table_there_is_neither_a_share_nor_an_end() {
    let pace = Pace::new(600, 100, known_total(500, 600), 10.0);
    assert_eq!((pace.to_string(), pace.share()), ("600 items, 10 items/s".to_owned(), None));
    assert_eq!(pace.left(), "time left unknown");
    assert_eq!(Pace::new(0, 0, Some(0), 10.0).share(), Some(100), "an empty table");
}
