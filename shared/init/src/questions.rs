//! Questions: those of the sources, and one for each key of the table and its indexes.

use std::collections::{BTreeMap, BTreeSet};

use crate::draft::{Draft, EntityDraft, QuestionDraft, TableDraft};
use crate::name;
use crate::template;

/// Maximum questions of one table.
const QUESTIONS_MAX: usize = 400;

/// Adds a question for each key that has none, and gives all questions legal names.
pub(crate) fn complete(draft: &mut Draft) {
    for table in &mut draft.tables {
        let own = QuestionKey {
            partition: table.partition.iter().cloned().collect(),
            sort: table.sort.iter().cloned().collect(),
            label: "key",
        };
        let indexes = table.indexes.iter().map(|index| QuestionKey {
            partition: index.partition.clone(),
            sort: index.sort.clone(),
            label: &index.name,
        });
        for at in 0..table.questions.len() {
            let named = by_parts(table, &table.questions[at]);
            table.questions[at] = named;
        }
        let mut found: Vec<QuestionDraft> = Vec::new();
        for key in std::iter::once(own).chain(indexes) {
            match table.entities.as_slice() {
                [] => found.extend(of_key(table, None, &key)),
                [only] => found.extend(of_key(table, Some(only), &key)),
                several => {
                    // A split entity has the same table key as its origin: one question covers both.
                    let own = |entity: &&EntityDraft| key.label != "key" || entity.part_of.is_none();
                    found.extend(
                        several.iter().filter(own).filter_map(|entity| of_key(table, Some(entity), &key)),
                    );
                    found.extend(of_collection(table, &key));
                }
            }
        }
        for question in found {
            if !table.questions.iter().any(|known| asks_the_same(known, &question)) {
                table.questions.push(question);
            }
        }
        table.questions.truncate(QUESTIONS_MAX);
        let mut taken: Vec<String> = Vec::new();
        for question in &mut table.questions {
            let chosen = name::unique(name::id(&question.name, "question"), |one| {
                taken.iter().any(|known| known == one)
            });
            taken.push(chosen.clone());
            question.name = chosen;
        }
    }
}

/// Does a known question select the same items, by at least the same attributes?
fn asks_the_same(known: &QuestionDraft, other: &QuestionDraft) -> bool {
    let entities = |question: &QuestionDraft| question.entities.iter().cloned().collect::<BTreeSet<_>>();
    let needed = |question: &QuestionDraft| -> BTreeSet<String> {
        let all = question.conditions.iter().filter(|one| !one.ends_with('?'));
        all.map(|one| attribute(one).to_owned()).collect()
    };
    let all = |question: &QuestionDraft| -> BTreeSet<String> {
        question.conditions.iter().map(|one| attribute(one).to_owned()).collect()
    };
    entities(known) == entities(other) && needed(known) == needed(other) && all(other).is_subset(&all(known))
}

/// The attribute of a condition: `city` in `"city beginsWith?"`.
pub(crate) fn attribute(condition: &str) -> &str {
    condition.trim_end_matches('?').split(' ').next().unwrap_or(condition)
}

struct QuestionKey<'a> {
    partition: Vec<String>,
    sort: Vec<String>,
    label: &'a str,
}

fn of_key(table: &TableDraft, entity: Option<&EntityDraft>, key: &QuestionKey<'_>) -> Option<QuestionDraft> {
    let several = table.entities.len() > 1;
    let is_folded = |name: &String| table.entities.iter().any(|entity| entity.templates.contains_key(name));
    let mut absent = false;
    let mut parts = |keys: &[String]| -> Vec<String> {
        let mut names = Vec::new();
        for name in keys {
            match entity.and_then(|entity| entity.templates.get(name)) {
                Some(text) => names.extend(template::attributes(text)),
                None if is_folded(name) && several => absent = true,
                None => names.push(name.clone()),
            }
        }
        names
    };
    let partition = parts(&key.partition);
    let sort: Vec<String> = parts(&key.sort).into_iter().filter(|name| !partition.contains(name)).collect();
    // Natural keys get one question, not one for each entity.
    let natural = key.partition.iter().chain(&key.sort).all(|name| !is_folded(name));
    let entity = entity.filter(|_| several && !natural);
    if absent || (partition.is_empty() && sort.is_empty()) {
        return None;
    }
    let by = partition
        .iter()
        .chain(sort.first())
        .map(|name| name::capitalised(name))
        .collect::<Vec<_>>()
        .join("And");
    let who = entity.map(|entity| name::id(&entity.name, "item")).unwrap_or_default();
    let question_name = if who.is_empty() { format!("by{by}") } else { format!("{who}By{by}") };
    let mut conditions = partition;
    conditions.extend(sort.into_iter().map(|name| name + "?"));
    let parts = |entity: &EntityDraft| -> Vec<String> {
        let of = |other: &&EntityDraft| key.label == "key" && other.part_of.as_ref() == Some(&entity.name);
        table.entities.iter().filter(of).map(|other| other.name.clone()).collect()
    };
    Some(QuestionDraft {
        name: question_name,
        description: described(key),
        entities: entity
            .map(|entity| [vec![entity.name.clone()], parts(entity)].concat())
            .unwrap_or_default(),
        conditions,
        ..QuestionDraft::default()
    })
}

