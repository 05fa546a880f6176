//! Why items do not fit a retrofit: by attribute, index and reason, with counts and a few keys. Never with what an item holds.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::index::{ItemError, ItemProblem};
use crate::key::FoldProblem;
use crate::value::Item;

/// The number of keys kept as examples of one reason.
pub const EXAMPLES_MAX: usize = 3;

/// A reason why a value or an item does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MisfitKind {
    /// An attribute is absent that must be there.
    Missing,
    /// It is there, and a part of the key before it is absent.
    Gap,
    /// It has another type than is declared.
    WrongType,
    /// The manifest lists the values, or maps them, and this is another value.
    Unlisted,
    /// The key would be over DynamoDB's limit.
    TooLong,
    /// It is empty where it may not be.
    Empty,
    /// It is no timestamp or date, or a more precise one than the key has.
    BadTimestamp,
    /// The number does not fit into the width of the key.
    OutOfWidth,
    /// The item would be over DynamoDB's limit.
    TooLarge,
    /// It is of no entity, and only entities give it a key.
    NoEntity,
    /// Another item has the same key.
    Collides,
    /// Something else: the code says what.
    Other,
}

impl MisfitKind {
    /// Every kind, with its name in rows, documents and messages.
    const NAMES: [(MisfitKind, &'static str); 12] = [
        (MisfitKind::Missing, "missing"),
        (MisfitKind::Gap, "gap before it"),
        (MisfitKind::WrongType, "wrong type"),
        (MisfitKind::Unlisted, "unlisted value"),
        (MisfitKind::TooLong, "too long"),
        (MisfitKind::Empty, "empty"),
        (MisfitKind::BadTimestamp, "bad timestamp"),
        (MisfitKind::OutOfWidth, "number out of width"),
        (MisfitKind::TooLarge, "too large"),
        (MisfitKind::NoEntity, "of no entity"),
        (MisfitKind::Collides, "collides"),
        (MisfitKind::Other, "other"),
    ];

    /// Its name in rows, documents and messages.
    pub fn name(self) -> &'static str {
        MisfitKind::NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    pub(super) fn named(name: &str) -> Option<MisfitKind> {
        MisfitKind::NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Derived from the code alone.
    fn of_code(code: &str) -> MisfitKind {
        match code {
            "item-attribute-required" | "item-key-missing" => MisfitKind::Missing,
            "item-attribute-type" | "item-key-type" => MisfitKind::WrongType,
            "item-value-not-listed" => MisfitKind::Unlisted,
            "item-key-too-long" => MisfitKind::TooLong,
            "item-key-empty" | "item-set-empty" => MisfitKind::Empty,
            "item-key-time" => MisfitKind::BadTimestamp,
            "item-too-large" => MisfitKind::TooLarge,
            "item-no-entity" => MisfitKind::NoEntity,
            "target-key-collision" | "target-item-foreign" => MisfitKind::Collides,
            _ => MisfitKind::Other,
        }
    }

    fn of_fold(problem: &FoldProblem) -> MisfitKind {
        match problem {
            FoldProblem::WrongType { .. } | FoldProblem::NotText | FoldProblem::NotANumber => {
                MisfitKind::WrongType
            }
            FoldProblem::NotListed | FoldProblem::NotInMap { .. } => MisfitKind::Unlisted,
            FoldProblem::NotAnInteger { .. } | FoldProblem::NoRemainder => MisfitKind::OutOfWidth,
            FoldProblem::NotATimestamp | FoldProblem::TooFine { .. } | FoldProblem::NotADate => {
                MisfitKind::BadTimestamp
            }
            FoldProblem::EmptyOptional | FoldProblem::EmptyKey => MisfitKind::Empty,
            FoldProblem::OptionalGap => MisfitKind::Gap,
            FoldProblem::TooLong { .. } => MisfitKind::TooLong,
            FoldProblem::Separator { .. } => MisfitKind::Other,
        }
    }
}

/// Why an item does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Misfit {
    /// The attribute, if it is about one.
    pub attribute: Option<String>,
    /// The index whose key it is about, if it is about one.
    pub index: Option<String>,
    /// The reason.
    pub kind: MisfitKind,
    /// The code of the item's error, of DynamoDB's, or of the quarantine.
    pub code: String,
}

impl Misfit {
    /// The misfit of an item's error. In a key that cannot be folded, it is about the attribute that the key is made of.
    pub fn of(error: &ItemError) -> Misfit {
        let of_place = error.at.attribute.as_deref();
        let (attribute, kind) = match &error.problem {
            ItemProblem::Fold(error) => {
                (error.attribute.as_deref().or(of_place), MisfitKind::of_fold(&error.problem))
            }
            _ => (of_place, MisfitKind::of_code(error.code())),
        };
        Misfit {
            attribute: attribute.map(str::to_owned),
            index: error.at.index.clone(),
            kind,
            code: error.code().to_owned(),
        }
    }

