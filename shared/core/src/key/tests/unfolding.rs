//! Reading keys back.

use super::*;
use crate::key::{UnfoldProblem, Unfolded};

fn refused(text: &str, key: &str) -> (usize, UnfoldProblem) {
    let error = template(text).unfold(key).unwrap_err();
    (error.at, error.problem)
}

#[test]
fn a_key_comes_back_as_its_parts() {
    use Unfolded as U;
    let folded = template("{a}#{n:03}{at}#{b|lower}#{c|shard:10}[#{m:number}[/{phase}]]");
    let key = "x%23y#0052017-03-01T08:00:00.000Z#é#7";
    let common = [
        ("a", U::Value(text("x#y"))),
        ("n", U::Value(number("5"))),
        ("at", U::Value(text("2017-03-01T08:00:00.000Z"))),
        ("b", U::Lossy("é".to_owned())),
        ("c", U::Shard(7)),
    ];
    let with = |m: U, phase: U| [common.as_slice(), &[("m", m), ("phase", phase)]].concat();
    assert_eq!(folded.unfold(key).unwrap(), with(U::Absent, U::Absent));
    assert_eq!(folded.unfold(&format!("{key}#p1305!")).unwrap(), with(U::Value(number("5")), U::Absent));
    assert_eq!(
        folded.unfold(&format!("{key}#n8694~/IN")).unwrap(),
        with(U::Value(number("-5")), U::Value(text("IN")))
    );
}

#[test]
fn what_folding_would_not_have_written_is_no_key() {
    let value = |attribute: &str| UnfoldProblem::Value { attribute: attribute.to_owned() };
    let literal = |expected: &str| UnfoldProblem::Literal { expected: expected.to_owned() };
    assert_eq!(refused("{a}#{b}", ""), (0, UnfoldProblem::Length));
    assert_eq!(refused("{a}", &"x".repeat(1025)), (0, UnfoldProblem::Length));
    assert_eq!(refused("x{a}", "y"), (0, literal("x")));
    assert_eq!(refused("{a}#{b}", "x"), (0, value("a")));
    assert_eq!(refused("{a}##{b}", "x#y"), (1, literal("##")));
    for raw in ["%", "%2", "%23", "%2f", "%2d", "%41", "%C3", "%ZZ", "%é"] {
        let known = raw == "%23";
        assert_eq!(template("{a}#{b}").unfold(&format!("{raw}#y")).is_ok(), known, "{raw}");
    }
    assert_eq!(refused("{n:03}", "0055"), (3, UnfoldProblem::LeftOver));
    for (text, bad) in [
        ("{n:03}", "05"),
        ("{n:03}", "+05"),
        ("{n:03}", "0é"),
        ("{n:number}", "p1305"),
        ("{n:number}", "p13050!"),
        ("{n:number}", "p130!"),
        ("{n:number}", "p4005!"),
        ("{n:number}", "p1300!"),
        ("{n:number}", "n8694!"),
        ("{n:number}", "q"),
        ("{n}", "1.0"),
        ("{n}", "x"),
        ("{at}#", "2017-03-01T08:00:00Z#"),
        ("{at}#", "2017-03-01T08:00:00.000z#"),
        ("{day}#", "2017-02-29#"),
        ("{a|lower}", "X"),
        ("{a|upper}", "ß"),
        ("{bytes|hex}", "f"),
        ("{bytes|hex}", "FF"),
        ("{a|shard:5}", "5"),
        ("{a|shard:5}", "+"),
        ("{action}", "copied"),
        ("{flag}#", "yes#"),
    ] {
        let attribute = text[1..].split([':', '|', '}']).next().unwrap();
        assert_eq!(refused(text, bad), (0, value(attribute)), "{text} {bad}");
    }
    assert_eq!(
        refused("{n:03}[{a}-{b}]", "005-x"),
        (3, value("a")),
        "an empty attribute cannot begin a tail"
    );
    assert_eq!(verbatim("{a}--{b}").unfold("x---y").unwrap()[1].1, Unfolded::Value(text("-y")));
}

#[test]
fn a_separator_that_is_a_digit_is_not_looked_for_inside_of_escapes() {
    let values: &[(&str, &str)] = &[("a", "2%x"), ("b", "5")];
    assert_eq!(key("{a}2{b}", values), "%32%25x25");
    let folded = template("{a}2{b}");
    let back = folded.unfold("%32%25x25").unwrap();
    assert_eq!(back, [("a", Unfolded::Value(text("2%x"))), ("b", Unfolded::Value(text("5")))]);
}
