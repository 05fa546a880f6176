//! The items of one access, one after the other.

use std::borrow::Cow;
use std::collections::VecDeque;

use keyfold_core::query::own;
use keyfold_core::query::plan::{Access, Hydration};
use keyfold_core::value::Item;

use crate::table::{ModelTable, Read, ReadConsumed, Shown, TableError};

/// The items of one page. Small, so that there are many pages.
const PAGE_ITEMS: u32 = 3;

/// Why a plan cannot be executed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvaluateError {
    /// DynamoDB would refuse a read.
    #[error("access {access} would be refused: {source}")]
    Refused {
        /// The number of the access.
        access: usize,
        /// Why.
        source: TableError,
    },
    /// More items than may be sorted in memory.
    #[error("more than {items_max} items to sort")]
    TooManyToSort {
        /// The bound.
        items_max: u32,
    },
}

/// One access, being read.
pub(super) struct AccessReader<'p> {
    number: usize,
    access: Cow<'p, Access>,
    table: &'p ModelTable,
    consistent: bool,
    /// Where the next page starts; `None` at the beginning.
    start: Option<Item>,
    /// Is there no further page?
    exhausted: bool,
    /// Items that were read and not returned, each with the key after which the access continues.
    ready: VecDeque<(Item, Item)>,
    /// The key after the last item taken.
    taken: Option<Item>,
    pub(super) consumed: Vec<ReadConsumed>,
}

impl<'p> AccessReader<'p> {
    pub(super) fn new(
        number: usize,
        access: &'p Access,
        table: &'p ModelTable,
        consistent: bool,
        (after, ended): (Option<Item>, bool),
    ) -> AccessReader<'p> {
        AccessReader {
            number,
            access: own::without_tombstones(table.model(), access),
            table,
            consistent,
            start: after.clone(),
            exhausted: ended,
            ready: VecDeque::new(),
            taken: after,
            consumed: Vec::new(),
        }
    }

    /// The position to continue from later, and whether nothing is left.
    pub(super) fn place(&self) -> (Option<Item>, bool) {
        (self.taken.clone(), self.exhausted && self.ready.is_empty())
    }

    pub(super) fn peek(&mut self) -> Result<Option<&Item>, EvaluateError> {
        while self.ready.is_empty() && !self.exhausted {
            self.read()?;
        }
        Ok(self.ready.front().map(|(item, _)| item))
    }

    pub(super) fn take(&mut self) -> Result<Option<Item>, EvaluateError> {
        self.peek()?;
        Ok(self.ready.pop_front().map(|(item, key)| {
            self.taken = Some(key);
            item
        }))
    }

    fn read(&mut self) -> Result<(), EvaluateError> {
        let access = &*self.access;
        let refused = |source| EvaluateError::Refused { access: self.number, source };
        let page = self
            .table
            .read(&Read {
                index: access.source.index(),
                operation: &access.operation,
                filter: &access.filter,
                shown: if access.hydration == Hydration::Fetched { Shown::All } else { Shown::Held },
                consistent: self.consistent,
                descending: access.descending,
                limit: Some(PAGE_ITEMS),
                start: self.start.as_ref(),
            })
            .map_err(refused)?;
        let mut ready = Vec::new();
        for item in page.items {
            let key = self.table.start_key(access.source.index(), &item).map_err(refused)?;
            if let Some(item) = self.hydrated(item).map_err(refused)? {
                ready.push((item, key));
            }
        }
        self.consumed.push(page.consumed);
        self.ready.extend(ready);
        self.exhausted = page.last_key.is_none();
        self.start = page.last_key;
        Ok(())
    }

    /// The item with its missing attributes, if it still matches.
    fn hydrated(&self, item: Item) -> Result<Option<Item>, TableError> {
        let item = match self.access.hydration {
            Hydration::None | Hydration::Fetched => Some(item),
            Hydration::ByKey => {
                let key = self.table.model().key_of(&item).ok_or(TableError::StartKey)?;
                self.table.get(&key)?.cloned()
            }
        };
        let whole = |item: Item| self.table.model().with_key_parts(&item).into_owned();
        Ok(item.map(whole).filter(|item| !own::is_tombstone(item) && self.access.recheck.holds(item)))
    }
}
