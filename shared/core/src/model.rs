//! The validated model of `keyfold.toml`.
//!
//! Only [`manifest::parse`](crate::manifest::parse) creates a [`Model`], so code may rely on its checks: names are
//! unique and legal, templates parse, every attribute in a key is declared, every local index has the table's partition
//! key. Nothing here refers to the text.

mod deploy;
mod facts;
mod live_change;
mod prices;
mod rate;
mod scope_proof;

use std::collections::BTreeMap;

use crate::condition::{Comparison, Condition, Path};
use crate::key::Template;
use crate::value::{AttributeValue, Item};

pub use self::deploy::{Deploy, TableNamesError};
pub(crate) use self::facts::{EntityFacts, KeyFacts};
pub use self::facts::{EntityId, KeptFacts};
pub use self::live_change::{LiveChange, StaleKey};
pub use self::prices::{PriceError, PriceOverrides, Prices};
pub use self::rate::{Period, Rate, RateError};
pub use crate::attribute::{Attribute, AttributeKind, Precision, ScalarType};

/// Everything that one manifest declares. Tables, questions and retrofits keep the manifest's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The tables.
    pub tables: Vec<Table>,
    /// The named questions of all tables.
    pub questions: Vec<Question>,
    /// The retrofits.
    pub retrofits: Vec<Retrofit>,
    /// The prices of units and storage: the built-in ones, overridden by the manifest's `[prices]`.
    pub prices: Prices,
    /// The parts to deploy.
    pub deploy: Deploy,
}

impl Model {
    /// The table with this id (its name in the manifest), or with this name in DynamoDB.
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.tables
            .iter()
            .find(|table| table.id == id)
            .or_else(|| self.tables.iter().find(|table| table.name == id))
    }

    /// The retrofits that fill an index of a table. Before the first cut-over the index may lack items. Afterwards it
    /// is complete, and a later retrofit of the same table does not change that.
    pub fn filled_by<'a>(&'a self, table: &'a Table, index: &'a str) -> impl Iterator<Item = &'a Retrofit> {
        self.retrofits.iter().filter(move |retrofit| {
            retrofit.to == table.id && retrofit.fills.iter().any(|name| name == index)
        })
    }

    /// Gives tables the names that they have in one deployment: `audit=dev-Audit,pets=dev-Pets`. Others keep the
    /// manifest's. That is how one manifest serves several stages in one account.
    pub fn name_tables(&mut self, names: &str) -> Result<(), TableNamesError> {
        for entry in names.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let pair = entry.split_once('=').filter(|(id, name)| !id.is_empty() && !name.is_empty());
            let (id, name) = pair.ok_or_else(|| TableNamesError::NoPair { entry: entry.to_owned() })?;
            if name.starts_with("arn:") {
                return Err(TableNamesError::Arn { id: id.to_owned(), arn: name.to_owned() });
            }
            let table = self.tables.iter_mut().find(|table| table.id == id);
            table.ok_or_else(|| TableNamesError::UnknownTable { id: id.to_owned() })?.name = name.to_owned();
        }
        for (at, table) in self.tables.iter().enumerate() {
            if let Some(first) = self.tables[..at].iter().find(|before| before.name == table.name) {
                let (one, other) = (first.id.clone(), table.id.clone());
                return Err(TableNamesError::Same { one, other, name: table.name.clone() });
            }
        }
        Ok(())
    }

    /// The questions of one table.
    pub fn questions_of<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a Question> {
        self.questions.iter().filter(|question| question.table == table.id)
    }
}

/// One DynamoDB table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The table's name in the manifest.
    pub id: String,
    /// The table's name in DynamoDB.
    pub name: String,
    /// The partition key.
    pub partition: KeyAttribute,
    /// The sort key, if the table has one.
    pub sort: Option<KeyAttribute>,
    /// The declared attributes by name: those of all items, and those of single entities. A declaration holds for every
    /// item with the attribute, unless two entities give it [different types](Table::mixed_type). Undeclared attributes
    /// are copied without a type.
    pub attributes: BTreeMap<String, Attribute>,
    /// The attribute that names an item's entity, if the manifest has one.
    pub entity_attribute: Option<String>,
    /// The attribute with the second since 1970 after which DynamoDB may delete an item, if the manifest names one.
    pub ttl: Option<String>,
    /// The entities that share the table; empty where all items are of one kind.
    pub entities: Vec<Entity>,
    /// The local and global secondary indexes.
    pub indexes: Vec<Index>,
    /// Attributes that a caller's token fixes: attribute name -> claim path (`jwt.org`).
    pub scope: BTreeMap<String, String>,
    /// Attributes that a writer stamps with a claim of its caller: attribute name -> claim path (`jwt.sub`).
    pub written_by: BTreeMap<String, String>,
    /// The size of an item collection that is worth a warning, in bytes.
    pub collection_bytes_warn: u64,
    /// The expected contents of the table.
    pub expect: Expect,
    /// Facts derived from the declaration, cached.
    pub facts: KeptFacts,
}

