//! Two worlds that differ only in other tenants' items, and write requests whose answers must not depend on that.

use keyfold_core::attribute::AttributeKind;
use keyfold_core::key::Unfolded;
use keyfold_core::manifest;
use keyfold_core::model::{EntityId, FoldRule, Index, KeptFacts, KeyAttribute, KeySource, Table};
use keyfold_core::retrofit::attributes::FENCE_ATTRIBUTE;
use keyfold_core::value::{AttributeValue, Item};
use serde_json::{Value, json};

use crate::generate::{self, CaseItem, Random, Words};

/// The claim that the scope is bound to.
pub const CLAIM: &str = "jwt.org";
/// Maximum items of both worlds together.
const ITEMS_MAX: usize = 30;
/// How many pairs are drawn before the generator counts as broken.
const PAIRS_MAX: usize = 5000;

/// Two worlds, and a tenant in both.
#[derive(Debug)]
pub struct WriteWorlds {
    /// The manifest.
    pub manifest: String,
    /// The attribute of the scope.
    pub attribute: String,
    /// The tenant.
    pub organisation: String,
    /// Do only keys hold the attribute?
    pub from_key: bool,
    /// The tenant's items.
    pub own: Vec<Item>,
    /// The others' items in each world.
    pub others: [Vec<Item>; 2],
    table: Table,
    words: Words,
    /// The items that requests aim at: the tenant's, those of either world, and some of neither.
    own_aims: Vec<CaseItem>,
    other_aims: Vec<CaseItem>,
    random: Random,
}

/// A request to write.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    /// Its path.
    pub path: &'static str,
    /// Its body.
    pub body: Value,
}

impl WriteWorlds {
    /// The pair of this seed.
    ///
    /// # Panics
    /// If many pairs are empty: then the generator is broken.
    pub fn new(seed: u64) -> WriteWorlds {
        let mut random = Random::new(seed);
        for _ in 0..PAIRS_MAX {
            if let Some(pair) = WriteWorlds::drawn(&mut random) {
                return pair;
            }
        }
        panic!("{PAIRS_MAX} pairs of worlds came to nothing");
    }

