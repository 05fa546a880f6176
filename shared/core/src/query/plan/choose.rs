//! The candidates for a request, their prices, and the cheapest.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::build::{Built, Place, Task};
use super::estimate;
use super::facts::{alternatives, clauses};
use super::ground::Ground;
use super::keyspace::Keyspace;
use super::merge::join_neighbours;
use super::reject::{Reason, Rejected};
use super::scope::Scope;
use super::{Access, Delivery, delivery};
use crate::condition::Condition;
use crate::model::IndexKind;
use crate::query::check::CheckedRequest;

/// A way of answering everything that is asked.
#[derive(Debug, Clone)]
pub(super) struct Candidate<'a> {
    built: Vec<Built<'a>>,
    delivery: Delivery,
    units: f64,
}

impl Candidate<'_> {
    /// Cheaper first; then what need not be sorted here, fewer requests, fewer conditions left, the table before local
    /// before global indexes.
    fn rank(&self, other: &Candidate<'_>) -> Ordering {
        self.figures().cmp(&other.figures()).then_with(|| self.sources().cmp(other.sources()))
    }

    fn figures(&self) -> (u64, bool, usize, usize) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "never negative; half units"
        )]
        let half_units = (self.units * 2.0).min(1e15) as u64;
        let left = self.built.iter().map(|built| built.left().count()).sum();
        let is_sorted_here = matches!(self.delivery, Delivery::SortedInMemory { .. });
        (half_units, is_sorted_here, self.built.len(), left)
    }

    fn sources(&self) -> impl Iterator<Item = impl Ord> {
        self.built.iter().map(|built| (built.place.preference(), built.descending))
    }

    fn is_better_than(&self, other: Option<&Candidate<'_>>) -> bool {
        other.is_none_or(|other| self.rank(other).is_lt())
    }
}

/// What was chosen, if anything can be, and all that was turned down.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) best: Option<Chosen>,
    pub(super) rejected: Vec<Rejected>,
}

/// The reads that were chosen.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) accesses: Vec<Access>,
    pub(super) delivery: Delivery,
    pub(super) units: f64,
}

/// Finds the cheapest way: the condition as one conjunction, or each alternative of its `or`s by itself.
pub(super) fn choose(request: &CheckedRequest<'_>) -> Outcome {
    let ground = Ground::of(request);
    let clauses = clauses(&request.condition);
    let Offers { mut best, rejected } = conjunction(&ground, &clauses);
    let conjuncts = alternatives(&clauses).map(|alternatives| conjuncts(&alternatives)).unwrap_or_default();
    if let Some(union) = apart(&ground, &conjuncts)
        && union.is_better_than(best.as_ref())
    {
        best = Some(union);
    }
    Outcome { best: best.map(Chosen::from), rejected }
}

impl From<Candidate<'_>> for Chosen {
    fn from(candidate: Candidate<'_>) -> Chosen {
        Chosen {
            accesses: candidate.built.into_iter().map(Built::into_access).collect(),
            delivery: candidate.delivery,
            units: candidate.units,
        }
    }
}

/// Each alternative by itself; what an earlier one already gave is filtered out of the later ones.
fn conjuncts(alternatives: &[Vec<Condition>]) -> Vec<Vec<Cow<'static, Condition>>> {
    let mut earlier: Vec<Condition> = Vec::new();
    let conjunct = |alternative: &Vec<Condition>| {
        let own = alternative.iter().cloned();
        let conjunct = own.chain(earlier.iter().cloned()).map(Cow::Owned).collect();
        earlier.push(Condition::Not(Box::new(Condition::all(alternative.iter().cloned()))));
        conjunct
    };
    alternatives.iter().map(conjunct).collect()
}

/// Each alternative answered by itself. None: there are no alternatives, or one of them has no answer.
fn apart<'a>(ground: &'a Ground<'a>, conjuncts: &'a [Vec<Cow<'static, Condition>>]) -> Option<Candidate<'a>> {
    if conjuncts.is_empty() {
        return None;
    }
    let mut built = Vec::new();
    for conjunct in conjuncts {
        built.extend(conjunction(ground, conjunct).best?.built);
    }
    candidate(ground, built).ok()
}

/// The best candidate so far, and what it was preferred to.
#[derive(Debug, Default)]
struct Offers<'a> {
    best: Option<Candidate<'a>>,
    rejected: Vec<Rejected>,
}

