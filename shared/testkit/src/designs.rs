//! Single-table designs with known entities and key templates, and sampled items with the noise of real tables.
//!
//! A design is rendered as answers of DescribeTable and Scan, and as a NoSQL Workbench model. It does not use
//! [`crate::generate`]: those models exercise the codec with awkward values, these look like tables of programs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::generate::Random;

/// The most items of one entity in a scan.
const ITEMS_MAX: usize = 30;
/// The most items of one entity in a Workbench model.
const ROWS_MAX: usize = 5;
/// Names of entities that own item collections.
const OWNERS: [&str; 6] = ["Customer", "Tenant", "Device", "Account", "Project", "Patient"];
/// Names of entities in the collections of others.
const MEMBERS: [&str; 8] =
    ["Order", "Invoice", "Ticket", "Reading", "Member", "Visit", "Shipment", "Payment"];
/// Sort keys without parts.
const CONSTANTS: [&str; 6] = ["META", "meta", "PROFILE", "#METADATA", "A", "details"];
/// Entities with one item in each collection, with their sort keys.
const SINGLES: [(&str, &str); 3] = [("Settings", "SETTINGS"), ("Balance", "BALANCE"), ("Address", "address")];
/// Pairs of entities with the same attributes.
const TWINS: [(&str, &str); 3] = [("Credit", "Debit"), ("Deposit", "Withdrawal"), ("Inbound", "Outbound")];

/// A kind of noise in samples of real tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noise {
    /// Old items lack attributes that their keys hold.
    Missing,
    /// Old items hold numbers as text.
    Mixed,
    /// Other attributes are equal to a part of a key in the sample.
    Coincidence,
    /// 3 to 10 items of each entity.
    Few,
    /// Only keys hold the ids.
    KeyOnly,
    /// Sort keys without parts.
    Constant,
    /// Keys end with the number of a shard.
    Shards,
    /// Two entities have the same attributes and differ in the prefix of their keys.
    Twins,
    /// All entities use the index, each with its own key.
    Overloaded,
    /// Several of these at once.
    Several,
}

impl Noise {
    /// Every kind of noise.
    pub const ALL: [Noise; 10] = [
        Noise::Missing,
        Noise::Mixed,
        Noise::Coincidence,
        Noise::Few,
        Noise::KeyOnly,
        Noise::Constant,
        Noise::Shards,
        Noise::Twins,
        Noise::Overloaded,
        Noise::Several,
    ];
}

/// A design, with its truth.
#[derive(Debug, Clone)]
pub struct Design {
    /// The table's key attributes, then those of its indexes.
    keys: Vec<(String, Option<String>)>,
    /// The true entities.
    pub entities: Vec<TrueEntity>,
    /// Does the true name of an entity occur in the items?
    pub is_named: bool,
    items: Vec<(usize, BTreeMap<String, Value>)>,
}

/// An entity of a design.
#[derive(Debug, Clone)]
pub struct TrueEntity {
    /// Its name.
    pub name: String,
    /// The true templates by key attribute. `{?word}` is a part that only the key holds; its name should contain the
    /// word.
    pub templates: BTreeMap<String, String>,
    /// Do only some of its items have the keys of an index?
    pub is_sparse: bool,
}

/// The conventions of one design.
struct Style {
    random: Random,
    separator: char,
    prefix: usize,
    attributes: usize,
    /// The percentage of ids that only keys hold.
    hidden: usize,
    entity_attribute: Option<&'static str>,
    constant: &'static str,
    has_repeated_owner: bool,
    has_mixed: bool,
    has_coincidence: bool,
    noises: BTreeSet<Noise>,
}

/// A part of a key.
#[derive(Clone)]
enum Part {
    Text(String),
    Field(usize),
    Padded(usize, usize),
}

/// A value of an item: an attribute, or known only from keys.
struct Field {
    name: String,
    is_hidden: bool,
    /// The text that a name for the part should contain.
    word: String,
    values: Values,
}

#[derive(Clone, Copy)]
enum Values {
    Id(char),
    Uuid,
    Digits,
    Status,
    Time,
    Date,
    Count,
    Shard,
    Email,
    /// The same value as another field.
    Same(usize),
}