    fn drawn(random: &mut Random) -> Option<WriteWorlds> {
        let manifest = match random.chance(60) {
            true => format!("{DEPLOY}{}", random.pick(SHAPES)),
            false => scoped(&generate::manifest(&mut random.fork()), random)?,
        };
        let table = manifest::parse("case.toml", &manifest).model?.tables.remove(0);
        let attribute = table.scope.keys().next()?.clone();
        let words = Words::draw(&table, random);
        let mut all = generate::items(&table, &words, ITEMS_MAX, &mut random.fork());
        all.retain(|item| item.seen.is_some());
        all.iter_mut().for_each(|item| drop(item.stored.remove(FENCE_ATTRIBUTE)));
        let owner = |item: &CaseItem| text(item.seen.as_ref()?.get(&attribute)?).map(str::to_owned);
        let organisation = owner(random.any(&all)?)?;
        let (mut own_aims, mut other_aims): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|item| owner(item).as_ref() == Some(&organisation));
        let from_key = table.attributes.get(&attribute).is_some_and(|declared| declared.from_key);
        let own = (attribute.as_str(), organisation.as_str());
        let others = words.of(&attribute).iter().find(|word| text(word) != Some(&organisation)).cloned();
        // Some items become another tenant's: an item of another entity has their key, or they store another tenant
        // than a key contains.
        own_aims.retain(|item| {
            let entity = random.below(table.entities.len());
            let contradicting = || contradicting(&table, item, own, others.clone()?);
            let moved = twin(&table, item, own, entity).or_else(contradicting).filter(|_| random.chance(40));
            let is_kept = moved.is_none();
            other_aims.extend(moved);
            is_kept
        });
        if own_aims.is_empty() || other_aims.is_empty() || organisation.is_empty() {
            return None;
        }
        let others =
            [(); 2].map(|()| world(&table, &words, &other_aims, (&attribute, &organisation), random));
        Some(WriteWorlds {
            from_key,
            own: own_aims.iter().map(|item| item.stored.clone()).collect(),
            manifest,
            attribute,
            organisation,
            others,
            table,
            words,
            own_aims,
            other_aims,
            random: random.fork(),
        })
    }

    /// The table without folded keys and indexes: items are stored unchanged.
    pub fn unfolded(&self) -> Table {
        let natural = |key: &KeyAttribute| KeyAttribute { source: KeySource::Natural, ..key.clone() };
        Table {
            partition: natural(&self.table.partition),
            sort: self.table.sort.as_ref().map(natural),
            attributes: [].into(),
            entities: Vec::new(),
            indexes: Vec::new(),
            facts: KeptFacts::default(),
            ..self.table.clone()
        }
    }

    /// The next request.
    pub fn request(&mut self) -> WriteRequest {
        let mut random = self.random.fork();
        let aims = if random.chance(45) { &self.own_aims } else { &self.other_aims };
        let aim = random.pick(aims).clone();
        match random.below(3) {
            0 => WriteRequest { path: "/put", body: self.put(&aim, &mut random) },
            1 => WriteRequest { path: "/update", body: self.update(&aim, &mut random) },
            _ => WriteRequest { path: "/delete", body: self.with_key(&aim, &mut random) },
        }
    }

    fn put(&self, aim: &CaseItem, random: &mut Random) -> Value {
        if let Some(twin) = random.chance(30).then(|| self.put_twin(aim, random)).flatten() {
            return twin;
        }
        let mut item = aim.seen.clone().unwrap_or_default();
        if random.chance(80) {
            self.table.folded_names().for_each(|name| drop(item.remove(name)));
        }
        item.remove(&self.attribute);
        match random.below(10) {
            0 => drop(item.insert(&self.attribute, self.word(&self.attribute, random))),
            1..=4 => drop(item.insert(&self.attribute, AttributeValue::S(self.organisation.clone()))),
            _ => {}
        }
        for _ in 0..random.below(3) {
            let name = self.name(random);
            item.insert(&name, self.word(&name, random));
        }
        let mut body = json!({ "table": self.table.id, "item": item, "replace": random.chance(60) });
        if let Some(entity) = random.any(&self.table.entities).filter(|_| random.chance(30)) {
            body["entity"] = json!(entity.name);
        }
        body
    }

    /// A put of an item of another entity with the same primary key, if its templates can make this key.
    fn put_twin(&self, aim: &CaseItem, random: &mut Random) -> Option<Value> {
        let at = random.below(self.table.entities.len());
        let item = natural(&self.table, &aim.stored, at)?;
        let entity = &self.table.entities[at].name;
        Some(json!({ "table": self.table.id, "item": item, "entity": entity, "replace": random.chance(50) }))
    }

    fn update(&self, aim: &CaseItem, random: &mut Random) -> Value {
        let mut body = self.with_key(aim, random);
        let mut set = Item::default();
        for _ in 0..random.below(3) {
            let name = self.name(random);
            set.insert(&name, self.word(&name, random));
        }
        if random.chance(40) {
            set.insert("filler", AttributeValue::S("new".to_owned()));
        }
        let removed = self.name(random);
        if random.chance(25) && !set.contains_key(&removed) {
            body["remove"] = json!([removed]);
        }
        body["set"] = json!(set);
        body
    }

    /// A body with the key of an item, as stored or as the attributes it is folded from, and sometimes a condition.
    fn with_key(&self, aim: &CaseItem, random: &mut Random) -> Value {
        let seen = aim.seen.clone().unwrap_or_default();
        let mut key = match random.chance(65) {
            true => self.table.key_of(&aim.stored).unwrap_or_default(),
            false => {
                let of_key = |name: &str| {
                    self.table
                        .key_attributes()
                        .any(|key| key.name == name || key.inputs().any(|input| input == name))
                };
                let folded = |name: &str| self.table.folded_names().any(|known| known == name);
                seen.iter()
                    .filter(|(name, _)| of_key(name) && !folded(name))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect()
            }
        };
        if random.chance(50) {
            key.remove(&self.attribute);
        }
        let mut body = json!({ "table": self.table.id, "key": key });
        if random.chance(35) {
            let mut expected = Item::default();
            for _ in 0..random.between(1, 2) {
                let name = self.name(random);
                let value = match seen.get(&name) {
                    Some(value) if random.chance(70) => value.clone(),
                    None if random.chance(70) => AttributeValue::Null(true),
                    _ => self.word(&name, random),
                };
                expected.insert(&name, value);
            }
            body["if"] = json!(expected);
        }
        body
    }

    /// An attribute, rarely the scope's own.
    fn name(&self, random: &mut Random) -> String {
        let names: Vec<&String> = self
            .table
            .attributes
            .keys()
            .filter(|name| **name != self.attribute || random.chance(30))
            .collect();
        random.any(&names).map_or_else(|| "filler".to_owned(), |name| (*name).clone())
    }

    fn word(&self, name: &str, random: &mut Random) -> AttributeValue {
        random.any(self.words.of(name)).cloned().unwrap_or_else(|| AttributeValue::S("old".to_owned()))
    }
}

