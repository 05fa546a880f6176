//! Merges several sources: structure from the most reliable one, meaning from the schema. Conflicts are reported, never
//! guessed.

use crate::draft::{Draft, EntityDraft, IndexDraft, Rank, TableDraft, Ttl};
use crate::error::{Problem, ReadError};
use crate::name::plain;

/// Merges drafts into one.
pub(crate) fn overlay(drafts: Vec<Draft>) -> Result<Draft, ReadError> {
    let mut whole = Draft::default();
    let mut tables: Vec<TableDraft> = Vec::new();
    for draft in drafts {
        whole.notes.extend(draft.notes);
        tables.extend(draft.tables);
    }
    // The most reliable first, those with a name before those without, otherwise in the given order.
    let (mut structured, loose): (Vec<_>, Vec<_>) =
        tables.into_iter().partition(|table| table.partition.is_some());
    structured.sort_by_key(|table| (std::cmp::Reverse(table.rank), table.name.is_none()));
    for table in structured {
        match partner(&whole.tables, &table) {
            Some(at) => merge(&mut whole.tables[at], table),
            None => whole.tables.push(table),
        }
    }
    for table in loose {
        attach(&mut whole, table)?;
    }
    if let Some(table) = whole.tables.iter().find(|table| table.partition.is_none()) {
        return Err(of_table(table, Problem::NoKey));
    }
    Ok(whole)
}

fn of_table(table: &TableDraft, problem: Problem) -> ReadError {
    ReadError { source_name: table.source.clone(), place: String::new(), problem }
}

/// The table that this one describes further.
fn partner(known: &[TableDraft], table: &TableDraft) -> Option<usize> {
    if let Some(name) = &table.name {
        if let Some(at) = known.iter().position(|other| other.name.as_ref() == Some(name)) {
            return Some(at);
        }
        // Two different names are two tables.
        if table.rank != Rank::Library {
            return None;
        }
    }
    let fits = |other: &TableDraft| {
        let same_file = other.source == table.source;
        (!same_file && other.partition == table.partition && other.sort == table.sort)
            .then(|| table.indexes.iter().filter(|index| other.index(&index.name).is_some()).count())
    };
    let mut best: Option<(usize, usize)> = None;
    let mut tied = false;
    for (at, other) in known.iter().enumerate() {
        let Some(score) = fits(other) else { continue };
        tied = best.is_some_and(|(_, known)| known == score);
        if best.is_none_or(|(_, known)| score > known) {
            best = Some((at, score));
        }
    }
    best.filter(|_| !tied).map(|(at, _)| at)
}

/// Attaches items and time to live without a table name.
fn attach(whole: &mut Draft, table: TableDraft) -> Result<(), ReadError> {
    let fits = |known: &TableDraft| {
        table
            .items
            .iter()
            .all(|row| known.partition.iter().chain(&known.sort).all(|key| row.item.contains_key(key)))
    };
    let candidates: Vec<usize> =
        (0..whole.tables.len()).filter(|at| table.items.is_empty() || fits(&whole.tables[*at])).collect();
    match candidates.as_slice() {
        [only] => merge(&mut whole.tables[*only], table),
        _ if table.items.is_empty() => whole.notes.push(format!(
            "`{}` does not say whose time to live it is: give one table at a time",
            table.source
        )),
        _ => return Err(of_table(&table, Problem::ItemsOfNoTable)),
    }
    Ok(())
}