fn conjunction<'a>(ground: &'a Ground<'a>, conjunct: &'a [Cow<'a, Condition>]) -> Offers<'a> {
    let scope = Scope::new(ground, &ground.wanted, conjunct);
    let mut offers = Offers { best: None, rejected: Vec::with_capacity(ground.places.len()) };
    for place in &ground.places {
        match at_place(&scope, *place) {
            Ok(found) => offers.offer(found),
            Err(reason) => offers.turn_down(*place, false, reason),
        }
    }
    if ground.wanted.len() > 1
        && let Some(union) = each_kind(ground, conjunct)
    {
        offers.offer_silently(union);
    }
    if ground.request.scan {
        for place in &ground.places {
            match scan_at(&scope, *place) {
                Ok(found) => offers.offer(found),
                Err(reason) => offers.turn_down(*place, true, reason),
            }
        }
    }
    offers
}

/// Every kind of item by its own best place.
fn each_kind<'a>(ground: &'a Ground<'a>, conjunct: &'a [Cow<'a, Condition>]) -> Option<Candidate<'a>> {
    let mut built = Vec::new();
    for kind in &ground.wanted {
        let scope = Scope::new(ground, std::slice::from_ref(kind), conjunct);
        let mut offers = Offers::default();
        for place in &ground.places {
            if let Ok(found) = at_place(&scope, *place) {
                offers.offer_silently(found);
            }
        }
        built.extend(offers.best?.built);
    }
    candidate(ground, built).ok()
}

impl<'a> Offers<'a> {
    /// Takes the candidate if it is better, and notes what it was preferred to.
    fn offer(&mut self, found: Candidate<'a>) {
        let Some(best) = self.best.take() else {
            self.best = Some(found);
            return;
        };
        let (winner, loser) = if found.is_better_than(Some(&best)) { (found, best) } else { (best, found) };
        if let Some(built) = loser.built.first() {
            let same_price = (loser.units - winner.units).abs() < 0.25;
            let reason = if same_price { Reason::Equal } else { Reason::Costlier { units: loser.units } };
            self.turn_down(built.place, built.range.is_none(), reason);
        }
        self.best = Some(winner);
    }

    fn offer_silently(&mut self, found: Candidate<'a>) {
        if found.is_better_than(self.best.as_ref()) {
            self.best = Some(found);
        }
    }

    fn turn_down(&mut self, place: Place<'_>, scan: bool, reason: Reason) {
        self.rejected.push(Rejected { source: place.source(), scan, reason });
    }
}

/// The best candidate at one place.
fn at_place<'a>(scope: &Scope<'a>, place: Place<'a>) -> Result<Candidate<'a>, Reason> {
    check_consistency(scope.ground.request, place)?;
    let first = scope.tasks(place).next().filter(|task| !task.facts.impossible);
    let first = first.map(|task| task.keyspace()).transpose()?;
    if let Some(attribute) = hopeless(scope, place, first) {
        return Err(Reason::PartitionOpen { attribute: attribute.to_owned() });
    }
    let mut best: Option<Candidate<'a>> = None;
    let mut reason = None;
    let expansions = expansions(scope, place);
    let from = if scope.asks_several_values { Depth::Shards } else { Depth::Partition };
    for depth in [Depth::Shards, Depth::Partition, Depth::Values, Depth::Enumerations] {
        // A depth that takes nothing more value by value asks the same queries again.
        let takes_more = depth > from && expansions.iter().any(|expansion| expansion.depth == depth);
        if depth != from && !takes_more {
            continue;
        }
        let built = all_queries(scope, place, first, &expansions, depth);
        match built.and_then(|built| candidate(scope.ground, built)) {
            Ok(found) if found.is_better_than(best.as_ref()) => best = Some(found),
            Ok(_) => {}
            Err(found) => reason = reason.or(Some(found)),
        }
    }
    best.ok_or(reason.unwrap_or(Reason::Scan))
}

/// An attribute that the partition key needs and no depth gives: most of a table's indexes are of no use to a question, and
/// this tells it before anything is built.
fn hopeless<'a>(scope: &Scope<'a>, place: Place<'a>, keyspace: Option<Keyspace<'a>>) -> Option<&'a str> {
    let task = scope.tasks(place).next().filter(|_| !place.is_overloaded)?;
    let open = keyspace?.open_partition(&task.facts.tests, &[])?;
    (!task.is_expandable(open) && !task.has_no_value_left()).then_some(open)
}

fn check_consistency(request: &CheckedRequest<'_>, place: Place<'_>) -> Result<(), Reason> {
    match place.index {
        Some(index) if request.consistent && index.kind == IndexKind::Global => Err(Reason::Consistency),
        _ => Ok(()),
    }
}