/// Makes the table writable.
const DEPLOY: &str = "[deploy]\nquery-api = true\nquery-api-writes = [\"t\"]\n";

/// Tables in which a rule of the scope decides: keys only in indexes, entities that collide, items of two entities or
/// without one.
const SHAPES: &[&str] = &[
    r##"
[tables.t]
name = "tableOfTheCase"
partition = { attribute = "PK" }
sort = { attribute = "SK" }
scope = { org = "jwt.org" }
attributes = { org = { type = "string", from-key = true }, id = { type = "string", from-key = true }, note = "string" }
indexes.byOrg.partition = { attribute = "GSI1PK" }
[tables.t.entities.customer]
partition = "CUSTOMER#{org}"
sort = "PROFILE"
[tables.t.entities.order]
partition = "ORDER#{id}"
sort = "ORDER"
indexes.byOrg.partition = "CUSTOMER#{org}"
"##,
    r#"
[tables.t]
name = "tableOfTheCase"
partition = { attribute = "PK" }
scope = { org = "jwt.org" }
attributes = { org = { type = "string", from-key = true }, id = { type = "string", from-key = true }, kind = "string", note = "string" }
[tables.t.entities.first]
when = { kind = "first" }
partition = "{org}#{id}"
[tables.t.entities.second]
when = { kind = "second" }
partition = "{id}#{org}"
"#,
    r#"
[tables.t]
name = "tableOfTheCase"
partition = { attribute = "PK" }
scope = { org = "jwt.org" }
attributes = { org = { type = "string", from-key = true }, id = { type = "string", from-key = true }, kind = "string", flag = "string" }
[tables.t.entities.first]
when = { kind = "first" }
partition = "{org}#{id}"
[tables.t.entities.second]
when = { flag = { exists = true } }
partition = "{id}#{org}"
"#,
    r#"
[tables.t]
name = "tableOfTheCase"
partition = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = { type = "string", from-key = true }, day = "string", state = "string" }
indexes.byDay.partition = { attribute = "GPK", fold = "{org}#{day}" }
indexes.byState.partition = { attribute = "HPK", fold = "{org}#{state}" }
"#,
    r#"
[tables.t]
name = "tableOfTheCase"
partition = "{org}#{id}"
sort = "note"
scope = { org = "jwt.org" }
attributes = { id = "string", org = "string", note = "string", state = "string" }
indexes.byState.partition = { attribute = "HPK", fold = "{state}#{note}" }
"#,
    r#"
[tables.t]
name = "tableOfTheCase"
partition = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = "string", note = "string" }
indexes.byOrg.partition = { attribute = "GPK", fold = "{org}#{note}" }
"#,
    r##"
