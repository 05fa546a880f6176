//! Timestamps and dates.

use super::*;

#[test]
fn a_timestamp_becomes_utc_with_a_fixed_precision() {
    for (name, written, folded) in [
        ("at", "2017-03-01T08:00:00Z", "2017-03-01T08:00:00.000Z"),
        ("at", "2017-03-01T08:00:00.000Z", "2017-03-01T08:00:00.000Z"),
        ("at", "2017-03-01T08:00:00", "2017-03-01T08:00:00.000Z"),
        ("at", "2017-03-01 08:00:00.5", "2017-03-01T08:00:00.500Z"),
        ("at", "2017-03-01t08:00:00z", "2017-03-01T08:00:00.000Z"),
        ("at", "2017-03-01T01:00:00+02:00", "2017-02-28T23:00:00.000Z"),
        ("at", "2017-12-31T23:30:00.25-05:30", "2018-01-01T05:00:00.250Z"),
        ("at", "2017-03-01T08:00:00.123000000000", "2017-03-01T08:00:00.123Z"),
        ("at", "2016-02-29T00:00:00Z", "2016-02-29T00:00:00.000Z"),
        ("at", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
        ("at", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("at", "0000-01-01T05:00:00+05:00", "0000-01-01T00:00:00.000Z"),
        ("second", "2017-03-01T08:00:00.000Z", "2017-03-01T08:00:00Z"),
        ("micro", "2017-03-01T08:00:00.5Z", "2017-03-01T08:00:00.500000Z"),
        ("nano", "2017-03-01T08:00:00.123456789Z", "2017-03-01T08:00:00.123456789Z"),
    ] {
        assert_eq!(
            key(&format!("{{{name}}}#{{a}}"), &[(name, written), ("a", "")]),
            format!("{folded}#"),
            "{written}"
        );
    }
}

#[test]
fn what_is_no_timestamp_is_refused() {
    for written in [
        "",
        "2017",
        "2017-03-01",
        "2017-03-01T08:00",
        "2017-03-01T08:00Z",
        "2017-03-01T23:59:60Z",
        "2016-12-31T23:59:60Z",
        "2017-02-29T00:00:00Z",
        "2017-13-01T00:00:00Z",
        "2017-03-01T24:00:00Z",
        "2017-03-01T08:00:00.Z",
        "2017-03-01T08:00:00,5Z",
        "2017-03-01T08:00:00+0200",
        "2017-03-01T08:00:00+24:00",
        "2017-03-01T08:00:00+02:60",
        "2017-03-01T08:00:00 Z",
        "2017-03-01T08:00:00Z ",
        " 2017-03-01T08:00:00Z",
        "+2017-03-01T08:00:00Z",
        "2017-03-01T0٨:00:00Z",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "now",
    ] {
        assert_eq!(problem("{at}#", &[("at", written)]), FoldProblem::NotATimestamp, "{written}");
    }
}

#[test]
fn a_timestamp_finer_than_the_key_is_refused() {
    let too_fine = |precision| FoldProblem::TooFine { precision };
    assert_eq!(problem("{at}#", &[("at", "2017-03-01T08:00:00.0001Z")]), too_fine("milliseconds"));
    assert_eq!(problem("{second}#", &[("second", "2017-03-01T08:00:00.1Z")]), too_fine("seconds"));
    assert_eq!(problem("{micro}#", &[("micro", "2017-03-01T08:00:00.0000001Z")]), too_fine("microseconds"));
    assert_eq!(problem("{nano}#", &[("nano", "2017-03-01T08:00:00.0000000001Z")]), too_fine("nanoseconds"));
}

#[test]
fn a_date_is_ten_characters_and_exists() {
    assert_eq!(key("{day}#", &[("day", "2016-02-29")]), "2016-02-29#");
    for written in
        ["", "2017-02-29", "2017-2-01", "2017-03-01T00:00:00Z", "20170301", "2017/03/01", "2017-03-0１"]
    {
        assert_eq!(problem("{day}#", &[("day", written)]), FoldProblem::NotADate, "{written}");
    }
}

#[test]
fn a_timestamp_in_lower_case_keeps_its_order() {
    let key = |written| key("{at|lower}#{a}", &[("at", written), ("a", "x")]);
    assert_eq!(key("2017-03-01T09:00:00+01:00"), "2017-03-01t08:00:00.000z#x");
    assert_eq!(template("{at|lower}").ascending(&|_| false), ["at"]);
    assert_eq!(self::key("{day|lower}", &[("day", "2017-03-01")]), "2017-03-01");
    let folded = template("{at|lower}#{a}");
    let parts = folded.unfold("2017-03-01t08:00:00.000z#x").unwrap();
    assert_eq!(parts[0].1, crate::key::Unfolded::Value(text("2017-03-01T08:00:00.000Z")));
    assert!(folded.unfold("2017-03-01T08:00:00.000Z#x").is_err(), "not as it is folded");
}

#[test]
fn a_bound_can_be_a_part_of_a_time_but_not_a_day_that_never_was() {
    for possible in ["", "2015", "2015-02", "2015-02-28", "2016-02-29T23:59", "2015-02-28T08:00:00Z", "2015~"]
    {
        assert!(crate::key::is_possible(possible), "{possible}");
    }
    for impossible in [
        "2015-13",
        "2015-02-31",
        "2015-02-29T08:00:00Z",
        "2015-02-28T24:00",
        "2015-02-28T08:60:00Z",
        "soon",
        "20x",
    ] {
        assert!(!crate::key::is_possible(impossible), "{impossible}");
    }
}