/// An entity that is being built.
struct Building {
    name: String,
    fields: Vec<Field>,
    keys: BTreeMap<String, Vec<Part>>,
    /// The keys that only items with an open status have.
    sparse: BTreeSet<String>,
}

impl Style {
    fn new(seed: u64, noise: Option<Noise>) -> Style {
        let mut random = Random::new(seed);
        let noises: BTreeSet<Noise> = match noise {
            Some(Noise::Several) => random.fork().some(&Noise::ALL, 4).into_iter().collect(),
            one => one.into_iter().collect(),
        };
        let has = |noise: Noise| noises.contains(&noise);
        let types = [None, None, Some("type"), Some("entityType"), Some("_et"), Some("recordKind")];
        Style {
            separator: *random.pick(&['#', '#', '#', '#', '|', '/', ':']),
            prefix: random.below(6),
            attributes: random.below(3),
            hidden: match *random.pick(&[0, 0, 50, 100]) {
                _ if has(Noise::KeyOnly) => 100,
                _ if has(Noise::Missing) || has(Noise::Mixed) || has(Noise::Coincidence) => 0,
                other => other,
            },
            entity_attribute: *random.pick(&types),
            constant: CONSTANTS[random.below(CONSTANTS.len())],
            has_repeated_owner: random.chance(20),
            has_mixed: random.chance(25),
            has_coincidence: random.chance(40) || has(Noise::Coincidence),
            noises,
            random,
        }
    }

    /// The text before an id of this entity.
    fn prefix(&self, entity: &str) -> String {
        match self.prefix {
            0 | 1 => entity.to_uppercase(),
            2 => entity.to_owned(),
            3 => entity.to_lowercase(),
            _ => entity[..3].to_lowercase(),
        }
    }

    /// The text before an id: the ids of owners can be without a prefix.
    fn before(&self, entity: &str) -> Part {
        match self.prefix == 5 && OWNERS.contains(&entity) {
            true => Part::Text(String::new()),
            false => Part::Text(format!("{}{}", self.prefix(entity), self.separator)),
        }
    }

    fn has(&self, noise: Noise) -> bool {
        self.noises.contains(&noise)
    }

    /// The number of a shard at the end of a key: text and part.
    fn shard_at_end(&self, one: &mut Building) -> [Part; 2] {
        let shard = match one.fields.iter().position(|field| matches!(field.values, Values::Shard)) {
            Some(known) => known,
            None => one.field(self.shard()),
        };
        let text = match self.prefix < 4 {
            true => format!("{0}SHARD{0}", self.separator),
            false => self.separator.to_string(),
        };
        [Part::Text(text), Part::Field(shard)]
    }

    fn between(&self) -> Part {
        Part::Text(self.separator.to_string())
    }

    fn attribute(&self, words: &[&str]) -> String {
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let capital = |word: &String| word[..1].to_uppercase() + &word[1..];
        match self.attributes {
            0 => lower.join("_"),
            1 => lower[0].clone() + &lower[1..].iter().map(capital).collect::<String>(),
            _ => lower.iter().map(capital).collect(),
        }
    }

    /// The id of an entity, in an item of it or of another.
    fn id(&mut self, entity: &str) -> Field {
        let letter = entity.chars().next().unwrap_or('x');
        // All items write the ids of one entity in one form.
        let values = match entity.len() % 3 {
            _ if self.prefix == 5 => Values::Id(letter),
            0 => Values::Id(letter),
            1 => Values::Uuid,
            _ => Values::Digits,
        };
        Field {
            name: self.attribute(&[entity, "id"]),
            is_hidden: self.random.chance(self.hidden),
            word: if self.prefix >= 4 { String::new() } else { entity.to_lowercase() },
            values,
        }
    }

    fn shard(&self) -> Field {
        Field { is_hidden: true, ..self.stored(&["shard"], Values::Shard) }
    }

    fn stored(&self, words: &[&str], values: Values) -> Field {
        Field { name: self.attribute(words), is_hidden: false, word: String::new(), values }
    }
}

