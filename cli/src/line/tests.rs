//! When a line is drawn, and how wide it is.

use super::*;

#[test]
fn no_line_is_wider_than_a_terminal() {
    assert_eq!(cut(&"x".repeat(200)).len(), COLUMNS_MAX);
}

#[test]
fn a_line_appears_within_half_a_second_and_plain_lines_become_rare() {
    for terminal in [true, false] {
        assert!(period(terminal, Duration::ZERO, false) < Duration::from_millis(500));
    }
    assert_eq!(period(false, Duration::from_secs(59), true), Duration::from_secs(2));
    assert_eq!(period(false, Duration::from_secs(60), true), Duration::from_secs(30));
    assert_eq!(period(true, Duration::from_secs(60), true), REDRAW_PERIOD);
}

#[tokio::test]
async fn the_line_ends_with_the_work() {
    let line = Line::new(&Output::new(true));
    assert_eq!(line.during(async { 7 }, || unreachable!("it is over before")).await, 7);
}