/// The expectations of a table, an entity or an index, for warnings and costs. Each number is at least 1 if given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expect {
    /// Items in the table or of the entity, or entries in the index.
    pub items: Option<u64>,
    /// The size of one item.
    pub item_bytes: Option<u64>,
    /// Items with one partition key value. Not of an entity.
    pub items_per_partition: Option<u64>,
    /// How often an item is written. Not of an index.
    pub writes: Option<Rate>,
    /// For attributes with listed values: how many items have each value. Only of a table.
    pub values: BTreeMap<String, BTreeMap<String, u64>>,
}

/// A listed value as `expect.values` names it. Only strings and numbers can be listed.
pub fn listed_text(value: &AttributeValue) -> Option<&str> {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => Some(text),
        _ => None,
    }
}

impl Expect {
    /// The items of a table of which nothing is expected.
    pub const ITEMS_ASSUMED: u64 = 1_000_000;
    /// The size of an item of which nothing is expected.
    pub const ITEM_BYTES_ASSUMED: u64 = 400;
}

impl Table {
    /// The index with this name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The entity with this name, with its number.
    pub fn entity(&self, name: &str) -> Option<(EntityId, &Entity)> {
        self.entities
            .iter()
            .enumerate()
            .find(|(_, entity)| entity.name == name)
            .map(|(at, entity)| (EntityId(at), entity))
    }

    /// The attributes that an item of this entity can have; for an item of no entity, all.
    pub fn attributes_of(&self, entity: Option<EntityId>) -> &BTreeMap<String, Attribute> {
        entity.map_or(&self.attributes, |entity| &self.entities[entity.0].attributes)
    }

    /// The declared attributes that no item of this entity has.
    pub fn never<'t>(&'t self, entity: &'t Entity) -> impl Iterator<Item = &'t str> {
        let names = self.attributes.keys().map(String::as_str);
        names.filter(|name| !entity.attributes.contains_key(*name))
    }

    /// The required attributes of this entity, except those that every item of the table requires.
    pub fn requires<'t>(&'t self, entity: &'t Entity) -> impl Iterator<Item = &'t str> {
        let of_all = |name: &str| self.attributes.get(name).is_some_and(|attribute| attribute.required);
        let own = entity.attributes.values().filter(|attribute| attribute.required);
        own.map(|attribute| attribute.name.as_str()).filter(move |name| !of_all(name))
    }

    /// Is the attribute read from a key in items of this entity?
    pub fn is_from_key(&self, entity: Option<EntityId>, name: &str) -> bool {
        self.attributes_of(entity).get(name).is_some_and(|attribute| attribute.from_key)
    }

    /// Two of these entities (of all, where none is named) that give the attribute different types.
    pub fn mixed_type(&self, entities: &[EntityId], name: &str) -> Option<(&Entity, &Entity)> {
        if entities.len() == 1 {
            return None;
        }
        let is_asked = |at: &usize| entities.is_empty() || entities.contains(&EntityId(*at));
        let asked = self.entities.iter().enumerate().filter(|(at, _)| is_asked(at));
        let mut declaring = asked.filter_map(|(_, entity)| Some((entity, entity.attributes.get(name)?)));
        let (first, declared) = declaring.next()?;
        declaring.find(|(_, other)| !declared.is_same_type(other)).map(|(other, _)| (first, other))
    }

    /// The attribute as these entities declare it. With none or several entities: what holds for all items that have
    /// it.
    pub fn attribute_of(&self, entities: &[EntityId], name: &str) -> Option<&Attribute> {
        let own = |entity: &EntityId| self.entities[entity.0].attributes.get(name);
        match entities {
            [only] => own(only).or_else(|| self.attributes.get(name)),
            _ if self.mixed_type(&[], name).is_some() => entities.iter().find_map(own),
            _ => self.attributes.get(name),
        }
    }

