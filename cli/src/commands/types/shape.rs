//! The types of a manifest, for every language: records of fields.

use keyfold_core::key::Part;
use keyfold_core::model::{
    Attribute, AttributeKind, Entity, EntityId, FoldRule, KeyAttribute, KeySource, Model, Operator, Question,
    QuestionCondition, Table, When, WhenTest,
};
use keyfold_core::query::question::param_name;
use keyfold_core::value::AttributeValue;

/// A table's types.
pub(super) struct TableShape {
    /// The table's id in the manifest.
    pub(super) id: String,
    /// Its items: one record, or one for each entity.
    pub(super) items: Vec<Record>,
    /// Its entities, in the order of `items`.
    pub(super) entities: Vec<String>,
    /// The attributes that make its primary key: one record, or one for each entity.
    pub(super) keys: Vec<Record>,
    /// Its questions.
    pub(super) questions: Vec<QuestionShape>,
}

impl TableShape {
    /// The start of the names of all its types.
    pub(super) fn name(&self) -> String {
        pascal(&self.id)
    }

    /// The records of its items, its keys and its questions.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        let of_questions =
            self.questions.iter().flat_map(|one| std::iter::once(&one.input).chain(&one.selected));
        self.items.iter().chain(&self.keys).chain(of_questions)
    }

    /// Is it a record of items that are read?
    pub(super) fn is_of_items(&self, record: &Record) -> bool {
        let mut of_answers = self.questions.iter().filter_map(|question| question.selected.as_ref());
        self.items.iter().any(|item| item.name == record.name)
            || of_answers.any(|one| one.name == record.name)
    }

    /// The names of its items and keys, each with its records.
    pub(super) fn unions(&self) -> [(String, &[Record]); 2] {
        [(format!("{}Item", self.name()), &self.items), (format!("{}Key", self.name()), &self.keys)]
    }
}

/// A question's types.
pub(super) struct QuestionShape {
    /// The name that `ask` takes.
    pub(super) name: String,
    /// Its parameters.
    pub(super) input: Record,
    /// The items of the answer, if the question selects attributes.
    selected: Option<Record>,
    /// The records of the items in the answer, if it does not.
    answer: Vec<String>,
}

impl QuestionShape {
    /// The records of the items in the answer.
    pub(super) fn answers(&self) -> Vec<&str> {
        match &self.selected {
            Some(record) => vec![&record.name],
            None => self.answer.iter().map(String::as_str).collect(),
        }
    }
}

/// A named type with fields.
pub(super) struct Record {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
}

/// A field of a record.
#[derive(Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) optional: bool,
}

/// The type of a field.
#[derive(Clone, PartialEq)]
pub(super) enum Kind {
    /// Values of an attribute, and the only values if some are listed.
    Value(AttributeKind, Option<Vec<AttributeValue>>),
    /// A list of them.
    Many(AttributeKind, Option<Vec<AttributeValue>>),
    /// A value of any type.
    Any,
}

pub(super) fn tables(model: &Model) -> Vec<TableShape> {
    let of = |table: &Table| TableShape {
        id: table.id.clone(),
        items: items(table),
        entities: table.entities.iter().map(|entity| entity.name.clone()).collect(),
        keys: keys(table),
        questions: model.questions_of(table).map(|one| question(model, table, one)).collect(),
    };
    model.tables.iter().map(of).collect()
}

/// An entity of a table, if the table has some.
type EntityOf<'t> = Option<(EntityId, &'t Entity)>;

/// The entities of a table; one `None` if all items are of one kind.
fn entities(table: &Table) -> Vec<EntityOf<'_>> {
    match table.entities.is_empty() {
        true => vec![None],
        false => table.entities.iter().enumerate().map(|(at, entity)| Some((EntityId(at), entity))).collect(),
    }
}

fn items(table: &Table) -> Vec<Record> {
    let of = |of: EntityOf<'_>| Record { name: item_name(table, of), fields: fields(table, of) };
    entities(table).into_iter().map(of).collect()
}

fn item_name(table: &Table, of: EntityOf<'_>) -> String {
    let suffix = of.map_or("Item".to_owned(), |(_, entity)| pascal(&entity.name));
    format!("{}{suffix}", pascal(&table.id))
}

