//! The types of a manifest, for every language: records of fields.

use std::collections::BTreeSet;

use keyfold_core::model::{
    Attribute, AttributeKind, Entity, KeySource, Model, Operator, Question, QuestionCondition, Table, When,
    WhenTest,
};
use keyfold_core::value::AttributeValue;

/// A table's types.
pub(super) struct TableShape {
    /// The table's id in the manifest.
    pub(super) id: String,
    /// Its items: one record, or one for each entity.
    pub(super) items: Vec<Record>,
    /// The attributes that make its primary key.
    pub(super) key: Record,
    /// The parameters of each question.
    pub(super) questions: Vec<Record>,
}

impl TableShape {
    /// All records: the items, the key, the questions.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.items.iter().chain([&self.key]).chain(&self.questions)
    }
}

/// A named type with fields.
pub(super) struct Record {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
}

/// A field of a record.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: AttributeKind,
    /// The only values it takes.
    pub(super) values: Option<Vec<AttributeValue>>,
    /// Does it hold a list of such values?
    pub(super) many: bool,
    pub(super) optional: bool,
}

pub(super) fn tables(model: &Model) -> Vec<TableShape> {
    let of = |table: &Table| TableShape {
        id: table.id.clone(),
        items: items(table),
        key: Record { name: format!("{}Key", pascal(&table.id)), fields: key(table) },
        questions: model.questions_of(table).map(|question| parameters(table, question)).collect(),
    };
    model.tables.iter().map(of).collect()
}

fn items(table: &Table) -> Vec<Record> {
    let name = pascal(&table.id);
    if table.entities.is_empty() {
        return vec![Record { name: format!("{name}Item"), fields: fields(table, None) }];
    }
    let of = |entity: &Entity| Record {
        name: format!("{name}{}", pascal(&entity.name)),
        fields: fields(table, Some(entity)),
    };
    table.entities.iter().map(of).collect()
}

fn fields(table: &Table, entity: Option<&Entity>) -> Vec<Field> {
    let natural: BTreeSet<&str> = table
        .key_attributes()
        .filter(|key| matches!(key.source, KeySource::Natural))
        .map(|key| key.name.as_str())
        .collect();
    let of = |attribute: &Attribute| {
        let name = attribute.name.as_str();
        let when = entity.and_then(|entity| entity.when.iter().find(|when| when.attribute == name));
        let is_never = matches!(when, Some(When { test: WhenTest::Exists(false), .. }));
        let required = attribute.required || natural.contains(name) || when.is_some();
        let values = match when.map(|when| &when.test) {
            Some(WhenTest::In(values)) => Some(values.clone()),
            _ => attribute.values.clone(),
        };
        (!is_never).then(|| Field { values, optional: !required, ..Field::of(attribute) })
    };
    entity.map_or(&table.attributes, |entity| &entity.attributes).values().filter_map(of).collect()
}

/// The attributes of which the primary key is made: those of a folded key are needed as far as its template is not optional.
fn key(table: &Table) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for key in table.key_attributes() {
        let (names, optional): (Vec<&str>, bool) = match &key.source {
            KeySource::Natural => (vec![key.name.as_str()], false),
            KeySource::Folded(rules) => {
                (rules.iter().flat_map(|rule| rule.template.attributes()).collect(), true)
            }
        };
        for name in names {
            let is_listed = fields.iter().any(|field| field.name == name);
            if let (false, Some(attribute)) = (is_listed, table.attributes.get(name)) {
                fields.push(Field { optional, ..Field::of(attribute) });
            }
        }
    }
    fields
}

fn parameters(table: &Table, question: &Question) -> Record {
    let of = |asked: &QuestionCondition| {
        let attribute = table.attribute_of(question.entities_of(asked), &asked.attribute)?;
        let many = matches!(asked.operator, Operator::In | Operator::Between);
        // A prefix need not be a listed value.
        let values = match asked.operator {
            Operator::Equal | Operator::In => attribute.values.clone(),
            _ => None,
        };
        let kind = if asked.operator == Operator::Exists { AttributeKind::Boolean } else { attribute.kind };
        Some(Field { kind, values, many, optional: asked.optional, ..Field::of(attribute) })
    };
    Record {
        name: format!("{}{}", pascal(&table.id), pascal(&question.name)),
        fields: question.parameters().iter().filter_map(of).collect(),
    }
}

impl Field {
    fn of(attribute: &Attribute) -> Field {
        Field {
            name: attribute.name.clone(),
            kind: attribute.kind,
            values: attribute.values.clone(),
            many: false,
            optional: false,
        }
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
