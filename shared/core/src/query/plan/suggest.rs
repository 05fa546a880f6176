//! Suggestions for a refused request: an index to add, or changes of the request or the manifest.
//!
//! Every suggestion is tested first: it is applied to the table in memory, the request is planned again, and
//! suggestions that do not help are dropped.

use std::fmt::Write;

use super::choose::{Choice, choose};
use super::clauses::clauses;
use super::conjunction::{Asked, Conjunction};
use super::context::PlanContext;
use super::reject::RejectReason;
use crate::condition::{Comparison, Condition, Path};
use crate::key::{KeyMode, KeyRole, Template, Test};
use crate::model::{
    EntityId, Expect, FoldRule, Index, IndexKind, KeyAttribute, KeySource, Projection, ScalarType, Table,
};
use crate::query::check::CheckedRequest;
use crate::query::readiness::Readiness;

/// Maximum attributes suggested as `required` to make one index usable.
const REQUIRED_MAX: usize = 3;
/// Maximum attributes of a native multi-attribute key, for each of partition and sort key.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html>
const NATIVE_PARTS_MAX: usize = 4;

/// Suggestions for a refused request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Suggestions {
    /// An index that answers the request, as manifest text.
    pub(super) index: Option<String>,
    /// Other remedies, each as the rest of a sentence.
    pub(super) instead: Vec<String>,
}

/// The changes that make this request work.
pub(super) fn suggest(request: &CheckedRequest<'_>) -> Suggestions {
    let rejected = planned(request.table, request, |_| {}).rejected;
    let mut instead = Vec::new();
    for path in rejected.iter().filter(|path| !path.scan) {
        if let (RejectReason::Sparse { attribute }, Some(index)) = (&path.reason, path.index.as_deref()) {
            let found = of_sparse(request, index, attribute).into_iter();
            instead.extend(found.filter(|one| !instead.contains(one)).collect::<Vec<_>>());
        }
    }
    let Proposal { index, required } = match proposal(request) {
        // A new index that needs a promise is no better than the same promise for an existing index.
        Some(proposal) if proposal.required.is_empty() || instead.is_empty() => proposal,
        _ => return Suggestions { index: None, instead },
    };
    let promise =
        |attribute: &String| format!("# Only if every item has `{attribute}`: declare it `required`.\n");
    let promises: String = required.iter().map(promise).collect();
    Suggestions { index: Some(promises + &index), instead }
}

/// The changed request, planned against a changed table.
fn planned(table: &Table, request: &CheckedRequest<'_>, change: impl Fn(&mut CheckedRequest<'_>)) -> Choice {
    let mut request = CheckedRequest { table, ..request.clone() };
    change(&mut request);
    choose(&PlanContext::of(&request, &Readiness::complete()))
}

fn serves(table: &Table, request: &CheckedRequest<'_>, change: impl Fn(&mut CheckedRequest<'_>)) -> bool {
    planned(table, request, change).best.is_some()
}

/// Remedies for an index that was rejected because a matching item could lack this attribute.
fn of_sparse(request: &CheckedRequest<'_>, index: &str, attribute: &str) -> Vec<String> {
    let table = request.table;
    let mut found = Vec::new();
    // A request for another entity is answered too, with nothing: its items never have the attribute.
    let can_have = |entity: &EntityId| table.entities[entity.0].attributes.contains_key(attribute);
    let entity = (0..table.entities.len()).map(EntityId).filter(can_have).find(|entity| {
        request.entities.is_empty() && serves(table, request, |request| request.entities = vec![*entity])
    });
    if let Some(entity) = entity {
        let name = &table.entities[entity.0].name;
        found.push(format!(
            "name an entity whose items all have `{attribute}`, like `\"entity\": \"{name}\"`"
        ));
    }
    let exists = Condition::Is(Path::attribute(attribute), Comparison::Exists(true));
    if serves(table, request, |request| {
        request.condition = Condition::all([request.condition.clone(), exists.clone()]);
    }) {
        found.push(format!("ask only for items that have it: `\"{attribute}\": {{\"exists\": true}}`"));
    }
    if serves(&with_required(table, attribute), request, |_| {}) {
        let promise = if table.entities.is_empty() {
            format!("declare `{attribute}` as `required` if every item has it")
        } else {
            format!(
                "declare `{attribute}` as `required`, for the whole table or in each entity, if every item has it"
            )
        };
        found.push(promise);
    }
    if let Some((changed, template)) = with_tail(table, index, attribute)
        && serves(&changed, request, |_| {})
    {
        found.push(format!("make it an optional tail of the sort key of `{index}`: `sort = \"{template}\"`"));
    }
    found
}

fn with_required(table: &Table, attribute: &str) -> Table {
    let mut table = table.clone();
    if let Some(declared) = table.attributes.get_mut(attribute) {
        declared.required = true;
    }
    table
}

/// The table with this attribute, the last part of a native sort key, as an optional tail of a folded one.
fn with_tail(table: &Table, index: &str, attribute: &str) -> Option<(Table, String)> {
    let mut table = table.clone();
    let index = table.indexes.iter_mut().find(|known| known.name == index)?;
    let (last, before) = index.sort.split_last()?;
    if last.name != attribute || before.is_empty() {
        return None;
    }
    let before: Vec<String> = before.iter().map(|key| format!("{{{}}}", key.name)).collect();
    let text = format!("{}[#{{{attribute}}}]", before.join("#"));
    let template = Template::parse(&text, &table.attributes, KeyRole::Sort, KeyMode::Escaped).ok()?;
    index.sort = vec![folded(template)];
    Some((table, text))
}

