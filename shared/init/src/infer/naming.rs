//! Names for parts stored only in keys: `c#12345` is a `customer_id` if a customer's own key begins with `c#`.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{Found, Group, Piece};
use crate::draft::TableDraft;
use crate::name::{self, Style, is_key_name, joined, plain, words};

/// Entities named after an action: an order has an `ordered_at`.
const DEEDS: [&str; 8] = ["order", "invoice", "visit", "comment", "review", "post", "report", "request"];

/// The names given so far, with their prefixes in keys.
#[derive(Default)]
pub(super) struct Names {
    /// The entity of each prefix.
    owners: BTreeMap<String, String>,
    /// The prefixes before each name.
    prefixes: BTreeMap<String, BTreeSet<String>>,
    /// The values that each name has in the keys of a group.
    values: BTreeMap<(usize, String), Vec<String>>,
}

impl Names {
    /// Does the name belong to another prefix? `c#1` is not an order if orders are `o#1`.
    pub(super) fn is_of_another(&self, name: &str, word: &str) -> bool {
        let known = self.prefixes.get(name);
        !word.is_empty()
            && known.is_some_and(|known| {
                !known.contains(word)
                    && known.iter().any(|one| !one.is_empty())
                    && !plain(name).contains(word)
            })
    }

    /// Names each part that is in no attribute.
    pub(super) fn give(&mut self, table: &TableDraft, groups: &[Group], found: &mut Found) {
        if self.owners.is_empty() {
            self.owners = owners(table, groups, found);
        }
        let style = name::style(table.attributes.keys().map(String::as_str));
        for ((at, key), pieces) in found.iter_mut() {
            let entity = groups[*at].entity.map(|at| table.entities[at].name.as_str());
            let mut before = String::new();
            let mut taken: Vec<String> = Vec::new();
            for piece in pieces.iter_mut() {
                match piece {
                    Piece::Text(text, _) => {
                        let mut words = text.split(['#', '|', '/', ':', '$']).filter(|word| !word.is_empty());
                        before = words.next_back().unwrap_or_default().to_owned();
                    }
                    Piece::Part { attribute, .. } => {
                        taken.push(attribute.clone());
                        before.clear();
                    }
                    Piece::KeyOnly { name: Some(name), .. } => taken.push(name.clone()),
                    Piece::KeyOnly { name, values, is_time } => {
                        let part =
                            Part { table, entity, key, style, before: &before, values, is_time: *is_time };
                        let base = self.name(&part, taken.is_empty());
                        // Different values need different names.
                        let free = |chosen: &String| {
                            let known = self.values.get(&(*at, chosen.clone()));
                            !taken.contains(chosen)
                                && known.is_none_or(|known| known.len() != values.len() || known == values)
                        };
                        let mut numbered = (2..).map(|number: usize| format!("{base}{number}"));
                        let chosen = if free(&base) {
                            base.clone()
                        } else {
                            numbered.find(free).unwrap_or(base.clone())
                        };
                        self.values.entry((*at, chosen.clone())).or_insert_with(|| values.clone());
                        self.prefixes.entry(chosen.clone()).or_default().insert(plain(&before));
                        taken.push(chosen.clone());
                        *name = Some(chosen);
                        before.clear();
                    }
                    Piece::Tail(_) => {}
                }
            }
        }
    }

    fn name(&self, part: &Part<'_>, is_first: bool) -> String {
        let word = plain(part.before.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()));
        if let Some(attribute) = part.attribute(&word) {
            return attribute;
        }
        if let Some(owner) = self.owners.get(&word).filter(|_| !part.is_time) {
            return joined(&[words(owner), vec!["id".to_owned()]].concat(), part.style);
        }
        if part.is_time || word.len() < 2 {
            return part.by_key(is_first);
        }
        let mut all = words(part.before);
        if matches!(word.as_str(), "shard" | "bucket") {
            return joined(&all, part.style);
        }
        if all.last().is_none_or(|last| last != "id") {
            all.push("id".to_owned());
        }
        joined(&all, part.style)
    }
}

/// A part that is in no attribute, with its position.
struct Part<'a> {
    table: &'a TableDraft,
    entity: Option<&'a str>,
    key: &'a str,
    style: Style,
    before: &'a str,
    values: &'a [String],
    is_time: bool,
}