/// The attributes of an item. Those of its primary key are required.
fn fields(table: &Table, of: EntityOf<'_>) -> Vec<Field> {
    let key = key(table, of);
    let field = |attribute: &Attribute| {
        let name = attribute.name.as_str();
        let when = of.and_then(|(_, entity)| entity.when.iter().find(|when| when.attribute == name));
        let is_never = matches!(when, Some(When { test: WhenTest::Exists(false), .. }));
        let in_key = key.iter().any(|part| part.name == name && !part.optional);
        let optional = !(attribute.required || in_key || when.is_some());
        (!is_never).then(|| Field::new(name, of_when(attribute, when), optional))
    };
    let attributes = of.map_or(&table.attributes, |(_, entity)| &entity.attributes);
    let undeclared = key.iter().filter(|part| !attributes.contains_key(&part.name));
    attributes.values().filter_map(field).chain(undeclared.cloned()).collect()
}

/// The values of an attribute in items that fulfil a condition of their entity.
fn of_when(attribute: &Attribute, when: Option<&When>) -> Kind {
    let values = match when.map(|when| &when.test) {
        Some(WhenTest::In(values)) => Some(values.clone()),
        _ => attribute.values.clone(),
    };
    Kind::Value(attribute.kind, values)
}

/// The attributes of which the primary key is made: of each entity's items, if their keys differ.
fn keys(table: &Table) -> Vec<Record> {
    let differs = |key: &KeyAttribute| match &key.source {
        KeySource::Folded(rules) => rules.iter().any(|rule| rule.entity.is_some()),
        KeySource::Natural => false,
    };
    if !table.key_attributes().any(differs) {
        return vec![Record { name: format!("{}Key", pascal(&table.id)), fields: key(table, None) }];
    }
    let of =
        |of: EntityOf<'_>| Record { name: format!("{}Key", item_name(table, of)), fields: key(table, of) };
    entities(table).into_iter().map(of).collect()
}

/// The attributes that make the primary key of an entity's items, and those that identify the entity. If the key itself
/// identifies it, the key's own attributes.
fn key(table: &Table, of: EntityOf<'_>) -> Vec<Field> {
    let whens = of.map_or(&[][..], |(_, entity)| &entity.when);
    if whens.iter().any(|when| !table.attributes.contains_key(&when.attribute)) {
        let text =
            |key: &KeyAttribute| Field::new(&key.name, Kind::Value(AttributeKind::String, None), false);
        return table.key_attributes().map(text).collect();
    }
    let identifying = whens.iter().filter(|when| when.test != WhenTest::Exists(false));
    let mut names: Vec<(&str, bool)> = identifying.map(|when| (when.attribute.as_str(), false)).collect();
    for key in table.key_attributes() {
        match &key.source {
            KeySource::Natural => names.push((&key.name, false)),
            KeySource::Folded(rules) => names.extend(parts(rules, of.map(|(id, _)| id))),
        }
    }
    let attributes = of.map_or(&table.attributes, |(_, entity)| &entity.attributes);
    let mut fields: Vec<Field> = Vec::new();
    for (name, optional) in names {
        let when = whens.iter().find(|when| when.attribute == name);
        match (fields.iter_mut().find(|field| field.name == name), attributes.get(name)) {
            (Some(known), _) => known.optional &= optional,
            (None, Some(attribute)) => fields.push(Field::new(name, of_when(attribute, when), optional)),
            (None, None) => {}
        }
    }
    fields
}

/// The attributes in a folded key of an entity's items: their names, and whether the key can be made without them.
fn parts(rules: &[FoldRule], entity: Option<EntityId>) -> impl Iterator<Item = (&str, bool)> {
    let rule = rules.iter().find(|rule| rule.entity.is_none() || rule.entity == entity);
    rule.into_iter().flat_map(|rule| rule.template.parts()).filter_map(|part| match part {
        Part::Attribute { name, optional, .. } => Some((name.as_str(), *optional)),
        Part::Literal(_) => None,
    })
}

