//! Every template error, and the position it reports.

use std::ops::Range;

use super::*;
use crate::key::{Codec, Part, TemplateProblem as P};

fn mistakes(text: &str, mode: KeyMode) -> Vec<(Range<usize>, P)> {
    let errors = parse(text, mode).err().unwrap_or_default();
    errors.into_iter().map(|error| (error.span, error.problem)).collect()
}

fn name(text: &str) -> String {
    text.to_owned()
}

#[test]
fn every_mistake_is_found_where_it_stands() {
    let unknown = |attribute: &str, closest: Option<&str>| P::UnknownAttribute {
        attribute: name(attribute),
        closest: closest.map(str::to_owned),
    };
    let codec =
        |attribute: &str, codec: &str| P::UnknownCodec { attribute: name(attribute), codec: name(codec) };
    let kind = |attribute: &str, kind: &'static str, codec: &str| P::CodecKind {
        attribute: name(attribute),
        kind,
        codec: name(codec),
    };
    let adjacent = |first: &str, second: &str| P::Adjacent { first: name(first), second: name(second) };
    let n = || name("n");
    let a = || name("a");
    for (text, span, problem) in [
        ("", 0..0, P::Empty),
        ("x{a", 1..2, P::UnclosedBrace),
        ("x}", 1..2, P::StrayBrace),
        ("{a}[#{b}", 3..4, P::UnclosedBracket),
        ("{a}]", 3..4, P::StrayBracket),
        ("x{}", 1..3, P::NoAttribute),
        ("{ |lower}", 0..9, P::NoAttribute),
        ("{atcion}", 0..8, unknown("atcion", Some("action"))),
        ("{nothing:06}", 0..12, unknown("nothing", None)),
        ("{a|Lower}", 0..9, codec("a", "|Lower")),
        ("{n:ordered}", 0..11, codec("n", ":ordered")),
        ("{a|}", 0..4, codec("a", "|")),
        ("{a|map:long}", 0..12, P::UnknownMap { attribute: a(), map: name("long") }),
        ("{n:6}", 0..5, P::Width { attribute: n() }),
        ("{n:00}", 0..6, P::Width { attribute: n() }),
        ("{n:021}", 0..7, P::Width { attribute: n() }),
        ("{n:0+6}", 0..7, P::Width { attribute: n() }),
        ("{n:006}", 0..7, P::Width { attribute: n() }),
        ("{a|shard:1}", 0..11, P::Shards { attribute: a() }),
        ("{a|shard:1001}", 0..14, P::Shards { attribute: a() }),
        ("{a|shard:+5}", 0..12, P::Shards { attribute: a() }),
        ("{a|shard:}", 0..10, P::Shards { attribute: a() }),
        ("{list}", 0..6, P::NotAKeyPart { attribute: name("list"), kind: "list" }),
        ("{a:06}", 0..6, kind("a", "string", ":06")),
        ("{at:number}", 0..11, kind("at", "timestamp", ":number")),
        ("{n|lower}", 0..9, kind("n", "number", "|lower")),
        ("{a|hex}", 0..7, kind("a", "string", "|hex")),
        ("{list|shard:4}", 0..14, kind("list", "list", "|shard:4")),
        ("{a}{b}", 0..6, adjacent("a", "b")),
        ("x{phase}{b}", 1..11, adjacent("phase", "b")),
        ("{a}[{b}]", 0..7, adjacent("a", "b")),
        ("{bytes|hex}{b}", 0..14, adjacent("bytes", "b")),
        ("{bytes|hex}a{b}", 0..11, P::HexSeparator { attribute: name("bytes") }),
        ("{bytes|hex}[0{b}]", 0..11, P::HexSeparator { attribute: name("bytes") }),
        ("{a}%{b}", 0..3, P::PercentSeparator { attribute: a() }),
        ("{a|upper}[%-{b}]", 0..9, P::PercentSeparator { attribute: a() }),
        ("{a}[#{b}]#{c}", 9..10, P::AfterOptional),
        ("{a}[#{b}][#{c}]", 9..10, P::AfterOptional),
        ("{a}[#]", 3..6, P::EmptyOptional),
        ("{a}[#[/{b}]]", 3..12, P::EmptyOptional),
        ("[{a}]", 0..1, P::OnlyOptional),
        ("{a}#{b?}", 4..8, P::QuestionMark { attribute: name("b") }),
        ("{a}#{b?|lower}", 4..14, P::QuestionMark { attribute: name("b") }),
        ("{a}#{b}#{a|lower}", 8..17, P::Repeated { attribute: a() }),
        ("{a|shard:2}{a|shard:4}", 11..22, P::Repeated { attribute: a() }),
    ] {
        assert_eq!(mistakes(text, KeyMode::Escaped), [(span, problem)], "{text}");
    }
}

