//! What a history plays on: a retrofit of one of the three protocols, and items of a tiny alphabet.

use std::collections::HashMap;

use keyfold_core::manifest::parse;
use keyfold_core::model::Table;
use keyfold_core::retrofit::{Epoch, Job, Mapping, Protocol, control};
use keyfold_core::value::{AttributeValue, Item};

use crate::generate::Random;

const TABLES: &str = r#"
[tables.old]
name = "old"
partition = "id"
[tables.old.attributes]
id = "string"
a = "string"
b = "string"
kind = "string"

[tables.fixed]
name = "fixed"
partition = "item:{id}"
[tables.fixed.attributes]
id = "string"
a = "string"
b = "string"
kind = "string"
[tables.fixed.indexes.byBoth]
partition = "{a}-{b}"

[tables.moving]
name = "moving"
partition = "{a}-{b}"
[tables.moving.attributes]
id = "string"
a = "string"
b = "string"
kind = "string"

[tables.same]
name = "same"
partition = "id"
[tables.same.attributes]
id = "string"
a = "string"
b = "string"
kind = "string"
[tables.same.indexes.byBoth]
partition = "{a}-{b}"

[retrofits.fenced]
from = "old"
to = "fixed"
only = { kind = "in" }

[retrofits.ledger]
from = "old"
to = "moving"
only = { kind = "in" }

[retrofits.inPlace]
from = "same"
to = "same"
"#;

/// How many streams one history can follow, one after the other.
pub const EPOCHS: u16 = 3;
/// The most source keys.
pub const KEYS_MAX: usize = 4;
/// A text that makes a key too long.
const LONG: usize = 2_100;
/// The text of an item that the target's table refuses.
pub const REFUSED: &str = "refused";

/// A retrofit, ready for any number of histories.
pub struct Scene {
    /// Its protocol.
    pub protocol: Protocol,
    /// One job for each epoch.
    pub jobs: Vec<Job>,
    /// The control table.
    pub control: Table,
}

impl Scene {
    /// The retrofit with this protocol.
    pub fn of(protocol: Protocol) -> Scene {
        let parsed = parse("simulate.toml", TABLES);
        let Some(model) = parsed.model else { unreachable!("{:?}", parsed.diagnostics) };
        let name = match protocol {
            Protocol::InPlace => "inPlace",
            Protocol::Fenced => "fenced",
            Protocol::Ledger => "ledger",
        };
        let Ok(mapping) = Mapping::of(&model, name) else { unreachable!("it is in the text above") };
        assert_eq!(mapping.protocol(), protocol);
        let jobs = (1..=EPOCHS).filter_map(Epoch::new).map(|epoch| Job::new(mapping.clone(), epoch));
        Scene { protocol, jobs: jobs.collect(), control: control::table("control") }
    }

    /// The mapping.
    pub fn mapping(&self) -> &Mapping {
        self.jobs[0].mapping()
    }

    /// Is the source the target?
    pub fn is_in_place(&self) -> bool {
        self.protocol == Protocol::InPlace
    }
}

/// A string value.
pub fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// The key of the source item with this number.
pub fn key(number: usize) -> Item {
    Item::from(HashMap::from([("id".to_owned(), text(&format!("k{number}")))]))
}

/// What may be wrong with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// An attribute of the key is a number.
    Poison,
    /// The key that it makes is too long.
    Long,
    /// The target's table does not take it.
    Refused,
}

/// A new source item.
pub fn item(random: &mut Random, number: usize, flaw: Flaw) -> Item {
    let mut item = key(number);
    item.insert("a".to_owned(), text(if random.chance(50) { "x" } else { "y" }));
    item.insert("b".to_owned(), text(if random.chance(50) { "x" } else { "y" }));
    item.insert("kind".to_owned(), text(if random.chance(85) { "in" } else { "out" }));
    item.insert("v".to_owned(), AttributeValue::N(random.between(1, 4).to_string()));
    match flaw {
        Flaw::None => {}
        Flaw::Poison => {
            item.insert("a".to_owned(), AttributeValue::N("1".to_owned()));
        }
        Flaw::Long => {
            item.insert("b".to_owned(), text(&"z".repeat(LONG)));
        }
        Flaw::Refused => {
            item.insert("v".to_owned(), text(REFUSED));
        }
    }
    item
}
