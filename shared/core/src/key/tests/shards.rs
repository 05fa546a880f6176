//! Shards: the same for every writer and every version.

use super::*;

/// These values must never change: stored keys depend on them.
#[test]
fn a_value_has_its_shard_for_ever() {
    for (value, of_10, of_4, of_1000) in [
        ("", "2", "2", "342"),
        ("a", "5", "3", "315"),
        ("joe1", "7", "1", "337"),
        ("123bbb", "6", "0", "536"),
        ("user-42", "3", "1", "453"),
        ("ÅÄÖ", "4", "2", "354"),
        ("2017-03-01T08:00:00.000Z", "9", "3", "259"),
        ("1.5", "6", "2", "466"),
    ] {
        let shard = |shards: u32| key(&format!("{{a|shard:{shards}}}"), &[("a", value)]);
        assert_eq!(
            (shard(10).as_str(), shard(4).as_str(), shard(1000).as_str()),
            (of_10, of_4, of_1000),
            "{value}"
        );
    }
}

#[test]
fn equal_values_have_one_shard_however_they_are_written() {
    let shard = |name: &str, value: &str| key(&format!("{{{name}|shard:1000}}"), &[(name, value)]);
    assert_eq!(shard("n", "1.0"), shard("n", "10e-1"));
    assert_eq!(shard("n", "1"), shard("a", "1"));
    assert_eq!(shard("at", "2017-03-01T10:00:00+02:00"), shard("at", "2017-03-01T08:00:00.000Z"));
    assert_eq!(shard("flag", "true"), shard("a", "true"));
    assert_eq!(shard("bytes", "joe1"), shard("a", "joe1"));
}

#[test]
fn a_shard_is_as_wide_as_the_largest() {
    for (shards, width) in [(2, 1), (10, 1), (11, 2), (100, 2), (101, 3), (1000, 3)] {
        assert_eq!(key(&format!("{{a|shard:{shards}}}"), &[("a", "joe1")]).len(), width, "{shards}");
    }
}

#[test]
fn shards_are_about_equally_full() {
    let sharded = template("{a|shard:10}");
    let mut full = [0u32; 10];
    for number in 0..10_000 {
        let key = sharded.fold(&item(&[("a", &format!("user{number}"))])).unwrap().unwrap();
        full[key.parse::<usize>().unwrap()] += 1;
    }
    assert!(full.iter().all(|count| (900..1100).contains(count)), "{full:?}");
}

#[test]
fn a_remainder_is_written_in_plain_digits() {
    let shard = |shards: u32, n: &str| key(&format!("s{{n|mod:{shards}}}"), &[("n", n)]);
    for (n, of_7, of_12) in
        [("0", "s0", "s0"), ("7", "s0", "s7"), ("11", "s4", "s11"), ("12", "s5", "s0"), ("1e21", "s6", "s4")]
    {
        assert_eq!((shard(7, n).as_str(), shard(12, n).as_str()), (of_7, of_12), "{n}");
    }
    assert_eq!(problem("{n|mod:7}", &[("n", "-1")]), FoldProblem::NoRemainder);
    assert_eq!(problem("{n|mod:7}", &[("n", "1.5")]), FoldProblem::NoRemainder);
}

#[test]
fn a_remainder_of_two_digits_needs_a_separator_that_is_no_digit() {
    assert!(parse("{n|mod:10}{a}", KeyMode::Escaped).is_ok(), "one digit, always");
    assert!(parse("{n|mod:11}{a}", KeyMode::Escaped).is_err());
    assert!(parse("{n|mod:11}0{a}", KeyMode::Escaped).is_err());
    assert!(parse("{n|mod:11}#{a}", KeyMode::Escaped).is_ok());
    assert!(template("{n|mod:11}#{a}").unfold("007#x").is_err(), "no zeros before it");
}
