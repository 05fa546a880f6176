//! Random models, as the text of a manifest: one table with all its possible features.

use std::fmt::Write;

use super::random::Random;
use super::template::{ValueKind, template};

/// The attribute that may be stored only in a key.
const KEY_PART: &str = "k1";

/// The text of a manifest with one table, `t`. Not every text is a good manifest: the caller parses it and draws again.
pub fn manifest(random: &mut Random) -> String {
    let mut writer = ManifestDraft {
        attributes: attributes(random),
        entities: entities(random),
        ..ManifestDraft::default()
    };
    writer.draw(random);
    writer.text()
}

/// A manifest in the making.
#[derive(Debug, Default)]
struct ManifestDraft {
    attributes: Vec<(String, ValueKind, String)>,
    entities: Vec<EntityDraft>,
    /// `partition = …`, `sort = …` and other lines of the table itself.
    table: Vec<String>,
    indexes: Vec<(String, Vec<String>)>,
}

#[derive(Debug, Clone)]
struct EntityDraft {
    name: String,
    when: String,
    lines: Vec<String>,
}

fn attributes(random: &mut Random) -> Vec<(String, ValueKind, String)> {
    let mut all: Vec<(String, ValueKind, String)> = Vec::new();
    let mut add = |name: &str, kind: ValueKind, text: String| all.push((name.to_owned(), kind, text));
    let required = |random: &mut Random, kind: &str| {
        if random.chance(20) {
            format!("{{ type = \"{kind}\", required = true }}")
        } else {
            format!("\"{kind}\"")
        }
    };
    for name in ["s1", "s2", "s3"] {
        add(name, ValueKind::Text, required(random, "string"));
    }
    let listed = random.pick(&[
        r#"["a", "a-b", "b"]"#,
        r#"["dog", "dog:", "do"]"#,
        r#"["x"]"#,
        r#"["viewed", "edited", "deleted", "é"]"#,
    ]);
    add("e1", ValueKind::Listed, format!("{{ type = \"string\", values = {listed} }}"));
    add("e2", ValueKind::ListedNumber, "{ type = \"number\", values = [1, 2, 10] }".to_owned());
    add(
        "c1",
        ValueKind::Mapped,
        r#"{ type = "string", maps = { codes = { high = "1", mid = "2", low = "10", none = "a-b" } } }"#
            .to_owned(),
    );
    add("n1", ValueKind::Number, required(random, "number"));
    add("n2", ValueKind::Number, required(random, "number"));
    let precision = random.pick(&["", "", ", precision = \"s\"", ", precision = \"ns\""]);
    add("t1", ValueKind::Time, format!("{{ type = \"timestamp\"{precision} }}"));
    add("d1", ValueKind::Date, "\"date\"".to_owned());
    add("b1", ValueKind::Boolean, "\"boolean\"".to_owned());
    add("x1", ValueKind::Binary, "\"binary\"".to_owned());
    add(KEY_PART, ValueKind::KeyPart, "\"string\"".to_owned());
    for (name, kind) in [("m1", "map"), ("l1", "list"), ("z1", "string-set"), ("z2", "number-set")] {
        if random.chance(40) {
            add(name, ValueKind::Document, format!("\"{kind}\""));
        }
    }
    all
}

fn entities(random: &mut Random) -> Vec<EntityDraft> {
    if random.chance(50) {
        return Vec::new();
    }
    let names = ["dog", "doge", "cat", "x"];
    let count = random.between(1, 3);
    let mut all: Vec<EntityDraft> = names[..count]
        .iter()
        .map(|name| EntityDraft {
            name: (*name).to_owned(),
            when: format!("{{ kind = \"{name}\" }}"),
            lines: Vec::new(),
        })
        .collect();
    if random.chance(20) {
        "{ kind = [\"dog\", \"hound\"] }".clone_into(&mut all[0].when);
    }
    if random.chance(20) {
        "{ kind = { begins-with = \"w\" } }".clone_into(&mut all[count - 1].when);
    }
    if random.chance(15) {
        all.push(EntityDraft {
            name: "marked".to_owned(),
            when: "{ kind = { exists = false }, s3 = { exists = true } }".to_owned(),
            lines: Vec::new(),
        });
    }
    all
}

