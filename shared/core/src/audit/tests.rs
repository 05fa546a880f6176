//! The formats, pinned; and every finding of the check and the judge.

use std::collections::BTreeSet;

use super::judge::{Group, Intent, Seen, Stored, Weight};
use super::*;
use crate::value::{AttributeValue, Item};

fn item(json: &str) -> Item {
    serde_json::from_str(json).unwrap()
}

fn digest(json: &str) -> String {
    event_digest(&item(json), &BTreeSet::from(["folded".to_owned()])).to_string()
}

/// Stored digests depend on this form: changing these lines changes the format.
#[test]
fn digests_are_what_they_were() {
    let all = r#"{"s":{"S":"é"},"n":{"N":"1.50"},"b":{"B":"AAE="},"t":{"BOOL":true},"z":{"NULL":true},
        "l":{"L":[{"S":"x"},{"N":"-0"}]},"m":{"M":{"b":{"S":"2"},"a":{"S":"1"}}},
        "ss":{"SS":["b","a"]},"ns":{"NS":["2","1.0"]},"bs":{"BS":["AQ=="]},
        "folded":{"S":"left out"},"keyfold_fence":{"S":"left out"}}"#;
    insta::assert_snapshot!(digest(all), @"eb2155e6db54788553681985dcc355ee6629d431f7bc7c0195305426c06da0b4");
    insta::assert_snapshot!(digest("{}"), @"bef66af002e8ac089daa88acf567929330a1c4b2d0e33587ff9c92337c271e8f");
    let same =
        all.replace("1.50", "1.5").replace(r#"["b","a"]"#, r#"["a","b"]"#).replace("left out", "other");
    assert_eq!(digest(all), digest(&same));
    for (from, to) in [("1.50", "1.51"), (r#"{"BOOL":true}"#, r#"{"BOOL":false}"#), ("\"s\":", "\"S\":")] {
        assert_ne!(digest(all), digest(&all.replace(from, to)), "{from}");
    }
}

#[test]
fn a_hash_is_read_as_it_is_shown() {
    let hash = Hash::of(b"x");
    assert_eq!(hash.to_string().parse(), Ok(hash));
    for wrong in ["", "00", &hash.to_string().to_uppercase(), &format!("{hash}0"), &"é".repeat(32)] {
        assert!(wrong.parse::<Hash>().is_err(), "{wrong}");
    }
}

const DAY: &str = "2026-11-23";
const AT: &str = "2026-11-23T12:00:00.000Z";
const CHAIN: &str = "a0000000000000000000000000000000";

fn hash(of: &str) -> Hash {
    Hash::of(of.as_bytes())
}

fn begin(ids: &[&str]) -> Content {
    let entry = |id: &&str| Entry { id: (*id).to_owned(), digest: hash(id), key: Key::new(), expires: None };
    let events = ids.iter().map(entry).collect();
    Content::Begin { table: "audit".to_owned(), id_attribute: "id".to_owned(), left_out: None, events }
}

fn end(of: u64, outcomes: &str) -> Content {
    Content::End { of, outcomes: outcomes.to_owned(), found: Vec::new() }
}

/// The rows of a chain in which two events were written.
fn rows() -> Vec<Item> {
    let mut chain = Chain::new(CHAIN, DAY);
    let contents = [begin(&["1"]), end(0, "w"), begin(&["2"]), end(2, "w")];
    let row = |content| {
        let row = chain.row(AT, content).unwrap();
        chain.advance(&row);
        row.item
    };
    contents.map(row).to_vec()
}

#[test]
fn rows_are_what_they_were() {
    let rows = rows();
    let shown: Vec<String> = rows[..2]
        .iter()
        .map(|row| ["pk", "sk", "body", "hash"].map(|name| get(row, name)).join(" "))
        .collect();
    let first = r#"{"v":1,"chain":"a0000000000000000000000000000000","day":"2026-11-23","seq":0,"prev":"4bdfa5109775b037332d8803c0241e01c46976819e9e888830f688d8c30fc7b4","at":"2026-11-23T12:00:00.000Z","kind":"begin","table":"audit","idAttribute":"id","events":[{"id":"1","digest":"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"}]}"#;
    let second = r#"{"v":1,"chain":"a0000000000000000000000000000000","day":"2026-11-23","seq":1,"prev":"23d2cd4a12600f13d52474faa96d2c93d32ef60f9df6a00cec536a8aa27f4fc5","at":"2026-11-23T12:00:00.000Z","kind":"end","of":0,"outcomes":"w"}"#;
    let (first_hash, second_hash) = (
        "23d2cd4a12600f13d52474faa96d2c93d32ef60f9df6a00cec536a8aa27f4fc5",
        "a8d272b22229d112d58ebdb1ffb7e93d458d12a598836eb7586eef0bee46d928",
    );
    assert_eq!(shown[0], format!("2026-11-23#a {CHAIN}#0000000000 {first} {first_hash}"));
    assert_eq!(shown[1], format!("2026-11-23#a {CHAIN}#0000000001 {second} {second_hash}"));
}

fn kinds(rows: &[Item], anchors: &[Anchor]) -> Vec<&'static str> {
    let mut check = ChainCheck::new(DAY, CHAIN, anchors.iter());
    let (mut marks, mut findings) = (Vec::new(), Vec::new());
    for row in rows {
        check.take(&StoredRow::read(row).unwrap(), Weight::Settled, &mut marks, &mut findings);
    }
    check.finish(&mut marks, &mut findings);
    findings.iter().map(|finding| finding.kind.name()).collect()
}