impl Building {
    fn new(name: &str) -> Building {
        Building { name: name.to_owned(), fields: Vec::new(), keys: BTreeMap::new(), sparse: BTreeSet::new() }
    }

    fn field(&mut self, field: Field) -> usize {
        self.fields.push(field);
        self.fields.len() - 1
    }

    fn time(&mut self, style: &Style) -> usize {
        let known = self.fields.iter().position(|field| matches!(field.values, Values::Time));
        known.unwrap_or_else(|| self.field(style.stored(&["created", "at"], Values::Time)))
    }

    fn status(&mut self, style: &Style) -> usize {
        let known = self.fields.iter().position(|field| matches!(field.values, Values::Status));
        known.unwrap_or_else(|| self.field(style.stored(&["status"], Values::Status)))
    }

    fn template(&self, parts: &[Part]) -> String {
        let of = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(field) => match &self.fields[*field] {
                Field { is_hidden: true, word, .. } => format!("{{?{word}}}"),
                Field { name, .. } => format!("{{{name}}}"),
            },
            Part::Padded(field, width) => format!("{{{}:0{width}}}", self.fields[*field].name),
        };
        parts.iter().map(of).collect()
    }
}

impl Design {
    /// The design of a seed, whose sample can have noise of real tables. A Workbench model has few rows.
    pub fn new(seed: u64, is_workbench: bool, noise: Option<Noise>) -> Design {
        let mut style = Style::new(seed, noise);
        let is_one = style.random.chance(20) && !style.has(Noise::Twins) && !style.has(Noise::Constant);
        let (built, keys) = if is_one { one_entity(&mut style) } else { several_entities(&mut style) };
        let mut design = Design {
            keys: keys.clone(),
            is_named: style.entity_attribute.is_some() && built.len() > 1,
            entities: built.iter().map(|one| truth(one, &keys)).collect(),
            items: Vec::new(),
        };
        let most = if is_workbench { ROWS_MAX } else { ITEMS_MAX };
        for (at, one) in built.iter().enumerate() {
            let count = match style.random.between(2, *style.random.clone().pick(&[4, 8, most])) {
                _ if style.has(Noise::Few) => style.random.between(3, 10),
                // Most items have what some lack.
                _ if style.has(Noise::Missing) || style.has(Noise::Mixed) => {
                    style.random.between(8, ITEMS_MAX)
                }
                count => count.min(most),
            };
            let mut seen = BTreeSet::new();
            for number in 0..count {
                let item = item(one, at, number, &mut style, built.len());
                let key = |name: &String| item.get(name).map(Value::to_string);
                let identity = (key(&keys[0].0), keys[0].1.as_ref().and_then(key));
                if seen.insert(identity) {
                    design.items.push((at, item));
                }
            }
        }
        // A key that no item has is unknown.
        for (at, entity) in design.entities.iter_mut().enumerate() {
            let mut items = design.items.iter().filter(|(of, _)| *of == at).map(|(_, item)| item);
            entity.templates.retain(|key, _| items.clone().any(|item| item.contains_key(key)));
            entity.is_sparse &= !items.all(|item| entity.templates.keys().all(|key| item.contains_key(key)));
        }
        design
    }

    /// The output of DescribeTable.
    pub fn description(&self) -> String {
        let schema = |partition: &String, sort: &Option<String>| {
            let mut rows = vec![json!({ "AttributeName": partition, "KeyType": "HASH" })];
            rows.extend(sort.iter().map(|sort| json!({ "AttributeName": sort, "KeyType": "RANGE" })));
            rows
        };
        let all: BTreeSet<&String> =
            self.keys.iter().flat_map(|(one, other)| std::iter::once(one).chain(other)).collect();
        let index = |(at, (partition, sort)): (usize, &(String, Option<String>))| json!({ "IndexName": format!("GSI{at}"), "KeySchema": schema(partition, sort), "Projection": { "ProjectionType": "ALL" } });
        json!({ "Table": {
            "TableName": "Generated",
            "KeySchema": schema(&self.keys[0].0, &self.keys[0].1),
            "AttributeDefinitions": all.iter().map(|name| json!({ "AttributeName": name, "AttributeType": "S" })).collect::<Vec<_>>(),
            "GlobalSecondaryIndexes": self.keys.iter().enumerate().skip(1).map(index).collect::<Vec<_>>(),
        } })
        .to_string()
    }