impl ManifestDraft {
    fn draw(&mut self, random: &mut Random) {
        if !self.entities.is_empty() {
            self.attributes.push(("kind".to_owned(), ValueKind::Text, "\"string\"".to_owned()));
        }
        let overloaded = !self.entities.is_empty() && random.chance(60);
        self.table_key("partition", "PK", overloaded, false, random);
        let sorted = random.chance(80);
        if sorted {
            self.table_key("sort", "SK", overloaded && random.chance(80), true, random);
        }
        for number in 1..=random.below(5) {
            let local = sorted && random.chance(35);
            self.index(&format!("index{number}"), local, random);
        }
        if overloaded && random.chance(35) {
            self.tell_by_key("partition", "PK", random);
        } else if overloaded && sorted && random.chance(25) {
            self.tell_by_key("sort", "SK", random);
        }
        if random.chance(10) {
            let name = random.pick(&["s1", "s2", "e1"]);
            self.table.push(format!("scope = {{ {name} = \"jwt.org\" }}"));
        }
        self.read_from_keys();
        self.give_to_entities(random);
        if random.chance(30) {
            self.table.push(format!(
                "expect = {{ items = {}, items-per-partition = {} }}",
                random.pick(&[10, 10_000_000]),
                random.pick(&[2, 100_000])
            ));
        }
    }

    /// Entities are identified only by the prefix of a key.
    fn tell_by_key(&mut self, field: &str, attribute: &str, random: &mut Random) {
        let start = format!("{field} = \"");
        if !self.entities.iter().all(|entity| entity.lines.iter().any(|line| line.starts_with(&start))) {
            return;
        }
        let prefixes = random.shuffled(&["D#", "E#", "a", "b-", "x:", "do"]);
        for (entity, prefix) in self.entities.iter_mut().zip(prefixes) {
            entity.when = format!("{{ {attribute} = {{ begins-with = \"{prefix}\" }} }}");
            for line in entity.lines.iter_mut().filter(|line| line.starts_with(&start)) {
                line.insert_str(start.len(), prefix);
            }
            // Without a `when`, the prefixes of its keys identify the entity.
            if random.chance(25) {
                entity.when.clear();
            }
        }
    }

    /// If a key contains the key-only attribute, items need not store it.
    fn read_from_keys(&mut self) {
        let of_indexes = self.indexes.iter().flat_map(|(_, lines)| lines);
        let mut lines =
            self.table.iter().chain(of_indexes).chain(self.entities.iter().flat_map(|entity| &entity.lines));
        if lines.any(|line| line.contains(&format!("{{{KEY_PART}}}"))) {
            let key_part = self.attributes.iter_mut().filter(|(_, kind, _)| *kind == ValueKind::KeyPart);
            key_part.for_each(|(.., declared)| "{ type = \"string\", from-key = true }".clone_into(declared));
        }
    }

    /// Gives some attributes to entities: those whose keys need it, and others.
    fn give_to_entities(&mut self, random: &mut Random) {
        let is_own = |name: &str| {
            let names = ["s1", "s2", "s3", "n1", "n2", "e1", "t1", "d1", KEY_PART];
            names.contains(&name)
        };
        let mut shared = Vec::new();
        for (name, kind, declared) in std::mem::take(&mut self.attributes) {
            if self.entities.is_empty() || !is_own(&name) || random.chance(70) {
                shared.push((name, kind, declared));
                continue;
            }
            let (text, part) = (format!("\"{name}\""), format!("{{{name}"));
            let is_named = |line: &String| {
                line.contains(&text) || line.contains(&part) || line.contains(&format!("{{ {name} "))
            };
            let of_all = self.table.iter().any(is_named);
            for entity in &mut self.entities {
                let of_keys = entity.lines.iter().any(|line| line.contains(&part));
                if !of_all && !of_keys && !entity.when.contains(&name) && random.chance(50) {
                    continue;
                }
                let declared = match declared.strip_suffix(" }") {
                    Some(_) if declared.contains("required") || random.chance(60) => declared.clone(),
                    Some(long) => format!("{long}, required = true }}"),
                    None if random.chance(60) => declared.clone(),
                    None => format!("{{ type = {declared}, required = true }}"),
                };
                entity.lines.push(format!("attributes.{name} = {declared}"));
            }
        }
        self.attributes = shared;
    }

    fn foldable(&self, count: usize, random: &mut Random) -> Vec<(String, ValueKind)> {
        let all: Vec<_> = self.attributes.iter().filter(|(_, kind, _)| kind.is_foldable()).collect();
        // The choice of names is arbitrary, but few of them make keys meet.
        let mut chosen: Vec<(String, ValueKind)> = Vec::new();
        while chosen.len() < count {
            let (name, kind, _) = random.pick(&all);
            if chosen.iter().all(|(known, _)| known != name) {
                chosen.push((name.clone(), *kind));
            }
        }
        chosen
    }

    fn scalar(&self, random: &mut Random) -> String {
        let all: Vec<_> = self.attributes.iter().filter(|(_, kind, _)| kind.is_scalar()).collect();
        random.pick(&all).0.clone()
    }

    fn fold(&self, sort: bool, random: &mut Random) -> String {
        let count = if sort { random.between(1, 3) } else { random.between(1, 2) };
        let mut text = template(&self.foldable(count, random), sort, random);
        if count == 1 && text.starts_with('{') && !text.contains(['|', ':']) {
            text.insert_str(0, "k#");
        }
        text
    }