fn set(row: &mut Item, name: &str, value: impl Into<String>) {
    row.insert(name, AttributeValue::S(value.into()));
}

fn get<'r>(row: &'r Item, name: &str) -> &'r str {
    let AttributeValue::S(text) = &row[name] else { panic!() };
    text
}

#[test]
fn whatever_is_done_to_rows_is_found() {
    assert!(kinds(&rows(), &[]).is_empty());
    for gone in 0..3 {
        let mut left = rows();
        left.remove(gone);
        assert_eq!(kinds(&left, &[]), ["row-missing"], "{gone}");
    }
    let mut edited = rows();
    let body = get(&edited[1], "body").replace("\"w\"", "\"r\"");
    set(&mut edited[1], "body", &body);
    assert_eq!(kinds(&edited, &[]), ["row-changed", "chain-broken"]);
    // With a recomputed hash, the next row no longer refers to it.
    set(&mut edited[1], "hash", hash(&body).to_string());
    assert_eq!(kinds(&edited, &[]), ["chain-broken"]);
    // Another version with a valid hash: its content is unknown.
    let body = get(&edited[1], "body").replace("\"v\":1", "\"v\":2");
    set(&mut edited[1], "body", &body);
    set(&mut edited[1], "hash", hash(&body).to_string());
    assert_eq!(kinds(&edited, &[]), ["unknown-format", "chain-broken"]);
    let mut exchanged = rows();
    let (one, other) = (exchanged[1].clone(), exchanged[2].clone());
    for name in ["body", "hash"] {
        set(&mut exchanged[1], name, get(&other, name));
        set(&mut exchanged[2], name, get(&one, name));
    }
    assert_eq!(kinds(&exchanged, &[]), ["row-moved", "row-moved", "chain-broken"]);
    let mut late = Chain::new(CHAIN, DAY);
    let other_day = late.row("2026-11-24T00:00:00.000Z", begin(&["1"])).unwrap();
    late.advance(&other_day);
    assert_eq!(kinds(&[other_day.item], &[]), ["back-dated"]);
}

fn anchor(rows: &[Item], closed: bool) -> Anchor {
    let mut check = ChainCheck::new(DAY, CHAIN, [].iter());
    for row in rows {
        check.take(&StoredRow::read(row).unwrap(), Weight::Settled, &mut Vec::new(), &mut Vec::new());
    }
    let chains = if rows.is_empty() { [].into() } else { [(CHAIN.to_owned(), check.end())].into() };
    let (day, made, since) = (DAY.to_owned(), AT.to_owned(), AT.to_owned());
    Anchor { v: FORMAT.version, day, made, closed, since, previous: None, chains }
}