fn described(key: &QuestionKey<'_>) -> String {
    match key.label {
        "key" => "by the table's key".to_owned(),
        index => format!("by index {index}"),
    }
}

/// All items of one item collection: the entities whose partition keys are made in the same way.
fn of_collection(table: &TableDraft, key: &QuestionKey<'_>) -> Vec<QuestionDraft> {
    let [partition] = key.partition.as_slice() else { return Vec::new() };
    let mut together: BTreeMap<&String, Vec<&EntityDraft>> = BTreeMap::new();
    for entity in &table.entities {
        if let Some(template) = entity.templates.get(partition) {
            together.entry(template).or_default().push(entity);
        }
    }
    together.retain(|_, entities| entities.iter().filter(|entity| entity.part_of.is_none()).count() > 1);
    together
        .into_iter()
        .filter_map(|(template, entities)| {
            let conditions = template::attributes(template);
            let by = conditions.iter().map(|name| name::capitalised(name)).collect::<Vec<_>>().join("And");
            (!conditions.is_empty()).then(|| QuestionDraft {
                name: format!("allBy{by}"),
                description: format!("{}, everything in one item collection", described(key)),
                entities: entities.iter().map(|entity| entity.name.clone()).collect(),
                conditions,
                ..QuestionDraft::default()
            })
        })
        .collect()
}

/// Replaces a folded key in a question by its parts: those of the question's entity, or of all entities with this key.
fn by_parts(table: &TableDraft, question: &QuestionDraft) -> QuestionDraft {
    let mut made = question.clone();
    let folded = |condition: &String| {
        let key = attribute(condition);
        table.entities.iter().any(|entity| entity.templates.contains_key(key))
    };
    let keys: Vec<&str> =
        question.conditions.iter().filter(|one| folded(one)).map(|one| attribute(one)).collect();
    if keys.is_empty() {
        return made;
    }
    let has = |entity: &&EntityDraft| keys.iter().all(|key| entity.templates.contains_key(*key));
    let candidates: Vec<&EntityDraft> = match question.entities.as_slice() {
        [] => table.entities.iter().filter(has).collect(),
        named => table.entities.iter().filter(|entity| named.contains(&entity.name)).filter(has).collect(),
    };
    // The entity that the name or text mentions first: `orders of a user` are orders.
    let said = name::plain(&format!("{}{}", question.name, question.description));
    let place =
        |entity: &&EntityDraft| said.find(&name::plain(&entity.name)).filter(|_| !entity.name.is_empty());
    let spoken = candidates.iter().copied().filter(|entity| place(entity).is_some()).min_by_key(place);
    let chosen = spoken.map_or(candidates, |spoken| vec![spoken]);
    let Some(first) = chosen.first() else { return made };
    let parts = |entity: &EntityDraft| -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for name in keys
            .iter()
            .filter_map(|key| entity.templates.get(*key))
            .flat_map(|text| template::attributes(text))
        {
            if !parts.contains(&name) {
                parts.push(name);
            }
        }
        parts
    };
    let conditions = parts(first);
    let same: Vec<&EntityDraft> =
        chosen.iter().copied().filter(|entity| parts(entity) == conditions).collect();
    let rest = question.conditions.iter().filter(|one| !folded(one)).cloned();
    made.conditions = conditions.iter().cloned().chain(rest).collect();
    if table.entities.len() > 1 {
        made.entities = same.iter().map(|entity| entity.name.clone()).collect();
    }
    made
}