    /// Items, as JSON lines in DynamoDB's notation.
    pub fn lines(&self) -> String {
        self.items.iter().map(|(_, item)| format!("{}\n", json!(item))).collect()
    }

    /// A model of NoSQL Workbench, with a facet for each entity or without facets.
    pub fn workbench(&self, with_facets: bool) -> String {
        let keys = |partition: &String, sort: &Option<String>| {
            let one = |name: &String| json!({ "AttributeName": name, "AttributeType": "S" });
            let mut keys = json!({ "PartitionKey": one(partition) });
            if let Some(sort) = sort {
                keys["SortKey"] = one(sort);
            }
            keys
        };
        let index = |(at, (partition, sort)): (usize, &(String, Option<String>))| json!({ "IndexName": format!("GSI{at}"), "KeyAttributes": keys(partition, sort), "Projection": { "ProjectionType": "ALL" } });
        let rows = |entity: usize| -> Vec<&BTreeMap<String, Value>> {
            self.items.iter().filter(|(at, _)| *at == entity).map(|(_, item)| item).collect()
        };
        let mut table = json!({
            "TableName": "Generated",
            "KeyAttributes": keys(&self.keys[0].0, &self.keys[0].1),
            "GlobalSecondaryIndexes": self.keys.iter().enumerate().skip(1).map(index).collect::<Vec<_>>(),
        });
        if with_facets {
            let facet = |(at, entity): (usize, &TrueEntity)| {
                let names: BTreeSet<&String> = rows(at).iter().flat_map(|row| row.keys()).collect();
                json!({ "FacetName": entity.name, "NonKeyAttributes": names, "TableData": rows(at),
                    "KeyAttributeAlias": { "PartitionKeyAlias": self.keys[0].0, "SortKeyAlias": self.keys[0].1 } })
            };
            table["TableFacets"] = self.entities.iter().enumerate().map(facet).collect();
        } else {
            table["TableData"] = self.items.iter().map(|(_, item)| json!(item)).collect();
        }
        json!({ "ModelName": "Generated", "ModelMetadata": { "Version": "3.0" }, "DataModel": [table] })
            .to_string()
    }

    /// Each item in DynamoDB's notation, with the position of its entity.
    pub fn items(&self) -> impl Iterator<Item = (usize, String)> {
        self.items.iter().map(|(at, item)| (*at, json!(item).to_string()))
    }
}

fn truth(one: &Building, keys: &[(String, Option<String>)]) -> TrueEntity {
    let all = keys.iter().flat_map(|(partition, sort)| std::iter::once(partition).chain(sort));
    let templates = all.filter_map(|key| Some((key.clone(), one.template(one.keys.get(key)?))));
    TrueEntity { name: one.name.clone(), templates: templates.collect(), is_sparse: !one.sparse.is_empty() }
}

/// A table of one entity: natural keys, and a composite one.
fn one_entity(style: &mut Style) -> (Vec<Building>, Vec<(String, Option<String>)>) {
    let mut one = Building::new(style.random.clone().pick::<&str>(&MEMBERS));
    let owner = style.stored(&["customer", "id"], Values::Id('C'));
    let partition = owner.name.clone();
    let owner = one.field(owner);
    let (time, status) = (one.time(style), one.status(style));
    let sort = one.fields[time].name.clone();
    one.keys.insert(partition.clone(), vec![Part::Field(owner)]);
    one.keys.insert(sort.clone(), vec![Part::Field(time)]);
    let second = if style.random.chance(50) {
        coincide(&mut one, status, &["phase"], style);
        let day = one.field(style.stored(&["date"], Values::Date));
        one.keys.insert("Status#Date".into(), vec![Part::Field(status), style.between(), Part::Field(day)]);
        (partition.clone(), Some("Status#Date".to_owned()))
    } else {
        let shard = one.field(style.shard());
        one.keys.insert("GSI1PK".into(), vec![Part::Field(status), style.between(), Part::Field(shard)]);
        ("GSI1PK".to_owned(), Some(sort.clone()))
    };
    (vec![one], vec![(partition, Some(sort)), second])
}

