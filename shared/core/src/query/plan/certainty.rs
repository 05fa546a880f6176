//! Facts about every item that fulfils all clauses, and the value of another condition under them.
//!
//! The value is true, false or unknown. An entity whose own conditions are false is excluded; if they are unknown, it
//! stays.

use super::path::SmallList;
use crate::condition::{Comparison, Condition, Path};
use crate::value::{AttributeValue, equal};

/// The value of a condition for every item that fulfils the clauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    Holds,
    Fails,
    Unknown,
}

impl Certainty {
    fn not(self) -> Certainty {
        match self {
            Certainty::Holds => Certainty::Fails,
            Certainty::Fails => Certainty::Holds,
            Certainty::Unknown => Certainty::Unknown,
        }
    }

    /// False if a part is false, otherwise unknown if a part is unknown.
    fn all(parts: impl Iterator<Item = Certainty>) -> Certainty {
        let mut all = Certainty::Holds;
        for part in parts {
            match part {
                Certainty::Fails => return Certainty::Fails,
                Certainty::Unknown => all = Certainty::Unknown,
                Certainty::Holds => {}
            }
        }
        all
    }
}

/// A fact about one attribute.
#[derive(Debug, Clone, PartialEq)]
enum Fact<'a> {
    /// The item has it.
    Present,
    /// The item lacks it.
    Absent,
    /// It has one of these values.
    OneOf(SmallList<&'a AttributeValue>),
}

/// Room for the facts about the attributes of a few clauses and of one entity.
const FACTS_GUESSED: usize = 16;

/// The facts about an item.
#[derive(Debug, Clone, Default)]
pub(super) struct Certain<'a> {
    known: Vec<(&'a str, Fact<'a>)>,
    /// Two clauses contradict each other, so no such item exists.
    pub(super) is_impossible: bool,
}

impl<'a> Certain<'a> {
    /// The facts about an item that has and lacks these attributes and fulfils all these clauses.
    pub(super) fn of(
        present: impl IntoIterator<Item = &'a str>,
        absent: impl IntoIterator<Item = &'a str>,
        clauses: impl Iterator<Item = &'a Condition> + Clone,
    ) -> Certain<'a> {
        let mut certain = Certain { known: Vec::with_capacity(FACTS_GUESSED), is_impossible: false };
        for clause in clauses.clone() {
            if let Condition::Is(path, comparison) = clause {
                certain.learn_comparison(path, comparison);
            }
        }
        // Of most entities a clause excludes every item, and the attributes are many.
        if certain.is_impossible {
            return certain;
        }
        present.into_iter().for_each(|name| certain.learn(name, Fact::Present));
        absent.into_iter().for_each(|name| certain.learn(name, Fact::Absent));
        // Each clause must agree with the facts from the others: an `=` excludes a range, an `in` can lose values.
        certain.is_impossible |= clauses.into_iter().any(|clause| certain.says(clause) == Certainty::Fails);
        certain
    }

    fn learn_comparison(&mut self, path: &'a Path, comparison: &'a Comparison) {
        let known = match (path.as_attribute(), comparison) {
            (Some(_), Comparison::Equal(value)) => Fact::OneOf(SmallList::from_iter([value])),
            (Some(_), Comparison::In(values)) => Fact::OneOf(values.iter().collect()),
            (Some(_), Comparison::Exists(false)) => Fact::Absent,
            (None, Comparison::Exists(false)) => return,
            _ => Fact::Present,
        };
        self.learn(&path.root, known);
    }

    fn learn(&mut self, name: &'a str, new: Fact<'a>) {
        let Some((_, known)) = self.known.iter_mut().find(|(known, _)| *known == name) else {
            self.known.push((name, new));
            return;
        };
        match (&mut *known, new) {
            (Fact::Absent, Fact::Absent) | (Fact::Present | Fact::OneOf(_), Fact::Present) => {}
            (Fact::Absent, _) | (_, Fact::Absent) => self.is_impossible = true,
            (Fact::Present, one_of) => *known = one_of,
            (Fact::OneOf(values), Fact::OneOf(others)) => {
                values.retain(|value| others.iter().any(|other| equal(value, other)));
                self.is_impossible |= values.is_empty();
            }
        }
    }

    fn about(&self, name: &str) -> Option<&Fact<'a>> {
        self.known.iter().find(|(known, _)| *known == name).map(|(_, known)| known)
    }

    /// The value of a condition for such an item.
    pub(super) fn says(&self, condition: &Condition) -> Certainty {
        match condition {
            Condition::Is(path, comparison) => self.compares(path, comparison),
            Condition::All(parts) => Certainty::all(parts.iter().map(|part| self.says(part))),
            Condition::Any(parts) => Certainty::all(parts.iter().map(|part| self.says(part).not())).not(),
            Condition::Not(inner) => self.says(inner).not(),
        }
    }

    fn compares(&self, path: &Path, comparison: &Comparison) -> Certainty {
        match (self.about(&path.root), path.as_attribute(), comparison) {
            (Some(Fact::Absent), _, _) if comparison.holds(None) => Certainty::Holds,
            (Some(Fact::Absent), _, _) => Certainty::Fails,
            (Some(Fact::Present | Fact::OneOf(_)), Some(_), Comparison::Exists(true)) => Certainty::Holds,
            (Some(Fact::Present | Fact::OneOf(_)), Some(_), Comparison::Exists(false)) => Certainty::Fails,
            (Some(Fact::OneOf(values)), Some(_), _) => {
                let passing = values.iter().filter(|value| comparison.holds(Some(value))).count();
                match passing {
                    0 => Certainty::Fails,
                    all if all == values.len() => Certainty::Holds,
                    _ => Certainty::Unknown,
                }
            }
            _ => Certainty::Unknown,
        }
    }
}