#[test]
fn limits_have_their_own_mistakes() {
    let many = "{n:01}#".repeat(33);
    let found = mistakes(&many, KeyMode::Escaped);
    assert_eq!(found, [(0..many.len(), P::TooMany { most: 32 })]);
    let long = "x".repeat(1025);
    assert_eq!(mistakes(&long, KeyMode::Escaped), [(0..1025, P::TooLong { bytes: 1025, bytes_max: 1024 })]);
    let filled = format!("{}{{n:06}}{{day}}", "x".repeat(1009));
    assert_eq!(
        mistakes(&filled, KeyMode::Escaped),
        [(0..filled.len(), P::TooLong { bytes: 1025, bytes_max: 1024 })]
    );
    assert_eq!(mistakes(&"x".repeat(1024), KeyMode::Escaped), []);
}

#[test]
fn a_verbatim_key_cannot_hold_listed_values_with_its_separator() {
    let refused = |attribute: &str, separator: &str| P::VerbatimValues {
        attribute: name(attribute),
        separator: name(separator),
    };
    assert_eq!(mistakes("{phase}_P{b}", KeyMode::Verbatim), [(0..7, refused("phase", "_P"))]);
    assert_eq!(mistakes("{phase}_P{b}", KeyMode::Escaped), []);
    assert_eq!(mistakes("{phase}_{b}", KeyMode::Verbatim), [(0..7, refused("phase", "_"))]);
    assert_eq!(mistakes("{state}_{b}", KeyMode::Verbatim), [], "no value is the beginning of another");
    assert_eq!(mistakes("{a}%{b}", KeyMode::Verbatim), []);
}

#[test]
fn all_mistakes_are_reported_in_order() {
    let found = mistakes("{x1}}#{n:7}{a|hex}", KeyMode::Escaped);
    let spans: Vec<Range<usize>> = found.into_iter().map(|(span, _)| span).collect();
    assert_eq!(spans, [0..4, 4..5, 6..11, 11..18]);
}

#[test]
fn doubled_braces_and_brackets_are_text() {
    assert_eq!(key("{{[[{a}]]}}", &[("a", "x")]), "{[x]}");
    assert_eq!(key("{{{a}}}", &[("a", "x")]), "{x}");
    assert_eq!(key("{a}[[[{b}]]]", &[("a", "x"), ("b", "y")]), "x[y]");
    assert_eq!(key("{a}[[[{b}]]]", &[("a", "x")]), "x[");
    assert_eq!(key("{a}[#{b}[/{c}]]]]", &[("a", "x"), ("b", "y"), ("c", "z")]), "x#y/z]");
}

#[test]
fn nested_tails_close_together() {
    let parts = template("{a}[#{b}[/{c}[:{n:02}]]]").parts().to_vec();
    let optional: Vec<bool> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Attribute { optional, .. } => Some(*optional),
            Part::Literal(_) => None,
        })
        .collect();
    assert_eq!(optional, [false, true, true, true]);
    assert_eq!(
        parts.last(),
        Some(&Part::Attribute { name: name("n"), codec: Codec::Integer { width: 2 }, optional: true })
    );
}

#[test]
fn self_delimiting_parts_may_touch() {
    let values = [
        ("n", "5"),
        ("m", "-1"),
        ("at", "2017-03-01T08:00:00Z"),
        ("action", "viewed"),
        ("a", "x"),
        ("flag", "true"),
    ];
    assert_eq!(
        key("{n:03}{m:number}{at}{action}{flag}{a|shard:4}{a}", &values),
        format!("005n8698~2017-03-01T08:00:00.000Zviewedtrue{}x", key("{a|shard:4}", &values))
    );
}

#[test]
fn a_mistake_has_a_hint_where_there_is_one() {
    let hint = |text: &str| parse(text, KeyMode::Escaped).unwrap_err()[0].hint().unwrap_or_default();
    assert_eq!(hint("{atcion}"), "did you mean `action`?");
    assert_eq!(hint("{a}{b}"), "write a separator between them: `{a}#{b}`");
    assert_eq!(hint("{a}#{b?}"), "write `[#{b}]`, with the separator inside the brackets");
    assert_eq!(hint("{a|map:x}"), "declare it: a = { type = \"string\", maps.x = { ... } }");
    assert_eq!(hint("{list}"), "");
}
