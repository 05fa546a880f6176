//! The score on generated designs with known entities and templates.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use keyfold_core::json::read_item;
use keyfold_core::model::{EntityId, KeySource, Model, Table};
use keyfold_testkit::designs::{Design, Noise, TrueEntity};

use crate::import;

/// The designs of the score.
const SEEDS: u64 = 150;
/// The least percentage of entities found.
const ENTITIES_PERCENT_MIN: usize = 98;
/// The least percentage of exact templates.
const TEMPLATES_PERCENT_MIN: usize = 97;

/// The designs of each kind of noise.
const NOISY_SEEDS: u64 = 20;

/// The least percentages of entities found and of exact templates: one below the measured ones.
fn floors(noise: Noise) -> (usize, usize) {
    match noise {
        Noise::Missing => (97, 94),
        Noise::Mixed => (98, 98),
        Noise::Coincidence => (99, 98),
        Noise::Few => (98, 98),
        Noise::KeyOnly => (97, 97),
        Noise::Constant => (98, 93),
        Noise::Shards => (97, 96),
        Noise::Twins => (98, 98),
        Noise::Overloaded => (98, 97),
        Noise::Several => (95, 91),
    }
}

/// Found, of all.
#[derive(Debug, Clone, Copy, Default)]
struct Count(usize, usize);

impl Count {
    fn add(&mut self, is_found: bool) {
        self.0 += usize::from(is_found);
        self.1 += 1;
    }

    fn percent(self) -> usize {
        self.0 * 100 / self.1.max(1)
    }
}

#[derive(Debug, Default)]
struct Score {
    entities: Count,
    templates: Count,
    misses: Vec<String>,
}

impl Score {
    fn add(&mut self, other: &Score) {
        self.entities = Count(self.entities.0 + other.entities.0, self.entities.1 + other.entities.1);
        self.templates = Count(self.templates.0 + other.templates.0, self.templates.1 + other.templates.1);
    }
}

impl fmt::Display for Score {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entities, templates) = (self.entities, self.templates);
        write!(out, "entities {}/{} ({}%), ", entities.0, entities.1, entities.percent())?;
        write!(out, "templates {}/{} ({}%)", templates.0, templates.1, templates.percent())
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "shows the score and the misses with --nocapture")]
fn generated_designs_are_recognised() {
    let mut all = BTreeMap::from([
        ("scan", Score::default()),
        ("workbench", Score::default()),
        ("facets", Score::default()),
    ]);
    for seed in 0..SEEDS {
        let (scan, model) = (Design::new(seed, false, None), Design::new(seed, true, None));
        score(
            &scan,
            &[&scan.description(), &scan.lines()],
            scan.is_named,
            seed,
            all.get_mut("scan").unwrap(),
        );
        score(&model, &[&model.workbench(false)], model.is_named, seed, all.get_mut("workbench").unwrap());
        score(&model, &[&model.workbench(true)], true, seed, all.get_mut("facets").unwrap());
    }
    for (source, score) in &all {
        let misses = score.misses.join("\n");
        println!("{misses}\n{source}: {score}");
        assert!(score.entities.percent() >= ENTITIES_PERCENT_MIN, "{source}: {score}\n{misses}");
        assert!(score.templates.percent() >= TEMPLATES_PERCENT_MIN, "{source}: {score}\n{misses}");
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "shows the score and the misses with --nocapture")]
fn noisy_designs_are_recognised() {
    let mut all = Score::default();
    for noise in Noise::ALL {
        let mut of_noise = Score::default();
        for seed in 0..NOISY_SEEDS {
            let (scan, model) = (Design::new(seed, false, Some(noise)), Design::new(seed, true, Some(noise)));
            score(&scan, &[&scan.description(), &scan.lines()], scan.is_named, seed, &mut of_noise);
            score(&model, &[&model.workbench(false)], model.is_named, seed, &mut of_noise);
        }
        println!("{}\n{noise:?}: {of_noise}", of_noise.misses.join("\n"));
        let (entities, templates) = floors(noise);
        assert!(of_noise.entities.percent() >= entities, "{noise:?}: {of_noise}");
        assert!(of_noise.templates.percent() >= templates, "{noise:?}: {of_noise}");
        all.add(&of_noise);
    }
    println!("all kinds of noise: {all}");
}

