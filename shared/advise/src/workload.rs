//! The load of a table in a month: its questions, its items, its writes.
//!
//! Figures come from the manifest (`rate`, `expect`). Each figure that it does not give is assumed, and listed.

use keyfold_core::index::item_bytes;
use keyfold_core::model::{
    Attribute, AttributeKind, EntityId, Expect, KeySource, Model, Period, Question, Rate, Table, WhenTest,
};
use keyfold_core::query::advise::{stand_in_value, ways};
use keyfold_core::value::{AttributeValue, Item};

/// How often a question is asked, and how often items of a table are written, where the manifest does not say.
const RATE_ASSUMED: Rate = Rate { times: 1, per: Period::Second };

/// The load of one table.
#[derive(Debug)]
pub(crate) struct Workload<'m> {
    pub(crate) asked: Vec<Asked<'m>>,
    pub(crate) kinds: Vec<Kind>,
    /// The figures that the manifest does not give, each as a sentence.
    pub(crate) assumed: Vec<String>,
}

/// A question in one of its ways: with its optional conditions or without them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'m> {
    pub(crate) question: &'m Question,
    pub(crate) with_optional: Option<bool>,
    pub(crate) times_a_month: f64,
}

/// The items of one entity, or all items of a table without entities.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) entity: Option<EntityId>,
    pub(crate) items: f64,
    pub(crate) writes_a_month: f64,
    /// A typical item as it is stored, with the keys of the table as it is.
    pub(crate) item: Item,
}

impl<'m> Workload<'m> {
    pub(crate) fn of(model: &'m Model, table: &'m Table) -> Workload<'m> {
        let mut assumed = Vec::new();
        let asked = model.questions_of(table).flat_map(asked).collect();
        let unrated: Vec<&str> = model
            .questions_of(table)
            .filter(|question| question.rate.is_none())
            .map(|question| question.name.as_str())
            .collect();
        if !unrated.is_empty() {
            assumed
                .push(format!("questions without `rate` are asked {RATE_ASSUMED}: {}", unrated.join(", ")));
        }
        let kinds = kinds(table, &mut assumed);
        Workload { asked, kinds, assumed }
    }

    /// The number of items of these entities (none: of all) and their writes in a second.
    pub(crate) fn load_of(&self, entities: &[EntityId]) -> (f64, f64) {
        let month = Rate { times: 1, per: Period::Second }.a_month();
        let is_of = |kind: &&Kind| entities.is_empty() || kind.entity.is_none_or(|id| entities.contains(&id));
        self.kinds.iter().filter(is_of).fold((0.0, 0.0), |(items, writes), kind| {
            (items + kind.items, writes + kind.writes_a_month / month)
        })
    }
}

/// Each way is asked equally often.
fn asked(question: &Question) -> impl Iterator<Item = Asked<'_>> {
    let ways = ways(question);
    let times_a_month = question.rate.unwrap_or(RATE_ASSUMED).a_month() / ways.len() as f64;
    ways.iter().map(move |with_optional| Asked { question, with_optional: *with_optional, times_a_month })
}

fn kinds(table: &Table, assumed: &mut Vec<String>) -> Vec<Kind> {
    let ids: Vec<Option<EntityId>> = match table.entities.len() {
        0 => vec![None],
        count => (0..count).map(|at| Some(EntityId(at))).collect(),
    };
    let expects: Vec<Expect> = ids.iter().map(|id| expect_of(table, *id)).collect();
    let of_table = &table.expect;
    let figure = |given: Option<u64>, otherwise: u64, what: &str, assumed: &mut Vec<String>| {
        given.unwrap_or_else(|| {
            assumed.push(format!("table `{}` has no `expect.{what}`: {otherwise} is assumed", table.id));
            otherwise
        }) as f64
    };
    let every = |has: fn(&Expect) -> bool| !table.entities.is_empty() && expects.iter().all(has);
    let items = match every(|expect| expect.items.is_some()) {
        true => 0.0,
        false => figure(of_table.items, Expect::ITEMS_ASSUMED, "items", assumed),
    };
    let writes = match every(|expect| expect.writes.is_some()) {
        true => 0.0,
        false => of_table
            .writes
            .unwrap_or_else(|| {
                assumed
                    .push(format!("table `{}` has no `expect.writes`: {RATE_ASSUMED} are assumed", table.id));
                RATE_ASSUMED
            })
            .a_month(),
    };
    let item_bytes = match every(|expect| expect.item_bytes.is_some()) {
        true => 0.0,
        false => figure(of_table.item_bytes, Expect::ITEM_BYTES_ASSUMED, "item-bytes", assumed),
    };
    let items = shares(items, &expects, |expect| expect.items.map(|items| items as f64));
    let writes = shares(writes, &expects, |expect| expect.writes.map(Rate::a_month));
    let mut kinds = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let bytes = expects[at].item_bytes.map_or(item_bytes, |bytes| bytes as f64);
        match typical_item(table, *id, bytes) {
            Some(item) => {
                kinds.push(Kind { entity: *id, items: items[at], writes_a_month: writes[at], item });
            }
            None => {
                let name = id.map_or("", |id| table.entities[id.0].name.as_str());
                assumed.push(format!("no typical item of entity `{name}` can be made: prices leave it out"));
            }
        }
    }
    kinds
}