fn several_entities(style: &mut Style) -> (Vec<Building>, Vec<(String, Option<String>)>) {
    let (pk, sk) = *style.random.pick(&[("PK", "SK"), ("pk", "sk")]);
    let (gsi_pk, gsi_sk) = if pk == "PK" { ("GSI1PK", "GSI1SK") } else { ("gsi1pk", "gsi1sk") };
    let has_index = style.random.chance(75) || style.has(Noise::Overloaded);
    let owner = *style.random.pick(&OWNERS);
    let mut root = Building::new(owner);
    let id = style.id(owner);
    let id = root.field(id);
    coincide(&mut root, id, &["reference"], style);
    root.keys.insert(pk.into(), vec![style.before(owner), Part::Field(id)]);
    let constant = vec![Part::Text(style.constant.to_owned())];
    let sort = if style.has_repeated_owner { root.keys[pk].clone() } else { constant };
    root.keys.insert(sk.into(), sort);
    let count = style.random.between(1, 5);
    let members = style.random.some(&MEMBERS, count);
    let mut built = vec![root];
    for name in members {
        let one = member(style, name, owner, (pk, sk));
        built.push(one);
    }
    if style.has(Noise::Constant) {
        let count = style.random.between(1, 2);
        for (name, constant) in style.random.some(&SINGLES, count) {
            let mut one = Building::new(name);
            in_collection(style, &mut one, owner, pk);
            one.keys.insert(sk.into(), vec![Part::Text(constant.to_owned())]);
            built.push(one);
        }
    }
    if style.has(Noise::Twins) {
        built.extend(twins(style, owner, (pk, sk)));
    }
    if style.has(Noise::Coincidence) {
        equal_owner(style, &mut built, pk);
    }
    if has_index {
        for one in &mut built {
            if style.random.chance(65) || style.has(Noise::Overloaded) {
                let owner = if one.name == owner { None } else { Some(owner) };
                index_keys(style, one, owner, (gsi_pk, gsi_sk));
            }
        }
    }
    let mut keys = vec![(pk.to_owned(), Some(sk.to_owned()))];
    if has_index {
        keys.push((gsi_pk.to_owned(), Some(gsi_sk.to_owned())));
    }
    (built, keys)
}

/// An entity in the collection of its owner, or with another partition key.
fn member(style: &mut Style, name: &str, owner: &str, (pk, sk): (&str, &str)) -> Building {
    let mut one = Building::new(name);
    let id = style.id(name);
    let id = one.field(id);
    coincide(&mut one, id, &["reference"], style);
    if style.random.chance(20) && !style.has_repeated_owner {
        one.keys.insert(pk.into(), vec![style.before(name), Part::Field(id)]);
        one.keys.insert(sk.into(), vec![Part::Text(style.constant.to_owned())]);
        return one;
    }
    in_collection(style, &mut one, owner, pk);
    if style.has(Noise::Shards) && style.random.chance(60) {
        let shard = style.shard_at_end(&mut one);
        one.keys.entry(pk.into()).or_default().extend(shard);
    }
    let sort = match style.random.below(5) {
        0 | 1 => vec![style.before(name), Part::Field(id)],
        2 => {
            let time = one.time(style);
            vec![style.before(name), Part::Field(time), style.between(), Part::Field(id)]
        }
        3 => {
            let time = one.time(style);
            vec![style.before(name), Part::Field(time)]
        }
        _ => {
            let number = one.field(style.stored(&["number"], Values::Count));
            vec![style.before(name), Part::Padded(number, 6)]
        }
    };
    one.keys.insert(sk.into(), sort);
    one
}

