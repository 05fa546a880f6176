//! An index that may be worth having, and how the manifest writes it.

use std::fmt::Write as _;

use keyfold_core::key::{KeyMode, Part as TemplatePart};
use keyfold_core::manifest::{toml_key, toml_string, toml_strings};
use keyfold_core::model::{AttributeKind, EntityId, Index, IndexKind, KeySource, Projection, Table};

use crate::shape::{Key, Part};

/// The most attributes of a native multi-attribute key, for each of partition and sort key.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html>
const NATIVE_PARTS_MAX: usize = 4;
/// The longest name made of attributes.
const NAME_LETTERS_MAX: usize = 60;
const SEPARATOR: &str = "#";

/// An index, before it has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Design {
    pub(crate) kind: IndexKind,
    pub(crate) form: Form,
    pub(crate) projection: Projection,
}

/// Where an index's key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// One key for all items.
    Plain(Key),
    /// A template for each of some entities. Items of others are not in the index.
    ByEntity(Vec<Slot>),
}

/// The key of one entity in an overloaded index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) entity: EntityId,
    pub(crate) key: Key,
    /// Does its partition key begin with the entity's name?
    pub(crate) has_prefix: bool,
}

/// The designs for one part of a question.
pub(crate) fn designs(
    table: &Table,
    part: &Part<'_>,
    keys: &[Key],
    select: Option<&[String]>,
) -> Vec<Design> {
    let mut found = Vec::new();
    for key in keys {
        let names = || key.partition.iter().chain(&key.sort);
        // The shards of a part about some entities are too few for all items.
        let is_for_all = key.shard.is_none() || part.entities.is_empty();
        if is_for_all && names().all(|name| table.attributes.contains_key(name)) {
            found.push((IndexKind::Global, Form::Plain(key.clone())));
        }
        if let Some(rest) = local_key(table, key) {
            found.push((IndexKind::Local, Form::Plain(rest)));
        }
        let entities: Vec<EntityId> = match part.entities.is_empty() {
            true => (0..table.entities.len()).map(EntityId).collect(),
            false => part.entities.clone(),
        };
        let has_all = |id: &EntityId| names().all(|name| table.entities[id.0].attributes.contains_key(name));
        let slot = |entity| Slot { entity, key: key.clone(), has_prefix: part.entities.len() == 1 };
        let slots: Vec<Slot> = entities.into_iter().filter(has_all).map(slot).collect();
        if !slots.is_empty() {
            found.push((IndexKind::Global, Form::ByEntity(slots)));
        }
    }
    let projections = |form: &Form| match select {
        None => vec![Projection::All, Projection::KeysOnly],
        Some(names) => vec![Projection::All, included(table, form, names), Projection::KeysOnly],
    };
    let with = |(kind, form): (IndexKind, Form)| {
        projections(&form).into_iter().map(move |projection| Design { kind, form: form.clone(), projection })
    };
    found.into_iter().flat_map(with).collect()
}

/// The projection of these attributes. Keys are in each index anyway.
pub(crate) fn included(table: &Table, form: &Form, names: &[String]) -> Projection {
    let natural = |name: &str| match form {
        Form::Plain(key) => {
            let is_native = key.is_native(table);
            let half = |half: &[String]| (is_native || half.len() == 1) && half.iter().any(|one| one == name);
            (key.shard.is_none() && half(&key.partition)) || (!key.has_tail && half(&key.sort))
        }
        Form::ByEntity(_) => false,
    };
    let is_key = |name: &str| table.key_attributes().any(|key| key.name == name) || natural(name);
    let left: Vec<String> = names.iter().filter(|name| !is_key(name)).cloned().collect();
    if left.is_empty() { Projection::KeysOnly } else { Projection::Include(left) }
}

/// The key as that of a local index, if its partition key is the table's.
fn local_key(table: &Table, key: &Key) -> Option<Key> {
    let is_own =
        key.partition == [table.partition.name.clone()] && table.partition.source == KeySource::Natural;
    (is_own && key.shard.is_none() && !key.sort.is_empty() && table.sort.is_some()).then(|| key.clone())
}

