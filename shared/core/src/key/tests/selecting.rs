//! The selected keys, for each test and codec.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use super::*;
use crate::key::{Selection, Test, Tests};

fn select<'t>(template: &'t Template, tests: &[(&str, Test)], fan_out_max: usize) -> Selection<'t> {
    let tests: Tests<'_> = tests.iter().map(|(name, test)| (*name, test.as_ref())).collect();
    template.select(&tests, fan_out_max)
}

/// The ranges and the served tests in one line: `between "a" and "b" | n ~a`, with `~` for a test that is not exact.
fn shown(selection: &Selection) -> String {
    use crate::key::KeyRange as K;
    let range = |range: &K| match range {
        K::All => "all".to_owned(),
        K::Exact(key) => format!("= {key:?}"),
        K::BeginsWith(prefix) => format!("^ {prefix:?}"),
        K::Between(low, high) => format!("{low:?} .. {high:?}"),
        K::AtLeast(low) => format!(">= {low:?}"),
        K::Above(low) => format!("> {low:?}"),
        K::AtMost(high) => format!("<= {high:?}"),
        K::Below(high) => format!("< {high:?}"),
    };
    let ranges: Vec<String> = selection.ranges.iter().map(range).collect();
    let served: Vec<String> = selection
        .served
        .iter()
        .map(|served| format!("{}{}", if served.exact { "" } else { "~" }, served.attribute))
        .collect();
    format!(
        "{} | {}",
        if ranges.is_empty() { "none".to_owned() } else { ranges.join(", ") },
        served.join(" ")
    )
}

fn of(text: &str, tests: &[(&str, Test)]) -> String {
    shown(&select(&template(text), tests, 16))
}

fn equal(name: &str, written: &str) -> Test {
    Test::Equal(value(name, written))
}

fn begins(name: &str, written: &str) -> Test {
    Test::BeginsWith(value(name, written))
}

fn range(name: &str, low: Bound<&str>, high: Bound<&str>) -> Test {
    Test::Range { low: low.map(|low| value(name, low)), high: high.map(|high| value(name, high)) }
}

