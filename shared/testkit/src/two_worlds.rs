//! Checks what one tenant can learn about another: the same requests in two worlds that differ only in the other's
//! items.
//!
//! Everything the caller sees must be the same in both: items, counts, read units, entries read, where pages end,
//! whether there is a next one, and every error. A filter alone does not achieve that: it hides the items, but shows
//! their cost.

use std::collections::BTreeMap;

use keyfold_core::attribute::AttributeKind;
use keyfold_core::execute::{Answer, AnswerError, RunOptions};
use keyfold_core::model::{KeySource, Model, Table};
use keyfold_core::query::check::Caller;
use keyfold_core::query::{Condition, QueryPlan, QueryRequest, Readiness, check, plan};
use keyfold_core::value::AttributeValue;

use crate::case::good_manifest;
use crate::generate::{self, Random, Words};
use crate::run::pages;
use crate::table::ModelTable;

/// Maximum items of both worlds together.
const ITEMS_MAX: usize = 60;
/// Maximum pages of one answer that are compared.
const PAGES_MAX: usize = 40;
/// The claim that the scope is bound to.
const CLAIM: &str = "jwt.org";
/// How many pairs are drawn before the generator counts as broken.
const PAIRS_MAX: usize = 1000;

/// Two worlds, and a tenant in both.
#[derive(Debug)]
pub struct TwoWorlds {
    /// The manifest, without its scope: that is drawn here.
    pub manifest: String,
    /// The attribute of the scope.
    pub attribute: String,
    model: Model,
    words: Words,
    caller: Caller,
    own: Vec<generate::CaseItem>,
    all: Vec<generate::CaseItem>,
    worlds: [ModelTable; 2],
    random: Random,
}

