//! The one form that every reader fills: what is known of each table, from which source, on what evidence.
//!
//! A reader fills what its format says and leaves the rest open. `overlay` lays the drafts of several
//! sources over each other, `infer` adds what the items show, `write` makes a manifest of it.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::model::{AttributeKind, Projection, ScalarType};
use keyfold_core::value::Item;

/// What the sources say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// The tables.
    pub tables: Vec<TableDraft>,
    /// What belongs to no table: what was left out, and why.
    pub notes: Vec<String>,
}

/// How well a source knows a table's structure: the higher wins where two differ, and the difference is reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Items, or a description of time to live: no structure.
    #[default]
    Items,
    /// A schema of a library, which names indexes and fields.
    Library,
    /// A model that was drawn or generated.
    Model,
    /// Infrastructure as code.
    Code,
    /// What DynamoDB answers.
    Live,
}

/// One table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableDraft {
    /// Its name in DynamoDB.
    pub name: Option<String>,
    /// A name to call it by where the source does not know its name in DynamoDB.
    pub logical_id: Option<String>,
    /// The file or table that this comes from.
    pub source: String,
    /// How well the source knows the structure.
    pub rank: Rank,
    /// The attribute of the partition key.
    pub partition: Option<String>,
    /// The attribute of the sort key.
    pub sort: Option<String>,
    /// The types of key attributes.
    pub scalars: BTreeMap<String, ScalarType>,
    /// The indexes.
    pub indexes: Vec<IndexDraft>,
    /// Attributes that are no folded keys.
    pub attributes: BTreeMap<String, AttributeDraft>,
    /// The attribute that says which entity an item is.
    pub entity_attribute: Option<String>,
    /// The entities.
    pub entities: Vec<EntityDraft>,
    /// What is known of time to live.
    pub ttl: Ttl,
    /// How many items the table has, and their bytes, as DescribeTable says.
    pub size: Option<(u64, u64)>,
    /// Questions that the source states.
    pub questions: Vec<QuestionDraft>,
    /// Sampled items.
    pub items: Vec<SampledItem>,
    /// What to tell the reader.
    pub notes: Vec<String>,
    /// What the table has and a manifest does not model.
    pub unmodelled: Vec<String>,
}

/// What is known of a table's time to live.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Ttl {
    /// The source does not say.
    #[default]
    Unknown,
    /// It is off.
    Off,
    /// It is on, by this attribute.
    On(String),
}

/// A sampled item.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledItem {
    /// As it is stored.
    pub item: Item,
    /// The entity that the source says it is.
    pub entity: Option<String>,
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexDraft {
    /// Its name.
    pub name: String,
    /// Local? `None` if the source does not say.
    pub local: Option<bool>,
    /// The attributes of its partition key.
    pub partition: Vec<String>,
    /// The attributes of its sort key.
    pub sort: Vec<String>,
    /// What it holds; `None` if the source does not say.
    pub projection: Option<Projection>,
    /// What to tell the reader.
    pub notes: Vec<String>,
}

/// The type that DynamoDB names by this letter.
pub(crate) fn kind_of_letter(letter: &str) -> Option<AttributeKind> {
    let kinds = [
        AttributeKind::String,
        AttributeKind::Number,
        AttributeKind::Binary,
        AttributeKind::Boolean,
        AttributeKind::List,
        AttributeKind::Map,
        AttributeKind::StringSet,
        AttributeKind::NumberSet,
        AttributeKind::BinarySet,
    ];
    kinds.into_iter().find(|kind| kind.type_letter() == letter)
}

/// An attribute.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttributeDraft {
    /// Its type. `None`: nothing is known, or two sources disagree, and it stays undeclared.
    pub kind: Option<AttributeKind>,
    /// Did two sources, entities or items disagree about the type?
    pub mixed: bool,
    /// Does every item of the table have it?
    pub required: bool,
    /// The only values it takes, where the source lists them.
    pub values: Vec<String>,
    /// Does it stand in the key alone?
    pub key_only: bool,
    /// Why this is believed: one line each.
    pub evidence: Vec<String>,
}

impl AttributeDraft {
    /// An attribute of this type.
    pub fn of(kind: AttributeKind) -> AttributeDraft {
        AttributeDraft { kind: Some(kind), ..AttributeDraft::default() }
    }
}

/// One kind of item.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntityDraft {
    /// Its name.
    pub name: String,
    /// How an item shows that it is one. Empty if the source does not say.
    pub when: Vec<(String, WhenDraft)>,
    /// The templates of key attributes, in Keyfold's notation.
    pub templates: BTreeMap<String, String>,
    /// Attributes that each of its items has.
    pub requires: BTreeSet<String>,
    /// Attributes it has at all.
    pub attributes: BTreeSet<String>,
    /// Parts of its keys that no attribute of its items holds.
    pub key_only: BTreeSet<String>,
    /// The entity that this is a part of: it has the same table key, and lacks the keys of an index.
    pub part_of: Option<String>,
    /// Why this is believed: one line each.
    pub evidence: Vec<String>,
    /// The evidence for one template, by key attribute.
    pub template_evidence: BTreeMap<String, String>,
}

/// A condition of an entity's `when`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhenDraft {
    /// One of these values.
    In(Vec<String>),
    /// The attribute is there, or it is not.
    Exists(bool),
    /// A key attribute begins with this text.
    BeginsWith(String),
}

/// A question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionDraft {
    /// Its name.
    pub name: String,
    /// What it asks, in words.
    pub description: String,
    /// The entities it asks for; all, if none is named.
    pub entities: Vec<String>,
    /// `"city beginsWith?"`.
    pub conditions: Vec<String>,
    /// The order.
    pub order: Vec<String>,
    /// The most items wanted.
    pub limit: Option<u32>,
    /// Strongly consistent?
    pub consistent: bool,
    /// May it scan?
    pub scan: bool,
    /// Does the source state it? Otherwise it comes from a key that was found.
    pub stated: bool,
}

impl TableDraft {
    /// What to call the table in a text for people.
    pub fn title(&self) -> &str {
        self.name.as_deref().or(self.logical_id.as_deref()).unwrap_or("table")
    }

    /// The key attributes of the table, then of the indexes, each once.
    pub fn key_attributes(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let indexes = self.indexes.iter().flat_map(|index| index.partition.iter().chain(&index.sort));
        for name in self.partition.iter().chain(&self.sort).chain(indexes) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The index with this name.
    pub fn index(&self, name: &str) -> Option<&IndexDraft> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// Notes an attribute. A type that contradicts a known one makes it unknown.
    pub fn declare(&mut self, name: &str, kind: Option<AttributeKind>) -> &mut AttributeDraft {
        let attribute = self.attributes.entry(name.to_owned()).or_default();
        if attribute.kind.is_none() && !attribute.mixed {
            attribute.kind = kind;
        } else if kind.is_some() && attribute.kind != kind {
            let is_text = |kind: Option<AttributeKind>| kind.is_some_and(|kind| kind.type_letter() == "S");
            if is_text(attribute.kind) && is_text(kind) {
                // One says what the text means, the other only that it is one.
                if attribute.kind == Some(AttributeKind::String) {
                    attribute.kind = kind;
                }
            } else {
                attribute.mixed = true;
                attribute.kind = None;
            }
        }
        attribute
    }
}

/// `in 480 of 480 sampled items`
pub(crate) fn counted(with: usize, of: usize) -> String {
    format!("in {with} of {of} sampled item{}", if of == 1 { "" } else { "s" })
}