fn question(model: &Model, table: &Table, question: &Question) -> QuestionShape {
    let mut type_name = format!("{}{}", pascal(&table.id), pascal(&question.name));
    if items(table).iter().chain(&keys(table)).any(|record| record.name == type_name) {
        type_name.push_str("Question");
    }
    let asked = asked_entities(question);
    let is_asked = |of: &EntityOf<'_>| asked.is_empty() || of.is_some_and(|(id, _)| asked.contains(&id));
    let of: Vec<EntityOf<'_>> = entities(table).into_iter().filter(is_asked).collect();
    let selected = question
        .select
        .as_ref()
        .map(|names| Record { name: format!("{type_name}Answer"), fields: selected(table, &of, names) });
    let answer = of.iter().map(|of| item_name(table, *of)).collect();
    let input = Record { fields: parameters(table, question), name: type_name };
    QuestionShape { name: input_name(model, question), input, selected, answer }
}

/// The name that `ask` takes: the question's, or `table.question` if several tables have a question of that name.
fn input_name(model: &Model, question: &Question) -> String {
    match model.questions.iter().filter(|other| other.name == question.name).count() {
        1 => question.name.clone(),
        _ => format!("{}.{}", question.table, question.name),
    }
}

/// The entities in a question's answer; empty for all.
fn asked_entities(question: &Question) -> Vec<EntityId> {
    let branches = &question.branches;
    if !question.entities.is_empty() || branches.iter().any(|branch| branch.entities.is_empty()) {
        return question.entities.clone();
    }
    let mut all: Vec<EntityId> = branches.iter().flat_map(|branch| branch.entities.clone()).collect();
    all.sort();
    all.dedup();
    all
}

/// The selected attributes, in items of any of these entities.
fn selected(table: &Table, entities: &[EntityOf<'_>], names: &[String]) -> Vec<Field> {
    let records: Vec<Vec<Field>> = entities.iter().map(|of| fields(table, *of)).collect();
    let of = |name: &String| {
        let found = || records.iter().filter_map(|fields| fields.iter().find(|field| field.name == *name));
        let first = found().next()?;
        let same = found().all(|field| field.kind == first.kind);
        let optional = found().count() < records.len() || found().any(|field| field.optional);
        Some(Field::new(name, if same { first.kind.clone() } else { Kind::Any }, optional))
    };
    names.iter().filter_map(of).collect()
}

/// The parameters of a question. Each name has the operator, so two conditions on one attribute are two fields.
fn parameters(table: &Table, question: &Question) -> Vec<Field> {
    let of = |asked: &QuestionCondition| {
        let attribute = table.attribute_of(question.entities_of(asked), &asked.attribute)?;
        Some(Field::new(&param_name(asked), operand(asked.operator, attribute), asked.optional))
    };
    question.parameters().iter().filter_map(of).collect()
}

/// The right side of an operator.
fn operand(operator: Operator, attribute: &Attribute) -> Kind {
    match operator {
        Operator::Equal => Kind::Value(attribute.kind, attribute.values.clone()),
        Operator::In => Kind::Many(attribute.kind, attribute.values.clone()),
        Operator::Between => Kind::Many(attribute.kind, None),
        Operator::Exists => Kind::Value(AttributeKind::Boolean, None),
        Operator::Contains => match attribute.kind {
            AttributeKind::StringSet => Kind::Value(AttributeKind::String, None),
            AttributeKind::NumberSet => Kind::Value(AttributeKind::Number, None),
            AttributeKind::BinarySet => Kind::Value(AttributeKind::Binary, None),
            AttributeKind::List | AttributeKind::Map => Kind::Any,
            kind => Kind::Value(kind, None),
        },
        // A prefix or a bound need not be a listed value.
        _ => Kind::Value(attribute.kind, None),
    }
}

impl Field {
    fn new(name: &str, kind: Kind, optional: bool) -> Field {
        Field { name: name.to_owned(), kind, optional }
    }
}

/// A name as a type's name: `who-saw` becomes `WhoSaw`.
pub(super) fn pascal(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_ascii_uppercase() + rest
        })
        .collect();
    if name.starts_with(|letter: char| letter.is_ascii_digit()) { format!("T{name}") } else { name }
}
