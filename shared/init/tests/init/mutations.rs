//! Broken sources: bytes and tokens are changed, and every reader answers with a manifest or an error, never a panic.
//!
//! `KEYFOLD_CASES` says how many, `KEYFOLD_MODELS` names a folder with more seeds, `KEYFOLD_SEED` another run.

use std::path::Path;

use keyfold_core::manifest;
use keyfold_init::{Options, Source, init, read};

use crate::seeds;

/// Words of the formats, and texts that are trouble.
const TOKENS: [&str; 34] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "0",
    "-1e999",
    "\"\"",
    "{}",
    "[]",
    "${",
    "!Ref x",
    "Fn::If",
    "\\u0000",
    "KeySchema",
    "HASH",
    "RANGE",
    "\"S\"",
    "\"N\"",
    "value",
    "template",
    "composite",
    "pk",
    "sk",
    "{a|lower}",
    "{{",
    "é",
    "𝄞",
    "#",
    "\n",
];
/// The largest seed that is changed: larger ones take their time without showing more.
const SEED_BYTES_MAX: usize = 24 * 1024;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn all_seeds() -> Vec<String> {
    let mut found: Vec<String> = seeds::ALL.iter().map(|text| (*text).to_owned()).collect();
    let mut folders =
        std::env::var("KEYFOLD_MODELS").map(|folder| vec![Path::new(&folder).to_owned()]).unwrap_or_default();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let end = text
                    .char_indices()
                    .map(|(at, _)| at)
                    .take_while(|at| *at <= SEED_BYTES_MAX)
                    .last()
                    .unwrap_or(0);
                found.push(if text.len() <= SEED_BYTES_MAX { text } else { text[..end].to_owned() });
            }
        }
    }
    found
}

fn broken(rng: &mut fastrand::Rng, seeds: &[String]) -> String {
    let mut bytes = seeds[rng.usize(..seeds.len())].clone().into_bytes();
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..=bytes.len());
        let to = (at + rng.usize(..40)).min(bytes.len());
        match rng.u8(..7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..to)),
            2 => {
                let part = bytes[at..to].to_vec();
                let into = rng.usize(..=bytes.len());
                bytes.splice(into..into, part);
            }
            3 => {
                let token = TOKENS[rng.usize(..TOKENS.len())].bytes();
                bytes.splice(at..at, token);
            }
            4 => {
                let token = TOKENS[rng.usize(..TOKENS.len())].bytes();
                bytes.splice(at..to, token);
            }
            5 if at < bytes.len() => bytes[at] = rng.u8(..),
            _ => {
                let other = seeds[rng.usize(..seeds.len())].as_bytes();
                let from = rng.usize(..=other.len());
                let upto = (from + rng.usize(..200)).min(other.len());
                bytes.splice(at..to, other[from..upto].to_vec());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn no_broken_source_makes_a_reader_panic() {
    let seeds = all_seeds();
    let mut rng = fastrand::Rng::with_seed(setting("KEYFOLD_SEED", 1));
    let (mut accepted, mut refused) = (0u64, 0u64);
    for _ in 0..setting("KEYFOLD_CASES", 2_000) {
        let source = Source { name: "a".to_owned(), text: broken(&mut rng, &seeds) };
        match read(&source).and_then(|draft| init(vec![("a".to_owned(), draft)], Options::default())) {
            Ok(report) => {
                accepted += 1;
                // Without a table there is no manifest.
                let parsed = manifest::parse("keyfold.toml", &report.manifest);
                assert!(parsed.diagnostics.iter().all(|one| !one.message.is_empty()));
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().contains('\n') && !error.code().is_empty(), "{error}");
            }
        }
    }
    assert!(
        accepted > 0 && refused > 0,
        "{accepted} accepted, {refused} refused: the changes are too small or too large"
    );
}
