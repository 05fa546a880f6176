//! The examples that the codec was designed for.

use super::*;
use crate::key::{KeyRange, Test, Tests};

fn only_range(template: &Template, tests: &[(&str, Test)]) -> KeyRange {
    let tests: Tests<'_> = tests.iter().map(|(name, test)| (*name, test.as_ref())).collect();
    let mut ranges = template.select(&tests, 16).ranges;
    assert_eq!(ranges.len(), 1, "{ranges:?}");
    ranges.remove(0)
}

#[test]
fn london_never_finds_londonderry() {
    let cities = template("{a}:{b}");
    let london = only_range(&cities, &[("a", Test::Equal(text("London")))]);
    assert_eq!(london, KeyRange::BeginsWith("London:".to_owned()));
    assert!(london.contains(&key("{a}:{b}", &[("a", "London"), ("b", "Baker Street")])));
    assert!(!london.contains(&key("{a}:{b}", &[("a", "Londonderry"), ("b", "Bishop Street")])));
    assert!(!london.contains(&key("{a}:{b}", &[("a", "London:derry"), ("b", "x")])));
}

#[test]
fn westminster_never_finds_westminster_abbey_gardens_nor_house_1_the_house_10() {
    let text_of = "{a}/{b}/{n}";
    let houses = template(text_of);
    let house = |street: &str, number: &str| key(text_of, &[("a", street), ("b", "SW1"), ("n", number)]);
    let street = only_range(&houses, &[("a", Test::Equal(text("Westminster")))]);
    assert!(street.contains(&house("Westminster", "1")));
    assert!(!street.contains(&house("Westminster Abbey Gardens", "1")));
    let first = only_range(
        &houses,
        &[
            ("a", Test::Equal(text("Westminster"))),
            ("b", Test::Equal(text("SW1"))),
            ("n", Test::Equal(number("1"))),
        ],
    );
    assert_eq!(first, KeyRange::Exact("Westminster/SW1/1".to_owned()));
    assert!(!first.contains(&house("Westminster", "10")));
}

#[test]
fn two_people_never_share_a_key() {
    let parts = |a, b, c| key("{a}-{b}-{c}", &[("a", a), ("b", b), ("c", c)]);
    assert_eq!(parts("db", "read-all", "sam"), "db-read%2Dall-sam");
    assert_eq!(parts("db-read", "all", "sam"), "db%2Dread-all-sam");
    assert_eq!(parts("db%2Dread", "all", "sam"), "db%252Dread-all-sam");
    assert_eq!(parts("db", "read", "all-sam"), "db-read-all-sam");
}

#[test]
fn ordinary_values_look_as_the_join_does() {
    assert_eq!(
        key("{a}-{action}-{b}", &[("a", "123ccc"), ("action", "viewed"), ("b", "joe1")]),
        "123ccc-viewed-joe1"
    );
    assert_eq!(key("parrot:words:{n:06}", &[("n", "5")]), "parrot:words:000005");
    assert_eq!(
        key("{state}_{day}", &[("state", "IN_PROGRESS"), ("day", "2014-10-08")]),
        "IN_PROGRESS_2014-10-08"
    );
    // If one value is a prefix of another and the separator follows it, a reader could not tell them apart.
    assert_eq!(
        key("{phase}_{day}", &[("phase", "IN_PROGRESS"), ("day", "2014-10-08")]),
        "IN%5FPROGRESS_2014-10-08"
    );
}

#[test]
fn a_template_may_be_nothing_but_text() {
    let only = template("#META{{}}");
    assert_eq!(only.fold(&item(&[])).unwrap().as_deref(), Some("#META{}"));
    assert_eq!(only.unfold("#META{}").unwrap(), []);
    assert!(only.unfold("#META").is_err());
    assert_eq!(only_range(&only, &[]), KeyRange::Exact("#META{}".to_owned()));
    assert_eq!((only.literal_prefix(), only.is_lossy(), only.attributes().count()), ("#META{}", false, 0));
}

#[test]
fn only_an_attribute_by_itself_is_bare() {
    for (text, bare) in [
        ("{a}", Some("a")),
        ("{action}", Some("action")),
        ("{at}", Some("at")),
        ("{day}", Some("day")),
        ("{n}", Some("n")),
        ("{bytes}", Some("bytes")),
        ("{n:06}", None),
        ("{n:number}", None),
        ("{a|map:short}", None),
        ("{level|map:names}", None),
        ("{a|lower}", None),
        ("{bytes|hex}", None),
        ("{a|shard:4}", None),
        ("{a}#", None),
        ("#{a}", None),
        ("{a}[#{b}]", None),
        ("{a}#{b}", None),
        ("#", None),
    ] {
        assert_eq!(template(text).bare(), bare, "{text}");
    }
}

#[test]
fn a_template_tells_what_it_is_made_of() {
    let folded = template("ORG#{a|shard:4}#{b|lower}[#{a}]");
    assert_eq!(folded.attributes().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(folded.literal_prefix(), "ORG#");
    assert!(folded.is_lossy(), "b keeps no letter case");
    assert!(!template("{a|shard:4}#{a}").is_lossy(), "the shard loses nothing that the value does not hold");
    assert!(template("{a|shard:4}").is_lossy());
    assert!(!template("{n}#{at}").is_lossy());
}