/// Merges a source into a more reliable one.
fn merge(base: &mut TableDraft, over: TableDraft) {
    let differs = |what: String| format!("{what}: `{}` wins over `{}`", base.source, over.source);
    let mut notes = Vec::new();
    if over.partition.is_some() && (base.partition != over.partition || base.sort != over.sort) {
        notes.push(differs("the two sources disagree about the table's key".to_owned()));
    }
    for (name, scalar) in &over.scalars {
        match base.scalars.get(name) {
            Some(known) if known != scalar => {
                notes.push(differs(format!("the two sources disagree about the type of `{name}`")));
            }
            Some(_) => {}
            None => {
                base.scalars.insert(name.clone(), *scalar);
            }
        }
    }
    for index in over.indexes {
        match base.indexes.iter_mut().find(|known| known.name == index.name) {
            Some(known) => {
                if (!index.partition.is_empty() && known.partition != index.partition)
                    || known.sort != index.sort
                {
                    notes.push(format!(
                        "the two sources disagree about the key of index `{}`: `{}` wins over `{}`",
                        index.name, base.source, over.source
                    ));
                }
                merge_index(known, index, &mut notes);
            }
            None if base.rank > over.rank => notes.push(format!(
                "index `{}` of `{}` is not in `{}`: left out",
                index.name, over.source, base.source
            )),
            None => base.indexes.push(index),
        }
    }
    match (&base.ttl, over.ttl) {
        (Ttl::Unknown, ttl) => base.ttl = ttl,
        (_, Ttl::Unknown) => {}
        (known, ttl) if *known != ttl => {
            notes.push(format!(
                "the sources disagree about time to live: `{}` wins over `{}`",
                base.source, over.source
            ));
        }
        _ => {}
    }
    let keys = base.key_attributes();
    for (name, attribute) in over.attributes {
        let known = base.attributes.contains_key(&name);
        let mixed_before = base.attributes.get(&name).is_some_and(|attribute| attribute.mixed);
        let declared = base.declare(&name, attribute.kind);
        declared.required |= attribute.required;
        declared.mixed |= attribute.mixed;
        declared.key_only = if known { declared.key_only && attribute.key_only } else { attribute.key_only };
        if declared.values.is_empty() {
            declared.values = attribute.values;
        }
        declared.evidence.extend(attribute.evidence);
        if declared.mixed && !mixed_before && !keys.contains(&name) {
            notes.push(format!("the sources disagree about the type of `{name}`: it stays undeclared"));
        }
    }
    for entity in over.entities {
        match base.entities.iter_mut().find(|known| same_entity(known, &entity)) {
            Some(known) => merge_entity(known, entity, &mut notes),
            None => base.entities.push(entity),
        }
    }
    if base.name.is_none() {
        base.name = over.name;
    }
    base.logical_id = base.logical_id.take().or(over.logical_id);
    base.entity_attribute = base.entity_attribute.take().or(over.entity_attribute);
    base.size = base.size.or(over.size);
    base.questions.extend(over.questions);
    base.items.extend(over.items);
    base.notes.extend(over.notes);
    base.notes.extend(notes);
    for what in over.unmodelled {
        if !base.unmodelled.contains(&what) {
            base.unmodelled.push(what);
        }
    }
}

fn merge_index(known: &mut IndexDraft, over: IndexDraft, notes: &mut Vec<String>) {
    match (known.local, over.local) {
        (Some(one), Some(other)) if one != other => {
            notes.push(format!("the sources disagree whether index `{}` is local", known.name));
        }
        _ => known.local = known.local.or(over.local),
    }
    match (&known.projection, over.projection) {
        (None, projection) => known.projection = projection,
        (Some(one), Some(other)) if *one != other => {
            notes.push(format!("the sources disagree about the projection of index `{}`", known.name));
        }
        _ => {}
    }
    known.notes.extend(over.notes);
}

fn same_entity(one: &EntityDraft, other: &EntityDraft) -> bool {
    plain(&one.name) == plain(&other.name) || (!one.when.is_empty() && one.when == other.when)
}

fn merge_entity(known: &mut EntityDraft, over: EntityDraft, notes: &mut Vec<String>) {
    for (key, template) in over.templates {
        match known.templates.get(&key) {
            Some(other) if *other != template => notes.push(format!(
                "the sources disagree about the key `{key}` of `{}`: `{other}` or `{template}`",
                known.name
            )),
            Some(_) => {}
            None => {
                known.templates.insert(key, template);
            }
        }
    }
    if known.when.is_empty() {
        known.when = over.when;
    }
    known.requires.extend(over.requires);
    known.attributes.extend(over.attributes);
    known.evidence.extend(over.evidence);
    known.template_evidence.extend(over.template_evidence);
}
