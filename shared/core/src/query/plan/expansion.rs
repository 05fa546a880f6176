//! The attributes of a key that are expanded into their values, and how many of them.
//!
//! `in` with three values is three exact queries, or one query of the range around them with a filter. Which is cheaper
//! depends on the data, so the candidates of a path differ in their expansion, and the price decides.

use super::by_entity::ConjunctionByEntity;
use super::keyspace::Keyspace;
use super::path::AccessPath;
use super::planner::PathPlanner;

/// How many attributes are expanded. Each depth includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// None: a shard that contains several of the values is read once for all of them.
    Shards,
    /// Those of the partition key: without a value for each there is no query.
    Partition,
    /// Also those of the sort key that an `in` gives values for.
    Values,
    /// Also those of the sort key whose values the manifest lists.
    Enumerations,
}

impl Depth {
    pub(super) const ALL: [Depth; 4] = [Depth::Shards, Depth::Partition, Depth::Values, Depth::Enumerations];
}

/// An attribute that a planner expands from some depth on.
pub(super) struct Expansion<'a> {
    /// The planner's number at its path.
    pub(super) planner: usize,
    pub(super) attribute: &'a str,
    pub(super) depth: Depth,
}

/// All expansions at a path, in the order of their attributes.
pub(super) fn expansions<'a>(asked: &ConjunctionByEntity<'a>, path: AccessPath<'a>) -> Vec<Expansion<'a>> {
    let mut all = Vec::new();
    for (number, planner) in asked.planners(path).enumerate() {
        // A path without items of this entity has no queries at any depth.
        if let Ok(keyspace) = Keyspace::of(planner.path, planner.entity) {
            expand(&planner, keyspace, &mut |attribute, depth| {
                all.push(Expansion { planner: number, attribute, depth });
            });
        }
    }
    all.sort_unstable_by_key(|expansion| (expansion.planner, expansion.attribute, expansion.depth));
    all.dedup_by_key(|expansion| (expansion.planner, expansion.attribute));
    all
}

fn expand<'a>(planner: &PathPlanner<'_, 'a>, keyspace: Keyspace<'a>, add: &mut dyn FnMut(&'a str, Depth)) {
    // Only required parts: if an optional part is absent, none of its values finds the item.
    let open = |name: &&str| planner.is_expandable(name) && keyspace.requires(name);
    keyspace.partition_inputs().filter(open).for_each(|name| add(name, Depth::Partition));
    let order = &planner.context.request.order;
    let is_asked =
        |name: &str| planner.conjunction.of(name).is_some() || order.iter().any(|by| by.attribute == name);
    // After the last tested part, values would split a range without narrowing it.
    let reach = keyspace.sort_inputs().enumerate().filter(|(_, name)| is_asked(name)).last();
    let reach = reach.map_or(0, |(last, _)| last + 1);
    for name in keyspace.sort_inputs().take(reach).filter(open) {
        let is_given = planner.conjunction.of(name).is_some();
        add(name, if is_given { Depth::Values } else { Depth::Enumerations });
    }
}