/// How far attributes are taken value by value. Each depth takes also what the ones before it take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// None: shards that several values lie in are read for all of these at once.
    Shards,
    /// Those of the partition key: without that there is no query.
    Partition,
    /// Also those of the sort key that an `in` gives values for.
    Values,
    /// Also those of the sort key whose values the manifest lists.
    Enumerations,
}

/// An attribute that a task takes value by value, from some depth on.
struct Expansion<'a> {
    /// The task's number at its place.
    task: usize,
    attribute: &'a str,
    depth: Depth,
}

/// All of a place, by their attributes.
fn expansions<'a>(scope: &Scope<'a>, place: Place<'a>) -> Vec<Expansion<'a>> {
    let mut all = Vec::new();
    for (number, task) in scope.tasks(place).enumerate() {
        // A place without such items has no queries at any depth.
        if let Ok(keyspace) = Keyspace::of(task.place, task.kind) {
            expand(&task, keyspace, &mut |attribute, depth| {
                all.push(Expansion { task: number, attribute, depth });
            });
        }
    }
    all.sort_unstable_by_key(|expansion| (expansion.task, expansion.attribute, expansion.depth));
    all.dedup_by_key(|expansion| (expansion.task, expansion.attribute));
    all
}

fn expand<'a>(task: &Task<'_, 'a>, keyspace: Keyspace<'a>, add: &mut dyn FnMut(&'a str, Depth)) {
    let open = |name: &&str| task.is_expandable(name) && keyspace.required().any(|part| part == *name);
    keyspace.partition_inputs().filter(open).for_each(|name| add(name, Depth::Partition));
    let order = &task.ground.request.order;
    let is_asked = |name: &str| task.facts.of(name).is_some() || order.iter().any(|by| by.attribute == name);
    let reach = keyspace.sort_inputs().enumerate().filter(|(_, name)| is_asked(name)).last();
    let reach = reach.map_or(0, |(last, _)| last + 1);
    for name in keyspace.sort_inputs().take(reach).filter(open) {
        let is_given = task.facts.of(name).is_some();
        add(name, if is_given { Depth::Values } else { Depth::Enumerations });
    }
}

/// `first`: the keyspace of the first task, which is known already.
fn all_queries<'a>(
    scope: &Scope<'a>,
    place: Place<'a>,
    first: Option<Keyspace<'a>>,
    expansions: &[Expansion<'a>],
    depth: Depth,
) -> Result<Vec<Built<'a>>, Reason> {
    let mut all = Vec::new();
    for (number, task) in scope.tasks(place).enumerate() {
        if task.facts.impossible {
            continue;
        }
        let own = expansions.iter().filter(|expansion| expansion.task == number && expansion.depth <= depth);
        let own: Vec<&str> = own.map(|expansion| expansion.attribute).collect();
        let keyspace = first.filter(|_| number == 0).map_or_else(|| task.keyspace(), Ok)?;
        let mut built = task.queries(keyspace, &own)?;
        if task.ground.request.order.is_empty() && built.len() > 1 {
            built.sort_by_cached_key(|built| format!("{:?}", built.range));
        }
        if all.is_empty() {
            all = built;
        } else {
            all.append(&mut built);
        }
    }
    Ok(all)
}

/// Accesses as a candidate, if they give the order.
fn candidate<'a>(ground: &Ground<'a>, built: Vec<Built<'a>>) -> Result<Candidate<'a>, Reason> {
    let request = ground.request;
    let mut built = if request.order.is_empty() { join_neighbours(ground, built) } else { built };
    if built.len() > crate::query::limits::FAN_OUT_MAX {
        return Err(Reason::FanOut);
    }
    let delivery = delivery::decide(request, &mut built).ok_or(Reason::Order)?;
    let enough = match delivery {
        Delivery::Sequential | Delivery::Merged if !request.count => Some(request.limit),
        _ => None,
    };
    let units = estimate::units_of_all(ground, &built, enough);
    Ok(Candidate { built, delivery, units })
}

/// A scan, at a place that hides no item asked for.
fn scan_at<'a>(scope: &Scope<'a>, place: Place<'a>) -> Result<Candidate<'a>, Reason> {
    check_consistency(scope.ground.request, place)?;
    for task in scope.tasks(place) {
        task.keyspace()?;
    }
    candidate(scope.ground, vec![scope.scan(place)])
}
