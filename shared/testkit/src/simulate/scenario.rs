//! The scene of a history: a retrofit of one of the three protocols, and items of a tiny alphabet.

use keyfold_core::manifest::parse;
use keyfold_core::retrofit::{Mapping, Protocol};
use keyfold_core::value::{AttributeValue, Item};

use crate::generate::Random;

const TABLES: &str = r#"
[tables.old]
name = "old"
partition = "id"
attributes = { id = "string", a = "string", b = "string", kind = "string" }

[tables.fixed]
name = "fixed"
partition = "item:{id}"
attributes = { id = "string", a = "string", b = "string", kind = "string" }
[tables.fixed.indexes.byBoth]
partition = "{a}-{b}"

[tables.moving]
name = "moving"
partition = "{a}-{b}"
attributes = { id = "string", a = "string", b = "string", kind = "string" }

[tables.same]
name = "same"
partition = "id"
attributes = { id = "string", a = "string", b = "string", kind = "string" }
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

/// The attribute that is folded in place.
pub(super) const FOLDED: &str = "byBoth_pk";
/// A text that makes a key too long.
const LONG: usize = 2_050;
/// A text that makes a source item so large that there is no room for anything else on it.
const HUGE: usize = 409_575;
/// The text of an item that the target's table refuses.
pub(super) const REFUSED: &str = "refused";

/// What histories are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryKind {
    /// A target is filled by this protocol, or keys are folded in place.
    Fill(Protocol),
    /// Writers on their way, to the target and back.
    Switch {
        /// Can the target's keys move?
        ledger: bool,
    },
}

impl HistoryKind {
    /// Every one, with its name.
    pub const ALL: [(HistoryKind, &'static str); 5] = [
        (HistoryKind::Fill(Protocol::InPlace), "in-place"),
        (HistoryKind::Fill(Protocol::Fenced), "fenced"),
        (HistoryKind::Fill(Protocol::Ledger), "ledger"),
        (HistoryKind::Switch { ledger: false }, "switch-fenced"),
        (HistoryKind::Switch { ledger: true }, "switch-ledger"),
    ];
}

/// The mapping of the retrofit with this protocol, or that of its mended manifest.
pub(super) fn mapping(protocol: Protocol, mended: bool) -> Mapping {
    let tables = if mended { TABLES.replace("{a}-{b}", "{b}-{a}") } else { TABLES.to_owned() };
    let name = match protocol {
        Protocol::InPlace => "inPlace",
        Protocol::Fenced => "fenced",
        Protocol::Ledger => "ledger",
    };
    let mapping = mapping_of(&tables, name);
    assert_eq!(mapping.protocol(), protocol);
    mapping
}

/// The mapping of a retrofit in this manifest.
pub(super) fn mapping_of(manifest: &str, name: &str) -> Mapping {
    let parsed = parse("simulate.toml", manifest);
    let Some(model) = parsed.model else { unreachable!("{:?}", parsed.diagnostics) };
    let Ok(mapping) = Mapping::of(&model, name) else { unreachable!("it is in the manifest") };
    mapping
}

/// A string value.
pub(super) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// The key of the source item with this number.
pub(super) fn key(number: usize) -> Item {
    [("id", text(&format!("k{number}")))].into_iter().collect()
}

/// What may be wrong with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Nothing.
    None,
    /// An attribute of the key is a number.
    Poison,
    /// The key that it makes is too long.
    Long,
    /// It is as large as an item can be.
    Huge,
    /// The target's table does not take it.
    Refused,
}

/// A new source item. Items that do not collide have texts of their own.
pub(super) fn item(random: &mut Random, number: usize, flaw: Flaw, collides: bool) -> Item {
    let mut item = key(number);
    let of = |random: &mut Random| if random.chance(50) { "x" } else { "y" };
    let a = of(random);
    item.insert("a".to_owned(), if collides { text(a) } else { text(&format!("{a}{number}")) });
    item.insert("b".to_owned(), text(of(random)));
    item.insert("kind".to_owned(), text(if random.chance(85) { "in" } else { "out" }));
    item.insert("v".to_owned(), AttributeValue::N(random.between(1, 4).to_string()));
    match flaw {
        Flaw::None => None,
        Flaw::Poison => item.insert("a".to_owned(), AttributeValue::N("1".to_owned())),
        Flaw::Long => item.insert("b".to_owned(), text(&"z".repeat(LONG))),
        Flaw::Huge => item.insert("v".to_owned(), text(&"z".repeat(HUGE))),
        Flaw::Refused => item.insert("v".to_owned(), text(REFUSED)),
    };
    item
}