    fn table_key(&mut self, field: &str, attribute: &str, overloaded: bool, sort: bool, random: &mut Random) {
        if overloaded {
            let fallback = if random.chance(30) {
                format!(", fold = {:?}", self.fold(sort, random))
            } else {
                String::new()
            };
            self.table.push(format!("{field} = {{ attribute = \"{attribute}\"{fallback} }}"));
            let shared = self.fold(sort, random);
            for at in 0..self.entities.len() {
                let alike = random.chance(if sort { 10 } else { 40 });
                let text = if alike { shared.clone() } else { self.fold(sort, random) };
                self.entities[at].lines.push(format!("{field} = {text:?}"));
            }
        } else if random.chance(55) {
            self.table.push(format!("{field} = \"{}\"", self.scalar(random)));
        } else {
            self.table.push(format!(
                "{field} = {{ attribute = \"{attribute}\", fold = {:?} }}",
                self.fold(sort, random)
            ));
        }
    }

    fn index(&mut self, name: &str, local: bool, random: &mut Random) {
        let mut lines = Vec::new();
        if !local {
            self.index_key(name, "partition", false, &mut lines, random);
        }
        if local || random.chance(75) {
            self.index_key(name, "sort", local, &mut lines, random);
        }
        if !local && lines.len() == 2 && random.chance(15) {
            lines = self.inverted().unwrap_or(lines);
        }
        match random.below(4) {
            0 => lines.push("projection = \"keys-only\"".to_owned()),
            1 => {
                let names = random.some(&["s1", "s2", "n1", "t1", "e1", "b1", "other"], 2);
                lines.push(format!("projection = {names:?}"));
            }
            2 => lines.push("projection = \"all\"".to_owned()),
            _ => {}
        }
        self.indexes.push((name.to_owned(), lines));
    }

    /// The keys of the table in the other order.
    fn inverted(&self) -> Option<Vec<String>> {
        let name = |field: &str| {
            let text = self.table.iter().find_map(|line| line.strip_prefix(&format!("{field} = ")))?;
            let quoted = text.strip_prefix("{ attribute = ").unwrap_or(text).strip_prefix('"')?;
            quoted.split_once('"').map(|(name, _)| name.to_owned())
        };
        let (partition, sort) = (name("sort")?, name("partition")?);
        Some(vec![format!("partition = \"{partition}\""), format!("sort = \"{sort}\"")])
    }

    fn index_key(
        &mut self,
        index: &str,
        field: &str,
        local: bool,
        lines: &mut Vec<String>,
        random: &mut Random,
    ) {
        let sort = field == "sort";
        match random.below(4) {
            0 if !self.entities.is_empty() => {
                let shared = self.fold(sort, random);
                for at in 0..self.entities.len() {
                    if random.chance(70) {
                        // Entities that share a partition key have neighbouring items, or items in one range.
                        let alike = random.chance(if sort { 15 } else { 50 });
                        let text = if alike { shared.clone() } else { self.fold(sort, random) };
                        self.entities[at].lines.push(format!("indexes.{index}.{field} = {text:?}"));
                    }
                }
                if random.chance(30) {
                    lines.push(format!(
                        "{field} = {{ attribute = \"{index}_{field}\", fold = {:?} }}",
                        self.fold(sort, random)
                    ));
                } else {
                    lines.push(format!("{field} = {{ attribute = \"{index}_{field}\" }}"));
                }
            }
            0 | 1 => lines.push(format!("{field} = {:?}", self.fold(sort, random))),
            2 if !local => {
                let count = random.between(1, 3);
                let mut names: Vec<String> = Vec::new();
                while names.len() < count {
                    let name = self.scalar(random);
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                lines.push(format!("{field} = {names:?}"));
            }
            _ => lines.push(format!("{field} = \"{}\"", self.scalar(random))),
        }
    }

    fn text(&self) -> String {
        let mut text = String::from("[tables.t]\nname = \"tableOfTheCase\"\n");
        for line in &self.table {
            let _ = writeln!(text, "{line}");
        }
        text.push_str("\n[tables.t.attributes]\n");
        for (name, _, declared) in &self.attributes {
            let _ = writeln!(text, "{name} = {declared}");
        }
        for (name, lines) in &self.indexes {
            let _ = writeln!(text, "\n[tables.t.indexes.{name}]");
            for line in lines {
                let _ = writeln!(text, "{line}");
            }
        }
        for entity in &self.entities {
            let _ = writeln!(text, "\n[tables.t.entities.{}]", entity.name);
            if !entity.when.is_empty() {
                let _ = writeln!(text, "when = {}", entity.when);
            }
            for line in &entity.lines {
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}
