//! A random retrofit: the manifests of the planner's oracle, with a second table and the lines of a retrofit.

use std::fmt::Write;

use keyfold_core::manifest;
use keyfold_core::model::{KeyAttribute, Model, ScalarType, Table};
use keyfold_core::retrofit::control::RetrofitState;
use keyfold_core::retrofit::{Mapping, Protocol};

use super::entities;
use crate::generate::{self, Random, Words};

/// How many manifests are drawn before the generator counts as broken.
const MANIFESTS_MAX: usize = 20_000;

/// Which protocol the retrofit needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One table.
    InPlace,
    /// Another table, whose key contains the source's key.
    Fixed,
    /// Another table, where each entity's key is made of its key's parts in the source.
    ByEntity,
    /// Another table, whose key is made of attributes that can change.
    Moving,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Shape; 4] = [Shape::InPlace, Shape::Fixed, Shape::ByEntity, Shape::Moving];

    /// The protocol.
    pub fn protocol(self) -> Protocol {
        match self {
            Shape::InPlace => Protocol::InPlace,
            Shape::Fixed | Shape::ByEntity => Protocol::Fenced,
            Shape::Moving => Protocol::Ledger,
        }
    }
}

/// A retrofit, and values for the items of its tables.
#[derive(Debug, Clone)]
pub struct DrawnRetrofit {
    /// The manifest.
    pub manifest: String,
    /// The parsed manifest.
    pub model: Model,
    /// The retrofit.
    pub mapping: Mapping,
    /// Values for the source's attributes.
    pub source_words: Words,
    /// Values for the target's attributes.
    pub target_words: Words,
}

impl DrawnRetrofit {
    /// The retrofit of this seed. Panics if no manifest out of many is a good one: then the generator is broken.
    pub fn new(seed: u64, shape: Shape) -> DrawnRetrofit {
        let mut random = Random::new(seed);
        let mut mistakes = String::new();
        for _ in 0..MANIFESTS_MAX {
            let Some(manifest) = text(shape, &mut random.fork()) else { continue };
            let parsed = manifest::parse("generated.toml", &manifest);
            mistakes = parsed.render(&manifest, false);
            let Some(model) = parsed.model else { continue };
            let Ok(mapping) = Mapping::of(&model, "r") else { continue };
            let begins = RetrofitState::check_begin(&mapping).is_ok();
            if !begins || mapping.protocol() != shape.protocol() {
                continue;
            }
            let source_words = Words::draw(mapping.source(), &mut random.fork());
            let target_words = Words::draw(mapping.target(), &mut random.fork());
            return DrawnRetrofit { manifest, mapping, source_words, target_words, model };
        }
        panic!("{MANIFESTS_MAX} manifests of {shape:?} were refused, the last one:\n{mistakes}");
    }
}

/// A manifest, which may have mistakes; `None` if the first table has some.
fn text(shape: Shape, random: &mut Random) -> Option<String> {
    let mut text = match shape {
        Shape::ByEntity => entities::tables(random),
        Shape::InPlace | Shape::Fixed | Shape::Moving => generate::manifest(random),
    };
    let to = match shape {
        Shape::InPlace => "t",
        Shape::ByEntity => "u",
        Shape::Fixed => {
            let model = manifest::parse("generated.toml", &text).model?;
            let second = second(&text, random);
            text.push_str(&fixed(&model.tables[0], &second));
            "u"
        }
        Shape::Moving => {
            let second = second(&text, random);
            text.push_str(&second);
            "u"
        }
    };
    let _ = write!(text, "\n[retrofits.r]\nfrom = \"t\"\nto = \"{to}\"\n{}", lines(shape, &text, random));
    Some(text)
}

/// Another table with the same attributes.
fn second(first: &str, random: &mut Random) -> String {
    let text = generate::manifest(random);
    // In most cases the target lists the same values and requires nothing more: else few items would fit.
    let alike = random.chance(75);
    let listed = |text: &str| text.lines().find(|line| line.starts_with("e1 = ")).map(str::to_owned);
    let mut second = String::new();
    for line in text.lines() {
        let line = match line.split(' ').next() {
            Some("requires" | "never") if alike => continue,
            Some("e1") if alike => listed(first).unwrap_or_else(|| line.to_owned()),
            _ if alike => line.replace(", required = true", ""),
            _ => line.to_owned(),
        };
        let _ = writeln!(second, "{line}");
    }
    second.replace("[tables.t", "[tables.u").replace("tableOfTheCase", "anotherTable")
}