    /// The table's own key attributes: partition key, then sort key.
    pub fn key_attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// The local indexes.
    pub fn local_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|index| index.kind == IndexKind::Local)
    }
}

/// One kind of item in a table that several share.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// The conditions that identify an item of this entity; all must hold. Never empty.
    pub when: Vec<When>,
    /// The declared attributes that its items can have: those of all items, and its own. Writes with a declared
    /// attribute of other entities are refused, so a condition on such an attribute excludes this entity.
    pub attributes: BTreeMap<String, Attribute>,
    /// The expected number, size and writes of its items; unset fields follow from the table's.
    pub expect: Expect,
}

impl Entity {
    /// The entity's `when` as one condition.
    pub fn condition(&self) -> Condition {
        Condition::all(self.when.iter().map(Condition::from))
    }
}

/// One condition of an entity's `when`.
#[derive(Debug, Clone, PartialEq)]
pub struct When {
    /// The attribute.
    pub attribute: String,
    /// The test of its value.
    pub test: WhenTest,
}

/// A test of an attribute that identifies an entity.
#[derive(Debug, Clone, PartialEq)]
pub enum WhenTest {
    /// One of these values (`when = { species = "parrot" }` or a list of values). Never empty.
    In(Vec<AttributeValue>),
    /// There (`{ exists = true }`), or not there.
    Exists(bool),
    /// A string prefix (`{ begins-with = "USER#" }`): many tables distinguish entities only by the start of a key.
    BeginsWith(String),
}

impl When {
    /// Does this item fulfil the condition?
    pub fn holds(&self, item: &Item) -> bool {
        match (&self.test, item.get(&self.attribute)) {
            (WhenTest::In(values), Some(value)) => {
                values.iter().any(|wanted| crate::value::equal(wanted, value))
            }
            (WhenTest::In(_), None) => false,
            (WhenTest::Exists(wanted), value) => value.is_some() == *wanted,
            (WhenTest::BeginsWith(prefix), Some(AttributeValue::S(text))) => text.starts_with(prefix),
            (WhenTest::BeginsWith(_), _) => false,
        }
    }
}

impl When {
    /// Can no item fulfil both conditions, as far as prefixes and listed values tell?
    pub(crate) fn excludes(&self, other: &When) -> bool {
        let begins = |value: &AttributeValue, prefix: &str| matches!(value, AttributeValue::S(text) if text.starts_with(prefix));
        self.attribute == other.attribute
            && match (&self.test, &other.test) {
                (WhenTest::BeginsWith(one), WhenTest::BeginsWith(two)) => {
                    !one.starts_with(two.as_str()) && !two.starts_with(one.as_str())
                }
                (WhenTest::In(values), WhenTest::BeginsWith(prefix))
                | (WhenTest::BeginsWith(prefix), WhenTest::In(values)) => {
                    !values.iter().any(|value| begins(value, prefix))
                }
                (WhenTest::In(one), WhenTest::In(two)) => !one.iter().any(|value| two.contains(value)),
                (WhenTest::Exists(_), _) | (_, WhenTest::Exists(_)) => false,
            }
    }
}

impl From<&When> for Condition {
    fn from(when: &When) -> Condition {
        let comparison = match &when.test {
            WhenTest::In(values) => match values.as_slice() {
                [one] => Comparison::Equal(one.clone()),
                several => Comparison::In(several.to_vec()),
            },
            WhenTest::Exists(wanted) => Comparison::Exists(*wanted),
            WhenTest::BeginsWith(prefix) => Comparison::BeginsWith(AttributeValue::S(prefix.clone())),
        };
        Condition::Is(Path::attribute(&when.attribute), comparison)
    }
}

/// One secondary index.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// Its name in the manifest and in DynamoDB.
    pub name: String,
    /// Local or global.
    pub kind: IndexKind,
    /// The partition key: one attribute, or up to four of a native multi-attribute key. A local index has the table's.
    pub partition: Vec<KeyAttribute>,
    /// The sort key: none, one attribute, or up to four of a native multi-attribute key.
    pub sort: Vec<KeyAttribute>,
    /// The projected attributes.
    pub projection: Projection,
    /// The expected contents of the index, where they differ from the table's.
    pub expect: Expect,
}

impl Index {
    /// All key attributes: partition, then sort.
    pub fn key_attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }
}

/// Local or global.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// A local secondary index: the table's partition key, another sort key, strongly consistent on request.
    Local,
    /// A global secondary index: any key, eventually consistent.
    Global,
}

