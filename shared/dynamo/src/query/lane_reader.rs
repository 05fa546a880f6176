//! Reads what the accesses lack, several at once, within the budget.

use std::collections::VecDeque;

use aws_sdk_dynamodb::Client;
use futures_util::stream::{FuturesUnordered, StreamExt};
use keyfold_core::model::Table;
use keyfold_core::query::QueryPlan;

use super::budget::{Budget, Grant, Price};
use super::error::QueryError;
use super::hydrate::{Hydrated, hydrate};
use super::lane::{Lane, Step};
use super::options::RunOptions;
use super::position::Progress;
use super::reader::Reader;
use crate::read::{PAGE_ITEMS_MAX, Page};

/// All accesses of a plan, and the means to read them.
pub(super) struct LaneReader<'p> {
    client: &'p Client,
    pub(super) readers: Vec<Reader<'p>>,
    pub(super) lanes: Vec<Lane>,
    pub(super) budget: Budget,
    pub(super) page_items_max: u32,
    concurrency_max: usize,
    /// How many entries were read.
    pub(super) items_read: u64,
}

/// What is done with an access when something of it has arrived.
pub(super) type OnArrival<'a> = &'a mut (dyn FnMut(&Reader<'_>, &mut Lane) -> Result<(), QueryError> + Send);

/// What a read brought.
enum Brought {
    Page(Page, u32),
    Items(Hydrated),
}

impl<'p> LaneReader<'p> {
    pub(super) fn new(
        client: &'p Client,
        table: &'p Table,
        plan: &'p QueryPlan,
        start: &[Progress],
        options: &RunOptions,
    ) -> Result<LaneReader<'p>, QueryError> {
        let readers: Vec<Reader<'p>> =
            plan.accesses.iter().map(|access| Reader::new(table, plan, access)).collect::<Result<_, _>>()?;
        let lanes = start.iter().zip(&readers).map(|(from, reader)| Lane::new(from, &reader.shape));
        Ok(LaneReader {
            client,
            lanes: lanes.collect::<Result<_, _>>()?,
            readers,
            budget: Budget::new(options.read_units_max, plan.consistent, table),
            page_items_max: options.page_items_max.clamp(1, PAGE_ITEMS_MAX),
            concurrency_max: options.concurrency_max.max(1),
            items_read: 0,
        })
    }

    /// Reads until none of these accesses is dry, each up to so many items at a time. `false`: the budget ended it.
    pub(super) async fn fill(
        &mut self,
        which: impl IntoIterator<Item = usize>,
        wanted: u32,
        on_arrival: OnArrival<'_>,
    ) -> Result<bool, QueryError> {
        let waiting: VecDeque<usize> =
            which.into_iter().filter(|number| self.lanes[*number].is_dry()).collect();
        match (waiting.front(), waiting.len()) {
            (None, _) => Ok(true),
            (Some(number), 1) => self.fill_one(*number, wanted, on_arrival).await,
            _ => self.fill_all(waiting, wanted, on_arrival).await,
        }
    }

    /// One access needs none of what reading several at once costs.
    async fn fill_one(
        &mut self,
        number: usize,
        wanted: u32,
        on_arrival: OnArrival<'_>,
    ) -> Result<bool, QueryError> {
        let (reader, lane) = (&self.readers[number], &mut self.lanes[number]);
        while lane.is_dry() {
            let Some((step, grant)) = begin(reader, lane, &mut self.budget, wanted, self.page_items_max, 1)
            else {
                return Ok(false);
            };
            let (_, grant, brought) = read(self.client, reader, number, step, grant).await?;
            self.items_read += arrived(reader, lane, &mut self.budget, grant, brought)?;
            on_arrival(reader, lane)?;
        }
        Ok(true)
    }

    async fn fill_all(
        &mut self,
        mut waiting: VecDeque<usize>,
        wanted: u32,
        on_arrival: OnArrival<'_>,
    ) -> Result<bool, QueryError> {
        let LaneReader { client, readers, lanes, budget, .. } = self;
        let mut under_way = FuturesUnordered::new();
        loop {
            while under_way.len() < self.concurrency_max {
                let Some(number) = waiting.front().copied() else { break };
                let (reader, lane) = (&readers[number], &mut lanes[number]);
                match begin(reader, lane, budget, wanted, self.page_items_max, waiting.len()) {
                    Some((step, grant)) => {
                        waiting.pop_front();
                        under_way.push(read(client, reader, number, step, grant));
                    }
                    None if under_way.is_empty() => return Ok(false),
                    // What is under way may cost less than it was expected to.
                    None => break,
                }
            }
            let Some(done) = under_way.next().await else { return Ok(true) };
            let (number, grant, brought) = done?;
            let (reader, lane) = (&readers[number], &mut lanes[number]);
            self.items_read += arrived(reader, lane, budget, grant, brought)?;
            on_arrival(reader, lane)?;
            if lane.is_dry() {
                waiting.push_back(number);
            }
        }
    }
}

/// What the access reads next, if the budget lets it. `waiting`: how many share what is left.
fn begin(
    reader: &Reader<'_>,
    lane: &mut Lane,
    budget: &mut Budget,
    wanted: u32,
    page_items_max: u32,
    waiting: usize,
) -> Option<(Step, Grant)> {
    let items = lane.items_to_ask(reader, wanted, page_items_max);
    let price = if lane.has_pending() { Price::Items } else { reader.price() };
    let grant = budget.grant(price, items, waiting)?;
    Some((lane.begin(grant.items), grant))
}

/// Takes in what a read brought. How many entries it read.
fn arrived(
    reader: &Reader<'_>,
    lane: &mut Lane,
    budget: &mut Budget,
    grant: Grant,
    brought: Brought,
) -> Result<u64, QueryError> {
    match brought {
        Brought::Page(page, calls) => {
            let scanned = page.scanned;
            budget.settle(grant, page.consumed.units, scanned, calls);
            lane.take_page(reader, page)?;
            Ok(scanned)
        }
        Brought::Items(hydrated) => {
            budget.settle(grant, hydrated.units, 0, 1);
            lane.take_items(hydrated);
            Ok(0)
        }
    }
}

async fn read(
    client: &Client,
    reader: &Reader<'_>,
    number: usize,
    step: Step,
    grant: Grant,
) -> Result<(usize, Grant, Brought), QueryError> {
    let brought = match step {
        Step::Page { start, items } => {
            let (page, calls) = reader.page(client, start.as_ref(), items).await?;
            Brought::Page(page, calls)
        }
        Step::Items { entries } => Brought::Items(hydrate(client, reader, &entries).await?),
    };
    Ok((number, grant, brought))
}