/// The partition key of the items of an owner.
fn in_collection(style: &mut Style, one: &mut Building, owner: &str, pk: &str) {
    let owner_id = style.id(owner);
    let owner_id = one.field(owner_id);
    one.keys.insert(pk.into(), vec![style.before(owner), Part::Field(owner_id)]);
}

/// Two entities with the same attributes, whose sort keys have different prefixes.
fn twins(style: &mut Style, owner: &str, (pk, sk): (&str, &str)) -> Vec<Building> {
    let (first, second) = *style.random.pick(&TWINS);
    let has_time = style.random.chance(50);
    let one = |style: &mut Style, name: &str| {
        let mut one = Building::new(name);
        let id = one.field(style.stored(&["entry", "id"], Values::Digits));
        in_collection(style, &mut one, owner, pk);
        let mut sort = vec![style.before(name)];
        if has_time {
            sort.extend([Part::Field(one.time(style)), style.between()]);
        }
        sort.push(Part::Field(id));
        one.keys.insert(sk.into(), sort);
        one
    };
    vec![one(style, first), one(style, second)]
}

/// All items of the collection name the owner by one attribute, and those of one entity have another one with the same
/// values.
fn equal_owner(style: &mut Style, built: &mut [Building], pk: &str) {
    let owner = built[0].fields[0].name.clone();
    let in_collection = |one: &Building| matches!(one.keys[pk].as_slice(), [_, Part::Field(at), ..] if one.fields[*at].name == owner);
    let members = built.iter().filter(|one| in_collection(one)).count();
    if members < 3 || style.random.chance(50) {
        return;
    }
    let names = [style.attribute(&["holder"]), style.attribute(&["agent"])];
    let mut has_agent = false;
    for one in built.iter_mut().filter(|one| in_collection(one)) {
        let Some(at) = one.fields.iter().position(|field| field.name == owner) else { continue };
        one.fields[at].name.clone_from(&names[0]);
        if !std::mem::replace(&mut has_agent, true) {
            let field = Field { name: names[1].clone(), ..style.stored(&["agent"], Values::Same(at)) };
            one.fields.push(field);
        }
    }
}

fn index_keys(style: &mut Style, one: &mut Building, owner: Option<&str>, (pk, sk): (&str, &str)) {
    let name = one.name.clone();
    let (time, status) = (one.time(style), one.status(style));
    let choice = style.random.below(6);
    let choice = if style.has(Noise::Shards) { 3 } else { choice };
    let (partition, sort) = match (choice, owner) {
        (0 | 1, Some(owner)) => {
            let known =
                |words: &[&str]| one.fields.iter().position(|field| field.name == style.attribute(words));
            let (Some(own), Some(of)) = (known(&[&name, "id"]), known(&[owner, "id"])) else { return };
            (vec![style.before(&name), Part::Field(own)], vec![style.before(owner), Part::Field(of)])
        }
        (2, _) => {
            let word = format!("STATUS{}", style.separator);
            (vec![Part::Text(word), Part::Field(status)], vec![Part::Field(time)])
        }
        (3, _) => {
            let shard = style.shard_at_end(one);
            let before = style.before(&name);
            ([vec![before, Part::Field(status)], shard.to_vec()].concat(), vec![Part::Field(time)])
        }
        (4, _) => {
            one.sparse.extend([pk.to_owned(), sk.to_owned()]);
            (
                vec![Part::Text(format!("OPEN{}{}", style.separator, style.prefix(&name)))],
                vec![Part::Field(time)],
            )
        }
        _ => {
            let email = one.field(style.stored(&["email"], Values::Email));
            (
                vec![Part::Text(format!("EMAIL{}", style.separator)), Part::Field(email)],
                vec![style.before(&name), Part::Field(time)],
            )
        }
    };
    one.keys.insert(pk.into(), partition);
    one.keys.insert(sk.into(), sort);
}

/// Another attribute with the same values in the sample.
fn coincide(one: &mut Building, field: usize, words: &[&str], style: &Style) {
    if style.has_coincidence && !one.fields[field].is_hidden {
        let words = if style.has(Noise::Coincidence) && words == ["reference"] {
            *style.random.clone().pick(&[["reference"], ["state"], ["alias"]])
        } else {
            [words[0]]
        };
        one.field(style.stored(&words, Values::Same(field)));
    }
}