[tables.t]
name = "tableOfTheCase"
partition = { attribute = "PK" }
sort = { attribute = "SK" }
scope = { org = "jwt.org" }
attributes = { org = { type = "string", from-key = true }, id = { type = "string", from-key = true }, note = "string", state = "string" }
indexes.byOrg.partition = { attribute = "GSI1PK" }
indexes.byOrg.sort = { attribute = "GSI1SK" }
indexes.byState.partition = ["state", "note"]
[tables.t.entities.user]
partition = "TENANT#{org}"
sort = "USER#{id}"
indexes.byOrg.partition = "USER#{id}"
indexes.byOrg.sort = "TENANT#{org}"
[tables.t.entities.order]
partition = "ORDER#{id}"
sort = "ORDER"
indexes.byOrg.partition = "TENANT#{org}"
indexes.byOrg.sort = "{note}"
[tables.t.entities.device]
partition = "DEVICE#{id}"
sort = "DEVICE"
indexes.byOrg.partition = "DEVICE#{state}"
indexes.byOrg.sort = "{org}#{note}"
"##,
    r##"
[tables.t]
name = "tableOfTheCase"
verbatim = true
partition = { attribute = "PK" }
scope = { org = "jwt.org" }
attributes = { org = { type = "string", from-key = true }, id = { type = "string", from-key = true }, note = "string", state = "string" }
indexes.byOrg.partition = { attribute = "GSI1PK" }
[tables.t.entities.tenant]
partition = "TENANT#{org}#{id}"
[tables.t.entities.order]
partition = "ORDER#{id}"
indexes.byOrg.partition = "TENANT#{org}#{note}[#{state}]"
"##,
];

/// A generated manifest whose table has a scope, most often one that only keys hold, and can be written.
fn scoped(text: &str, random: &mut Random) -> Option<String> {
    if text.contains("\nscope = ") {
        return None;
    }
    let table = manifest::parse("case.toml", text).model?.tables.remove(0);
    let keys = table.indexes.iter().flat_map(Index::key_attributes).chain(table.key_attributes());
    let is_text = |name: &&str| {
        let declared = table.attributes.get(*name);
        declared.is_some_and(|known| known.kind == AttributeKind::String && known.maps.is_empty())
    };
    let inputs: Vec<&str> = keys.flat_map(KeyAttribute::inputs).filter(is_text).collect();
    let name = random.any(&inputs)?;
    let scope = format!("name = \"tableOfTheCase\"\nscope = {{ {name} = \"{CLAIM}\" }}\n");
    let mut text = text.replacen("name = \"tableOfTheCase\"\n", &scope, 1);
    if random.chance(70) {
        let declared = format!("\n{name} = {{ type = \"string\", from-key = true }}\n");
        text = text.replacen(&format!("\n{name} = \"string\"\n"), &declared, 1);
    }
    Some(format!("{DEPLOY}{text}"))
}

/// The attributes that this primary key has by the templates of an entity.
fn natural(table: &Table, stored: &Item, entity: usize) -> Option<Item> {
    table.entities.get(entity)?;
    let mut item = Item::default();
    for key in table.key_attributes() {
        let value = stored.get(&key.name)?;
        let KeySource::Folded(rules) = &key.source else {
            item.insert(&key.name, value.clone());
            continue;
        };
        let is_of = |rule: &&FoldRule| rule.entity.is_none() || rule.entity == Some(EntityId(entity));
        for (name, part) in rules.iter().find(is_of)?.template.unfold(text(value)?).ok()? {
            if let Unfolded::Value(value) = part {
                item.insert(name, value);
            }
        }
    }
    Some(item)
}

