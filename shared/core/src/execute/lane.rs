//! One access during its execution: the arrived entries and the position.
//!
//! Entries arrive in pages. For a global index they are `pending` until their items are read; then, or at once, they
//! are `ready`. A lane is dry if nothing is ready and more may come.

use std::collections::VecDeque;

use crate::query::plan::Hydration;
use crate::value::Item;

use super::budget::{Budget, Price};
use super::error::AnswerError;
use super::hydrate::Hydrated;
use super::page::{BATCH_GET_KEYS_MAX, Page};
use super::position::KeyValue;
use super::position::Progress;
use super::reader::Reader;
use super::shape::Shape;

/// The number of doublings after which a page has its maximum size.
const DOUBLINGS_MAX: u32 = 10;

/// An item to return.
pub(super) struct Ready {
    pub(super) item: Item,
    /// The complete key of its entry, if the item lacks it because it was read separately.
    key: Option<Vec<KeyValue>>,
}

/// The start of the next page.
enum Cursor {
    Start,
    After(Item),
    End,
}

/// The position up to which everything was returned.
enum Given {
    UpTo(Progress),
    /// Up to the item with this number in the answer.
    Item(usize),
}

pub(super) struct Lane {
    ready: VecDeque<Ready>,
    pending: VecDeque<Item>,
    cursor: Cursor,
    given: Given,
    /// The position up to which `pending` has been processed.
    hydrated: Progress,
    /// The number of consecutive reads that returned too few items.
    misses: u32,
    /// The number of reads that returned items or dropped them.
    reads: u32,
    counted: u64,
}

/// The number of items that an answer lacks.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) all: u32,
    /// How many of them the first read of each access should find.
    pub(super) first: u32,
}

/// The next read.
pub(super) enum NextRead {
    Page { start: Option<Item>, items: u32 },
    Items { entries: Vec<Item> },
}

impl Lane {
    pub(super) fn new(from: &Progress, shape: &Shape) -> Result<Lane, AnswerError> {
        let cursor = match from {
            Progress::NotStarted => Cursor::Start,
            Progress::After(key) => Cursor::After(shape.start_key(key).ok_or(AnswerError::BadPosition)?),
            Progress::Done => Cursor::End,
        };
        Ok(Lane {
            ready: VecDeque::new(),
            pending: VecDeque::new(),
            cursor,
            given: Given::UpTo(from.clone()),
            hydrated: from.clone(),
            misses: 0,
            reads: 0,
            counted: 0,
        })
    }

    /// Has everything been returned?
    pub(super) fn is_finished(&self) -> bool {
        self.ready.is_empty() && self.is_read()
    }

    /// Is nothing ready, although more may come?
    pub(super) fn is_dry(&self) -> bool {
        self.ready.is_empty() && !self.is_read()
    }

    fn is_read(&self) -> bool {
        self.pending.is_empty() && matches!(self.cursor, Cursor::End)
    }

    /// Are there entries whose items must be read?
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The number of items to request.
    ///
    /// A filter drops an unknown share of a page, and a merge takes an unknown share of the answer from each access. The
    /// pages are small at first and then double, so that an answer never reads much more than it needs. Items that one
    /// read unit pays for cost nothing more.
    pub(super) fn items_to_ask(
        &self,
        reader: &Reader,
        wanted: Wanted,
        budget: &Budget,
        page_items_max: u32,
    ) -> u32 {
        let doubled = |items: u32, times: u32| items.saturating_mul(1 << times.min(DOUBLINGS_MAX));
        let hoped = doubled(wanted.first, self.reads).min(doubled(wanted.all, self.misses));
        if self.has_pending() {
            let waiting = self.pending.len().min(BATCH_GET_KEYS_MAX);
            return hoped.clamp(1, page_items_max).min(u32::try_from(waiting).unwrap_or(u32::MAX));
        }
        let least = match reader.price() {
            // Each item is also fetched from the table, which costs at least as much as a page.
            Price::PageAndItems => 1,
            _ if reader.gives_all => budget.stated_unit_items().min(wanted.all),
            _ => budget.unit_items(),
        };
        hoped.max(least).clamp(1, page_items_max)
    }