impl Key {
    /// Can DynamoDB's own multi-attribute keys hold it?
    fn is_native(&self, table: &Table) -> bool {
        let is_natural = |name: &String| {
            table.attributes.get(name).is_some_and(|known| known.kind.scalar().is_some() && !known.from_key)
                && table.mixed_type(&[], name).is_none()
        };
        self.shard.is_none()
            && !self.has_tail
            && self.partition.len().max(self.sort.len()) <= NATIVE_PARTS_MAX
            && self.partition.iter().chain(&self.sort).all(is_natural)
    }

    fn partition_template(&self, table: &Table, entity: Option<EntityId>, prefix: Option<&str>) -> String {
        let mut parts: Vec<String> = prefix.iter().map(|prefix| literal(prefix)).collect();
        parts.extend(self.partition.iter().map(|name| part(table, entity, name)));
        parts.extend(self.shard.iter().map(|shard| format!("{{{}|shard:{}}}", shard.attribute, shard.count)));
        parts.join(SEPARATOR)
    }

    fn sort_template(&self, table: &Table, entity: Option<EntityId>) -> String {
        let mut text = String::new();
        for (at, name) in self.sort.iter().enumerate() {
            let is_tail = self.has_tail && at + 1 == self.sort.len();
            // A key is never empty: a tail alone has its attribute's name in front.
            if is_tail && at == 0 {
                text += &literal(name);
            }
            // The separator stays without the tail, so that items with it and items without it are one range.
            if at > 0 || is_tail {
                text += SEPARATOR;
            }
            let one = part(table, entity, name);
            text += &if is_tail { format!("[{one}]") } else { one };
        }
        text
    }
}

/// An attribute as a part of a template.
fn part(table: &Table, entity: Option<EntityId>, name: &str) -> String {
    match table.attributes_of(entity).get(name).map(|attribute| attribute.kind) {
        Some(AttributeKind::Number) => format!("{{{name}:number}}"),
        Some(AttributeKind::Binary) => format!("{{{name}|hex}}"),
        _ => format!("{{{name}}}"),
    }
}

/// Text of a template, as itself.
fn literal(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, letter| {
        escaped.extend(std::iter::repeat_n(letter, if "{}[]".contains(letter) { 2 } else { 1 }));
        escaped
    })
}

impl Design {
    /// Does the index need a retrofit? Native keys are filled by DynamoDB itself.
    pub(crate) fn is_folded(&self, table: &Table) -> bool {
        match &self.form {
            Form::Plain(key) => {
                !key.is_native(table) || (self.kind == IndexKind::Local && key.sort.len() > 1)
            }
            Form::ByEntity(_) => true,
        }
    }

    /// The sections of the index under this name.
    pub(crate) fn text(&self, table: &Table, name: &str) -> String {
        let mut text = format!("\n[tables.{}.indexes.{}]\n", toml_key(&table.id), toml_key(name));
        let kind = if self.kind == IndexKind::Local { "local" } else { "global" };
        let _ = writeln!(text, "type = {kind:?}");
        let mut slots = String::new();
        match &self.form {
            Form::Plain(key) => text += &self.plain_keys(table, key, name),
            Form::ByEntity(all) => {
                let has_sort = has_sort(all);
                let _ = writeln!(text, "partition = {}", folded(table, &format!("{name}_pk"), None));
                if has_sort {
                    let _ = writeln!(text, "sort = {}", folded(table, &format!("{name}_sk"), None));
                }
                all.iter().for_each(|slot| slots += &slot.text(table, name, has_sort));
            }
        }
        match &self.projection {
            Projection::All => text += "projection = \"all\"\n",
            Projection::KeysOnly => text += "projection = \"keys-only\"\n",
            Projection::Include(names) => drop(writeln!(text, "projection = {}", toml_strings(names))),
        }
        let items = match &self.form {
            Form::Plain(key) => key.shard.as_ref().map(|shard| shard.items),
            Form::ByEntity(all) => {
                all.iter().filter_map(|slot| slot.key.shard.as_ref()).map(|shard| shard.items).max()
            }
        };
        if let Some(items) = items {
            let _ = writeln!(text, "expect = {{ items-per-partition = {items} }}");
        }
        text + &slots
    }

