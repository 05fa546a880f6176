//! Tests of the rate, with a clock of their own.

use super::*;

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Consumes pages of `page_units` for `seconds`, as fast as the rate allows. Returns the consumed units and the time afterwards.
fn run(rate: &mut Rate, page_units: f64, from: f64, seconds: f64) -> (f64, f64) {
    let (mut now, mut sum) = (from, 0.0);
    loop {
        let wait = rate.wait(at(now)).as_secs_f64();
        now += wait;
        if now >= from + seconds {
            return (sum, from + seconds);
        }
        if wait == 0.0 {
            rate.consumed(page_units, at(now));
            sum += page_units;
        } else {
            // Rounding must not make it wait for ever.
            now += 1e-6;
        }
    }
}

#[test]
fn what_is_consumed_is_what_is_allowed() {
    let mut rate = Rate::new(Some(200.0), Duration::ZERO);
    let (sum, _) = run(&mut rate, 50.0, 0.0, 60.0);
    assert!((12_000.0..=12_500.0).contains(&sum), "60 s, the burst, one page of debt: {sum}");
    assert_eq!(rate.units_per_second(), 200.0, "the given rate is the maximum");
}

#[test]
fn a_page_that_cost_more_than_thought_is_waited_off() {
    let mut rate = Rate::new(Some(100.0), Duration::ZERO);
    rate.consumed(1200.0, at(0.0));
    assert_eq!(rate.wait(at(0.0)), at(10.0));
    assert_eq!(rate.wait(at(4.0)), at(6.0));
    assert_eq!(rate.wait(at(10.1)), Duration::ZERO);
}

#[test]
fn idle_time_is_kept_for_two_seconds_and_no_more() {
    let mut rate = Rate::new(Some(100.0), Duration::ZERO);
    assert_eq!(rate.wait(at(1000.0)), Duration::ZERO);
    rate.consumed(300.0, at(1000.0));
    assert_eq!(rate.wait(at(1000.0)), at(1.0));
}

#[test]
fn nothing_throttled_doubles_a_rate_that_is_used() {
    let mut rate = Rate::new(None, Duration::ZERO);
    run(&mut rate, 100.0, 0.0, 10.5);
    assert_eq!(rate.units_per_second(), 2.0 * RATE_START);
    let mut idle = Rate::new(None, Duration::ZERO);
    for second in 0..100 {
        idle.consumed(10.0, at(f64::from(second)));
    }
    assert_eq!(idle.units_per_second(), RATE_START, "an unused rate says nothing about the table");
}

#[test]
fn each_reason_cuts_by_its_own_share() {
    for (reason, left) in [
        ("TableWriteKeyRangeThroughputExceeded", 750.0),
        ("TableWriteProvisionedThroughputExceeded", 500.0),
        ("TableReadMaxOnDemandThroughputExceeded", 500.0),
        ("something new", 500.0),
        ("IndexWriteProvisionedThroughputExceeded", 250.0),
        ("IndexWriteKeyRangeThroughputExceeded", 250.0),
        ("TableWriteAccountLimitExceeded", 100.0),
        ("IndexWriteAccountLimitExceeded", 100.0),
    ] {
        let mut rate = Rate::new(None, Duration::ZERO);
        rate.consumed(10_000.0, at(5.0));
        rate.throttled(ThrottledBy::of_reason(reason), at(5.0));
        assert_eq!(rate.units_per_second(), left, "{reason}");
    }
}

#[test]
fn an_account_at_its_limit_is_left_alone() {
    let mut rate = Rate::new(None, Duration::ZERO);
    rate.throttled(ThrottledBy::Account, at(5.0));
    assert_eq!(rate.wait(at(5.0)), ACCOUNT_PAUSE);
    assert_eq!(rate.wait(at(35.5)), Duration::ZERO);
}

#[test]
fn many_requests_that_meet_one_shortage_cut_once() {
    let mut rate = Rate::new(None, Duration::ZERO);
    for request in 0..16 {
        rate.throttled(ThrottledBy::Table, at(5.0 + f64::from(request) / 100.0));
    }
    assert_eq!((rate.units_per_second(), rate.throttles()), (500.0, 16));
    rate.throttled(ThrottledBy::Index, at(5.5));
    assert_eq!(rate.units_per_second(), 125.0, "a worse shortage counts at once");
    rate.throttled(ThrottledBy::Table, at(6.0));
    assert_eq!(rate.units_per_second(), 125.0);
    rate.throttled(ThrottledBy::Table, at(7.0));
    assert_eq!(rate.units_per_second(), 62.5);
}

