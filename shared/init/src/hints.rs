//! Entities that the user names: their hints override what the sources and the items show.

use std::str::FromStr;

use keyfold_core::value::{AttributeValue, Item};

use crate::draft::{Draft, EntityDraft, TableDraft, WhenDraft};
use crate::error::{Problem, ReadError};

/// One condition for the items of an entity: `Order:type=ORDER`, or `Order:SK=ORDER#*` for the beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityHint {
    entity: String,
    attribute: String,
    test: WhenDraft,
}

impl FromStr for EntityHint {
    type Err = String;

    fn from_str(text: &str) -> Result<EntityHint, String> {
        let parts = text.split_once(':').and_then(|(entity, test)| Some((entity, test.split_once('=')?)));
        let Some((entity, (attribute, value))) = parts.filter(|(entity, (attribute, value))| {
            ![*entity, *attribute, value.trim_end_matches('*')].iter().any(|part| part.trim().is_empty())
        }) else {
            return Err("write `Order:type=ORDER`, or `Order:SK=ORDER#*` for a beginning".to_owned());
        };
        let test = match value.strip_suffix('*') {
            Some(beginning) => WhenDraft::BeginsWith(beginning.to_owned()),
            None => WhenDraft::In(vec![value.to_owned()]),
        };
        Ok(EntityHint { entity: entity.trim().to_owned(), attribute: attribute.trim().to_owned(), test })
    }
}

impl EntityHint {
    fn fits(&self, item: &Item) -> bool {
        let Some(AttributeValue::S(text)) = item.get(self.attribute.as_str()) else { return false };
        match &self.test {
            WhenDraft::In(values) => values.contains(text),
            WhenDraft::BeginsWith(beginning) => text.starts_with(beginning.as_str()),
            WhenDraft::Exists(_) => unreachable!("a hint has a value or a beginning"),
        }
    }
}

/// Assigns the items of the hints to their entities.
pub(crate) fn assign(draft: &mut Draft, hints: &[EntityHint]) -> Result<(), ReadError> {
    if hints.is_empty() {
        return Ok(());
    }
    let [table] = draft.tables.as_mut_slice() else {
        let source_name = draft.tables.iter().map(TableDraft::title).collect::<Vec<_>>().join(", ");
        return Err(ReadError { source_name, place: String::new(), problem: Problem::HintsOfSeveralTables });
    };
    let mut names: Vec<&String> = Vec::new();
    for hint in hints {
        if !names.contains(&&hint.entity) {
            names.push(&hint.entity);
        }
    }
    for row in 0..table.items.len() {
        let item = &table.items[row].item;
        let fitting: Vec<&&String> =
            names.iter().filter(|name| of(hints, name).all(|hint| hint.fits(item))).collect();
        match fitting.as_slice() {
            [] => {}
            [only] => table.items[row].entity = Some((**only).clone()),
            [one, other, ..] => {
                return Err(wrong(table, Problem::HintsOverlap((**one).clone(), (**other).clone())));
            }
        }
    }
    for name in names {
        if !table
            .items
            .iter()
            .any(|row| row.entity.as_ref() == Some(name) && of(hints, name).all(|hint| hint.fits(&row.item)))
        {
            return Err(wrong(table, Problem::HintWithoutItem(name.clone())));
        }
        let when = of(hints, name).map(|hint| (hint.attribute.clone(), hint.test.clone())).collect();
        let at = table.entities.iter().position(|known| known.name == *name).unwrap_or_else(|| {
            table.entities.push(EntityDraft { name: name.clone(), ..EntityDraft::default() });
            table.entities.len() - 1
        });
        let entity = &mut table.entities[at];
        entity.when = when;
        entity.is_hinted = true;
        entity.evidence.push("as --entities says".to_owned());
    }
    Ok(())
}

fn of<'h>(hints: &'h [EntityHint], name: &'h str) -> impl Iterator<Item = &'h EntityHint> {
    hints.iter().filter(move |hint| hint.entity == name)
}

fn wrong(table: &TableDraft, problem: Problem) -> ReadError {
    ReadError { source_name: table.title().to_owned(), place: String::new(), problem }
}