/// A new index, and the attributes that must be required for it.
struct Proposal {
    index: String,
    required: Vec<String>,
}

/// A global index over the attributes tested by equality, in the requested order or else by the first range. `None`
/// without an equality test: no key can help.
fn proposal(request: &CheckedRequest<'_>) -> Option<Proposal> {
    let clauses = clauses(&request.condition);
    let conjunction = Conjunction::read(request.table, clauses.iter().map(AsRef::as_ref), &[]);
    let is_key =
        |name: &str| request.table.attributes.get(name).is_some_and(|known| known.kind.scalar().is_some());
    let (mut equal, mut ranged) = (Vec::new(), Vec::new());
    for test in conjunction.by_attribute.iter().filter(|test| is_key(test.attribute)) {
        match &test.asked {
            Asked::Values(_) => equal.push(test.attribute),
            Asked::Test(Test::Absent) => {}
            Asked::Test(_) => ranged.push(test.attribute),
        }
    }
    if equal.is_empty() {
        return None;
    }
    let mut sort: Vec<&str> =
        request.order.iter().map(|by| by.attribute.as_str()).filter(|name| !equal.contains(name)).collect();
    if sort.is_empty() {
        sort.extend(ranged.first());
    }
    let with_sort = tried(request, &equal, &sort);
    let promises = with_sort.as_ref().map_or(usize::MAX, |proposal| proposal.required.len());
    if promises > 0 && request.order.is_empty() && !sort.is_empty() {
        // Without the sort key the index can hold items that it would otherwise lack.
        let without = tried(request, &equal, &[]).filter(|other| other.required.len() < promises);
        return without.or(with_sort);
    }
    with_sort
}

/// The index, if it serves, perhaps with promises.
fn tried(request: &CheckedRequest<'_>, equal: &[&str], sort: &[&str]) -> Option<Proposal> {
    let mut table = request.table.clone();
    let name = name(&table, equal, sort);
    let index = Index {
        name: name.clone(),
        kind: IndexKind::Global,
        partition: key(&table, equal, KeyRole::Partition)?,
        sort: key(&table, sort, KeyRole::Sort)?,
        projection: Projection::All,
        expect: Expect::default(),
    };
    table.indexes.push(index);
    let mut required = Vec::new();
    loop {
        let choice = planned(&table, request, |_| {});
        if choice.best.is_some() {
            let mut index =
                format!("[tables.{}.indexes.{name}]\npartition = {}\n", table.id, key_text(equal));
            if !sort.is_empty() {
                let _ = writeln!(index, "sort = {}", key_text(sort));
            }
            return Some(Proposal { index, required });
        }
        let hidden = choice.rejected.into_iter().find_map(|path| match path.reason {
            RejectReason::Sparse { attribute } if path.index.as_deref() == Some(name.as_str()) => {
                Some(attribute)
            }
            _ => None,
        })?;
        if required.len() == REQUIRED_MAX {
            return None;
        }
        table = with_required(&table, &hidden);
        required.push(hidden.to_string());
    }
}

/// `byOwnerCreated`, with a number appended if the table has such an index.
fn name(table: &Table, equal: &[&str], sort: &[&str]) -> String {
    let capital = |name: &&str| {
        let mut letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.next().map_or(String::new(), |first| {
            std::iter::once(first.to_ascii_uppercase()).chain(letters).collect()
        })
    };
    let letters: String = equal.iter().chain(sort).map(capital).collect();
    let name = format!("by{}", letters.chars().take(60).collect::<String>());
    let numbered = (2..100).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| table.index(name).is_none()).unwrap_or(name)
}

/// The attributes as a key: up to four as a native one, more than that folded.
fn key(table: &Table, names: &[&str], role: KeyRole) -> Option<Vec<KeyAttribute>> {
    if names.len() > NATIVE_PARTS_MAX {
        let template =
            Template::parse(&folded_text(names), &table.attributes, role, KeyMode::Escaped).ok()?;
        return Some(vec![folded(template)]);
    }
    let natural = |name: &&str| {
        let scalar = table.attributes.get(*name)?.kind.scalar()?;
        Some(KeyAttribute { name: (*name).to_owned(), scalar, source: KeySource::Natural })
    };
    names.iter().map(natural).collect()
}

fn folded(template: Template) -> KeyAttribute {
    let source = KeySource::Folded(vec![FoldRule { entity: None, template }]);
    KeyAttribute { name: "suggested".to_owned(), scalar: ScalarType::S, source }
}

fn folded_text(names: &[&str]) -> String {
    names.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join("#")
}

/// The key as manifest text.
fn key_text(names: &[&str]) -> String {
    match names {
        [one] => format!("\"{one}\""),
        few if few.len() <= NATIVE_PARTS_MAX => {
            format!("[{}]", few.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
        }
        many => format!("\"{}\"", folded_text(many)),
    }
}
