//! The manifest's text, with the evidence in comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use keyfold_core::manifest::{toml_key, toml_string as quoted, toml_strings};
use keyfold_core::model::{AttributeKind, Precision, Projection, ScalarType};

use crate::describe::kind_of;
use crate::draft::{
    AttributeDraft, Draft, EntityDraft, IndexDraft, QuestionDraft, SampledItem, TableDraft, Ttl, WhenDraft,
    counted,
};
use crate::name;
use crate::questions::attribute;
use crate::template;

/// The comment of an attribute that some items store.
const FROM_KEY_TOO: &str = "read from the key of items that lack it";

/// Sections that the manifest's check refused, with the reason: they are written as comments.
pub(crate) type Refused = BTreeMap<String, String>;

/// A text made safe for one comment line.
fn comment(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The ids of the tables, in order: unique, and legal.
pub(crate) fn table_ids(draft: &Draft) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for table in &draft.tables {
        let id = name::id(table.title(), "table");
        let id = if id.len() < name::LEGAL_CHARS_MIN { format!("{id}-table") } else { id };
        ids.push(name::unique(id, |known| ids.iter().any(|one| one == known)));
    }
    ids
}

/// The whole manifest.
pub(crate) fn manifest(draft: &Draft, sources: &[String], refused: &Refused) -> String {
    let mut text = String::new();
    let from = sources.iter().map(|source| format!("`{}`", comment(source))).collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "# Made by `keyfold init` from {from}. Comments say on what evidence.");
    let _ = writeln!(text, "# Read it once, then: `keyfold check`, `keyfold plan`, `keyfold template`.");
    for note in &draft.notes {
        let _ = writeln!(text, "# Note: {}.", comment(note));
    }
    let ids = table_ids(draft);
    for (id, table) in ids.iter().zip(&draft.tables) {
        Writer { id, table, refused }.table(&mut text);
    }
    for (id, table) in ids.iter().zip(&draft.tables) {
        for question in &table.questions {
            Writer { id, table, refused }.question(question, &mut text);
        }
    }
    text
}

/// Writes one table.
struct Writer<'a> {
    id: &'a str,
    table: &'a TableDraft,
    refused: &'a Refused,
}

