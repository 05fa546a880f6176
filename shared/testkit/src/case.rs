//! One seed, one case, one result: a random model with items and a request; the planner's answer against the naive one.

mod features;
mod judge;
mod report;
mod shrink;

use std::str::FromStr;

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::readiness::{Pending, Readiness};

use crate::generate::{self, Asking, CaseItem, Random, Words};
pub use features::{FEATURES, features};
pub use judge::{CaseResult, Failure, judge};
pub use report::report;
pub use shrink::shrunk;

/// Maximum items of a case.
const ITEMS_MAX: usize = 40;
/// How many manifests are drawn before the generator counts as broken.
const MANIFESTS_MAX: usize = 2000;

/// A model, items and a request.
#[derive(Debug, Clone)]
pub struct Case {
    /// Where it came from.
    pub seed: u64,
    /// The manifest.
    pub manifest: String,
    /// The parsed model.
    pub model: Model,
    /// The items, with their keys.
    pub items: Vec<CaseItem>,
    /// The request.
    pub asking: Asking,
    /// The indexes that a retrofit still fills. They hold no item: the hardest case of an index that lacks some.
    pub pending: Vec<String>,
    /// Later versions of some items, with the same primary keys, which no global index has seen yet.
    pub changed: Vec<CaseItem>,
    /// How many manifests were drawn that had mistakes, before this one.
    pub manifests_refused: usize,
}

/// The seeds of an argument: `FROM..TO`, or one seed.
pub fn seeds(argument: &str) -> Option<std::ops::Range<u64>> {
    match argument.split_once("..") {
        Some((from, to)) => Some(from.parse().ok()?..to.parse().ok()?),
        None => argument.parse().ok().map(|seed| seed..seed + 1),
    }
}

/// The number in this environment variable, or the default.
pub fn setting<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

impl Case {
    /// The case of this seed. Panics if no manifest out of many is a good one: then the generator is broken.
    pub fn new(seed: u64) -> Case {
        let mut random = Random::new(seed);
        let (manifest, model, manifests_refused) = good_manifest(&mut random);
        let table = &model.tables[0];
        let words = Words::draw(table, &mut random);
        let most = random.between(0, ITEMS_MAX);
        let items = generate::items(table, &words, most, &mut random.fork());
        let asking = generate::request(table, &words, &items, &mut random.fork());
        let pending = generate::pending(table, &mut random.fork());
        let changed = generate::changed(table, &words, &items, &mut random.fork());
        Case { seed, manifest, items, asking, pending, changed, manifests_refused, model }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.model.tables[0]
    }

    /// The readiness of the indexes, as the planner sees it.
    pub fn readiness(&self) -> Readiness {
        let mut readiness = Readiness::complete();
        for index in &self.pending {
            let pending =
                Pending::Retrofit { retrofit: "fill".to_owned(), progress: "0 of 1 segments".to_owned() };
            readiness.add_index(&self.table().id, index, pending);
        }
        readiness
    }
}

/// A manifest without mistakes, its model, and how many others were drawn before it.
pub fn good_manifest(random: &mut Random) -> (String, Model, usize) {
    let mut mistakes = String::new();
    for refused in 0..MANIFESTS_MAX {
        let text = generate::manifest(&mut random.fork());
        let parsed = manifest::parse("case.toml", &text);
        mistakes = parsed.render(&text, false);
        if let Some(model) = parsed.model {
            return (text, model, refused);
        }
    }
    panic!("{MANIFESTS_MAX} manifests were refused, the last one:\n{mistakes}");
}