/// The second table with a key that contains the first one's.
fn fixed(source: &Table, second: &str) -> String {
    let part = |key: &KeyAttribute| match key.scalar {
        ScalarType::S => format!("{{{}}}", key.name),
        ScalarType::N => format!("{{{}:number}}", key.name),
        ScalarType::B => format!("{{{}|hex}}", key.name),
    };
    let sort = source
        .sort
        .as_ref()
        .map(|key| format!("sort = {{ attribute = \"S9\", fold = \"{}\" }}\n", part(key)));
    let keys = format!(
        "partition = {{ attribute = \"P9\", fold = \"f#{}\" }}\n{}",
        part(&source.partition),
        sort.unwrap_or_default()
    );
    let folded: Vec<String> = source
        .key_attributes()
        .filter(|key| !source.attributes.contains_key(&key.name))
        .map(|key| format!("{} = \"string\"\n", key.name))
        .collect();
    let mut text = String::new();
    let mut of_index = false;
    for line in second.lines() {
        if line.starts_with('[') {
            of_index = line.contains(".indexes.");
        }
        if !of_index && (line.starts_with("partition = ") || line.starts_with("sort = ")) {
            continue;
        }
        let _ = writeln!(text, "{line}");
        match line {
            "[tables.u]" => text.push_str(&keys),
            "[tables.u.attributes]" => text.extend(folded.iter().map(String::as_str)),
            _ => {}
        }
    }
    text
}

/// The retrofit's own lines.
fn lines(shape: Shape, tables: &str, random: &mut Random) -> String {
    let mut text = String::new();
    let mut changes = false;
    if shape == Shape::InPlace && random.chance(60) {
        let indexes: Vec<String> = (1..=5)
            .map(|number| format!("index{number}"))
            .filter(|name| tables.contains(&format!(".{name}]")))
            .collect();
        let count = random.between(1, 2);
        let _ = writeln!(text, "fills = {:?}", random.some(&indexes, count));
    }
    if random.chance(25) {
        changes = true;
        let _ = writeln!(
            text,
            "set = {}",
            random.pick(&["{ made = \"old\" }", "{ s3 = \"b\" }", "{ made = 1, other = 2 }"])
        );
    }
    if random.chance(20) {
        changes = true;
        let _ =
            writeln!(text, "drop = {}", random.pick(&["[\"other\"]", "[\"junk\"]", "[\"junk\", \"b1\"]"]));
    }
    if random.chance(20) {
        changes = true;
        let _ = writeln!(
            text,
            "rename = {}",
            // In place, an application's later write to the new name wins: the judge cannot know which value was meant.
            match shape {
                Shape::InPlace => random.pick(&["{ s3 = \"r3\" }", "{ b1 = \"other\" }"]),
                Shape::Fixed | Shape::ByEntity | Shape::Moving => {
                    random.pick(&["{ s3 = \"r3\" }", "{ b1 = \"other\" }", "{ s2 = \"s3\" }"])
                }
            }
        );
    }
    if random.chance(20) {
        let _ = writeln!(
            text,
            "only = {}",
            random.pick(&["{ s2 = { exists = true } }", "{ s1 = [\"a\", \"b\", \"ab\"] }"])
        );
    }
    let misfits = match random.chance(50) {
        true => random.some(&MISFITS, 3),
        false => Vec::new(),
    };
    changes |= !misfits.is_empty();
    if shape == Shape::InPlace && changes {
        text.push_str("changes-live-attributes = true\n");
    }
    if !misfits.is_empty() {
        let _ = writeln!(text, "[retrofits.r.misfits]\n{}", misfits.join("\n"));
    }
    text
}

const MISFITS: [&str; 9] = [
    "n1 = \"to-number\"",
    "n2 = [\"to-number\", \"absent\"]",
    "s1 = \"to-text\"",
    "s2 = [\"to-text\", \"absent\"]",
    "e1 = [\"lower\", \"absent\"]",
    "c1 = { default = \"mid\" }",
    "t1 = [\"to-timestamp\", \"absent\"]",
    "s3 = [\"to-text\", \"upper\"]",
    "d1 = \"absent\"",
];
