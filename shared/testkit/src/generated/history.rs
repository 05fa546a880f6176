//! One history: a table with writers becomes another one, or gets its keys in place, and where there is a way back, the writers move
//! there and their changes are carried back.

use std::collections::BTreeSet;
use std::fmt::Debug;

use keyfold_core::model::{Index, Retrofit};
use keyfold_core::retrofit::attributes::TOMBSTONE_ATTRIBUTE;
use keyfold_core::retrofit::verify::{Check, CheckOptions, CheckStep, Class};
use keyfold_core::retrofit::{
    Cause, Epoch, Job, Mapping, Protocol, QuarantineReason, Quarantined, TableRole, ThereAndBack, Tracking,
};
use keyfold_core::value::{AttributeValue, Item};

use super::draw::DrawnRetrofit;
use super::judge::{Counts, Judge};
use super::messy;
use super::mutant::Mutant;
use super::world::{Items, World, control_table, key_text};
use crate::generate::Random;

/// The most items at the start.
const ITEMS_MAX: usize = 8;
/// The most moves of each half of a history.
const MOVES_MAX: usize = 60;
/// How often the quarantine is released: of two items that claim one key, one may have gone.
const RELEASES: usize = 2;

/// Plays the history of this seed; `Err` says what is wrong at its end.
pub fn history(drawn: &DrawnRetrofit, seed: u64, mutant: Option<Mutant>) -> Result<Counts, String> {
    let control = control_table();
    let mut random = Random::new(seed);
    let mapping = &drawn.mapping;
    let most = random.between(1, ITEMS_MAX);
    let items = messy::items(mapping.source(), &drawn.source_words, most, &mut random);
    let rows = mapping.protocol() == Protocol::Fenced && random.chance(60);
    let tracking = if rows { Tracking::Rows } else { Tracking::Tombstones };
    let job = Job::new(mapping.clone(), Epoch::FIRST).tracked_by(tracking);
    let mut play = Play {
        drawn,
        mutant,
        truth: items
            .iter()
            .filter_map(|item| Some((key_text(mapping.source(), item)?, item.clone())))
            .collect(),
        world: World::new(mapping, &control, mutant, items),
        random,
        counts: Counts::default(),
    };
    play.forward(&job);
    play.judge_forward(&job)?;
    if play.random.chance(25) {
        play.plant(&job)?;
        return Ok(play.counts);
    }
    play.verify(&job)?;
    if (rows || mapping.protocol() == Protocol::Ledger) && mapping.reverse().is_ok() {
        play.back(&job)?;
    }
    Ok(play.counts)
}

struct Play<'p> {
    drawn: &'p DrawnRetrofit,
    mutant: Option<Mutant>,
    /// The source's items as applications wrote them.
    truth: Items,
    world: World<'p>,
    random: Random,
    counts: Counts,
}

/// Text of whatever shows what is wrong.
fn wrong<T>(what: &str, of: &impl Debug) -> Result<T, String> {
    Err(format!("{what}: {of:?}"))
}