    /// Starts the next step, for at most `items` items.
    pub(super) fn begin(&mut self, items: u32) -> NextRead {
        if self.pending.is_empty() {
            let start = match &self.cursor {
                Cursor::After(key) => Some(key.clone()),
                Cursor::Start | Cursor::End => None,
            };
            return NextRead::Page { start, items };
        }
        let items = self.pending.len().min(items as usize);
        NextRead::Items { entries: self.pending.drain(..items).collect() }
    }

    /// Takes a page.
    pub(super) fn take_page(&mut self, reader: &Reader, page: Page) -> Result<(), AnswerError> {
        let before = self.cursor_progress(&reader.shape)?;
        self.hydrated = before.clone();
        self.given = Given::UpTo(before);
        // After the only item that can match there is nothing, even if the page has a last key.
        let is_last = reader.is_of_one_item && page.scanned > 0;
        self.cursor = page.last_key.filter(|_| !is_last).map_or(Cursor::End, Cursor::After);
        if reader.access.hydration == Hydration::ByKey {
            if page.items.is_empty() {
                self.note(true);
            }
            self.pending.extend(page.items);
            return Ok(());
        }
        if page.items.is_empty() {
            self.counted += page.count;
        }
        let arrived = page.items.len();
        self.ready.reserve(arrived);
        let accepted = page.items.into_iter().filter(|item| reader.accepts(item));
        self.ready.extend(accepted.map(|item| Ready { item, key: None }));
        // If DynamoDB filtered entries out, for example tombstones, the next page must be larger.
        self.note(self.ready.len() < arrived || page.count < page.scanned);
        Ok(())
    }

    /// Takes the items of pending entries.
    pub(super) fn take_items(&mut self, hydrated: Hydrated) {
        self.given = Given::UpTo(self.hydrated.clone());
        if let Some(last) = hydrated.last {
            self.hydrated = Progress::After(last);
        }
        self.ready.extend(hydrated.items.into_iter().map(|(key, item)| Ready { item, key: Some(key) }));
        self.note(hydrated.dropped);
    }

    fn note(&mut self, dropped: bool) {
        self.misses = if dropped { self.misses + 1 } else { 0 };
        self.reads += 1;
    }

    /// The number of items that can be returned without a read.
    pub(super) fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// The next item to return.
    pub(super) fn head(&self) -> Option<&Item> {
        self.ready.front().map(|ready| &ready.item)
    }

    pub(super) fn pop(&mut self) -> Option<Ready> {
        self.ready.pop_front()
    }

    /// Records that an item is returned, with this number in the answer, and returns it.
    pub(super) fn give(&mut self, ready: Ready, number: usize) -> Item {
        self.given = match ready.key {
            Some(key) => Given::UpTo(Progress::After(key)),
            None => Given::Item(number),
        };
        ready.item
    }

    /// Skips an item that the answer contains already.
    pub(super) fn leave_out(&mut self, ready: Ready, shape: &Shape) -> Result<(), AnswerError> {
        let key = ready.key.map_or_else(|| shape.key(&ready.item), Ok)?;
        self.given = Given::UpTo(Progress::After(key));
        Ok(())
    }

    /// All that is ready.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Item> {
        self.ready.drain(..).map(|ready| ready.item)
    }

    /// The entries that were only counted.
    pub(super) fn counted(&self) -> u64 {
        self.counted
    }

    /// The position of the access, given the answer's items.
    pub(super) fn progress(&self, shape: &Shape, answer: &[Item]) -> Result<Progress, AnswerError> {
        if !self.ready.is_empty() {
            return match &self.given {
                Given::UpTo(progress) => Ok(progress.clone()),
                Given::Item(number) => shape.key(&answer[*number]).map(Progress::After),
            };
        }
        if !self.pending.is_empty() {
            return Ok(self.hydrated.clone());
        }
        self.cursor_progress(shape)
    }

    fn cursor_progress(&self, shape: &Shape) -> Result<Progress, AnswerError> {
        match &self.cursor {
            Cursor::Start => Ok(Progress::NotStarted),
            Cursor::After(key) => shape.key(key).map(Progress::After),
            Cursor::End => Ok(Progress::Done),
        }
    }
}
