//! The runner, with our own small cases: correct, refused, wrong, and unusable ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

use keyfold_models::report::{PatternResult, Report, Row, State};
use keyfold_models::{Options, run};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// A folder with these cases and manifests.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn read(name: &str) -> String {
    std::fs::read_to_string(data().join(name)).unwrap()
}

async fn report_of(folder: &Path) -> Report {
    let options = Options { data: folder.to_owned(), manifests: folder.to_owned(), ..Options::default() };
    run(&options).await.unwrap()
}

fn row<'r>(report: &'r Report, pattern: &str) -> &'r Row {
    report.cases[0].rows.iter().find(|row| row.pattern == pattern).unwrap()
}

#[tokio::test]
async fn each_pattern_of_a_case_gets_its_verdict() {
    let options =
        Options { data: data(), manifests: data(), only: vec!["library".to_owned()], ..Options::default() };
    let report = run(&options).await.unwrap();
    for pattern in
        ["collection", "loans", "two_queries", "one", "fetched", "longest", "any_two", "groups", "nobody"]
    {
        let row = row(&report, pattern);
        assert_eq!(row.verdict, PatternResult::Right, "{pattern}");
        assert!(row.units.is_some(), "{row:?}");
    }
    assert!(matches!(row(&report, "no_key").verdict, PatternResult::Refused { .. }));
    assert!(row(&report, "longest").scans && !row(&report, "collection").scans);
    assert_eq!(row(&report, "two_queries").plan, "byReader x2, filter, merged");
    let totals = report.totals();
    assert_eq!((totals.right, totals.refused, totals.wrong), (11, 1, 0));
    assert!(totals.is_success(None) && totals.is_success(Some(91.0)) && !totals.is_success(Some(92.0)));
    assert!(report.to_string().ends_with("11 passed, 1 failed\n"));
}

#[tokio::test]
async fn a_scan_is_taken_where_it_is_allowed() {
    let only = vec!["library".to_owned()];
    let options = Options { data: data(), manifests: data(), only, allow_scan: true };
    let report = run(&options).await.unwrap();
    let row = row(&report, "no_key");
    assert_eq!((&row.verdict, row.scans), (&PatternResult::Right, true));
}

#[tokio::test]
async fn an_entity_is_told_from_a_neighbour_whose_keys_look_like_its_own() {
    let only = vec!["neighbours".to_owned()];
    let options = Options { data: data(), manifests: data(), only, ..Options::default() };
    let report = run(&options).await.unwrap();
    for row in &report.cases[0].rows {
        assert_eq!(row.verdict, PatternResult::Right, "{}", row.pattern);
    }
    assert_eq!(report.cases[0].rows.len(), 3);
}

#[tokio::test]
async fn an_answer_other_than_expected_is_wrong() {
    let library = read("library.json");
    let changes = [
        ("[0, 3, 4]", "[0, 3]", "collection", "3 items, 2 expected: 1 do not belong, 0 are missing"),
        ("[0, 3, 4]", "[0, 3, 5]", "collection", "3 items, 3 expected: 1 do not belong, 1 are missing"),
        ("[5, 3]", "[3, 5]", "loans", "the order differs at item 1"),
        ("\"expected_item_indexes\": []", "\"expected_item_indexes\": [3]", "nobody", "0 items, 1 expected"),
    ];
    for (from, to, pattern, fault) in changes {
        assert!(library.contains(from), "{from}");
        let manifest = read("library.toml");
        let folder = folder(&[("library.json", &library.replacen(from, to, 1)), ("library.toml", &manifest)]);
        let report = report_of(folder.path()).await;
        let PatternResult::Wrong { what } = &row(&report, pattern).verdict else { panic!("{pattern} {to}") };
        assert!(what.starts_with(fault), "{what}");
        assert!(!report.totals().is_success(None));
    }
}

#[tokio::test]
async fn without_expected_answers_the_meaning_itself_is_evaluated() {
    let library = read("library.json").replace("expected_item_indexes", "unknown");
    let folder = folder(&[("library.json", &library), ("library.toml", &read("library.toml"))]);
    let totals = report_of(folder.path()).await.totals();
    assert_eq!((totals.right, totals.refused, totals.wrong), (11, 1, 0));
}

#[tokio::test]
async fn what_cannot_be_asked_is_named() {
    let library = read("library.json");
    let manifest = read("library.toml");
    let same_key = manifest.replace("loan#{reader}", "loan");
    let folder = folder(&[
        ("alone.json", &library),
        ("mistaken.json", &library),
        ("mistaken.toml", "[tables.library]\npartition = \"nothing\"\n"),
        ("torn.json", &library[..500]),
        ("clash.json", &library),
        ("clash.toml", &same_key),
        ("other.json", "{\"this\": \"is no case\"}"),
    ]);
    let report = report_of(folder.path()).await;
    let state = |name: &str| report.cases.iter().find(|case| case.name == name).map(|case| &case.state);
    let says = |name: &str, words: &str| match state(name) {
        Some(State::Unusable { what }) => assert!(what.contains(words), "{what}"),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(state("alone"), Some(&State::NoManifest));
    assert_eq!(state("other"), None);
    says("mistaken", "mistaken.toml:2:13");
    says("torn", "not JSON");
    says("clash", "6 items, but 5 keys");
    let totals = report.totals();
    assert_eq!((totals.without_manifest, totals.unusable, totals.asked()), (1, 3, 0));
    assert!(!totals.is_success(None));
    assert!(report.to_string().contains("alone: no manifest\n"));
}

#[test]
fn the_program_says_how_it_went_by_its_exit_code() {
    let nowhere = data().join("nowhere").display().to_string();
    let here = data().display().to_string();
    let cases = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_cases")).args(arguments).output().unwrap();
        let text = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(text).unwrap())
    };
    let (code, text) = cases(&["--data", &nowhere, "--manifests", &here]);
    assert!(code == Some(1) && text.contains("there is no folder"), "{text}");
    let library = ["--data", &here, "--manifests", &here, "--only", "library"];
    assert_eq!(cases(&library).0, Some(0));
    assert_eq!(cases(&[&library[..], &["--require-right", "95"]].concat()).0, Some(1));
    let (code, text) = cases(&["--data", &here, "--manifests", &here, "--only", "nothing"]);
    assert!(code == Some(1) && text.contains("called nothing"), "{text}");
}