/// The attributes of an index besides its keys and the table's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// Everything.
    All,
    /// Nothing.
    KeysOnly,
    /// These attributes.
    Include(Vec<String>),
}

/// One attribute of a table's or an index's key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyAttribute {
    /// The attribute's name in DynamoDB.
    pub name: String,
    /// Its type there. Folded keys are always strings.
    pub scalar: ScalarType,
    /// Where its value comes from.
    pub source: KeySource,
}

impl KeyAttribute {
    /// The attributes in a folded key's templates; empty for a natural key.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.rules().iter().flat_map(|rule| rule.template.attributes())
    }

    /// The rules of a folded key; none for a natural one.
    pub(crate) fn rules(&self) -> &[FoldRule] {
        match &self.source {
            KeySource::Folded(rules) => rules,
            KeySource::Natural => &[],
        }
    }
}

/// Where a key attribute's value comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum KeySource {
    /// It is a natural attribute of the item.
    Natural,
    /// It is folded from others. At most one template for each entity, and at most one for all other items, which
    /// comes last: the first that is for an item's entity, or for all items, makes its key.
    Folded(Vec<FoldRule>),
}

/// A template, and the items it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldRule {
    /// The entity, or `None` for all items of the table.
    pub entity: Option<EntityId>,
    /// How the key is made.
    pub template: Template,
}

impl FoldRule {
    /// The rule that makes a key for this entity's items, or for items without an entity. The rule for all entities is
    /// last.
    pub(crate) fn of(rules: &[FoldRule], entity: Option<EntityId>) -> Option<&FoldRule> {
        rules.iter().find(|rule| rule.entity.is_none() || rule.entity == entity)
    }
}

/// A named question: documentation, an API route, and a test that it stays cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The id of its table.
    pub table: String,
    /// Its name.
    pub name: String,
    /// The entities it asks for; empty for all.
    pub entities: Vec<EntityId>,
    /// The conditions of every branch.
    pub conditions: Vec<QuestionCondition>,
    /// The branches of an `or`: at least one must hold. Empty if the question has no `or`.
    pub branches: Vec<QuestionBranch>,
    /// The order of the answer: attribute and direction, outermost first.
    pub order: Vec<OrderBy>,
    /// The attributes that are wanted; `None` for all.
    pub select: Option<Vec<String>>,
    /// The item limit.
    pub limit: Option<u32>,
    /// Must the answer be strongly consistent?
    pub consistent: bool,
    /// May it be answered by a scan?
    pub scan: bool,
    /// How often it is asked.
    pub rate: Option<Rate>,
}

/// One branch of a question's `or`.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionBranch {
    /// The entities that the branch asks for; empty for those of the question.
    pub entities: Vec<EntityId>,
    /// The conditions of this branch alone.
    pub conditions: Vec<QuestionCondition>,
}

impl QuestionBranch {
    /// The entities of the branch, or those of its question.
    pub(crate) fn entities_or<'q>(&'q self, of_question: &'q [EntityId]) -> &'q [EntityId] {
        if self.entities.is_empty() { of_question } else { &self.entities }
    }
}

impl Question {
    /// The entities whose items a parameter is about: those of its branch, else those of the question.
    pub fn entities_of(&self, asked: &QuestionCondition) -> &[EntityId] {
        let is_asked = |conditions: &[QuestionCondition]| {
            let mut conditions = conditions.iter();
            conditions.any(|one| one.attribute == asked.attribute && one.operator == asked.operator)
        };
        let of_branch = || self.branches.iter().find(|branch| is_asked(&branch.conditions));
        match is_asked(&self.conditions) {
            true => &self.entities,
            false => of_branch().map_or(&self.entities, |branch| branch.entities_or(&self.entities)),
        }
    }

    /// The parameters of the question: each attribute and operator once. A parameter is optional only if it is optional
    /// in every branch that uses it.
    pub fn parameters(&self) -> Vec<QuestionCondition> {
        let mut all: Vec<QuestionCondition> = Vec::new();
        for asked in self.conditions.iter().chain(self.branches.iter().flat_map(|branch| &branch.conditions))
        {
            match all
                .iter_mut()
                .find(|known| known.attribute == asked.attribute && known.operator == asked.operator)
            {
                Some(known) => known.optional &= asked.optional,
                None => all.push(asked.clone()),
            }
        }
        all
    }