#[test]
fn without_tests_every_key_is_selected() {
    assert_eq!(of("{a}#{b}", &[]), "all | ");
    assert_eq!(of("ORG#{a}", &[]), r##"^ "ORG#" | "##);
    assert_eq!(of("ORG[#{a}]", &[]), r##"= "ORG", ^ "ORG#" | "##);
    assert_eq!(of("{n:02}[{a}]", &[]), "all | ");
}

#[test]
fn equality_grows_the_prefix() {
    let text = "{a}#{n:03}#{at}#{flag}#{b|lower}";
    let tests = [
        ("a", equal("a", "x#")),
        ("n", equal("n", "5.0")),
        ("at", equal("at", "2017-03-01T10:00:00+02:00")),
        ("flag", equal("flag", "true")),
        ("b", equal("b", "JOE")),
    ];
    assert_eq!(of(text, &tests[..1]), r##"^ "x%23#" | a"##);
    assert_eq!(of(text, &tests[..2]), r##"^ "x%23#005#" | a n"##);
    assert_eq!(of(text, &tests[..4]), r##"^ "x%23#005#2017-03-01T08:00:00.000Z#true#" | a n at flag"##);
    assert_eq!(of(text, &tests), r##"= "x%23#005#2017-03-01T08:00:00.000Z#true#joe" | a n at flag ~b"##);
    assert_eq!(of(text, &tests[1..]), "all | ", "nothing is known of the first part");
}

#[test]
fn a_value_that_no_key_has_selects_nothing() {
    for (text, name, written) in [
        ("{n:03}#{a}", "n", "1000"),
        ("{n:03}#{a}", "n", "0.5"),
        ("{n:number}", "n", "1E+126"),
        ("{at}#", "at", "2017-03-01"),
        ("{at}#", "at", "2017-03-01T08:00:00.0001Z"),
        ("{day}#", "day", "2017-02-30"),
        ("{action}#", "action", "copied"),
        ("{level|map:names}#", "level", "3"),
        ("{n|shard:4}", "n", "x"),
        ("{n:02}[{a}]", "a", ""),
        ("{a}", "a", ""),
    ] {
        let template = template(text);
        let selection = select(&template, &[(name, equal(name, written)), ("n", equal("n", "5"))][..1], 16);
        assert_eq!(selection.ranges.len(), usize::from(text == "{n:02}[{a}]"), "{text} {written}");
    }
    assert_eq!(of("{n:02}[{a}]", &[("n", equal("n", "5")), ("a", equal("a", ""))]), "none | n a");
    assert_eq!(of("{a}", &[("a", Test::Equal(number("1")))]), "none | a");
    assert_eq!(shown(&select(&verbatim("{a}-{b}"), &[("a", equal("a", "x-y"))], 16)), "none | a");
    let long = "x".repeat(1025);
    assert_eq!(of("{a}", &[("a", equal("a", &long))]), "none | a");
    assert_eq!(of("{a}#{b}", &[("a", equal("a", &long))]), "none | a");
}

#[test]
fn free_text_at_the_end_is_ordered() {
    let a = |low, high| of("{a}", &[("a", range("a", low, high))]);
    assert_eq!(a(Included("f"), Unbounded), r#">= "f" | a"#);
    assert_eq!(a(Excluded("f"), Unbounded), r#"> "f" | a"#);
    assert_eq!(a(Unbounded, Included("m")), r#"<= "m" | a"#);
    assert_eq!(a(Unbounded, Excluded("m")), r#"< "m" | a"#);
    assert_eq!(a(Included("f"), Included("m")), r#""f" .. "m" | a"#);
    assert_eq!(a(Included("f"), Excluded("m")), r#""f" .. "m" | ~a"#);
    assert_eq!(a(Excluded("f"), Included("m")), r#""f" .. "m" | ~a"#);
    assert_eq!(a(Included("f"), Included("f")), r#"= "f" | a"#);
    assert_eq!(a(Included("m"), Included("f")), "none | a");
    assert_eq!(a(Included("f"), Excluded("f")), "none | a");
    assert_eq!(a(Included(""), Unbounded), "all | a");
    assert_eq!(a(Excluded(""), Unbounded), "all | a");
    assert_eq!(a(Unbounded, Excluded("")), "none | a");
    assert_eq!(a(Unbounded, Unbounded), "all | a");
    let b = |low, high| of("x#{b}", &[("b", range("b", low, high))]);
    assert_eq!(b(Included("f"), Unbounded), r##""x#f" .. "x$" | b"##);
    assert_eq!(b(Excluded("f"), Unbounded), r##""x#f" .. "x$" | ~b"##);
    assert_eq!(b(Unbounded, Included("m")), r##""x#" .. "x#m" | b"##);
    assert_eq!(b(Unbounded, Excluded("m")), r##""x#" .. "x#m" | ~b"##);
    assert_eq!(b(Unbounded, Unbounded), r##"^ "x#" | b"##);
    assert_eq!(b(Excluded(""), Unbounded), r##"^ "x#" | ~b"##);
    assert_eq!(
        of("{bytes|hex}", &[("bytes", range("bytes", Included("a"), Included("b")))]),
        r#""61" .. "62" | bytes"#
    );
}

#[test]
fn free_text_before_another_part_keeps_what_both_ends_begin_with() {
    let a = |low, high| of("{a}#{b}", &[("a", range("a", low, high))]);
    assert_eq!(a(Included("2017-03"), Included("2017-05")), r#"^ "2017-0" | ~a"#);
    assert_eq!(a(Included("a#1"), Included("a#2")), r#"^ "a%23" | ~a"#);
    assert_eq!(a(Included("a"), Included("b")), "all | ");
    assert_eq!(a(Included("a"), Unbounded), "all | ");
}

#[test]
fn a_range_up_to_a_day_includes_that_day_and_above_it_skips_the_whole_day() {
    let last = |low, high| of("x#{day}", &[("day", range("day", low, high))]);
    let inner = |low, high| of("x#{day}#{a}", &[("day", range("day", low, high))]);
    let tail = |low, high| of("x#{day}[#{a}]", &[("day", range("day", low, high))]);
    let touching = |low, high| of("x#{day}{a}", &[("day", range("day", low, high))]);
    let (first, second) = ("2017-03-01", "2017-03-31");
    assert_eq!(last(Included(first), Included(second)), r##""x#2017-03-01" .. "x#2017-03-31" | day"##);
    assert_eq!(inner(Included(first), Included(second)), r##""x#2017-03-01" .. "x#2017-03-31$" | day"##);
    assert_eq!(tail(Included(first), Included(second)), r##""x#2017-03-01" .. "x#2017-03-31$" | day"##);
    assert_eq!(touching(Included(first), Included(second)), r##""x#2017-03-01" .. "x#2017-03-32" | day"##);
    assert_eq!(last(Excluded(first), Excluded(second)), r##""x#2017-03-01 " .. "x#2017-03-30" | day"##);
    assert_eq!(inner(Excluded(first), Excluded(second)), r##""x#2017-03-01$" .. "x#2017-03-31" | day"##);
    assert_eq!(tail(Excluded(first), Excluded(second)), r##""x#2017-03-01$" .. "x#2017-03-30$" | day"##);
    // An optional part follows the day: the key that ends with the day is in the range and must be filtered out.
    assert_eq!(touching(Excluded(first), Excluded(second)), r##""x#2017-03-02" .. "x#2017-03-31" | ~day"##);
    assert_eq!(inner(Included("2017-03"), Excluded("2017-04")), r##""x#2017-03" .. "x#2017-04" | day"##);
    assert_eq!(inner(Unbounded, Included("2017-03-31T12:00")), r##""x#" .. "x#2017-03-31$" | day"##);
    assert_eq!(inner(Excluded(second), Included(first)), "none | day");
}

#[test]
fn timestamps_are_compared_as_instants() {
    let at = |low, high| of("x#{at}#{a}", &[("at", range("at", low, high))]);
    assert_eq!(
        at(Included("2017-03-01T00:00:00Z"), Excluded("2017-03-02T00:00:00+02:00")),
        r##""x#2017-03-01T00:00:00.000Z" .. "x#2017-03-01T22:00:00.000Z" | at"##
    );
    assert_eq!(
        at(Excluded("2017-03-01T00:00:00Z"), Included("2017-03-02T00:00:00Z")),
        r##""x#2017-03-01T00:00:00.000Z$" .. "x#2017-03-02T00:00:00.000Z$" | at"##
    );
    // A bound finer than the key lies between two of its timestamps.
    assert_eq!(
        at(Included("2017-03-01T00:00:00.0005Z"), Excluded("2017-03-02T00:00:00.0005Z")),
        r##""x#2017-03-01T00:00:00.000Z$" .. "x#2017-03-02T00:00:00.000Z$" | at"##
    );
    // A prefix of a timestamp is compared as text.
    assert_eq!(at(Included("2017-03"), Included("2017-03-31")), r##""x#2017-03" .. "x#2017-03-31" | at"##);
    assert_eq!(
        of("{second}", &[("second", range("second", Excluded("2017-03-01T00:00:00Z"), Unbounded))]),
        r#">= "2017-03-01T00:00:00Z " | second"#
    );
}

#[test]
fn timestamps_and_dates_begin_with_what_is_written() {
    assert_eq!(of("x#{at}", &[("at", begins("at", "2017-03"))]), r##"^ "x#2017-03" | at"##);
    assert_eq!(of("x#{day}#{a}", &[("day", begins("day", "2017-03-01"))]), r##"^ "x#2017-03-01" | day"##);
    assert_eq!(of("x#{day}#{a}", &[("day", begins("day", "2017-03-01#y"))]), "none | day");
    assert_eq!(of("{at}#{a}", &[("at", begins("at", "2017-03-01T08:00:00.000Z#"))]), "none | at");
    assert_eq!(of("{at}", &[("at", Test::BeginsWith(number("2")))]), "none | at");
}

#[test]
fn ordered_numbers_are_selected_by_value() {
    let last = |low, high| of("x#{n:number}", &[("n", range("n", low, high))]);
    let inner = |low, high| of("x#{n:number}#{a}", &[("n", range("n", low, high))]);
    assert_eq!(last(Included("-5"), Included("5")), r##""x#n8694~" .. "x#p1305!" | n"##);
    assert_eq!(last(Excluded("-5"), Excluded("5")), r##""x#n8694~ " .. "x#p1305 " | n"##);
    assert_eq!(last(Unbounded, Excluded("0")), r##""x#" .. "x#n~" | n"##);
    assert_eq!(last(Excluded("0"), Unbounded), r##""x#o " .. "x$" | n"##);
    assert_eq!(inner(Included("0"), Included("0")), r##""x#o" .. "x#o$" | n"##);
    assert_eq!(inner(Excluded("0"), Excluded("5")), r##""x#o$" .. "x#p1305!" | n"##);
    assert_eq!(of("{n:number}", &[("n", range("n", Unbounded, Excluded("5")))]), r#"<= "p1305 " | n"#);
    assert_eq!(last(Included("x"), Unbounded), "none | n");
    assert_eq!(of("{n:number}", &[("n", begins("a", "5"))]), "none | n");
    assert_eq!(
        of("{n}#{a}", &[("n", range("n", Included("1"), Included("2")))]),
        "all | ",
        "plain digits are in no order"
    );
}

#[test]
fn padded_numbers_stop_at_their_width() {
    let n = |low, high| of("x{n:03}#{a}", &[("n", range("n", low, high))]);
    assert_eq!(n(Included("5"), Included("10")), r##""x005" .. "x010$" | n"##);
    assert_eq!(n(Excluded("5"), Excluded("10")), r##""x006" .. "x009$" | n"##);
    assert_eq!(n(Included("4.5"), Excluded("9.5")), r##""x005" .. "x009$" | n"##);
    assert_eq!(n(Excluded("4.5"), Included("9.5")), r##""x005" .. "x009$" | n"##);
    assert_eq!(n(Included("-5"), Unbounded), r##""x000" .. "x999$" | n"##);
    assert_eq!(n(Excluded("-0.5"), Included("1E+100")), r##""x000" .. "x999$" | n"##);
    assert_eq!(n(Included("0"), Excluded("1E-100")), r##""x000" .. "x000$" | n"##);
    for (low, high) in [
        (Included("1000"), Unbounded),
        (Excluded("999"), Unbounded),
        (Included("1E+100"), Unbounded),
        (Unbounded, Excluded("0")),
        (Unbounded, Included("-1")),
        (Included("6"), Included("5")),
        (Excluded("5"), Excluded("6")),
    ] {
        assert_eq!(n(low, high), "none | n", "{low:?} {high:?}");
    }
    assert_eq!(
        of("{n:020}", &[("n", range("n", Included("99999999999999999999"), Unbounded))]),
        r#"= "99999999999999999999" | n"#
    );
}

#[test]
fn prefixes_of_free_text_keep_their_escapes() {
    assert_eq!(of("{a}#{b}", &[("a", begins("a", "x#y"))]), r#"^ "x%23y" | a"#);
    assert_eq!(of("{a}#{b}", &[("a", begins("a", ""))]), "all | a");
    assert_eq!(of("{a|lower}#{b}", &[("a", begins("a", "Lon"))]), r#"^ "lon" | ~a"#);
    assert_eq!(of("{a|upper}#{b}", &[("a", begins("a", "ß"))]), r#"^ "SS" | ~a"#);
    assert_eq!(of("{bytes}#{b}", &[("bytes", begins("bytes", "x"))]), r#"^ "x" | bytes"#);
    let half = Test::BeginsWith(AttributeValue::B(vec![b'x', 0xc3]));
    assert_eq!(of("{bytes}#{b}", &[("bytes", half.clone())]), r#"^ "x" | ~bytes"#);
    assert_eq!(of("{bytes|hex}#{b}", &[("bytes", half)]), r#"^ "78c3" | bytes"#);
    let plain = verbatim("{a}--{b}");
    assert_eq!(shown(&select(&plain, &[("a", begins("a", "x-y"))], 16)), r#"^ "x" | ~a"#);
    assert_eq!(of("{n:02}[{a}]", &[("n", equal("n", "5")), ("a", begins("a", ""))]), r#"^ "05" | n"#);
}

#[test]
fn listed_values_are_taken_one_by_one() {
    let text = "{action}#{n:02}";
    let between = range("action", Included("deleted"), Included("edited"));
    assert_eq!(of(text, &[("action", between)]), r##"^ "deleted#", ^ "edited#" | action"##);
    assert_eq!(of(text, &[("action", begins("action", "e"))]), r##"^ "edited#" | action"##);
    assert_eq!(of(text, &[("action", begins("action", "x"))]), "none | action");
    assert_eq!(of(text, &[]), "all | ", "nothing after it is tested");
    let five = [("n", equal("n", "5"))];
    assert_eq!(of(text, &five), r##"= "deleted#05", = "edited#05", = "viewed#05" | n"##);
    assert_eq!(shown(&select(&template(text), &five, 2)), "all | ");
    assert_eq!(of("{flag}#{n:02}", &five), r##"= "false#05", = "true#05" | n"##);
    assert_eq!(
        of("{level|map:names}", &[("level", range("level", Included("2"), Unbounded))]),
        r#"= "mid", = "top" | level"#
    );
    assert_eq!(of("{phase}_{n:02}", &five), r#"= "DONE_05", = "IN%5FPROGRESS_05", = "IN_05" | n"#);
    assert_eq!(
        of(
            "{flag}#",
            &[("flag", Test::Range { low: Unbounded, high: Included(AttributeValue::Bool(true)) })]
        ),
        "none | flag"
    );
}

#[test]
fn shards_fan_out() {
    let text = "{a|shard:4}#{a}#{n:02}";
    let shard = key("{a|shard:4}", &[("a", "joe1")]);
    assert_eq!(of(text, &[("a", equal("a", "joe1"))]), format!(r##"^ "{shard}#joe1#" | a"##));
    assert_eq!(of(text, &[]), "all | ");
    assert_eq!(of(text, &[("a", begins("a", "j"))]), r##"^ "0#j", ^ "1#j", ^ "2#j", ^ "3#j" | a"##);
    assert_eq!(shown(&select(&template(text), &[("a", begins("a", "j"))], 3)), "all | ");
    assert_eq!(of("x#{a|shard:4}", &[]), r##"= "x#0", = "x#1", = "x#2", = "x#3" | "##);
    assert_eq!(of("{a|shard:4}", &[("a", equal("a", "joe1"))]), format!(r#"= "{shard}" | ~a"#));
    assert_eq!(
        of("{a|shard:2}{n:number}", &[("n", range("n", Included("5"), Unbounded))]),
        r#""0p1305!" .. "1", "1p1305!" .. "2" | n"#
    );
}

#[test]
fn optional_tails_are_there_or_not_or_either() {
    let text = "{a}[#{b}[/{c}]]";
    let a = ("a", equal("a", "x"));
    assert_eq!(of(text, std::slice::from_ref(&a)), r##"= "x", ^ "x#" | a"##);
    assert_eq!(of(text, &[a.clone(), ("b", Test::Absent)]), r##"= "x" | a b"##);
    assert_eq!(of(text, &[a.clone(), ("c", Test::Absent)]), r##"= "x", ^ "x#" | a"##);
    assert_eq!(of(text, &[a.clone(), ("b", equal("b", "y"))]), r##"= "x#y", ^ "x#y/" | a b"##);
    assert_eq!(of(text, &[a.clone(), ("b", equal("b", "y")), ("c", Test::Absent)]), r##"= "x#y" | a b c"##);
    assert_eq!(of(text, &[a.clone(), ("c", equal("c", "z"))]), r##"^ "x#" | a"##);
    assert_eq!(of(text, &[a.clone(), ("b", Test::Absent), ("c", equal("c", "z"))]), "none | a b");
    assert_eq!(of(text, &[("a", Test::Absent)]), "none | a");
    assert_eq!(of("{a}[#{b}]", &[("a", equal("a", ""))]), r##"^ "#" | a"##);
}

#[test]
fn a_tail_that_begins_with_an_attribute_is_not_mistaken_for_its_absence() {
    let n = ("n", equal("n", "5"));
    let number = |low, high| of("{n:02}[{m:number}]", &[n.clone(), ("m", range("m", low, high))]);
    assert_eq!(number(Unbounded, Excluded("5")), r#""05n" .. "05p1305 " | n m"#);
    assert_eq!(number(Unbounded, Unbounded), r#""05n" .. "06" | ~n ~m"#);
    let free = |low, high| of("{n:02}[{a}]", &[n.clone(), ("a", range("a", low, high))]);
    assert_eq!(free(Unbounded, Included("m")), r#""05" .. "05m" | n ~a"#);
    assert_eq!(free(Unbounded, Unbounded), r#"^ "05" | n ~a"#);
    assert_eq!(free(Included("f"), Included("m")), r#""05f" .. "05m" | n a"#);
    assert_eq!(of("{n:02}[{a}]", &[n.clone(), ("a", Test::Absent)]), r#"= "05" | n a"#);
    assert_eq!(of("{n:02}[{a}]", &[n]), r#"^ "05" | n"#);
}

#[test]
fn bounds_longer_than_a_key_are_cut_and_lose_nothing() {
    let long = |letter: &str| letter.repeat(1030);
    let template = template("{a}");
    let a = |low: Bound<&str>, high: Bound<&str>| select(&template, &[("a", range("a", low, high))], 16);
    for (low, high) in [
        (Included(long("m").as_str()), Unbounded),
        (Excluded(long("m").as_str()), Unbounded),
        (Unbounded, Included(long("m").as_str())),
        (Unbounded, Excluded(long("m").as_str())),
        (Included(long("é").as_str()), Included(long("ê").as_str())),
        (Unbounded, Included(long("\u{10FFFF}").as_str())),
    ] {
        let selection = a(low, high);
        assert!(!selection.served[0].exact);
        let (range, inside) = (&selection.ranges[0], |text: &str| selection.ranges[0].contains(text));
        for text in ["m".repeat(1024), "l".to_owned(), "n".to_owned(), "\u{10FFFF}".repeat(256)] {
            let above = match low {
                Included(low) | Excluded(low) => text.as_str() > low,
                Unbounded => true,
            };
            let below = match high {
                Included(high) | Excluded(high) => text.as_str() < high,
                Unbounded => true,
            };
            assert!(inside(&text) || !(above && below), "{range:?}");
        }
    }
    assert_eq!(select(&template, &[("a", begins("a", &long("m")))], 16).ranges.as_slice(), []);
}

#[test]
fn keys_ascend_by_what_is_ordered_behind_what_is_fixed() {
    let ascending =
        |text: &str, fixed: &[&str]| template(text).ascending(&|name| fixed.contains(&name)).join(" ");
    assert_eq!(ascending("{a}#{n:03}", &[]), "");
    assert_eq!(ascending("{a}#{n:03}", &["a"]), "n");
    assert_eq!(ascending("{n:03}#{a}#{m:number}", &[]), "n");
    assert_eq!(ascending("{n:03}#{a}#{m:number}", &["a"]), "n m");
    assert_eq!(ascending("{n:03}#{at}#{a}", &[]), "n at a");
    assert_eq!(ascending("{n}#{a}", &[]), "");
    assert_eq!(ascending("{n}", &[]), "", "plain digits are in no order");
    assert_eq!(ascending("{a|lower}", &[]), "");
    assert_eq!(ascending("{a|shard:4}#{a}", &[]), "");
    assert_eq!(ascending("{a|shard:4}#{n:02}", &["a"]), "n");
    assert_eq!(ascending("{flag}#{day}[#{a}]", &[]), "flag day a");
    assert_eq!(ascending("{action}#{day}", &[]), "action day", "deleted, edited, viewed");
    assert_eq!(ascending("{level|map:names}#{day}", &[]), "level day", "low, mid, top");
    assert_eq!(ascending("{a|map:short}#{day}", &[]), "a day", "blue, green, red");
    assert_eq!(ascending("{phase}_{day}", &[]), "", "escaped values are in no order");
    assert_eq!(ascending("{bytes|hex}", &[]), "bytes");
}
