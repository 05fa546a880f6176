//! Numbers: in order, and padded.

use super::*;

#[test]
fn ordered_numbers_have_these_texts() {
    let nines = "9".repeat(38);
    for (number, text) in [
        ("5", "p1305!"),
        ("-5", "n8694~"),
        ("0", "o"),
        ("-0.0", "o"),
        ("50e-1", "p1305!"),
        ("1E-130", "p0001!"),
        ("-1E-130", "n9998~"),
        ("9.99E+125", "p255999!"),
        ("-9.99E+125", "n744000~"),
        ("123.45", "p13212345!"),
        ("-123.45", "n86787654~"),
        ("0.001", "p1271!"),
        (&nines, &format!("p167{nines}!")),
    ] {
        assert_eq!(key("{n:number}", &[("n", number)]), text, "{number}");
    }
}

#[test]
fn byte_order_is_the_order_of_numbers() {
    let ascending = [
        "-9.99E+125",
        "-1000",
        "-100.5",
        "-100",
        "-99",
        "-10",
        "-5.5",
        "-5",
        "-1.0000001",
        "-1",
        "-0.5",
        "-1E-130",
        "0",
        "1E-130",
        "1E-129",
        "0.1",
        "0.11",
        "1",
        "1.0000001",
        "5",
        "5.5",
        "10",
        "99",
        "100",
        "100.5",
        "9.99E+125",
    ];
    for text in ["{n:number}", "{n:number}#{a}", "{n:number}{a}", "{n:number}[\u{0}{a}]", "{n:number}~{a}"] {
        let keys = ascending.map(|n| key(text, &[("n", n), ("a", "\u{10FFFF}\u{10FFFF}")]));
        assert!(keys.is_sorted(), "{text}: {keys:?}");
        let keys = ascending.map(|n| key(text, &[("n", n), ("a", "!~ \u{0}")]));
        assert!(keys.is_sorted(), "{text}: {keys:?}");
    }
}

#[test]
fn padded_numbers_are_whole_and_not_too_wide() {
    assert_eq!(key("{n:06}", &[("n", "12e1")]), "000120");
    assert_eq!(key("{n:01}", &[("n", "0")]), "0");
    assert_eq!(key("{n:020}", &[("n", "99999999999999999999")]), "99999999999999999999");
    assert_eq!(key("{n:06}{m:03}", &[("n", "5"), ("m", "7")]), "000005007");
    for (text, number, width) in [
        ("{n:06}", "1000000", 6),
        ("{n:06}", "-1", 6),
        ("{n:06}", "0.5", 6),
        ("{n:06}", "1E-130", 6),
        ("{n:06}", "9E+125", 6),
        ("{n:020}", "100000000000000000000", 20),
    ] {
        assert_eq!(problem(text, &[("n", number)]), FoldProblem::NotAnInteger { width }, "{number}");
    }
}

#[test]
fn a_number_as_text_is_written_in_one_way() {
    assert_eq!(key("{n}#{a}", &[("n", "1.50"), ("a", "x")]), "1.5#x");
    assert_eq!(key("{n}-{a}", &[("n", "-2"), ("a", "x")]), "%2D2-x");
    assert_eq!(problem("{n}", &[("n", "NaN")]), FoldProblem::NotANumber);
    assert_eq!(problem("{n:number}", &[("n", "1E126")]), FoldProblem::NotANumber);
}

#[test]
fn a_map_of_numbers_looks_at_values_not_at_texts() {
    for (level, code) in [("1", "low"), ("1.0", "low"), ("2.5", "mid"), ("1e1", "top")] {
        assert_eq!(key("{level|map:names}", &[("level", level)]), code);
    }
    assert_eq!(
        template("{level|map:names}").unfold("mid").unwrap(),
        [("level", crate::key::Unfolded::Value(number("2.5")))]
    );
}
