//! Broken sources: bytes and tokens are changed, and every reader returns a manifest or an error, without a panic.
//!
//! `KEYFOLD_CASES`: the number of cases, `KEYFOLD_MODELS`: a folder with more seeds, `KEYFOLD_SEED`: another run.

use std::path::Path;

use keyfold_core::manifest;
use keyfold_init::{Options, Source, init, read};
use serde_json::{Value, json};

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
const SEED_BYTES_MAX: usize = 8 * 1024;
/// Of this many cases, two run the complete import.
const INIT_EVERY: u64 = 20;

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

/// A JSON source with some values replaced, removed, renamed or moved: it parses, so the reader continues.
fn odd(rng: &mut fastrand::Rng, seeds: &[Value]) -> String {
    let mut whole = seeds[rng.usize(..seeds.len())].clone();
    for _ in 0..rng.usize(1..4) {
        let from = &seeds[rng.usize(..seeds.len())];
        let other = any_part(rng, from).clone();
        let mut at = &mut whole;
        // Down to some container, then to one of its values.
        loop {
            let inner = match at {
                Value::Object(map) => {
                    map.values().filter(|value| value.is_object() || value.is_array()).count()
                }
                Value::Array(list) => {
                    list.iter().filter(|value| value.is_object() || value.is_array()).count()
                }
                _ => 0,
            };
            if inner == 0 || rng.u8(..4) == 0 {
                break;
            }
            let chosen = rng.usize(..inner);
            let is_container = |value: &&mut Value| value.is_object() || value.is_array();
            at = match at {
                Value::Object(map) => map.values_mut().filter(is_container).nth(chosen).unwrap(),
                Value::Array(list) => list.iter_mut().filter(is_container).nth(chosen).unwrap(),
                _ => unreachable!("it has containers"),
            };
        }
        change(rng, at, other);
    }
    whole.to_string()
}

fn any_part<'a>(rng: &mut fastrand::Rng, value: &'a Value) -> &'a Value {
    let mut at = value;
    while rng.u8(..3) != 0 {
        let next = match at {
            Value::Object(map) if !map.is_empty() => map.values().nth(rng.usize(..map.len())),
            Value::Array(list) if !list.is_empty() => list.get(rng.usize(..list.len())),
            _ => None,
        };
        let Some(next) = next else { break };
        at = next;
    }
    at
}

fn change(rng: &mut fastrand::Rng, at: &mut Value, other: Value) {
    let token = TOKENS[rng.usize(..TOKENS.len())];
    let new = match rng.u8(..9) {
        0 => Value::Null,
        1 => json!(""),
        2 => json!(rng.i64(..)),
        3 => json!([]),
        4 => json!({}),
        5 => json!(token),
        _ => other,
    };
    match at {
        Value::Object(map) if !map.is_empty() => {
            let name = map.keys().nth(rng.usize(..map.len())).unwrap().clone();
            match rng.u8(..4) {
                0 => drop(map.remove(&name)),
                1 => {
                    let value = map.remove(&name).unwrap();
                    map.insert(token.trim_matches('"').to_owned(), value);
                }
                _ => drop(map.insert(name, new)),
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let place = rng.usize(..list.len());
            match rng.u8(..4) {
                0 => drop(list.remove(place)),
                1 => list.push(list[place].clone()),
                _ => list[place] = new,
            }
        }
        _ => *at = new,
    }
}

#[test]
fn no_broken_source_makes_a_reader_panic() {
    let seeds = all_seeds();
    let parsed: Vec<Value> = seeds.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    let mut rng = fastrand::Rng::with_seed(setting("KEYFOLD_SEED", 1));
    let (mut accepted, mut refused) = (0u64, 0u64);
    for case in 0..setting("KEYFOLD_CASES", 4_000) {
        let text = if case % 2 == 0 { broken(&mut rng, &seeds) } else { odd(&mut rng, &parsed) };
        let error = match read(&Source { name: "a".to_owned(), text }) {
            // Some cases run the complete import, which takes longer than reading.
            Ok(draft) if case % INIT_EVERY < 2 => {
                match init(vec![("a".to_owned(), draft)], &Options::default()) {
                    Ok(report) => {
                        accepted += 1;
                        // Without a table there is no manifest.
                        let parsed = manifest::parse("keyfold.toml", &report.manifest);
                        assert!(parsed.diagnostics.iter().all(|one| !one.message.is_empty()));
                        continue;
                    }
                    Err(error) => error,
                }
            }
            Ok(_) => continue,
            Err(error) => error,
        };
        refused += 1;
        let said = error.to_string();
        assert!(said.starts_with("`a`: ") && !said.contains('\n') && !error.code().is_empty(), "{said}");
    }
    assert!(
        accepted > 0 && refused > 0,
        "{accepted} accepted, {refused} refused: the changes are too small or too large"
    );
}
