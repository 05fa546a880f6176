//! The common result of all readers: the known properties of each table, with sources and evidence.
//!
//! A reader fills in the fields of its format. `overlay` merges the drafts of several sources, `infer` adds findings
//! from items, `write` produces a manifest.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::model::{AttributeKind, Projection, ScalarType};
use keyfold_core::value::Item;

/// The contents of the sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// The tables.
    pub tables: Vec<TableDraft>,
    /// Notes without a table: omitted parts, with reasons.
    pub notes: Vec<String>,
}

/// How reliably a source describes a table's structure. If two sources differ, the higher rank wins and the difference
/// is reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Items, or a description of time to live: no structure.
    #[default]
    Items,
    /// A schema of a library, which names indexes and fields.
    Library,
    /// A drawn or generated model.
    Model,
    /// Infrastructure as code.
    Code,
    /// Returned by DynamoDB.
    Live,
}

/// One table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableDraft {
    /// Its name in DynamoDB.
    pub name: Option<String>,
    /// A name for the table if the source lacks its name in DynamoDB.
    pub logical_id: Option<String>,
    /// The file or table it comes from.
    pub source: String,
    /// The reliability of the structure.
    pub rank: Rank,
    /// The attribute of the partition key.
    pub partition: Option<String>,
    /// The attribute of the sort key.
    pub sort: Option<String>,
    /// The types of key attributes.
    pub scalars: BTreeMap<String, ScalarType>,
    /// The indexes.
    pub indexes: Vec<IndexDraft>,
    /// Attributes other than folded keys.
    pub attributes: BTreeMap<String, AttributeDraft>,
    /// The attribute that names an item's entity.
    pub entity_attribute: Option<String>,
    /// The entities.
    pub entities: Vec<EntityDraft>,
    /// The time to live.
    pub ttl: Ttl,
    /// The number of items and their bytes, from DescribeTable.
    pub size: Option<(u64, u64)>,
    /// Questions that the source states.
    pub questions: Vec<QuestionDraft>,
    /// Sampled items.
    pub items: Vec<SampledItem>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Parts of the table that a manifest cannot express.
    pub unmodelled: Vec<String>,
}

/// The time to live of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Ttl {
    /// Not in the source.
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
    /// The entity given by the source.
    pub entity: Option<String>,
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexDraft {
    /// Its name.
    pub name: String,
    /// Local? `None` if unknown.
    pub local: Option<bool>,
    /// The attributes of its partition key.
    pub partition: Vec<String>,
    /// The attributes of its sort key.
    pub sort: Vec<String>,
    /// The projection; `None` if unknown.
    pub projection: Option<Projection>,
    /// Notes for the reader.
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
    /// Its type. `None`: unknown, or two sources disagree; it stays undeclared.
    pub kind: Option<AttributeKind>,
    /// Do two sources, entities or items disagree about the type?
    pub mixed: bool,
    /// Do all items of the table have it?
    pub required: bool,
    /// The only allowed values, if the source lists them.
    pub values: Vec<String>,
    /// Is it stored only in the key?
    pub key_only: bool,
    /// The evidence: one line each.
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
    /// Did the user name it?
    pub is_hinted: bool,
    /// The conditions that identify its items. Empty if unknown.
    pub when: Vec<(String, WhenDraft)>,
    /// The templates of key attributes, in Keyfold's notation.
    pub templates: BTreeMap<String, String>,
    /// Attributes of all its items.
    pub requires: BTreeSet<String>,
    /// Attributes of its items.
    pub attributes: BTreeSet<String>,
    /// Parts of its keys that are in no attribute of its items.
    pub key_only: BTreeSet<String>,
    /// The entity that it was split from: it has the same table key, and lacks the keys of an index.
    pub part_of: Option<String>,
    /// The evidence: one line each.
    pub evidence: Vec<String>,
    /// The evidence for one template, by key attribute.
    pub template_evidence: BTreeMap<String, String>,
}

/// A condition of an entity's `when`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhenDraft {
    /// One of these values.
    In(Vec<String>),
    /// The attribute is present, or absent.
    Exists(bool),
    /// A key attribute begins with this text.
    BeginsWith(String),
}

/// A question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionDraft {
    /// Its name.
    pub name: String,
    /// A description of the question.
    pub description: String,
    /// Its entities; empty for all.
    pub entities: Vec<String>,
    /// `"city beginsWith?"`.
    pub conditions: Vec<String>,
    /// The order.
    pub order: Vec<String>,
    /// The item limit.
    pub limit: Option<u32>,
    /// Strongly consistent?
    pub consistent: bool,
    /// May it scan?
    pub scan: bool,
    /// Is it from the source? Otherwise it was derived from a key.
    pub stated: bool,
}

impl TableDraft {
    /// A title for the table in texts.
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

    /// Records an attribute. Two conflicting types make it unknown.
    pub fn declare(&mut self, name: &str, kind: Option<AttributeKind>) -> &mut AttributeDraft {
        let attribute = self.attributes.entry(name.to_owned()).or_default();
        if attribute.kind.is_none() && !attribute.mixed {
            attribute.kind = kind;
        } else if kind.is_some() && attribute.kind != kind {
            let is_text = |kind: Option<AttributeKind>| kind.is_some_and(|kind| kind.type_letter() == "S");
            if is_text(attribute.kind) && is_text(kind) {
                // One type gives the meaning of the text, the other only that it is text.
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