/// The expectations of the manifest for the items of one kind.
fn expect_of(table: &Table, id: Option<EntityId>) -> Expect {
    id.map_or(Expect::default(), |id| table.entities[id.0].expect.clone())
}

/// The figure of each kind: the given one, or an equal share of the rest.
fn shares(whole: f64, expects: &[Expect], given: impl Fn(&Expect) -> Option<f64>) -> Vec<f64> {
    let known: f64 = expects.iter().filter_map(&given).sum();
    let open = expects.iter().filter(|expect| given(expect).is_none()).count();
    let each = (whole - known).max(0.0) / open.max(1) as f64;
    expects.iter().map(|expect| given(expect).unwrap_or(each)).collect()
}

/// An item with all attributes that its entity declares, of this size. `None` if the stand-in values break a rule of the manifest.
fn typical_item(table: &Table, entity: Option<EntityId>, bytes: f64) -> Option<Item> {
    let mut item = Item::default();
    for attribute in table.attributes_of(entity).values() {
        item.insert(attribute.name.as_str(), value_of(attribute));
    }
    for when in entity.into_iter().flat_map(|id| &table.entities[id.0].when) {
        match &when.test {
            WhenTest::In(values) => item.extend(values.first().map(|value| (&when.attribute, value.clone()))),
            WhenTest::BeginsWith(prefix) if table.attributes.contains_key(&when.attribute) => {
                item.insert(when.attribute.as_str(), AttributeValue::S(format!("{prefix}x")));
            }
            WhenTest::Exists(false) => drop(item.remove(&when.attribute)),
            WhenTest::BeginsWith(_) | WhenTest::Exists(true) => {}
        }
    }
    if let Some(id) = entity {
        item = table.as_entity(item, &table.entities[id.0].name).ok()?;
    }
    let mut item = table.with_keys(item).ok()?;
    let only_in_keys = table.attributes_of(entity).values().filter(|attribute| attribute.from_key);
    only_in_keys.for_each(|attribute| drop(item.remove(&attribute.name)));
    let missing = bytes as u64;
    if let Some(rest) = missing.checked_sub(item_bytes(&item) + FILLER.len() as u64) {
        item.insert(FILLER, AttributeValue::S("x".repeat(usize::try_from(rest).ok()?)));
    }
    Some(item)
}

/// The attribute that stands for all undeclared ones.
const FILLER: &str = "undeclared attributes";

fn value_of(attribute: &Attribute) -> AttributeValue {
    match attribute.kind {
        AttributeKind::List => AttributeValue::L(Vec::new()),
        AttributeKind::Map => AttributeValue::M(Default::default()),
        AttributeKind::StringSet => AttributeValue::Ss(vec!["x".to_owned()]),
        AttributeKind::NumberSet => AttributeValue::Ns(vec!["1".to_owned()]),
        AttributeKind::BinarySet => AttributeValue::Bs(vec![b"x".to_vec()]),
        _ => stand_in_value(attribute),
    }
}

/// The attributes that the table's own key is made of.
pub(crate) fn primary_key_inputs(table: &Table, entity: Option<EntityId>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for key in table.key_attributes() {
        match &key.source {
            KeySource::Natural => names.push(key.name.clone()),
            KeySource::Folded(rules) => {
                let own = rules.iter().find(|rule| rule.entity.is_none() || rule.entity == entity);
                names.extend(own.into_iter().flat_map(|rule| rule.template.attributes()).map(str::to_owned));
            }
        }
    }
    names
}
