//! Templates that can produce the same key.

use super::*;

fn can_equal(one: &str, other: &str) -> bool {
    let any = |_: &str| None;
    let there = template(one).can_equal(&any, &template(other), &any);
    let back = template(other).can_equal(&any, &template(one), &any);
    assert_eq!(there, back, "{one} and {other}");
    there
}

#[test]
fn a_text_of_its_own_keeps_two_keys_apart() {
    assert!(!can_equal("ORDER#{a}", "TICKET#{a}"));
    assert!(!can_equal("A", "ACCOUNT#{a}"));
    assert!(!can_equal("c#{a}#x", "c#{a}#y"));
    assert!(!can_equal("{n:06}", "PROFILE"));
    assert!(!can_equal("{at}", "{day}"));
    assert!(!can_equal("{n:03}", "{n:04}"));
}

#[test]
fn a_free_text_can_be_any_other_key() {
    assert!(can_equal("A", "{a}"), "an attribute whose value is `A`");
    assert!(can_equal("{n}#{a}", "{n}#{at}#{b}"), "the last part may have separators in it");
    assert!(can_equal("{a}#{b}", "{b}#{a}"));
    assert!(can_equal("{at}", "{a}"));
    assert!(can_equal("c#{a}[#{b}]", "c#{a}"));
    assert!(!can_equal("{a}#x", "y{n:02}"));
    assert!(can_equal("{a}9{b|shard:3}", "%{n:01}{b}"), "`9` in `a` is written `%39`");
    assert!(can_equal("{n}9{b|shard:3}", "%{m:01}{b}"), "digits of a number too");
}

#[test]
fn known_values_tell_the_keys_of_entities_apart() {
    let of = |value: &'static str| {
        let values: &'static [AttributeValue] = vec![text(value)].leak();
        move |name: &str| (name == "a").then_some(values)
    };
    let shared = template("{a}#{b}");
    assert!(!shared.can_equal(&of("order"), &shared, &of("ticket")));
    assert!(shared.can_equal(&of("order"), &shared, &of("order")));
}