impl Writer<'_> {
    /// The entities that share the table; a single one needs no name.
    fn named(&self) -> Vec<&EntityDraft> {
        let all: Vec<&EntityDraft> =
            self.table.entities.iter().filter(|entity| !entity.name.is_empty()).collect();
        if all.len() < 2 && self.alone().is_some() { Vec::new() } else { all }
    }

    /// The only entity, whose templates become the table's.
    fn alone(&self) -> Option<&EntityDraft> {
        match self.table.entities.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    fn entity_id(&self, entity: &EntityDraft) -> String {
        let ids = self.entity_ids();
        ids.into_iter()
            .find(|(name, _)| *name == entity.name)
            .map_or_else(|| entity.name.clone(), |(_, id)| id)
    }

    fn entity_ids(&self) -> Vec<(String, String)> {
        let mut ids: Vec<(String, String)> = Vec::new();
        for entity in &self.table.entities {
            let id =
                name::unique(name::id(&entity.name, "item"), |known| ids.iter().any(|(_, one)| one == known));
            ids.push((entity.name.clone(), id));
        }
        ids
    }

    fn section(&self, kind: &str, name: &str) -> String {
        format!("tables.{}.{kind}.{}", toml_key(self.id), toml_key(name))
    }

    fn live(&self) -> Vec<&EntityDraft> {
        let kept = |entity: &&EntityDraft| {
            !self.refused.contains_key(&self.section("entities", &self.entity_id(entity)))
        };
        self.named().into_iter().filter(kept).collect()
    }

    /// Is the attribute a folded key? Keys that are numbers or parts of a native key never are.
    fn is_folded(&self, key: &str) -> bool {
        let text = self.table.scalars.get(key).is_none_or(|scalar| *scalar == ScalarType::S);
        let has = |entity: &EntityDraft| entity.templates.contains_key(key);
        text && !self.in_native(key)
            && match self.alone() {
                Some(only) => has(only),
                None => self.live().into_iter().any(has),
            }
    }

    fn in_native(&self, key: &str) -> bool {
        self.table.indexes.iter().any(|index| {
            let native = index.partition.len() > 1 || index.sort.len() > 1;
            native && index.partition.iter().chain(&index.sort).any(|name| name == key)
        })
    }

    fn key(&self, name: &str) -> String {
        if !self.is_folded(name) {
            return quoted(name);
        }
        match self.alone().and_then(|only| only.templates.get(name)) {
            Some(template) => format!("{{ attribute = {}, fold = {} }}", quoted(name), quoted(template)),
            None => format!("{{ attribute = {} }}", quoted(name)),
        }
    }

    fn evidence_of(&self, key: &str) -> String {
        let only = self.alone().filter(|_| self.is_folded(key));
        only.and_then(|only| only.template_evidence.get(key))
            .map_or_else(String::new, |why| format!(" # {}", comment(why)))
    }

    fn table(&self, text: &mut String) {
        let table = self.table;
        let _ = writeln!(text, "\n[tables.{}]", toml_key(self.id));
        let _ = writeln!(text, "# From `{}`.", comment(&table.source));
        for note in &table.notes {
            let _ = writeln!(text, "# Note: {}.", comment(note));
        }
        if !table.unmodelled.is_empty() {
            let what = table.unmodelled.join(", ");
            let _ = writeln!(
                text,
                "# Not modelled here, and to be kept where the table is defined: {}.",
                comment(&what)
            );
        }
        match &table.name {
            Some(name) if name::is_legal(name) => {
                let _ = writeln!(text, "name = {}", quoted(name));
            }
            Some(name) => {
                let _ = writeln!(
                    text,
                    "# name = {} # DynamoDB does not accept this name: the id stands for it",
                    quoted(&comment(name))
                );
            }
            None => {
                let _ = writeln!(
                    text,
                    "# name = \"...\"  # its name in DynamoDB is not known: the id stands for it"
                );
            }
        }
        let _ = writeln!(text, "verbatim = true # keys as they are stored: nothing is escaped");
        for (field, key) in [("partition", &table.partition), ("sort", &table.sort)] {
            if let Some(key) = key {
                let _ = writeln!(text, "{field} = {}{}", self.key(key), self.evidence_of(key));
            }
        }
        match &table.ttl {
            Ttl::On(name) => {
                let _ = writeln!(text, "ttl = {}", quoted(name));
            }
            Ttl::Off => {}
            Ttl::Unknown => {
                let _ = writeln!(text, "# ttl = \"...\"  # no source says whether items expire");
            }
        }
        if let Some((items, bytes)) = table.size.filter(|(items, _)| *items > 0) {
            let each = (bytes / items).clamp(1, 400_000);
            let _ =
                writeln!(text, "expect = {{ items = {items}, item-bytes = {each} }} # as DescribeTable says");
        }
        self.key_notes(text);
        self.attributes(text);
        for index in &table.indexes {
            self.index(index, text);
        }
        for entity in self.named() {
            self.entity(entity, text);
        }
    }

    /// Without a schema or items, only the names of keys like `PK` are known.
    fn key_notes(&self, text: &mut String) {
        let table = self.table;
        if !table.entities.is_empty() || !table.items.is_empty() {
            return;
        }
        let unknown: Vec<String> =
            table.key_attributes().into_iter().filter(|key| name::is_key_name(key)).collect();
        if !unknown.is_empty() {
            let _ = writeln!(
                text,
                "# What {} mean is not known from this source: give a schema or items too (`keyfold init ... --table`).",
                comment(&unknown.join(", "))
            );
        }
    }

    /// Every attribute that the manifest must declare, and other known ones.
    fn declared(&self) -> BTreeMap<String, AttributeDraft> {
        let table = self.table;
        let mut declared: BTreeMap<String, AttributeDraft> = BTreeMap::new();
        let known = |name: &str| table.attributes.get(name).cloned().unwrap_or_default();
        let mut must: BTreeSet<String> = BTreeSet::new();
        let entities: Vec<&EntityDraft> = match self.alone() {
            Some(only) => vec![only],
            None => self.live(),
        };
        for entity in entities {
            must.extend(entity.templates.values().flat_map(|text| template::attributes(text)));
            must.extend(entity.when.iter().map(|(name, _)| name.clone()));
        }
        for key in table.key_attributes() {
            if !self.is_folded(&key) {
                must.insert(key);
            }
        }
        for index in &table.indexes {
            if let Some(Projection::Include(names)) = &index.projection {
                must.extend(names.iter().cloned());
            }
        }
        if let Ttl::On(name) = &table.ttl {
            must.insert(name.clone());
        }
        for (name, attribute) in &table.attributes {
            if attribute.kind.is_some() || attribute.mixed {
                declared.insert(name.clone(), attribute.clone());
            }
        }
        let keys = table.key_attributes();
        for name in must {
            let mut attribute = declared.remove(&name).unwrap_or_else(|| known(&name));
            let scalar = table.scalars.get(&name).copied();
            if let Some(scalar) = scalar.filter(|_| keys.contains(&name))
                && !(attribute.kind.is_some_and(|kind| kind.scalar() == Some(ScalarType::S))
                    && scalar == ScalarType::S)
            {
                attribute.kind = kind_of(scalar);
                attribute.mixed = false;
            }
            if table.ttl == Ttl::On(name.clone()) && attribute.kind.is_none() {
                attribute.kind = Some(AttributeKind::Number);
            }
            if attribute.kind.is_none() {
                attribute.kind = Some(AttributeKind::String);
                attribute.evidence.push("no source says its type: taken for a string".to_owned());
                attribute.mixed = false;
            }
            declared.insert(name, attribute);
        }
        declared.retain(|name, _| !self.is_folded(name));
        if let Some(only) = self.alone() {
            for name in &only.requires {
                if let Some(attribute) = declared.get_mut(name).filter(|attribute| !attribute.key_only) {
                    attribute.required = true;
                }
            }
        }
        for key in table.partition.iter().chain(&table.sort) {
            if let Some(attribute) = declared.get_mut(key) {
                attribute.required = true;
            }
        }
        declared
    }

    /// The attributes of all items. Those of one entity are written with it.
    fn attributes(&self, text: &mut String) {
        let live = self.live();
        let mut shared: Vec<(String, AttributeDraft)> = self.declared().into_iter().collect();
        shared.retain(|(name, attribute)| self.is_shared(name, attribute, &live));
        if shared.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n[tables.{}.attributes]", toml_key(self.id));
        for (name, attribute) in shared {
            let of = self.alone().or_else(|| live.first().copied());
            let from_key = of.is_some_and(|entity| self.is_from_key(&name, &attribute, entity));
            let by_all = !live.is_empty() && live.iter().all(|entity| self.requires(entity, &name));
            let required = attribute.required || by_all;
            let mut notes = attribute.evidence.clone();
            let is_stored = self.table.items.iter().any(|row| row.item.contains_key(name.as_str()));
            if from_key && is_stored {
                notes.insert(0, FROM_KEY_TOO.to_owned());
            } else if from_key {
                notes.insert(0, "read from the key: no item holds it as an attribute".to_owned());
            }
            attribute_line(&name, &AttributeDraft { required, ..attribute }, from_key, notes, text);
        }
    }

    /// Is the attribute declared once? Yes if every entity has it in the same way, none is known to have it, or only
    /// some sampled items of an entity do: then items of other entities may have it too.
    fn is_shared(&self, name: &str, attribute: &AttributeDraft, live: &[&EntityDraft]) -> bool {
        let with = live.iter().filter(|entity| self.has(entity, name)).count();
        let way =
            |entity: &&EntityDraft| (self.is_from_key(name, attribute, entity), self.requires(entity, name));
        let is_undeclared = attribute.kind.is_none();
        let alike = || live.iter().all(|entity| way(entity) == way(&live[0]));
        let is_own = |entity: &&EntityDraft| {
            let (from_key, required) = way(entity);
            from_key || required
        };
        let is_optional =
            || live.iter().any(|entity| self.is_in_some(entity, name)) && !live.iter().any(is_own);
        is_undeclared || attribute.required || with == 0 || with == live.len() && alike() || is_optional()
    }

    /// Do some sampled items of the entity have the attribute, and others not?
    fn is_in_some(&self, entity: &EntityDraft, name: &str) -> bool {
        let mut rows = self.rows(entity).map(|row| row.item.contains_key(name));
        let first = rows.next();
        rows.any(|has| Some(has) != first)
    }

    fn rows(&self, entity: &EntityDraft) -> impl Iterator<Item = &SampledItem> {
        self.table.items.iter().filter(move |row| row.entity.as_deref() == Some(entity.name.as_str()))
    }

    /// Can items of this entity have the attribute, stored or in a key?
    fn has(&self, entity: &EntityDraft, name: &str) -> bool {
        entity.attributes.contains(name)
            || entity.requires.contains(name)
            || entity.key_only.contains(name)
            || entity.templates.values().any(|text| template::attributes(text).iter().any(|one| one == name))
            || entity.when.iter().any(|(one, test)| one == name && *test != WhenDraft::Exists(false))
            || self.rows(entity).any(|row| row.item.contains_key(name))
    }

    /// Does every item of this entity store the attribute?
    fn requires(&self, entity: &EntityDraft, name: &str) -> bool {
        entity.requires.contains(name) && !entity.key_only.contains(name)
    }

    /// The attributes of one entity, as a separate section.
    fn own_attributes(&self, entity: &EntityDraft, text: &mut String) {
        let live = self.live();
        let mut own: Vec<(String, AttributeDraft)> = self.declared().into_iter().collect();
        own.retain(|(name, attribute)| !self.is_shared(name, attribute, &live) && self.has(entity, name));
        if own.is_empty() {
            return;
        }
        let section = self.section("entities", &self.entity_id(entity));
        let _ = writeln!(text, "[{section}.attributes]");
        let rows: Vec<&SampledItem> = self.rows(entity).collect();
        for (name, attribute) in own {
            let required = self.requires(entity, &name);
            let from_key = self.is_from_key(&name, &attribute, entity);
            let with = rows.iter().filter(|row| row.item.contains_key(name.as_str())).count();
            let mut notes: Vec<String> =
                attribute.evidence.iter().filter(|note| !note.starts_with("in ")).cloned().collect();
            if with > 0 {
                notes.insert(0, counted(with, rows.len()));
            }
            if from_key && with > 0 {
                notes.insert(1, FROM_KEY_TOO.to_owned());
            } else if from_key {
                notes.insert(0, "read from the key: no item of the entity stores it".to_owned());
            }
            attribute_line(&name, &AttributeDraft { required, ..attribute }, from_key, notes, text);
        }
    }

    /// Is the attribute read from a key in items of this entity? Only if a key in the manifest contains it.
    fn is_from_key(&self, name: &str, attribute: &AttributeDraft, entity: &EntityDraft) -> bool {
        let stored = self.table.key_attributes().iter().any(|key| key == name && !self.is_folded(key));
        let keeps = |(key, template): (&String, &String)| {
            self.is_folded(key)
                && (template.contains(&format!("{{{name}}}")) || template.contains(&format!("{{{name}:0")))
        };
        !stored
            && self.table.ttl != Ttl::On(name.to_owned())
            && (attribute.key_only || entity.key_only.contains(name))
            && entity.templates.iter().any(keeps)
    }

    fn index(&self, index: &IndexDraft, text: &mut String) {
        let _ = writeln!(text, "\n[{}]", self.section("indexes", &index.name));
        for note in &index.notes {
            let _ = writeln!(text, "# Note: {}.", comment(note));
        }
        let local = index.local.unwrap_or(false);
        if local {
            let _ = writeln!(text, "type = \"local\"");
        } else {
            if index.partition.first() == self.table.partition.as_ref() {
                let _ = writeln!(text, "type = \"global\"");
            }
            let _ = writeln!(
                text,
                "partition = {}{}",
                self.keys(&index.partition),
                self.all_evidence(&index.partition)
            );
        }
        if !index.sort.is_empty() {
            let _ = writeln!(text, "sort = {}{}", self.keys(&index.sort), self.all_evidence(&index.sort));
        }
        match &index.projection {
            None => {
                let _ =
                    writeln!(text, "projection = \"all\" # the source does not say: compare with the table");
            }
            Some(Projection::All) => {
                let _ = writeln!(text, "projection = \"all\"");
            }
            Some(Projection::KeysOnly) => {
                let _ = writeln!(text, "projection = \"keys-only\"");
            }
            Some(Projection::Include(names)) => {
                let own = |name: &&String| {
                    let of_table =
                        self.table.partition.iter().chain(&self.table.sort).any(|key| key == *name);
                    of_table || index.partition.contains(name) || index.sort.contains(name)
                };
                let kept: BTreeSet<&String> = names.iter().filter(|name| !own(name)).collect();
                let _ = match kept.is_empty() {
                    true => writeln!(text, "projection = \"keys-only\" # it lists nothing but keys"),
                    false => writeln!(text, "projection = {}", toml_strings(kept)),
                };
            }
        }
    }

    fn keys(&self, names: &[String]) -> String {
        match names {
            [one] => self.key(one),
            several => toml_strings(several),
        }
    }

    fn all_evidence(&self, names: &[String]) -> String {
        names.first().filter(|_| names.len() == 1).map_or_else(String::new, |name| self.evidence_of(name))
    }

    fn entity(&self, entity: &EntityDraft, text: &mut String) {
        let section = self.section("entities", &self.entity_id(entity));
        let mut body = String::new();
        let _ = writeln!(body, "[{section}]");
        for line in &entity.evidence {
            let _ = writeln!(body, "# {}.", comment(line));
        }
        if !entity.when.is_empty() {
            let one = |(name, test): &(String, WhenDraft)| {
                let test = match test {
                    WhenDraft::In(values) => match values.as_slice() {
                        [value] => quoted(value),
                        several => toml_strings(several),
                    },
                    WhenDraft::Exists(wanted) => format!("{{ exists = {wanted} }}"),
                    WhenDraft::BeginsWith(text) => format!("{{ begins-with = {} }}", quoted(text)),
                };
                format!("{} = {test}", toml_key(name))
            };
            let conditions: Vec<String> = entity.when.iter().map(one).collect();
            let _ = writeln!(body, "when = {{ {} }}", conditions.join(", "));
        }
        let mut done: Vec<&String> = Vec::new();
        let keys = |field: &'static str, key: Option<&String>| key.map(|key| (field.to_owned(), key.clone()));
        let mut places: Vec<(String, String)> = Vec::new();
        places.extend(keys("partition", self.table.partition.as_ref()));
        places.extend(keys("sort", self.table.sort.as_ref()));
        for index in &self.table.indexes {
            if index.partition.len() > 1 || index.sort.len() > 1 {
                continue;
            }
            let prefix = format!("indexes.{}", toml_key(&index.name));
            if index.local != Some(true) {
                places
                    .extend(index.partition.first().map(|key| (format!("{prefix}.partition"), key.clone())));
            }
            places.extend(index.sort.first().map(|key| (format!("{prefix}.sort"), key.clone())));
        }
        for (place, key) in &places {
            if done.contains(&key) || !self.folds(entity, key) {
                continue;
            }
            done.push(key);
            if let Some(template) = entity.templates.get(key) {
                let why = entity
                    .template_evidence
                    .get(key)
                    .map_or_else(String::new, |why| format!(" # {}", comment(why)));
                let _ = writeln!(body, "{place} = {}{why}", quoted(template));
            }
        }
        self.own_attributes(entity, &mut body);
        section_text(self.refused.get(&section), &body, text);
    }

    /// Is it a folded key, even if the entity is written as a comment?
    fn folds(&self, entity: &EntityDraft, key: &str) -> bool {
        let text = self.table.scalars.get(key).is_none_or(|scalar| *scalar == ScalarType::S);
        text && !self.in_native(key) && entity.templates.contains_key(key)
    }

    fn question(&self, question: &QuestionDraft, text: &mut String) {
        let section = format!("questions.{}.{}", toml_key(self.id), toml_key(&question.name));
        let declared = self.declared();
        let mut left_out = Vec::new();
        let mut conditions: Vec<String> = Vec::new();
        for condition in &question.conditions {
            let name = attribute(condition);
            let can = declared.get(name).is_some_and(|one| {
                let scalar = !matches!(
                    one.kind,
                    Some(AttributeKind::List)
                        | Some(AttributeKind::Map)
                        | Some(AttributeKind::StringSet)
                        | Some(AttributeKind::NumberSet)
                        | Some(AttributeKind::BinarySet)
                );
                one.kind.is_some()
                    && (scalar || condition.contains("contains") || condition.contains("exists"))
            });
            if can { conditions.push(condition.clone()) } else { left_out.push(name) }
        }
        let mut body = String::new();
        let _ = writeln!(body, "[{section}]");
        if !question.description.is_empty() {
            let _ = writeln!(
                body,
                "# {}{}",
                comment(&question.description),
                if question.stated { "" } else { ": a key that was found" }
            );
        }
        if !left_out.is_empty() {
            let _ =
                writeln!(body, "# left out, because it is not declared: {}", comment(&left_out.join(", ")));
        }
        let _ = writeln!(body, "where = {}", toml_strings(&conditions));
        let mut refused = self.refused.get(&section).cloned();
        let mut ids: Vec<String> = Vec::new();
        for entity in self.named().into_iter().filter(|one| question.entities.contains(&one.name)) {
            let id = self.entity_id(entity);
            if self.refused.contains_key(&self.section("entities", &id)) {
                refused = Some(format!("its entity `{id}` is a comment"));
            }
            ids.push(id);
        }
        if conditions.is_empty() && !question.conditions.is_empty() {
            refused = Some("nothing that it asks for is declared".to_owned());
        }
        match ids.as_slice() {
            [] => {}
            [only] => {
                let _ = writeln!(body, "entity = {}", quoted(only));
            }
            several => {
                let _ = writeln!(body, "entity = {}", toml_strings(several));
            }
        }
        if !question.order.is_empty() {
            let _ = writeln!(body, "order = {}", toml_strings(&question.order));
        }
        if let Some(limit) = question.limit {
            let _ = writeln!(body, "limit = {limit}");
        }
        if question.consistent {
            let _ = writeln!(body, "consistent = true");
        }
        if question.scan || conditions.is_empty() {
            let _ = writeln!(body, "scan = true");
        }
        section_text(refused.as_ref(), &body, text);
    }
}

