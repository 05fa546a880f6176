//! Questions: those that the sources state, and one for each key of the table and its indexes.

use std::collections::BTreeSet;

use crate::draft::{Draft, EntityDraft, QuestionDraft, TableDraft};
use crate::name;
use crate::template;

/// The most questions of one table.
const QUESTIONS_MAX: usize = 400;

/// Adds a question for each key, where none asks it, and gives all of them legal names.
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
        let mut found: Vec<QuestionDraft> = Vec::new();
        for key in std::iter::once(own).chain(indexes) {
            match table.entities.as_slice() {
                [] => found.extend(of_key(table, None, &key)),
                [only] => found.extend(of_key(table, Some(only), &key)),
                several => {
                    found.extend(several.iter().filter_map(|entity| of_key(table, Some(entity), &key)));
                }
            }
        }
        let asked = |question: &QuestionDraft| {
            (
                question.entity.clone(),
                question.conditions.iter().map(|one| attribute(one).to_owned()).collect::<BTreeSet<_>>(),
            )
        };
        for question in found {
            if !table.questions.iter().any(|known| asked(known) == asked(&question)) {
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

/// The attribute of a condition: `"city beginsWith?"` asks `city`.
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
    // Natural keys alone are asked once, not for each entity.
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
    Some(QuestionDraft {
        name: question_name,
        description: match key.label {
            "key" => "by the table's key".to_owned(),
            index => format!("by index {index}"),
        },
        entity: entity.map(|entity| entity.name.clone()),
        conditions,
        ..QuestionDraft::default()
    })
}