#[test]
fn the_beginning_of_a_journal_of_another_version_is_refused() {
    let mut since = since_item(AT);
    assert_eq!(since_of(&since), Ok(Some(AT.to_owned())));
    since.insert("v", AttributeValue::N("2".to_owned()));
    assert_eq!(since_of(&since).unwrap_err().found, "2");
}

#[test]
fn an_anchor_finds_what_a_chain_does_not_say() {
    let all = rows();
    for closed in [false, true] {
        assert!(kinds(&all, &[anchor(&all, closed)]).is_empty());
        assert_eq!(kinds(&all[..2], &[anchor(&all, closed)]), ["chain-truncated"]);
    }
    // Before the day ends, a chain may grow or begin.
    assert!(kinds(&all, &[anchor(&all[..2], false), anchor(&[], false)]).is_empty());
    assert_eq!(kinds(&all, &[anchor(&all[..2], true)]), ["chain-added"]);
    assert_eq!(kinds(&all, &[anchor(&[], true)]), ["chain-added"]);
    // The whole chain, rebuilt with valid hashes.
    let mut forged = Chain::new(CHAIN, DAY);
    let row = |content| {
        let row = forged.row(AT, content).unwrap();
        forged.advance(&row);
        row.item
    };
    let forged = [begin(&["3"]), end(0, "w"), begin(&["2"]), end(2, "w")].map(row);
    assert_eq!(kinds(&forged, &[anchor(&all, true)]), ["chain-truncated"]);
}

#[test]
fn anchors_follow_one_another() {
    let first = anchor(&rows(), false);
    let named = Hash::of(b"first");
    let at = |made: &str, previous| Anchor { made: made.to_owned(), previous, ..first.clone() };
    let second = (at("2026-11-24T12:00:00.000Z", Some(named)), Hash::of(b"second"));
    let mut both = [second.clone(), (first.clone(), named)];
    assert!(links(&mut both).is_empty());
    assert_eq!(both[0].0, first);
    // A text of a time may lack the digits that are zero: 12.3 is before 12.345.
    let close = |made: &str| (at(made, Some(named)), Hash::of(b"second"));
    let mut close = [close("2026-11-24T12:00:12.345Z"), (at("2026-11-24T12:00:12.3Z", None), named)];
    assert!(links(&mut close).is_empty());
    assert_eq!(links(&mut [second]).len(), 1, "the first is missing");
    assert_eq!(links(&mut [(first, Hash::of(b"changed")), both[1].clone()]).len(), 1);
}

const NOW: i64 = 1_000_000_000;
const SINCE: i64 = NOW - 1_000_000;

fn key() -> Key {
    Key::from([("id".to_owned(), AttributeValue::S("1".to_owned()))])
}

fn intent(content: &str, outcome: OutcomeLetter) -> Intent {
    let (id, weight, expires) = ("1".to_owned(), Weight::Settled, None);
    Intent { id, digest: hash(content), outcome, at_ms: NOW - 5000, weight, expires, key: key() }
}

fn seen(content: &str) -> Seen {
    Seen { id: "1".to_owned(), digest: hash(content), weight: Weight::Settled, expires: None, key: key() }
}

fn stored(content: &str) -> Stored {
    Stored { digests: vec![hash(content)], received_ms: Some(NOW - 5001), in_range: true, key: key() }
}

fn names(intents: &[Intent], seen: &[Seen], stored: &[Stored]) -> Vec<&'static str> {
    let group = Group { intents: intents.to_vec(), seen: seen.to_vec(), stored: stored.to_vec() };
    judge(&group, SINCE, NOW).findings.iter().map(|finding| finding.kind.name()).collect()
}

use OutcomeLetter::{Refused, Unknown, Written};