fn item(
    one: &Building,
    at: usize,
    number: usize,
    style: &mut Style,
    entities: usize,
) -> BTreeMap<String, Value> {
    let mut texts: Vec<String> = Vec::new();
    let mut item: BTreeMap<String, Value> = BTreeMap::new();
    let is_old =
        number > 0 && (style.has(Noise::Missing) || style.has(Noise::Mixed)) && style.random.chance(20);
    for field in &one.fields {
        let text = value(field.values, at, number, &texts, &mut style.random);
        let is_number = match field.values {
            Values::Count => !(is_old && style.has(Noise::Mixed)),
            Values::Digits => !is_old && style.has(Noise::Mixed),
            _ => false,
        };
        let of = match field.values {
            Values::Same(at) => one.fields[at].values,
            own => own,
        };
        let is_missing = is_old
            && style.has(Noise::Missing)
            && matches!(of, Values::Id(_) | Values::Uuid | Values::Digits | Values::Time);
        if !field.is_hidden && !is_missing {
            let letter = if is_number { "N" } else { "S" };
            item.insert(field.name.clone(), json!({ letter: text }));
        }
        texts.push(text);
    }
    let is_open = one
        .fields
        .iter()
        .zip(&texts)
        .any(|(field, text)| matches!(field.values, Values::Status) && text == "OPEN");
    for (key, parts) in &one.keys {
        if one.sparse.contains(key) && !is_open {
            continue;
        }
        let of = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(field) => texts[*field].clone(),
            Part::Padded(field, width) => format!("{:0>width$}", texts[*field]),
        };
        item.insert(key.clone(), json!({ "S": parts.iter().map(of).collect::<String>() }));
    }
    if let Some(name) = style.entity_attribute.filter(|_| entities > 1) {
        item.insert(name.to_owned(), json!({ "S": one.name }));
    }
    noise(&mut item, style);
    item
}

/// Attributes that no key holds: some are often absent, one has two types, one is the same in all items.
fn noise(item: &mut BTreeMap<String, Value>, style: &mut Style) {
    let words = ["blue", "green", "heavy", "late", "north"];
    let title = format!("{} {}", style.random.pick(&words), style.random.below(100));
    item.insert(style.attribute(&["title"]), json!({ "S": title }));
    item.insert(style.attribute(&["version"]), json!({ "N": "1" }));
    if style.random.chance(40) {
        item.insert(style.attribute(&["note"]), json!({ "S": style.random.pick(&words) }));
    }
    let amount = style.random.between(1, 9).to_string();
    let letter = if style.has_mixed && style.random.chance(30) { "S" } else { "N" };
    item.insert(style.attribute(&["amount"]), json!({ letter: amount }));
    if style.random.chance(20) {
        item.insert(style.attribute(&["tags"]), json!({ "L": [{ "S": "new" }] }));
    }
}

fn value(values: Values, at: usize, number: usize, texts: &[String], random: &mut Random) -> String {
    match values {
        Values::Id(letter) => format!("{letter}{}", random.between(1, 12)),
        Values::Uuid => format!("{:08x}-{:04x}", random.draw() & 0xFFFF_FFFF, random.draw() & 0xFFFF),
        Values::Digits => random.between(1_000, 1_040).to_string(),
        Values::Status => (*random.pick(&["OPEN", "CLOSED", "PENDING"])).to_owned(),
        Values::Time => format!(
            "2026-0{}-{:02}T{:02}:{:02}:{:02}Z",
            random.between(1, 9),
            random.between(1, 28),
            random.below(24),
            random.below(60),
            (number + at) % 60
        ),
        Values::Date => format!("2026-0{}-{:02}", random.between(1, 9), random.between(1, 28)),
        Values::Count => random.between(1, 4_000).to_string(),
        Values::Shard => random.below(5).to_string(),
        Values::Email => format!("user{}@example.com", random.below(500)),
        Values::Same(field) => texts[field].clone(),
    }
}
