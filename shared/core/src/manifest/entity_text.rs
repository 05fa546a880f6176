//! `[tables.ID.entities.NAME]`: one kind of item in a table that several share.

use std::collections::BTreeMap;

use super::attributes::Attributes;
use super::code::Code;
use super::diagnostic::Findings;
use super::expect::expect;
use super::fields::Fields;
use super::grammar;
use super::name::check_id;
use super::node::{Node, Text, TomlEntry};
use super::when::{TestableAttributes, conditions};
use crate::key::KeyRole;
use crate::model::{Attribute, Expect, When, WhenTest};
use crate::value::AttributeValue;

/// An entity as written.
#[derive(Debug)]
pub(super) struct EntityText<'a> {
    pub(super) name: Text<'a>,
    pub(super) when: Vec<When>,
    /// The attributes that its items can have: its own, and those of all items.
    pub(super) attributes: BTreeMap<String, Attribute>,
    pub(super) own: Attributes,
    /// Its templates for the table's own keys and those of the indexes.
    pub(super) templates: Vec<EntityTemplate<'a>>,
    pub(super) expect: Expect,
}

/// One template of an entity.
#[derive(Debug)]
pub(super) struct EntityTemplate<'a> {
    /// The index, or `None` for the table's own key.
    pub(super) index: Option<Text<'a>>,
    pub(super) role: KeyRole,
    pub(super) text: Text<'a>,
}

/// The context that an entity's `when` may refer to.
pub(super) struct Surroundings<'s, 'a> {
    pub(super) table: &'s str,
    pub(super) attributes: &'s Attributes,
    pub(super) entity_attribute: Option<&'s Text<'a>>,
    /// The names of the table's own key attributes.
    pub(super) own_keys: &'s [String],
}

/// An entity whose attributes have been read. It is resolved once the attributes of all entities are known.
pub(super) struct EntityFields<'a> {
    name: Text<'a>,
    fields: Fields<'a>,
    pub(super) own: Attributes,
}

impl<'a> EntityFields<'a> {
    pub(super) fn read(entry: &TomlEntry<'a>, table: &str, findings: &mut Findings<'_>) -> Self {
        check_id(&entry.name, "an entity", findings);
        let owner = format!("entity `{}` of table `{table}`", entry.name.value);
        let fields = Fields::read(entry, owner.clone(), grammar::ENTITY, findings);
        let own = Attributes::read(&fields.entries("attributes", findings), &owner, findings);
        EntityFields { name: entry.name.clone(), fields, own }
    }
}

impl<'a> EntityText<'a> {
    pub(super) fn read(
        EntityFields { name, fields, own }: EntityFields<'a>,
        around: &Surroundings<'_, 'a>,
        findings: &mut Findings<'_>,
    ) -> Self {
        let mut templates = Vec::new();
        add_templates(&fields, None, &mut templates, findings);
        for index in fields.entries("indexes", findings) {
            let owner = fields.what(&format!("indexes.{}", index.name.value));
            let keys = Fields::read(&index, owner, grammar::ENTITY_INDEX, findings);
            add_templates(&keys, Some(&index.name), &mut templates, findings);
        }
        let when = match fields.node("when") {
            Some(node) => written_when(node, &fields, around, findings),
            None => default_when(&name, &fields, &templates, around, findings),
        };
        let expect = expect(&fields, grammar::ENTITY_EXPECT, None, findings);
        EntityText { name, when, attributes: around.attributes.with_own(&own), own, templates, expect }
    }

    /// The hint for an attribute that only other entities have.
    pub(super) fn declare_hint(&self, table: &str) -> String {
        format!(
            "declare it in `[tables.{table}.entities.{}.attributes]`, or for the whole table",
            self.name.value
        )
    }

    /// The entity's template for one key.
    pub(super) fn template(&self, index: Option<&str>, role: KeyRole) -> Option<&Text<'a>> {
        let same = |template: &&EntityTemplate<'a>| {
            template.role == role && template.index.as_ref().map(|name| name.value) == index
        };
        self.templates.iter().find(same).map(|template| &template.text)
    }
}

fn add_templates<'a>(
    fields: &Fields<'a>,
    index: Option<&Text<'a>>,
    templates: &mut Vec<EntityTemplate<'a>>,
    findings: &mut Findings<'_>,
) {
    for (field, role) in [("partition", KeyRole::Partition), ("sort", KeyRole::Sort)] {
        if let Some(text) = fields.text(field, findings) {
            templates.push(EntityTemplate { index: index.cloned(), role, text });
        }
    }
}

fn written_when(
    node: &Node<'_>,
    fields: &Fields<'_>,
    around: &Surroundings<'_, '_>,
    findings: &mut Findings<'_>,
) -> Vec<When> {
    let before = findings.errors();
    let testable =
        TestableAttributes { table: around.table, attributes: around.attributes, own_keys: around.own_keys };
    let when = conditions(node, &fields.what("when"), testable, findings);
    if when.is_empty() && findings.errors() == before {
        findings
            .report(Code::EntityWithoutWhen, node.span.clone(), format!("{} is empty", fields.what("when")))
            .hint("say which items belong to this entity, for example `when = { species = \"parrot\" }`");
    }
    when
}