#[test]
fn what_an_honest_writer_leaves_is_no_finding() {
    let (w, r, u) = (intent("a", Written), intent("b", Refused), intent("a", Unknown));
    assert!(names(std::slice::from_ref(&w), &[], &[stored("a")]).is_empty());
    // A retry, or another event with the id, finds the item.
    assert!(names(&[w.clone(), r.clone()], &[seen("a")], &[stored("a")]).is_empty());
    // A crash before the item came to be, and one after.
    assert!(names(std::slice::from_ref(&u), &[], &[]).is_empty());
    assert!(names(std::slice::from_ref(&u), &[], &[stored("a")]).is_empty());
    assert!(names(&[u.clone(), r.clone()], &[seen("a")], &[stored("a")]).is_empty());
    // A crash before it came to be, and a retry that wrote it.
    assert!(names(&[u, intent("b", Written)], &[], &[stored("b")]).is_empty());
    assert!(names(&[r], &[], &[]).is_empty());
    let group =
        Group { stored: vec![Stored { received_ms: Some(SINCE - 1), ..stored("a") }], ..Group::default() };
    assert_eq!(judge(&group, SINCE, NOW).counts, Counts { before_journal: 1, ..Counts::default() });
}

#[test]
fn whatever_is_done_to_items_is_found() {
    let (w, r, u) = (intent("a", Written), intent("b", Refused), intent("a", Unknown));
    assert_eq!(names(std::slice::from_ref(&w), &[], &[]), ["removed"]);
    assert_eq!(names(std::slice::from_ref(&w), &[], &[stored("x")]), ["changed"]);
    assert_eq!(names(&[], &[], &[stored("x")]), ["inserted"]);
    assert_eq!(names(&[], &[], &[Stored { received_ms: None, ..stored("x") }]), ["unstamped"]);
    // Seen by a retry and missing now, even if the crash lost the recorded outcome.
    assert_eq!(names(&[u.clone(), r.clone()], &[seen("a")], &[]), ["removed"]);
    // A refused event in place of the confirmed one; and an unconfirmed event.
    assert_eq!(names(&[w.clone(), r.clone()], &[seen("a")], &[stored("b")]), ["changed"]);
    assert_eq!(names(&[w.clone(), intent("b", Unknown)], &[], &[stored("b")]), ["changed"]);
    assert_eq!(names(std::slice::from_ref(&r), &[], &[stored("b")]), ["inserted"]);
    // Inserted, and then sent to the audit writer, which found it.
    assert_eq!(names(std::slice::from_ref(&r), &[seen("x")], &[stored("x")]), ["inserted"]);
    // Removed, and sent again.
    assert_eq!(names(&[w.clone(), intent("c", Written)], &[], &[stored("c")]), ["removed"]);
    // A copy of the event under another folded key.
    assert_eq!(names(std::slice::from_ref(&w), &[], &[stored("a"), stored("a")]), ["inserted"]);
    // A forged row of today for an event of another time.
    let old = Stored { received_ms: Some(SINCE), ..stored("a") };
    assert_eq!(names(&[Intent { at_ms: NOW + 10_000_000, ..w.clone() }], &[], &[old]), ["back-dated"]);
    let unstamped = Stored { received_ms: None, ..stored("a") };
    assert_eq!(names(&[w], &[], &[unstamped]), ["back-dated"]);
}

#[test]
fn absence_says_nothing_of_what_may_expire_or_was_written_meanwhile() {
    let expired = Intent { expires: Some(1), ..intent("a", Written) };
    let later = Intent { expires: Some(u64::MAX), ..intent("a", Written) };
    let late = Intent { weight: Weight::Late, ..intent("a", Written) };
    let outside = Intent { weight: Weight::Outside, ..intent("a", Written) };
    assert!(names(&[expired], &[], &[]).is_empty());
    assert_eq!(names(&[later], &[], &[]), ["removed"]);
    assert!(names(&[late], &[], &[]).is_empty());
    assert!(names(&[outside], &[], &[]).is_empty());
    assert!(names(&[], &[], &[Stored { in_range: false, ..stored("x") }]).is_empty());
}

#[test]
fn an_item_that_a_retrofit_carried_is_known_by_what_it_was() {
    let carried = Stored { digests: vec![hash("renamed"), hash("a")], ..stored("a") };
    assert!(names(&[intent("a", Written)], &[], &[carried]).is_empty());
}

#[test]
fn the_documentation_lists_the_stored_forms_of_core() {
    let documented = include_str!("../../../../docs/architecture.md");
    let forms = [control::FORMAT, crate::retrofit::segment::CHECKPOINT_FORMAT, FORMAT];
    for StoredFormat { name, version } in forms {
        assert!(documented.contains(&format!("| {name} | {version} |")), "{name}");
    }
}