/// Another tenant's item with the same primary key, of another entity.
fn twin(table: &Table, item: &CaseItem, (attribute, own): (&str, &str), entity: usize) -> Option<CaseItem> {
    let natural = natural(table, &item.stored, entity)?;
    if natural.get(attribute).is_none_or(|told| text(told) == Some(own)) {
        return None;
    }
    let whole = table.as_entity(natural, &table.entities[entity].name).ok()?;
    let mut stored = table.with_keys(whole.clone()).ok()?;
    stored.remove(attribute);
    let is_twin = table.key_of(&stored) == table.key_of(&item.stored);
    is_twin.then_some(CaseItem { stored, seen: Some(whole) })
}

/// The item, storing another tenant than an index key contains. Its primary key contains none: with the tenant's own
/// key, it would block the tenant.
fn contradicting(
    table: &Table,
    item: &CaseItem,
    own: (&str, &str),
    other: AttributeValue,
) -> Option<CaseItem> {
    let mut key = table.key_of(&item.stored)?;
    key.remove(own.0);
    if says(table, &key, own) || table.key_attributes().any(|key| key.name == own.0) {
        return None;
    }
    let mut item = item.clone();
    item.stored.insert(own.0, other.clone());
    item.seen.as_mut()?.insert(own.0, other);
    Some(item)
}

/// Some of the others' items, some of them in another version, and some with missing attributes.
fn world(
    table: &Table,
    words: &Words,
    others: &[CaseItem],
    own: (&str, &str),
    random: &mut Random,
) -> Vec<Item> {
    let share = *random.pick(&[0, 40, 70, 100]);
    let chosen: Vec<CaseItem> = others.iter().filter(|_| random.chance(share)).cloned().collect();
    let later = generate::changed(table, words, &chosen, &mut random.fork());
    let version = |item: &CaseItem| {
        let key = table.key_of(&item.stored);
        let other = later.iter().find(|later| later.seen.is_some() && table.key_of(&later.stored) == key);
        other.unwrap_or(item).stored.clone()
    };
    let all = chosen.iter().map(|item| {
        let kept = || item.stored.clone();
        let mut stored = if random.chance(50) { version(item) } else { kept() };
        stored.remove(FENCE_ATTRIBUTE);
        if random.chance(30) {
            stored.insert("filler", AttributeValue::S("x".repeat(random.between(1, 3000))));
        }
        if random.chance(30) {
            spoil(table, &mut stored, random);
        }
        // An item that became the tenant's would be its own.
        if says(table, &stored, own) { kept() } else { stored }
    });
    all.collect()
}

/// Removes an attribute of an item, or makes an index key unreadable.
fn spoil(table: &Table, item: &mut Item, random: &mut Random) {
    let is_primary = |name: &str| table.key_attributes().any(|key| key.name == name);
    let names: Vec<String> = item.keys().map(ToString::to_string).filter(|name| !is_primary(name)).collect();
    let Some(name) = random.any(&names) else { return };
    if random.chance(40) && table.folded_names().any(|folded| folded == name) {
        item.insert(name, AttributeValue::S((*random.pick(&["%", "?", "%zz#", "#"])).to_owned()));
    } else {
        item.remove(name);
    }
}

/// Does the item's attribute or any of its keys, read by any template, name this tenant?
fn says(table: &Table, item: &Item, (attribute, own): (&str, &str)) -> bool {
    let keys = table.indexes.iter().flat_map(Index::key_attributes).chain(table.key_attributes());
    let in_key = |key: &KeyAttribute| {
        let (KeySource::Folded(rules), Some(value)) = (&key.source, item.get(&key.name)) else {
            return false;
        };
        let of_rule = |value: &str, rule: &FoldRule| {
            let parts = rule.template.unfold(value).unwrap_or_default();
            parts.iter().any(|(name, part)| {
                *name == attribute && matches!(part, Unfolded::Value(told) if text(told) == Some(own))
            })
        };
        text(value).is_some_and(|value| rules.iter().any(|rule| of_rule(value, rule)))
    };
    match item.get(attribute) {
        Some(stored) => text(stored) == Some(own),
        None => keys.into_iter().any(in_key),
    }
}

fn text(value: &AttributeValue) -> Option<&str> {
    match value {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}