    /// The misfit of a code alone.
    pub fn of_code(code: &str) -> Misfit {
        Misfit { attribute: None, index: None, kind: MisfitKind::of_code(code), code: code.to_owned() }
    }

    /// All of it in one text: two misfits with the same text are the same.
    pub(super) fn text(&self) -> String {
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        [self.code.clone(), self.kind.name().to_owned(), name(&self.attribute), name(&self.index)].join("|")
    }

    /// The reason in words; a code where there are none.
    pub fn reason(&self) -> &str {
        if self.kind == MisfitKind::Other { &self.code } else { self.kind.name() }
    }

    /// As a document.
    pub fn json(&self) -> Value {
        json!({ "attribute": self.attribute, "index": self.index, "reason": self.reason(), "code": self.code })
    }
}

/// The keys of some items, as DynamoDB JSON.
pub(super) fn keys(examples: &[Item]) -> String {
    let keys = examples.iter().map(|key| serde_json::to_string(key).unwrap_or_default());
    keys.collect::<Vec<_>>().join(" ")
}

/// How many items do not fit, by reason.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Misfits {
    found: BTreeMap<Misfit, Tally>,
}

/// A number of items, with the keys of some.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) items: u64,
    pub(super) examples: Vec<Item>,
}

impl Tally {
    /// Counts an item, by its key if that is known.
    pub(super) fn add(&mut self, key: Option<&Item>) {
        self.items += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.extend(key.cloned());
        }
    }
}

/// One reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MisfitCount<'m> {
    /// The reason.
    pub misfit: &'m Misfit,
    /// How many items.
    pub items: u64,
    /// The keys of some of them.
    pub examples: &'m [Item],
}

impl Misfits {
    /// Counts an item, by its key if that is known.
    pub fn add(&mut self, misfit: Misfit, key: Option<&Item>) {
        self.found.entry(misfit).or_default().add(key);
    }

    /// Does every item fit?
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Each reason, in the order of attributes.
    pub fn counts(&self) -> impl Iterator<Item = MisfitCount<'_>> {
        self.found.iter().map(|(misfit, tally)| MisfitCount {
            misfit,
            items: tally.items,
            examples: &tally.examples,
        })
    }

    /// The same with other numbers of items: a sample's as those of the whole table.
    #[must_use]
    pub fn scaled(mut self, up: impl Fn(u64) -> u64) -> Misfits {
        self.found.values_mut().for_each(|tally| tally.items = up(tally.items));
        self
    }

    /// As a table for people; empty if every item fits.
    pub fn table(&self) -> Vec<Vec<String>> {
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
        let row = |MisfitCount { misfit, items, examples }: MisfitCount<'_>| {
            let reason = misfit.reason().to_owned();
            vec![name(&misfit.attribute), reason, name(&misfit.index), items.to_string(), keys(examples)]
        };
        let head = ["attribute", "reason", "index", "items", "keys"].map(str::to_owned).to_vec();
        let head = (!self.is_empty()).then_some(head);
        head.into_iter().chain(self.counts().map(row)).collect()
    }

    /// As a document.
    pub fn json(&self) -> Value {
        let one = |count: MisfitCount<'_>| {
            let mut one = count.misfit.json();
            one["items"] = json!(count.items);
            one["examples"] = json!(count.examples);
            one
        };
        Value::Array(self.counts().map(one).collect())
    }
}
