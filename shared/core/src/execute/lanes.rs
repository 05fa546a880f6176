//! All accesses of a plan: grants their reads within the budget, and takes what arrives.

use std::collections::VecDeque;

use super::budget::RunOptions;
use super::budget::{Budget, Grant, Price};
use super::error::AnswerError;
use super::hydrate::{batch, hydrate};
use super::lane::{Lane, NextRead, Wanted};
use super::page::{PAGE_ITEMS_MAX, Page};
use super::position::Progress;
use super::reader::Reader;
use super::reader::{Read, ReadRequest, ReadResponse};
use crate::model::Table;
use crate::query::QueryPlan;
use crate::query::plan::first_page;
use crate::value::Item;

/// All accesses of a plan.
pub(super) struct Lanes {
    pub(super) readers: Vec<Reader>,
    pub(super) lanes: Vec<Lane>,
    pub(super) budget: Budget,
    pub(super) page_items_max: u32,
    concurrency_max: usize,
    /// The number of entries read.
    pub(super) items_read: u64,
    /// For each access, the request in flight: its grant, and the entries whose items are read.
    under_way: Vec<Option<(Grant, Vec<Item>)>>,
    under_way_count: usize,
}

/// Accesses that are read until none of them is dry.
pub(super) struct Fill {
    waiting: VecDeque<usize>,
    wanted: Wanted,
}

/// The state of a fill.
pub(super) enum Filled {
    /// The next requests; empty while others are in flight.
    NotYet(Vec<ReadRequest>),
    /// None of the accesses is dry.
    Full,
    /// The budget ended it.
    OutOfBudget,
}

impl Fill {
    /// Fills the dry ones of these accesses for an answer that lacks `wanted` items. `among`: how many accesses
    /// contribute to it.
    pub(super) fn of(
        lanes: &Lanes,
        which: impl IntoIterator<Item = usize>,
        wanted: usize,
        among: usize,
    ) -> Fill {
        let waiting = which.into_iter().filter(|number| lanes.lanes[*number].is_dry()).collect();
        let all = u32::try_from(wanted).unwrap_or(u32::MAX);
        Fill { waiting, wanted: Wanted { all, first: first_page(all, among) } }
    }
}

impl Lanes {
    pub(super) fn new(
        table: &Table,
        plan: &QueryPlan,
        start: &[Progress],
        options: &RunOptions,
    ) -> Result<Lanes, AnswerError> {
        // Collecting `Result`s would reserve four elements, more than the usual plan needs.
        let (mut readers, mut lanes) = (Vec::with_capacity(start.len()), Vec::with_capacity(start.len()));
        for (access, from) in plan.accesses.iter().zip(start) {
            let reader = Reader::new(table, plan, access)?;
            lanes.push(Lane::new(from, &reader.shape)?);
            readers.push(reader);
        }
        Ok(Lanes {
            lanes,
            under_way: readers.iter().map(|_| None).collect(),
            under_way_count: 0,
            readers,
            budget: Budget::new(options.read_units_max, plan.consistent, table),
            page_items_max: options.page_items_max.clamp(1, PAGE_ITEMS_MAX),
            concurrency_max: options.concurrency_max.max(1),
            items_read: 0,
        })
    }

    /// The next requests of a fill.
    pub(super) fn send(&mut self, fill: &mut Fill) -> Result<Filled, AnswerError> {
        let mut requests = Vec::new();
        while self.under_way_count < self.concurrency_max {
            let Some(number) = fill.waiting.front().copied() else { break };
            match self.begin(number, fill.wanted, fill.waiting.len())? {
                Some(request) => {
                    fill.waiting.pop_front();
                    requests.push(request);
                }
                None if self.under_way_count == 0 => return Ok(Filled::OutOfBudget),
                // The requests in flight may cost less than expected.
                None => break,
            }
        }
        Ok(if self.under_way_count == 0 { Filled::Full } else { Filled::NotYet(requests) })
    }

    /// The next read of an access, if the budget grants it. `waiting`: how many accesses share the rest.
    fn begin(
        &mut self,
        number: usize,
        wanted: Wanted,
        waiting: usize,
    ) -> Result<Option<ReadRequest>, AnswerError> {
        let (reader, lane) = (&self.readers[number], &mut self.lanes[number]);
        let items = lane.items_to_ask(reader, wanted, &self.budget, self.page_items_max);
        let price = if lane.has_pending() { Price::Items } else { reader.price() };
        let Some(grant) = self.budget.grant(price, items, waiting) else { return Ok(None) };
        let (read, entries) = match lane.begin(grant.items) {
            NextRead::Page { start, items } => {
                (Read::Page { source: reader.asked.clone(), start, items }, Vec::new())
            }
            NextRead::Items { entries } => (Read::Items(batch(reader, &entries)?), entries),
        };
        self.under_way[number] = Some((grant, entries));
        self.under_way_count += 1;
        Ok(Some(ReadRequest { access: number, read }))
    }

    /// Records that DynamoDB refused the request of an access.
    pub(super) fn refused(&mut self, number: usize) {
        if let Some((grant, _)) = self.under_way.get_mut(number).and_then(Option::take) {
            self.under_way_count -= 1;
            self.budget.refused(grant);
        }
    }

    /// Takes the response to a request.
    pub(super) fn take(
        &mut self,
        table: &Table,
        number: usize,
        brought: ReadResponse,
    ) -> Result<(), AnswerError> {
        let Some((grant, entries)) = self.under_way.get_mut(number).and_then(Option::take) else {
            return Err(AnswerError::NotAsked);
        };
        self.under_way_count -= 1;
        let (reader, lane) = (&self.readers[number], &mut self.lanes[number]);
        match brought {
            ReadResponse::Page { page, calls } => {
                self.items_read += page.scanned;
                self.budget.settle(grant, page.consumed.units, page.scanned, calls);
                lane.take_page(reader, Page { items: whole(table, page.items), ..page })
            }
            ReadResponse::Items(mut got) => {
                got.items = whole(table, got.items);
                let hydrated = hydrate(reader, &entries, got)?;
                self.budget.settle(grant, hydrated.units, 0, 1);
                lane.take_items(hydrated);
                Ok(())
            }
        }
    }
}

impl Fill {
    /// Records the arrival for an access.
    pub(super) fn arrived(&mut self, lanes: &Lanes, number: usize) {
        if lanes.lanes[number].is_dry() {
            self.waiting.push_back(number);
        }
    }
}

/// The items with the attributes that only their keys contain.
fn whole(table: &Table, items: Vec<Item>) -> Vec<Item> {
    match table.has_key_parts() {
        true => items.into_iter().map(|item| table.with_key_parts(&item).into_owned()).collect(),
        false => items,
    }
}