fn default_when(
    name: &Text<'_>,
    fields: &Fields<'_>,
    templates: &[EntityTemplate<'_>],
    around: &Surroundings<'_, '_>,
    findings: &mut Findings<'_>,
) -> Vec<When> {
    let Some(attribute) = around.entity_attribute else {
        let by_keys = told_by_keys(templates, around.own_keys);
        if !by_keys.is_empty() {
            return by_keys;
        }
        findings
            .report(
                Code::EntityWithoutWhen,
                fields.span.clone(),
                format!("entity `{}` has no `when`", name.value),
            )
            .hint(
                "give it a `when`, or templates for the table's key that begin with a text of their own, or give the table an \
                 `entity-attribute` that contains the entity's name",
            );
        return Vec::new();
    };
    let value = AttributeValue::S(name.value.to_owned());
    let listed = around.attributes.get(attribute.value).and_then(|attribute| attribute.values.as_ref());
    if listed.is_some_and(|values| !values.contains(&value)) {
        let message = format!("`{}` does not list the value `{}`", attribute.value, name.value);
        findings
            .report(Code::BadValue, name.span.clone(), message)
            .hint("add it to the attribute's `values`, or write the entity's `when`");
    }
    vec![When { attribute: attribute.value.to_owned(), test: WhenTest::In(vec![value]) }]
}

/// Identifies an entity without `when` by its keys: by the literal prefixes of its templates for the table's key.
fn told_by_keys(templates: &[EntityTemplate<'_>], own_keys: &[String]) -> Vec<When> {
    let own = templates.iter().filter(|template| template.index.is_none());
    let prefixes = own.filter_map(|template| {
        let key = own_keys.get(usize::from(template.role == KeyRole::Sort))?;
        let prefix = template.text.value.split(['{', '[']).next().filter(|prefix| !prefix.is_empty())?;
        Some(When { attribute: key.clone(), test: WhenTest::BeginsWith(prefix.to_owned()) })
    });
    prefixes.collect()
}

/// Is every item of `inner` also one of `outer`, because its longer key prefix begins with the shorter one?
fn is_within(inner: &EntityText<'_>, outer: &EntityText<'_>) -> bool {
    let implied = |wanted: &When| {
        inner.when.iter().filter(|known| known.attribute == wanted.attribute).any(|known| {
            match (&known.test, &wanted.test) {
                (WhenTest::BeginsWith(longer), WhenTest::BeginsWith(shorter)) => longer.starts_with(shorter),
                (known, wanted) => known == wanted,
            }
        })
    };
    let by_prefix = |when: &When| matches!(when.test, WhenTest::BeginsWith(_));
    outer.when.iter().any(by_prefix) && outer.when.iter().all(implied)
}

/// Two entities with the same conditions claim the same items.
pub(super) fn check_distinct(entities: &[EntityText<'_>], findings: &mut Findings<'_>) {
    let keys: Vec<Option<String>> = entities.iter().map(|entity| comparable(&entity.when)).collect();
    for (at, entity) in entities.iter().enumerate() {
        let same = |key: &&Option<String>| key.is_some() && **key == keys[at];
        if let Some(first) = keys[..at].iter().position(|key| same(&key)) {
            let first = &entities[first].name;
            let message =
                format!("entities `{}` and `{}` have the same `when`", first.value, entity.name.value);
            findings
                .report(Code::SameWhen, entity.name.span.clone(), message)
                .related(first.span.clone(), "claims the same items");
            continue;
        }
        let others = entities.iter().enumerate().filter(|(other, _)| *other != at);
        if let Some((_, outer)) = others.into_iter().find(|(_, outer)| is_within(entity, outer)) {
            let (inner, outer) = (&entity.name, &outer.name);
            let message = format!("every `{}` is also a `{}`", inner.value, outer.value);
            findings
                .report(Code::SameWhen, inner.span.clone(), message)
                .related(outer.span.clone(), "claims the same items")
                .hint("give the wider one a longer prefix, or another condition besides");
        }
    }
}

/// The conditions in a fixed order; `None` if none could be read.
fn comparable(when: &[When]) -> Option<String> {
    let mut conditions: Vec<String> = when
        .iter()
        .map(|condition| match &condition.test {
            WhenTest::In(values) => {
                let mut values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
                values.sort();
                format!("{} in {values:?}", condition.attribute)
            }
            WhenTest::Exists(exists) => format!("{} exists {exists}", condition.attribute),
            WhenTest::BeginsWith(prefix) => format!("{} begins with {prefix:?}", condition.attribute),
        })
        .collect();
    conditions.sort();
    (!conditions.is_empty()).then(|| conditions.join(" and "))
}