/// The result of a request in both worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgreedOutcome {
    /// It does not fit the model: the code of the error.
    Invalid(&'static str),
    /// There is no plan: the code of the error.
    Refused(&'static str),
    /// No item can match, so nothing is read.
    NothingRead,
    /// The same answer in both worlds. `any`: it contains items. `hidden`: the cost of its one item is hidden.
    Same {
        /// With items?
        any: bool,
        /// Of one item by its key, in the scope or not?
        hidden: bool,
    },
}

impl TwoWorlds {
    /// The pair of this seed.
    pub fn new(seed: u64) -> TwoWorlds {
        let mut random = Random::new(seed);
        for _ in 0..PAIRS_MAX {
            if let Some(pair) = TwoWorlds::drawn(&mut random) {
                return pair;
            }
        }
        panic!("{PAIRS_MAX} pairs of worlds came to nothing");
    }

    fn drawn(random: &mut Random) -> Option<TwoWorlds> {
        let (manifest, mut model, _) = good_manifest(random);
        let attribute = scope(&model.tables[0], random)?;
        model.tables[0].scope = BTreeMap::from([(attribute.clone(), CLAIM.to_owned())]);
        let table = &model.tables[0];
        let words = Words::draw(table, random);
        let mut all = generate::items(table, &words, ITEMS_MAX, &mut random.fork());
        all.iter_mut().for_each(|item| make_larger(item, random));
        let text = |item: &generate::CaseItem| match item.seen.as_ref()?.get(&attribute)? {
            AttributeValue::S(text) => Some(text.clone()),
            _ => None,
        };
        let organisation = text(random.any(&all)?)?;
        // A tombstone has only its key, so it is in both worlds, regardless of the former owner.
        let is_own =
            |item: &generate::CaseItem| item.seen.is_none() || text(item).as_ref() == Some(&organisation);
        let (own, others): (Vec<_>, Vec<_>) = all.iter().cloned().partition(is_own);
        if others.is_empty() {
            return None;
        }
        let worlds = [world(table, &own, &others, random)?, world(table, &own, &others, random)?];
        let caller = Caller::Claims(BTreeMap::from([(CLAIM.to_owned(), organisation)]));
        let random = random.fork();
        Some(TwoWorlds { manifest, attribute, words, caller, own, all, worlds, random, model })
    }

    /// Sends one more request in both worlds. `Err` describes a difference that the caller can see.
    pub fn ask(&mut self) -> Result<AgreedOutcome, String> {
        let table = &self.model.tables[0];
        // Half of the requests are aimed at the caller's own items, the others at anybody's.
        let aimed = if self.random.chance(50) { &self.own } else { &self.all };
        let request = generate::request(table, &self.words, aimed, &mut self.random.fork()).request;
        let checked = match check(&self.model, &request, &self.caller) {
            Ok(checked) => checked,
            Err(error) => return Ok(AgreedOutcome::Invalid(error.code())),
        };
        let plan = match plan(&checked, &Readiness::complete()) {
            Ok(plan) => plan,
            Err(error) => return Ok(AgreedOutcome::Refused(error.code())),
        };
        let options = options(&mut self.random);
        let seed = self.random.draw();
        let [one, other] = &self.worlds;
        let read = |world| {
            pages(&plan, world, &options, &mut Random::new(seed), PAGES_MAX)
                .map_err(|error| error.to_string())
        };
        let (one, other) = (read(one)?, read(other)?);
        if one != other {
            return Err(self.report(&request, &plan, &options, &one, &other));
        }
        Ok(match plan.accesses.is_empty() {
            true => AgreedOutcome::NothingRead,
            false => AgreedOutcome::Same {
                any: one.iter().flatten().any(|page| page.count > 0),
                hidden: plan.hides_cost,
            },
        })
    }

    fn report(
        &self,
        request: &QueryRequest,
        plan: &QueryPlan,
        options: &RunOptions,
        one: &[Result<Answer, AnswerError>],
        other: &[Result<Answer, AnswerError>],
    ) -> String {
        format!(
            "a caller tells another's items apart\n{}\nscope: {} by {:?}\n{request:?}\n{plan:#?}\n{options:?}\n\nin one world:\n{one:?}\n\n\
             in the other:\n{other:?}",
            self.manifest, self.attribute, self.caller
        )
    }
}

/// An attribute that can be a scope: a text, most often one that some partition key has.
fn scope(table: &Table, random: &mut Random) -> Option<String> {
    let is_text = |name: &&str| {
        table
            .attributes
            .get(*name)
            .is_some_and(|known| known.kind == AttributeKind::String && known.maps.is_empty())
    };
    let partitions = table.indexes.iter().flat_map(|index| &index.partition).chain([&table.partition]);
    let in_keys: Vec<&str> = partitions.flat_map(inputs).filter(is_text).collect();
    let any: Vec<&str> = table.attributes.keys().map(String::as_str).filter(is_text).collect();
    let among = if random.chance(85) && !in_keys.is_empty() { &in_keys } else { &any };
    random.any(among).map(|name| (*name).to_owned())
}

fn inputs(key: &keyfold_core::model::KeyAttribute) -> Vec<&str> {
    match &key.source {
        KeySource::Natural => vec![&key.name],
        KeySource::Folded(rules) => rules.iter().flat_map(|rule| rule.template.attributes()).collect(),
    }
}

/// Some of the others' items, and all of one's own.
fn world(
    table: &Table,
    own: &[generate::CaseItem],
    others: &[generate::CaseItem],
    random: &mut Random,
) -> Option<ModelTable> {
    let share = *random.pick(&[0, 30, 60, 100]);
    let mut world = ModelTable::new(table);
    let mut others: Vec<_> = others.iter().filter(|_| random.chance(share)).cloned().collect();
    others.iter_mut().for_each(|item| make_larger(item, random));
    for item in own.iter().chain(&others) {
        world.put(item.stored.clone(), &Condition::always()).ok()?;
    }
    Some(world)
}

/// Makes items larger than one read unit, so that sizes show in the cost.
fn make_larger(item: &mut generate::CaseItem, random: &mut Random) {
    if item.seen.is_some() && random.chance(40) {
        let text = "x".repeat(random.between(1, 30) * 1000);
        item.stored.insert("filler".to_owned(), AttributeValue::S(text));
    }
}

fn options(random: &mut Random) -> RunOptions {
    RunOptions {
        concurrency_max: *random.pick(&[1, 3, 8]),
        read_units_max: *random.pick(&[None, None, Some(1.0), Some(4.0), Some(20.0), Some(500.0)]),
        page_items_max: *random.pick(&[1, 3, 1000, 1000]),
    }
}