#[test]
fn a_cut_begins_at_what_was_used() {
    let mut rate = Rate::new(Some(100_000.0), Duration::ZERO);
    rate.consumed(4_000.0, at(1.0));
    rate.throttled(ThrottledBy::Table, at(2.0));
    assert_eq!(rate.units_per_second(), 1000.0, "half of 4,000 units in 2 s");
}

#[test]
fn after_a_cut_it_grows_by_a_twentieth_at_a_time() {
    let mut rate = Rate::new(None, Duration::ZERO);
    rate.consumed(2000.0, at(1.0));
    rate.throttled(ThrottledBy::Table, at(2.0));
    assert_eq!(rate.units_per_second(), 500.0);
    let (_, now) = run(&mut rate, 25.0, 2.0, 10.0);
    assert_eq!(rate.units_per_second(), 500.0, "not in the period in which something was throttled");
    let (_, now) = run(&mut rate, 25.0, now, 10.5);
    assert_eq!(rate.units_per_second(), 550.0);
    let (_, now) = run(&mut rate, 25.0, now, 10.0);
    assert_eq!(rate.units_per_second(), 600.0);
    rate.throttled(ThrottledBy::Table, at(now));
    assert!(rate.units_per_second() < 310.0);
}

#[test]
fn however_often_it_is_throttled_it_goes_on() {
    let mut rate = Rate::new(None, Duration::ZERO);
    for second in 0..100 {
        rate.throttled(ThrottledBy::Index, at(f64::from(second) * 2.0));
    }
    assert_eq!(rate.units_per_second(), RATE_MIN);
    assert!(rate.wait(at(300.0)) == Duration::ZERO);
}

#[test]
fn pages_get_shorter_with_the_rate() {
    let mut rate = Rate::new(Some(1000.0), Duration::ZERO);
    assert_eq!(rate.page_items(500), 200, "nothing is known yet");
    rate.consumed(2000.0, at(0.0));
    rate.carried(500);
    assert_eq!(rate.page_items(500), 250, "4 units for an item, 1,000 in a second");
    for second in 1..20 {
        rate.throttled(ThrottledBy::Index, at(f64::from(second) * 2.0));
    }
    assert_eq!(rate.page_items(500), PAGE_ITEMS_MIN);
    assert_eq!(rate.page_items(3), 3);
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut rate = Rate::new(Some(100.0), at(10.0));
    rate.consumed(300.0, at(10.0));
    assert_eq!(rate.wait(at(3.0)), at(1.0));
    assert_eq!(Rate::new(Some(f64::NAN), Duration::ZERO).units_per_second(), RATE_START);
    assert_eq!(Rate::new(Some(-1.0), Duration::ZERO).units_per_second(), RATE_MIN);
}

#[test]
fn a_replicator_that_is_behind_slows_it_down_as_long_as_it_is() {
    let mut rate = Rate::new(Some(1000.0), Duration::ZERO);
    for look in 1..=40 {
        let (_, now) = run(&mut rate, 10.0, 10.0 * f64::from(look - 1), 10.0);
        rate.throttled(ThrottledBy::Replicator, at(now));
    }
    assert!(rate.units_per_second() < 10.0, "{}", rate.units_per_second());
    run(&mut rate, 1.0, 400.0, 10_000.0);
    assert!(rate.units_per_second() > 10.0, "and it grows again: {}", rate.units_per_second());
}

#[test]
fn after_a_lag_it_is_soon_where_it_was() {
    let mut rate = Rate::new(Some(1_000.0), at(0.0));
    run(&mut rate, 100.0, 0.0, 30.0);
    // Behind for ten minutes.
    for second in (30..630).step_by(10) {
        rate.throttled(ThrottledBy::Replicator, at(f64::from(second)));
        run(&mut rate, 5.0, f64::from(second), 10.0);
    }
    assert!(rate.units_per_second() < 20.0, "{rate:?}");
    assert_eq!(rate.limited_by(), Some(ThrottledBy::Replicator));
    run(&mut rate, 5.0, 630.0, 120.0);
    assert!(rate.units_per_second() > 900.0, "{rate:?}");
    assert_eq!(rate.limited_by(), None);
}