/// A section, or a comment with the reason why it is missing.
fn section_text(refused: Option<&String>, body: &str, text: &mut String) {
    text.push('\n');
    match refused {
        None => text.push_str(body),
        Some(why) => {
            let _ = writeln!(text, "# As a comment, because: {}.", comment(why));
            for line in body.lines() {
                let _ = writeln!(text, "# {line}");
            }
        }
    }
}

/// A declared attribute, with its evidence.
fn attribute_line(
    name: &str,
    attribute: &AttributeDraft,
    from_key: bool,
    mut notes: Vec<String>,
    text: &mut String,
) {
    notes.dedup();
    let notes = if notes.is_empty() { String::new() } else { format!(" # {}", comment(&notes.join("; "))) };
    let Some(kind) = attribute.kind.map(AttributeKind::name) else {
        let _ = writeln!(text, "# {} is not declared.{notes}", comment(name));
        return;
    };
    let mut fields = vec![format!("type = {}", quoted(kind))];
    if let Some(AttributeKind::Timestamp(precision)) = attribute.kind {
        fields.extend(precision_word(precision).map(|word| format!("precision = {}", quoted(word))));
    }
    if !attribute.values.is_empty() && attribute.kind == Some(AttributeKind::String) {
        fields.push(format!("values = {}", toml_strings(&attribute.values)));
    }
    if attribute.required && !from_key {
        fields.push("required = true".to_owned());
    }
    if from_key {
        fields.push("from-key = true".to_owned());
    }
    let value = if fields.len() == 1 { quoted(kind) } else { format!("{{ {} }}", fields.join(", ")) };
    let _ = writeln!(text, "{} = {value}{notes}", toml_key(name));
}

fn precision_word(precision: Precision) -> Option<&'static str> {
    match precision {
        Precision::Seconds => Some("s"),
        Precision::Milliseconds => None,
        Precision::Microseconds => Some("us"),
        Precision::Nanoseconds => Some("ns"),
    }
}
