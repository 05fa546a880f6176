//! Executes a plan over the model table: one access at a time, nothing concurrent, with the smallest pages, so that
//! every boundary between pages is crossed.
//!
//! It follows the plan literally: it deduplicates and filters only where the plan says so.

mod stream;

use keyfold_core::model::Table;
use keyfold_core::query::order::compare_items;
use keyfold_core::query::own;
use keyfold_core::query::plan::{Delivery, QueryPlan};
use keyfold_core::value::Item;

pub use stream::EvaluateError;

use crate::table::{ModelTable, ReadConsumed};
use stream::AccessReader;

/// The position of the next page.
#[derive(Debug, Clone, PartialEq)]
pub enum Cursor {
    /// For each access: the key after which it continues, and whether it has ended.
    Accesses(Vec<(Option<Item>, bool)>),
    /// The number of sorted items returned so far.
    Sorted(usize),
}

/// A page of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerPage {
    /// The items, with every attribute that was read.
    pub items: Vec<Item>,
    /// The position of the next page; `None` at the end.
    pub next: Option<Cursor>,
    /// The consumption of each read.
    pub consumed: Vec<ReadConsumed>,
}

/// One page of at most `limit` items.
pub fn page(
    plan: &QueryPlan,
    table: &ModelTable,
    from: Option<&Cursor>,
    limit: usize,
) -> Result<AnswerPage, EvaluateError> {
    match plan.delivery {
        Delivery::SortedInMemory { items_max } => {
            let skip = match from {
                Some(Cursor::Sorted(skip)) => *skip,
                _ => 0,
            };
            sorted(plan, table, items_max, skip, limit)
        }
        Delivery::Sequential | Delivery::Merged => {
            let mut streams = streams(plan, table, from);
            let items = take(plan, table.model(), &mut streams, limit)?;
            let places: Vec<_> = streams.iter().map(AccessReader::place).collect();
            let ended = places.iter().all(|(_, ended)| *ended);
            let consumed = streams.into_iter().flat_map(|stream| stream.consumed).collect();
            Ok(AnswerPage { items, next: (!ended).then_some(Cursor::Accesses(places)), consumed })
        }
    }
}

/// The whole answer, in pages of `limit` items.
pub fn all(plan: &QueryPlan, table: &ModelTable, limit: usize) -> Result<Vec<Item>, EvaluateError> {
    let mut items = Vec::new();
    let mut cursor = None;
    loop {
        let page = page(plan, table, cursor.as_ref(), limit)?;
        items.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(items);
        }
    }
}

/// The attributes that the answer shows of an item.
pub fn shown(plan: &QueryPlan, item: &Item) -> Item {
    let mut shown = item.clone();
    let select = plan.select.as_ref();
    let is_selected = |name: &str| select.is_none_or(|names| names.iter().any(|one| one == name));
    shown.retain(|name, _| is_selected(name) && !own::is_own(name));
    shown
}

/// An item's primary key.
pub fn key(table: &Table, item: &Item) -> Option<Item> {
    table.key_of(item)
}

fn streams<'p>(plan: &'p QueryPlan, table: &'p ModelTable, from: Option<&Cursor>) -> Vec<AccessReader<'p>> {
    let place = |at: usize| match from {
        Some(Cursor::Accesses(places)) => places.get(at).cloned().unwrap_or_default(),
        _ => (None, false),
    };
    let stream = |(at, access)| AccessReader::new(at, access, table, plan.consistent, place(at));
    plan.accesses.iter().enumerate().map(stream).collect()
}

fn take(
    plan: &QueryPlan,
    table: &Table,
    streams: &mut [AccessReader<'_>],
    limit: usize,
) -> Result<Vec<Item>, EvaluateError> {
    let mut items = Vec::new();
    while items.len() < limit {
        let Some(first) = first(plan, table, streams)? else { break };
        items.extend(streams[first].take()?);
    }
    Ok(items)
}

/// The stream whose item comes next: the first that has one, or the one with the least item.
fn first(
    plan: &QueryPlan,
    table: &Table,
    streams: &mut [AccessReader<'_>],
) -> Result<Option<usize>, EvaluateError> {
    let mut best: Option<(usize, Item)> = None;
    for (at, stream) in streams.iter_mut().enumerate() {
        let Some(item) = stream.peek()? else { continue };
        if plan.delivery == Delivery::Sequential {
            return Ok(Some(at));
        }
        if best.as_ref().is_none_or(|(_, least)| compare_items(table, &plan.order, item, least).is_lt()) {
            best = Some((at, item.clone()));
        }
    }
    Ok(best.map(|(at, _)| at))
}

fn sorted(
    plan: &QueryPlan,
    table: &ModelTable,
    items_max: u32,
    skip: usize,
    limit: usize,
) -> Result<AnswerPage, EvaluateError> {
    let mut items = Vec::new();
    let mut consumed = Vec::new();
    for mut stream in streams(plan, table, None) {
        while let Some(item) = stream.take()? {
            items.push(item);
        }
        consumed.append(&mut stream.consumed);
    }
    if items.len() > items_max as usize {
        return Err(EvaluateError::TooManyToSort { items_max });
    }
    items.sort_by(|a, b| compare_items(table.model(), &plan.order, a, b));
    let end = skip + limit;
    let next = (end < items.len()).then_some(Cursor::Sorted(end));
    Ok(AnswerPage { items: items.into_iter().skip(skip).take(limit).collect(), next, consumed })
}