fn score(design: &Design, sources: &[&str], is_named: bool, seed: u64, score: &mut Score) {
    let report = import(sources);
    let model = keyfold_core::manifest::parse("keyfold.toml", &report.manifest).model;
    let table = model.as_ref().and_then(|model: &Model| model.tables.first());
    let found = table.map(|table| classes(design, table)).unwrap_or_default();
    for (at, truth) in design.entities.iter().enumerate() {
        let (mine, others) = (found.get(&at), found.iter().filter(|(other, _)| **other != at));
        let elsewhere: BTreeSet<&Option<EntityId>> = others.flat_map(|(_, ids)| ids).collect();
        let ids: Vec<EntityId> = mine.into_iter().flatten().filter_map(|id| *id).collect();
        let is_alone = mine.is_some_and(|mine| !mine.iter().any(|id| elsewhere.contains(id)));
        let is_whole = mine.is_some_and(|mine| mine.len() <= 1 + usize::from(truth.is_sparse));
        let has_name = |id: &EntityId| {
            table.is_some_and(|table| table.entities[id.0].name.eq_ignore_ascii_case(&truth.name))
        };
        if design.entities.len() > 1 {
            let is_found = is_alone && is_whole && !ids.is_empty() && (!is_named || ids.iter().any(has_name));
            score.entities.add(is_found);
            if !is_found {
                score.misses.push(format!(
                    "{seed}: entity {} {mine:?} {:?}",
                    truth.name,
                    table.map(|table| table
                        .entities
                        .iter()
                        .map(|one| (&one.name, &one.when))
                        .collect::<Vec<_>>())
                ));
            }
        }
        templates(truth, table, &ids, seed, score);
    }
}

/// The entities in the manifest of the items of each true entity.
fn classes(design: &Design, table: &Table) -> BTreeMap<usize, BTreeSet<Option<EntityId>>> {
    let mut found: BTreeMap<usize, BTreeSet<Option<EntityId>>> = BTreeMap::new();
    for (at, text) in design.items() {
        let entity = table.entity_of(&read_item(&text).unwrap()).unwrap_or_default();
        found.entry(at).or_default().insert(entity);
    }
    found
}

fn templates(truth: &TrueEntity, table: Option<&Table>, ids: &[EntityId], seed: u64, score: &mut Score) {
    for (key, wanted) in &truth.templates {
        let entities = if ids.is_empty() { vec![None] } else { ids.iter().copied().map(Some).collect() };
        let found: Vec<String> = entities.into_iter().filter_map(|id| template(table?, id, key)).collect();
        let is_exact = found.iter().any(|found| agrees(wanted, found, table, ids.first().copied()));
        score.templates.add(is_exact);
        if !is_exact {
            score.misses.push(format!("{seed}: template {}.{key} {wanted} {found:?}", truth.name));
        }
    }
}

/// The template of a key; of a natural key the attribute itself.
fn template(table: &Table, id: Option<EntityId>, key: &str) -> Option<String> {
    let indexes = table.indexes.iter().flat_map(keyfold_core::model::Index::key_attributes);
    let attribute = table.key_attributes().chain(indexes).find(|attribute| attribute.name == key)?;
    match &attribute.source {
        KeySource::Natural => Some(format!("{{{key}}}")),
        KeySource::Folded(rules) => {
            let rule = rules.iter().find(|rule| rule.entity.is_none() || rule.entity == id)?;
            Some(rule.template.text().to_owned())
        }
    }
}

/// Equal, except that a part from the key can have any name with the wanted word.
fn agrees(wanted: &str, found: &str, table: Option<&Table>, id: Option<EntityId>) -> bool {
    let plain = |text: &str| text.to_lowercase().replace('_', "");
    let (wanted, found) = (pieces(wanted), pieces(found));
    wanted.len() == found.len()
        && wanted.iter().zip(&found).all(|(wanted, found)| match wanted.strip_prefix("{?") {
            Some(word) => {
                let name = found.trim_matches(['{', '}']);
                found.starts_with('{')
                    && table.is_some_and(|table| table.is_from_key(id, name))
                    && plain(name).contains(word.trim_end_matches('}'))
            }
            None => wanted == found,
        })
}

/// The texts and parts of a template.
fn pieces(template: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for letter in template.chars() {
        if letter == '{' {
            pieces.push(String::new());
        }
        pieces.last_mut().unwrap().push(letter);
        if letter == '}' {
            pieces.push(String::new());
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}