impl Part<'_> {
    /// An attribute of the table that the prefix names.
    fn attribute(&self, word: &str) -> Option<String> {
        let keys = self.table.key_attributes();
        let same = |attribute: &&String| {
            let known = plain(attribute);
            !word.is_empty()
                && known.len() > 2
                && (known == word
                    || word.ends_with(&known)
                    || (!self.is_time && known == format!("{word}id")))
                && !keys.contains(attribute)
        };
        self.table.attributes.keys().filter(same).max_by_key(|name| name.len()).cloned()
    }

    fn is_own_key(&self) -> bool {
        self.table.sort.as_ref().or(self.table.partition.as_ref()).is_some_and(|own| own == self.key)
    }

    /// A name for a part without a useful prefix: from the key's name, from the entity, or generic.
    fn by_key(&self, is_first: bool) -> String {
        let has_hour = self.values.iter().all(|value| value.contains('T'));
        let digits = self.values.iter().all(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
        let word = |text: &str| vec![text.to_owned()];
        if !is_key_name(self.key) {
            let mut all = words(self.key);
            let style = match self.key.chars().next() {
                Some(first) if first.is_ascii_uppercase() => Style::Pascal,
                _ => self.style,
            };
            if all.len() > 1 && all.last().is_some_and(|last| matches!(last.as_str(), "id" | "key")) {
                all.pop();
            }
            let suffix = if self.is_time {
                "date"
            } else if digits {
                "seq"
            } else {
                "part"
            };
            return joined(&[all, word(suffix)].concat(), style);
        }
        let plain_name = match (self.is_time, has_hour) {
            (true, true) => "timestamp",
            (true, false) => "date",
            (false, _) => "id",
        };
        let is_free = !self.table.attributes.contains_key(plain_name);
        let Some(entity) = self.entity.filter(|name| !name.is_empty()) else {
            let subject = name::id(self.table.title(), "item");
            return match is_free && (self.is_time || is_first) {
                true => plain_name.to_owned(),
                false => joined(&[words(&subject), word(&plain(self.key))].concat(), self.style),
            };
        };
        let all = words(entity);
        let first = all.first().cloned().unwrap_or_default();
        match (self.is_time, has_hour) {
            (true, true) if DEEDS.contains(&first.as_str()) => {
                let past = if first.ends_with('e') { first + "d" } else { first + "ed" };
                joined(&[past, "at".to_owned()], self.style)
            }
            (true, true) => joined(&[all, word("at")].concat(), self.style),
            (true, false) => joined(&[all, word("date")].concat(), self.style),
            (false, _) if self.is_own_key() => joined(&[all, word("id")].concat(), self.style),
            (false, _) => joined(&[all, word(&plain(self.key))].concat(), self.style),
        }
    }
}

/// The entity of each prefix: the one whose own key begins with it, `c#` customers, `pmn#` payments.
fn owners(table: &TableDraft, groups: &[Group], found: &Found) -> BTreeMap<String, String> {
    let pieces = |at: usize, key: &Option<String>| found.get(&(at, key.clone()?)).map(Vec::as_slice);
    let first_word = |at: usize, key: &Option<String>| match pieces(at, key)? {
        [Piece::Text(text, _), Piece::KeyOnly { .. }] => Some(plain(text)),
        _ => None,
    };
    let mut owners: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        let Some(entity) = group.entity.and_then(|at| table.entities.get(at)) else { continue };
        let (partition, sort) = (first_word(at, &table.partition), first_word(at, &table.sort));
        // Items that share a partition key belong to what it names: `PATIENT#1` is not the id of a visit.
        let is_alone = pieces(at, &table.sort).is_none_or(|pieces| matches!(pieces, [Piece::Text(..)]));
        let Some(word) = sort.or_else(|| partition.clone().filter(|_| is_alone)) else { continue };
        // Its partition key has this prefix too, and its name is short: the owner, not a part of it.
        let rank = (usize::from(partition.as_ref() != Some(&word)), entity.name.len(), entity.name.clone());
        match owners.get(&word) {
            Some(known) if *known <= rank => {}
            _ => {
                owners.insert(word, rank);
            }
        }
    }
    // Prefixes of partition keys only: the first word of the shortest entity name with the same first letters. An
    // `orderItem` is a part of an `order`.
    for (at, group) in groups.iter().enumerate() {
        if group.entity.is_none() {
            continue;
        }
        let Some(word) = first_word(at, &table.partition) else { continue };
        if owners.contains_key(&word) || word.is_empty() {
            continue;
        }
        let fits = |name: &&String| name.to_lowercase().starts_with(&word);
        let names: Vec<&String> = table.entities.iter().map(|entity| &entity.name).collect();
        if let Some(name) = names.into_iter().filter(fits).min_by_key(|name| name.len()) {
            let first = words(name).into_iter().next().unwrap_or_default();
            owners.insert(word, (2, name.len(), first));
        }
    }
    owners.into_iter().map(|(word, (_, _, name))| (word, name)).collect()
}