    /// The question as one condition. `comparison` supplies the comparison of an attribute; `None` leaves the part out.
    pub fn condition(
        &self,
        table: &Table,
        comparison: &dyn Fn(&QuestionCondition) -> Option<Comparison>,
    ) -> Condition {
        let parts = |asked: &[QuestionCondition]| {
            let part = |one: &QuestionCondition| {
                Some(Condition::Is(Path::attribute(&one.attribute), comparison(one)?))
            };
            asked.iter().filter_map(part).collect::<Vec<_>>()
        };
        let branch = |branch: &QuestionBranch| {
            let entities = branch.entities.iter().map(|id| table.entities[id.0].condition()).collect();
            let entities =
                if branch.entities.is_empty() { Condition::always() } else { Condition::Any(entities) };
            Condition::all([entities].into_iter().chain(parts(&branch.conditions))).simplified()
        };
        let mut all = parts(&self.conditions);
        if !self.branches.is_empty() {
            all.push(Condition::Any(self.branches.iter().map(branch).collect()));
        }
        Condition::all(all)
    }
}

/// One attribute of a question's `where`: `"accessedBy"`, `"timestamp?"`, `"timestamp between"`, `"city beginsWith?"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionCondition {
    /// The attribute.
    pub attribute: String,
    /// The operator.
    pub operator: Operator,
    /// May the asker leave it out?
    pub optional: bool,
}

/// An operator of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `between`, both ends included
    Between,
    /// `beginsWith`
    BeginsWith,
    /// `contains`
    Contains,
    /// `in`
    In,
    /// `exists`
    Exists,
}

/// One attribute of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderBy {
    /// The attribute.
    pub attribute: String,
    /// Largest first?
    pub descending: bool,
}

/// A retrofit: the items of one table get new keys, in place or in another table.
#[derive(Debug, Clone, PartialEq)]
pub struct Retrofit {
    /// Its name.
    pub name: String,
    /// The id of the table that is read.
    pub from: String,
    /// The id of the table that is written; the same one for a retrofit in place.
    pub to: String,
    /// Renamed attributes: old name -> new name.
    pub rename: BTreeMap<String, String>,
    /// Attributes that are set to a constant.
    pub set: BTreeMap<String, AttributeValue>,
    /// Attributes that are not copied.
    pub drop: Vec<String>,
    /// Only items that fulfil all of these; empty for all items.
    pub only: Vec<When>,
    /// The indexes of the target that are incomplete until this retrofit is cut over.
    pub fills: Vec<String>,
    /// In place: may attributes that live programs read change too, and not folded keys alone?
    pub changes_live_attributes: bool,
    /// In place: does the replicator keep the folded keys right for good?
    pub keep_folded: bool,
    /// Remedies for values that do not fit, tried in order. If an attribute is not listed, its item goes to quarantine.
    pub misfits: BTreeMap<MisfitOf, Vec<Remedy>>,
}

/// The values that a remedy applies to. An entity's own remedies replace those for all items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MisfitOf {
    /// The attribute, by its name in the target.
    pub attribute: String,
    /// The entity of the target; `None` for all items.
    pub entity: Option<String>,
}

/// The treatment of a value that does not fit.
#[derive(Debug, Clone, PartialEq)]
pub enum Remedy {
    /// Keys are folded as if it were absent; the attribute is kept.
    Absent,
    /// It is replaced by this, also where it is missing.
    Default(AttributeValue),
    /// Spaces at its ends go.
    Trim,
    /// It gets small letters.
    Lower,
    /// It gets capital letters.
    Upper,
    /// A text that is a number becomes that number.
    ToNumber,
    /// A number becomes a text.
    ToText,
    /// Seconds or milliseconds since 1970 become a timestamp.
    ToTimestamp,
}

impl Remedy {
    /// The remedies without parameters, by the manifest's words.
    pub(crate) const WORDS: [(&str, Remedy); 7] = [
        ("absent", Remedy::Absent),
        ("trim", Remedy::Trim),
        ("lower", Remedy::Lower),
        ("upper", Remedy::Upper),
        ("to-number", Remedy::ToNumber),
        ("to-text", Remedy::ToText),
        ("to-timestamp", Remedy::ToTimestamp),
    ];

    /// Its word in the manifest.
    pub fn word(&self) -> &'static str {
        Remedy::WORDS.iter().find(|(_, remedy)| remedy == self).map_or("default", |(word, _)| word)
    }

    /// Does it change the attribute itself, and not the keys alone?
    pub fn changes_attribute(&self) -> bool {
        *self != Remedy::Absent
    }
}