impl Play<'_> {
    /// Writers, backfill and stream, in any order, until all have ended.
    fn forward(&mut self, job: &Job) {
        let mut to_scan: Vec<String> = self.world.items(TableRole::Source).keys().cloned().collect();
        for _ in 0..self.random.between(10, MOVES_MAX) {
            match self.random.below(10) {
                0..2 => self.write_source(),
                2 => drop(self.scan_next(job, &mut to_scan)),
                3..5 => drop(self.world.next_record(job)),
                _ => drop(self.world.step(job, &mut self.random)),
            }
        }
        while self.scan_next(job, &mut to_scan) {}
        self.world.drain(job, &mut self.random);
        self.release(job);
    }

    fn scan_next(&mut self, job: &Job, to_scan: &mut Vec<String>) -> bool {
        let Some(key) = to_scan.pop() else { return false };
        if let Some(item) = self.world.items(TableRole::Source).get(&key).cloned() {
            let careful = self.random.chance(30);
            self.world.start(job, job.backfill(item.clone(), careful), Some(item), None);
        }
        true
    }

    /// Every entry of the quarantine is tried again.
    fn release(&mut self, job: &Job) {
        for _ in 0..RELEASES {
            for entry in self.quarantine(job.mapping()) {
                if let Some(task) = job.release(&entry) {
                    self.world.start(job, task, None, None);
                }
            }
            self.world.drain(job, &mut self.random);
        }
    }

    /// The entries of this direction.
    fn quarantine(&self, mapping: &Mapping) -> Vec<Quarantined> {
        let rows = self.world.items(TableRole::Control).iter();
        let begins = format!("S:quarantine#{}|", mapping.rows_name());
        let entries = rows.filter(|(key, _)| key.starts_with(&begins));
        entries.filter_map(|(_, row)| Quarantined::read(row)).collect()
    }

    /// The keys of items in quarantine, in the table that items come from.
    fn quarantined(&self, mapping: &Mapping) -> BTreeSet<String> {
        let entries = self.quarantine(mapping);
        entries.iter().filter_map(|entry| key_text(mapping.source(), entry.key.as_ref()?)).collect()
    }

    /// A write of an application that knows nothing of the retrofit.
    fn write_source(&mut self) {
        let (drawn, random) = (self.drawn, &mut self.random);
        let table = drawn.mapping.source();
        let keys: Vec<String> = self.truth.keys().cloned().collect();
        let known = random.any(&keys).cloned();
        match (random.below(10), known) {
            (0, Some(text)) => {
                let Some(item) = self.truth.remove(&text) else { return };
                self.world.write(table, &table.key_of(&item).unwrap_or_default(), None);
            }
            (1..3, _) => {
                for item in messy::items(table, &drawn.source_words, 1, random) {
                    let (Some(text), Some(key)) = (key_text(table, &item), table.key_of(&item)) else {
                        continue;
                    };
                    self.truth.insert(text, item.clone());
                    self.world.write(table, &key, Some(item));
                }
            }
            (_, Some(text)) => {
                let (Some(before), Some(stored)) =
                    (self.truth.get(&text), self.world.items(TableRole::Source).get(&text))
                else {
                    return;
                };
                let Some(later) = messy::updated(table, &drawn.source_words, before, random) else { return };
                // An update changes one attribute of what is stored by now.
                let mut now = stored.clone();
                now.extend(
                    later
                        .iter()
                        .filter(|(name, value)| before.get(*name) != Some(*value))
                        .map(|(name, value)| (name.clone(), value.clone())),
                );
                before
                    .keys()
                    .filter(|name| !later.contains_key(*name))
                    .for_each(|name| drop(now.remove(name)));
                if table.check_item(&now).is_err() {
                    return;
                }
                self.truth.insert(text, later);
                let key = table.key_of(&now).unwrap_or_default();
                self.world.write(table, &key, Some(now));
            }
            _ => {}
        }
    }

    fn retrofit(&self) -> &Retrofit {
        &self.drawn.model.retrofits[0]
    }

    fn judge_forward(&mut self, job: &Job) -> Result<(), String> {
        let (drawn, mapping) = (self.drawn, job.mapping());
        for entry in self.quarantine(job.mapping()) {
            let Some(key) = &entry.key else { return wrong("an entry without an item", &entry) };
            let place = key_text(mapping.source(), key).unwrap_or_default();
            let item = self.world.items(TableRole::Source).get(&place);
            // Nor is there a reason for one that is gone or not taken.
            let fits = item.is_none_or(|item| mapping.target_item(item).is_ok());
            if fits && !QuarantineReason::is_collision(&entry.code) {
                return wrong("an item that fits is in quarantine", &entry);
            }
        }
        let announced = Mutant::announced(self.mutant, mapping);
        let judge = Judge {
            announced: &announced,
            retrofit: self.retrofit(),
            from: mapping.source(),
            to: mapping.target(),
            back: false,
        };
        let quarantined = self.quarantined(mapping);
        let target = self.world.items(TableRole::Target).values();
        let judged = judge.tables(mapping, &self.truth, target, &quarantined);
        let judged = judged.map_err(|fault| format!("{fault}\n{}", drawn.manifest))?;
        self.counts = Counts { quarantined: quarantined.len() as u64, ..self.counts }.plus(judged);
        Ok(())
    }

    /// The class of every item of both sides.
    fn classes(&mut self, job: &Job) -> Vec<(Class, Option<Item>)> {
        let options = CheckOptions::default();
        let source: Vec<Item> = self.world.items(TableRole::Source).values().cloned().collect();
        let target: Vec<Item> = match job.mapping().protocol() {
            Protocol::InPlace => Vec::new(),
            Protocol::Fenced | Protocol::Ledger => {
                self.world.items(TableRole::Target).values().cloned().collect()
            }
        };
        let from = source.into_iter().map(|item| Check::of_source(job, item, options));
        let checks: Vec<_> =
            from.chain(target.into_iter().map(|item| Check::of_target(job, item, options))).collect();
        let mut classes = Vec::new();
        for (mut check, mut step) in checks {
            let result = loop {
                step = match step {
                    CheckStep::Done(result) => break result,
                    CheckStep::Pause => check.paused(job),
                    CheckStep::Send(request) => {
                        let response = self.world.response(job.mapping(), request, &mut self.random);
                        check.respond(job, response)
                    }
                };
            };
            classes.push((result.class, result.key));
        }
        classes
    }

    fn verify(&mut self, job: &Job) -> Result<(), String> {
        let drift =
            |class: Class| class.is_drift() && !matches!(class, Class::Quarantined | Class::Collision);
        match self.classes(job).into_iter().find(|(class, _)| drift(*class)) {
            Some(found) => wrong("verify finds a difference", &found),
            None => Ok(()),
        }
    }

    /// Makes one item wrong, in an attribute that is no key of its table: `verify` must see it.
    fn plant(&mut self, job: &Job) -> Result<(), String> {
        let mapping = job.mapping();
        let table = mapping.target().clone();
        let quarantined = self.quarantined(mapping);
        let items = self.world.items(TableRole::Target).values().filter(|item| {
            let owner = mapping.owner(item).map(|owner| owner.to_string());
            !item.contains_key(TOMBSTONE_ATTRIBUTE)
                && owner.is_some_and(|owner| !quarantined.contains(&owner))
        });
        let items: Vec<Item> = items
            .filter(|item| mapping.protocol() != Protocol::InPlace || mapping.selects(item))
            .cloned()
            .collect();
        let Some(item) = self.random.any(&items) else { return Ok(()) };
        let mut planted = item.clone();
        match mapping.protocol() {
            Protocol::InPlace => {
                // A key that is the only one to hold an attribute is right whatever it says.
                let reads = |name: &str| table.attributes.get(name).is_some_and(|known| known.from_key);
                let indexes = table.indexes.iter().flat_map(Index::key_attributes);
                let mut keys = indexes.filter(|key| {
                    let causes = mapping.announced().get(&key.name);
                    causes.is_some_and(|causes| causes.contains(&Cause::FoldedKey))
                        && !key.inputs().any(reads)
                });
                let Some(name) = keys.find(|key| item.contains_key(&key.name)).map(|key| &key.name) else {
                    return Ok(());
                };
                planted.insert(name.as_str(), AttributeValue::S("planted".to_owned()));
            }
            Protocol::Fenced | Protocol::Ledger => {
                planted.insert("planted", AttributeValue::Bool(true));
            }
        }
        if table.check_item(&planted).is_err() {
            return Ok(());
        }
        self.counts.planted += 1;
        self.world.plant(&table, planted.clone());
        let keys_only = self.mutant == Some(Mutant::VerifyKeys);
        let seen = self.classes(job).into_iter().any(|(class, _)| class == Class::Different && !keys_only);
        match seen {
            true => Ok(()),
            false => wrong("verify does not see an item that is different", &planted),
        }
    }

    /// The writers move to the target, and their changes are carried back.
    fn back(&mut self, job: &Job) -> Result<(), String> {
        let there = job.mapping();
        let Ok(back) = there.reverse() else { return Ok(()) };
        let images = self.world.items(TableRole::Target).clone();
        let before = self.world.items(TableRole::Source).clone();
        let reverse = Job::new(back, Epoch::FIRST).tracked_by(Tracking::Rows).by_rows_alone();
        self.world.turn();
        let mut touched: Items = Items::new();
        for _ in 0..self.random.between(5, MOVES_MAX) {
            match self.random.below(10) {
                0..2 => self.write_target(there, &images, &mut touched),
                2..4 => drop(self.world.next_record(&reverse)),
                _ => drop(self.world.step(&reverse, &mut self.random)),
            }
        }
        self.world.drain(&reverse, &mut self.random);
        self.release(&reverse);
        self.judge_back(there, &reverse, &Before { images, source: before, touched })
    }

    /// A write of an application that folds the target's keys.
    fn write_target(&mut self, there: &Mapping, images: &Items, touched: &mut Items) {
        let (table, words) = (there.target(), &self.drawn.target_words);
        let keys: Vec<String> = self.world.items(TableRole::Source).keys().cloned().collect();
        let known =
            self.random.any(&keys).and_then(|text| self.world.items(TableRole::Source).get(text)).cloned();
        let action = self.random.below(10);
        // Where keys move, an item leaves its former key; in some programs it stays there as well.
        let leaves = there.protocol() == Protocol::Ledger && action >= 3 && self.random.chance(80);
        let left = known.as_ref().filter(|_| leaves).and_then(|item| table.key_of(item));
        let new = match (action, known) {
            (0, Some(item)) => {
                let (Some(text), Some(key)) = (key_text(table, &item), table.key_of(&item)) else { return };
                self.world.write(table, &key, None);
                drop(touched.insert(text, Item::default()));
                return;
            }
            (1..3, _) => {
                messy::items(table, words, 1, &mut self.random).pop().map(|item| messy::without_marks(&item))
            }
            // Only a note is added: what the plan promised of this item must hold.
            (3..6, Some(item)) => {
                let mut noted = item.clone();
                noted.insert("note", AttributeValue::N(self.random.below(1_000).to_string()));
                Some(noted)
            }
            (_, Some(item)) => {
                let later = messy::updated(table, words, &item, &mut self.random);
                let whole = later.and_then(|later| table.with_keys(later).ok());
                whole.map(|whole| if self.random.chance(50) { messy::without_marks(&whole) } else { whole })
            }
            (_, None) => None,
        };
        let Some(new) = new.filter(|new| table.check_item(new).is_ok()) else { return };
        let (Some(text), Some(key)) = (key_text(table, &new), table.key_of(&new)) else { return };
        // A stream has no record of a write that changes nothing.
        if self.world.items(TableRole::Source).get(&text) == Some(&new) {
            return;
        }
        let is_noted = images.get(&text).is_some_and(|image| {
            let without = |item: &Item| {
                let mut item = messy::without_marks(item);
                item.remove("note");
                item
            };
            without(image) == without(&new)
        });
        if let Some(left) = left.filter(|left| *left != key) {
            drop(key_text(table, &left).and_then(|text| touched.insert(text, Item::default())));
            self.world.write(table, &left, None);
        }
        touched.insert(text, if is_noted { new.clone() } else { Item::default() });
        self.world.write(table, &key, Some(new));
    }

    fn judge_back(&mut self, there: &Mapping, reverse: &Job, before: &Before) -> Result<(), String> {
        let back = reverse.mapping();
        let announced = Mutant::announced(self.mutant, back);
        let turned = Retrofit {
            rename: self.retrofit().rename.iter().map(|(old, new)| (new.clone(), old.clone())).collect(),
            set: Default::default(),
            ..self.retrofit().clone()
        };
        let judge = Judge {
            announced: &announced,
            retrofit: &turned,
            from: back.source(),
            to: back.target(),
            back: true,
        };
        let quarantined = self.quarantined(back);
        let now = self.world.items(TableRole::Target);
        let mut counts = self.counts;
        let mut expected_same = before.source.clone();
        let moves = there.protocol() == Protocol::Ledger;
        let image_of = |item: &Item| {
            let image = there.target_item(item).ok().flatten()?;
            Some((key_text(there.target(), &image)?, messy::without_marks(&image)))
        };
        if moves {
            // An item that was in quarantine on the way there can have an older image in the target, with which it would go.
            expected_same.retain(|_, item| {
                let carried =
                    |(text, image)| before.images.get(&text).map(messy::without_marks) == Some(image);
                image_of(item).is_some_and(carried)
            });
        }
        let place_of = |item: &Item| {
            let carried = back.target_item(item).ok().flatten()?;
            key_text(back.target(), &carried)
        };
        for text in before.touched.keys() {
            // The items of the source that wanted this key: one had it.
            let came_from = |(_, item): &(&String, &Item)| {
                moves && image_of(item).is_some_and(|(wanted, _)| wanted == *text)
            };
            before.source.iter().filter(came_from).for_each(|(left, _)| drop(expected_same.remove(left)));
            let image = self.world.items(TableRole::Source).get(text).or_else(|| before.images.get(text));
            let place = image.and_then(|item| match moves {
                true => place_of(item),
                false => {
                    let place = back.target_key(&back.source().key_of(item)?).ok().flatten()?;
                    key_text(back.target(), &place)
                }
            });
            let Some(place) = place else { continue };
            let source =
                expected_same.remove(&place).or_else(|| before.source.get(&place).filter(|_| moves).cloned());
            let target = self.world.items(TableRole::Source).get(text);
            // The item of this place is at another key now, or another item claims the place.
            let others =
                self.world.items(TableRole::Source).iter().filter(|(other, item)| {
                    moves && *other != text && place_of(item).as_ref() == Some(&place)
                });
            let is_shared = others.count() > 0;
            if target.is_none() && is_shared {
                continue;
            }
            if quarantined.contains(text) {
                counts.refused_back += 1;
                if let (Some(source), Some(image)) = (source, before.images.get(text).filter(|_| !is_shared))
                    && before.touched[text] != Item::default()
                    && promised(there, &source, image)
                {
                    return wrong("an item was promised to come back, and is in quarantine", &source);
                }
                continue;
            }
            match (target, now.get(&place)) {
                (None, None) => {}
                (None, Some(left)) if source.as_ref() == Some(left) && !takes(there, left) => {}
                // It never came to the target: an item of the target claimed its key for a while.
                (None, Some(_)) if moves && self.quarantined(there).contains(&place) => {}
                (Some(target), Some(source)) => {
                    let (target, source) = (messy::without_marks(target), messy::without_marks(source));
                    if let Some(fault) = judge.fault(&target, &source) {
                        return Err(format!(
                            "back: {fault}\nbefore {target:?}\nafter {source:?}\n{}",
                            self.drawn.manifest
                        ));
                    }
                    counts.back += 1;
                }
                sides => return wrong("back: an item is on one side alone", &sides),
            }
        }
        for (place, item) in &expected_same {
            // Where keys move, a claim that is gone again can leave another fence.
            let kept = |item: &Item| if moves { messy::without_marks(item) } else { item.clone() };
            if now.get(place).map(kept) != Some(kept(item)) {
                return wrong("back: an item was changed without a write of its image", item);
            }
        }
        self.counts = counts;
        Ok(())
    }
}

/// How both sides were before the writers moved, and what the target's writers wrote: an item that only got a note, or nothing.
struct Before {
    images: Items,
    source: Items,
    touched: Items,
}

/// Does the plan promise that this item comes back?
fn promised(there: &Mapping, source: &Item, image: &Item) -> bool {
    takes(there, source)
        && ThereAndBack::of(there).is_some_and(|mut tried| {
            tried.add(source, image);
            tried.refused().next().is_none()
        })
}

fn takes(there: &Mapping, item: &Item) -> bool {
    matches!(there.target_item(item), Ok(Some(_)))
}