    fn plain_keys(&self, table: &Table, key: &Key, name: &str) -> String {
        let is_native = key.is_native(table) && self.kind == IndexKind::Global;
        let half = |names: &[String], is_whole: bool, template: String, suffix: &str| match names {
            [one] if is_whole && Key { sort: Vec::new(), ..key_of(one) }.is_native(table) => toml_string(one),
            names if is_native => toml_strings(names),
            _ => folded(table, &format!("{name}_{suffix}"), Some(&template)),
        };
        let mut text = String::new();
        if self.kind == IndexKind::Global {
            let template = key.partition_template(table, None, None);
            let _ =
                writeln!(text, "partition = {}", half(&key.partition, key.shard.is_none(), template, "pk"));
        }
        if !key.sort.is_empty() {
            let template = key.sort_template(table, None);
            let _ = writeln!(text, "sort = {}", half(&key.sort, !key.has_tail, template, "sk"));
        }
        text
    }

    /// A name for people: `byOwnerCreated`, or `shared1` where several entities share the index.
    pub(crate) fn name(&self, table: &Table, taken: &dyn Fn(&str) -> bool) -> String {
        let capital = |text: &str| {
            let mut letters = text.chars().filter(char::is_ascii_alphanumeric);
            letters
                .next()
                .map(|first| first.to_ascii_uppercase())
                .into_iter()
                .chain(letters)
                .collect::<String>()
        };
        let of_key = |key: &Key| {
            let names = key.partition.iter().chain(&key.sort).map(|name| capital(name));
            format!("by{}", names.collect::<String>().chars().take(NAME_LETTERS_MAX).collect::<String>())
        };
        let (first, is_numbered) = match &self.form {
            Form::Plain(key) => (of_key(key), false),
            Form::ByEntity(slots) => match slots.as_slice() {
                [slot] => {
                    let entity = &table.entities[slot.entity.0].name;
                    (format!("{}{}", entity.to_ascii_lowercase(), capital(&of_key(&slot.key))), false)
                }
                _ => ("shared".to_owned(), true),
            },
        };
        let numbered = (if is_numbered { 1 } else { 2 }..).map(|number: u32| format!("{first}{number}"));
        let mut names = (!is_numbered).then(|| first.clone()).into_iter().chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }
}

fn key_of(name: &str) -> Key {
    Key { partition: vec![name.to_owned()], shard: None, sort: Vec::new(), has_tail: false }
}

fn has_sort(slots: &[Slot]) -> bool {
    slots.iter().any(|slot| !slot.key.sort.is_empty())
}

impl Slot {
    fn text(&self, table: &Table, index: &str, has_sort: bool) -> String {
        let (entity, name) = (Some(self.entity), &table.entities[self.entity.0].name);
        let prefix = self.has_prefix.then_some(name.as_str());
        let partition = self.key.partition_template(table, entity, prefix);
        let mut text = format!(
            "\n[tables.{}.entities.{}.indexes.{}]\npartition = {}\n",
            toml_key(&table.id),
            toml_key(name),
            toml_key(index),
            toml_string(&partition)
        );
        // Entities that share a partition need separate ranges.
        let sort = match self.key.sort_template(table, entity) {
            sort if sort.is_empty() => literal(name),
            sort => sort,
        };
        if has_sort {
            let _ = writeln!(text, "sort = {}", toml_string(&sort));
        }
        text
    }
}

/// A folded key in the attribute of this name.
fn folded(table: &Table, attribute: &str, template: Option<&str>) -> String {
    let mut fields = vec![format!("attribute = {}", toml_string(attribute))];
    fields.extend(template.map(|template| format!("fold = {}", toml_string(template))));
    // The table's own keys are not escaped; a new one can take every value.
    fields.extend(is_verbatim(table).then(|| "verbatim = false".to_owned()));
    match (template, fields.as_slice()) {
        (Some(template), [_, _]) => toml_string(template),
        _ => format!("{{ {} }}", fields.join(", ")),
    }
}

/// Are the table's keys written without escaping? Its templates say so; without any, escaping is right.
fn is_verbatim(table: &Table) -> bool {
    let keys = table.key_attributes().chain(table.indexes.iter().flat_map(Index::key_attributes));
    let rules = keys.filter_map(|key| match &key.source {
        KeySource::Folded(rules) => Some(rules),
        KeySource::Natural => None,
    });
    rules.flatten().any(|rule| {
        let has_attribute =
            rule.template.parts().iter().any(|part| matches!(part, TemplatePart::Attribute { .. }));
        rule.template.mode() == KeyMode::Verbatim && has_attribute
    })
}
