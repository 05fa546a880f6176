//! A row of the ledger.

use crate::retrofit::control;
use crate::retrofit::fence::Fence;
use crate::retrofit::generation::Generation;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::quarantine::map_of;
use crate::retrofit::request::{Action, Guard, TableRole, Write};
use crate::retrofit::source_key::SourceKey;
use crate::value::{AttributeValue, Item};

/// A row of the ledger. Where keys can move, a key of the target has one too, in the partition of the way back.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerRow {
    /// How new the state is that was carried from the item to the other table.
    pub fence: Fence,
    /// Where the item is in the other table; `None` if it is not there.
    pub target: Option<Item>,
    /// The fence of the target item that was deleted last: by this the deletion is known again on the target's stream. Where keys can
    /// move: the same of the row's own key, once its table follows the other one.
    pub removed: Option<Fence>,
    /// Where keys can move: the fence that the item with this key got last, while its table followed the other one.
    pub shown: Option<Fence>,
    /// Where keys can move: the newest such fence whose item another program deleted or replaced. A deletion of that item or of one
    /// before it is not known to be the retrofit's, whatever was removed since.
    pub lost: Option<Fence>,
    /// The generation in which that was.
    pub generation: Option<Generation>,
    /// Another one after every write of the row, by whichever item's task.
    pub stamp: Option<String>,
}

impl LedgerRow {
    /// A row that names nothing.
    pub fn new(fence: Fence) -> LedgerRow {
        LedgerRow {
            fence,
            target: None,
            removed: None,
            shown: None,
            lost: None,
            generation: None,
            stamp: None,
        }
    }

    /// The key of the row of a target's key.
    pub fn place_key(mapping: &Mapping, place: &SourceKey) -> Item {
        let partition = control::ledger_partition(&mapping.other_rows_name(), &place.row_key());
        control::key(&partition, control::LEDGER_SORT)
    }

    /// The key of a source item's row.
    pub fn key(mapping: &Mapping, source: &SourceKey) -> Item {
        control::key(&control::ledger_partition(mapping.rows_name(), &source.row_key()), control::LEDGER_SORT)
    }

    /// Reads a row; `None` if it is invalid.
    pub fn read(row: &Item) -> Option<LedgerRow> {
        let fence = Fence::read(row.get(control::FENCE)?)?;
        let key = |name: &str| match row.get(name) {
            Some(AttributeValue::M(key)) => Some(Item::from(key.clone())),
            _ => None,
        };
        Some(LedgerRow {
            fence,
            target: key(control::TARGET_KEY),
            removed: row.get(control::REMOVED).and_then(Fence::read),
            shown: row.get(control::SHOWN).and_then(Fence::read),
            lost: row.get(control::LOST).and_then(Fence::read),
            generation: control::whole(row, control::GENERATION).and_then(Generation::new),
            stamp: control::text(row, control::STAMP).map(str::to_owned),
        })
    }

    /// The write that puts it over the row that was read, if that one is still there.
    pub(in crate::retrofit) fn put_over(
        &self,
        known: Option<&LedgerRow>,
        mapping: &Mapping,
        source: &SourceKey,
        key: &Item,
    ) -> Write {
        self.put(LedgerRow::key(mapping, source), key, LedgerRow::guard(known))
    }

    /// The same for the row of a target's key.
    pub(in crate::retrofit) fn put_place(
        &self,
        known: Option<&LedgerRow>,
        mapping: &Mapping,
        place: &SourceKey,
        key: &Item,
    ) -> Write {
        self.put(LedgerRow::place_key(mapping, place), key, LedgerRow::guard(known))
    }

    /// Is the row as it was read?
    pub(in crate::retrofit) fn guard(known: Option<&LedgerRow>) -> Guard {
        match known.map(|known| (&known.stamp, &known.fence)) {
            Some((Some(stamp), _)) => Guard::equals(control::STAMP, AttributeValue::S(stamp.clone())),
            Some((None, fence)) => Guard::equals(control::FENCE, fence.value()),
            None => Guard::Absent,
        }
    }

    fn put(&self, row_key: Item, key: &Item, guard: Guard) -> Write {
        let mut row = control::row(row_key);
        row.insert(control::FENCE, self.fence.value());
        row.insert(control::SOURCE_KEY, AttributeValue::M(map_of(key)));
        row.extend(self.target.iter().map(|key| (control::TARGET_KEY, AttributeValue::M(map_of(key)))));
        let fences =
            [(control::REMOVED, &self.removed), (control::SHOWN, &self.shown), (control::LOST, &self.lost)];
        for (name, fence) in fences {
            row.extend(fence.iter().map(|fence| (name, fence.value())));
        }
        row.extend(
            self.generation.map(|generation| (control::GENERATION, control::number(generation.number()))),
        );
        row.extend(self.stamp.iter().map(|stamp| (control::STAMP, AttributeValue::S(stamp.clone()))));
        Write { role: TableRole::Control, action: Action::Put(row), guard }
    }
}
