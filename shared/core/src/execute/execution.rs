//! The execution of a plan: the next requests, and finally the answer.

use std::borrow::Borrow;

use super::answer::{Answer, Run};
use super::budget::RunOptions;
use super::error::AnswerError;
use super::lanes::{Fill, Filled, Lanes};
use super::merged::Merged;
use super::position::{Position, Start, start};
use super::reader::PageSource;
use super::reader::{ReadRequest, ReadResponse};
use super::sequential::Sequential;
use super::sorted::Counted;
use super::sorted::Sorted;
use crate::model::Table;
use crate::query::QueryPlan;
use crate::query::plan::Delivery;

/// The next step of an execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Requests to send. Empty: a request in flight must finish first.
    Send(Vec<ReadRequest>),
    /// The answer.
    Answer(Answer),
}

/// The page source of each access of a plan.
pub fn page_sources(table: &Table, plan: &QueryPlan) -> Result<Vec<PageSource>, AnswerError> {
    plan.accesses.iter().map(|access| PageSource::of(table, plan, access)).collect()
}

/// The execution of a plan. `T` is the table and `P` the plan, borrowed or owned.
pub struct Execution<T, P> {
    table: T,
    plan: P,
    lanes: Lanes,
    start: Start,
    way: Strategy,
    fill: Option<Fill>,
}

/// How the accesses become one answer.
enum Strategy {
    Sequential(Sequential),
    Merged(Merged),
    Sorted(Sorted),
    Counted(Counted),
}

impl<T: Borrow<Table>, P: Borrow<QueryPlan>> Execution<T, P> {
    /// Starts to answer a plan: the first page, or the page at `from`. The pages together are the complete answer,
    /// without duplicates.
    ///
    /// `plan` is a plan for `table`, and `from` comes from an answer to the same plan.
    pub fn new(
        table: T,
        plan: P,
        from: Option<&Position>,
        options: &RunOptions,
    ) -> Result<Execution<T, P>, AnswerError> {
        let (of, by) = (table.borrow(), plan.borrow());
        let is_sorted = matches!(by.delivery, Delivery::SortedInMemory { .. }) && !by.count;
        let start = start(by, from, is_sorted)?;
        let mut lanes = Lanes::new(of, by, &start.lanes, options)?;
        let accesses = lanes.lanes.len();
        let way = match by.delivery {
            _ if by.count => Strategy::Counted(Counted::new(accesses)),
            Delivery::Sequential => Strategy::Sequential(Sequential::new(accesses)),
            Delivery::Merged => {
                Strategy::Merged(Merged::new(&Run { table: of, plan: by, lanes: &mut lanes, start: &start })?)
            }
            Delivery::SortedInMemory { items_max } => Strategy::Sorted(Sorted::new(accesses, items_max)),
        };
        // Counting and sorting read everything at once.
        let fill = matches!(way, Strategy::Counted(_) | Strategy::Sorted(_))
            .then(|| Fill::of(&lanes, 0..accesses, lanes.page_items_max as usize, 1));
        Ok(Execution { table, plan, lanes, start, way, fill })
    }

    /// The attributes that the execution needs of the items of an access; `None`: all. A driver that keeps the items
    /// passes only these, and a [`HANDLE`](super::HANDLE) with each.
    pub fn looks_at(&self, access: usize) -> Option<Vec<String>> {
        self.lanes.readers.get(access)?.looks_at(self.table.borrow(), self.plan.borrow())
    }

    /// The next step. An error ends the execution.
    pub fn step(&mut self) -> Result<Next, AnswerError> {
        let Execution { table, plan, lanes, start, way, fill } = self;
        let mut run = Run { table: (*table).borrow(), plan: (*plan).borrow(), lanes, start };
        loop {
            let mut is_full = true;
            if let Some(filling) = fill {
                match run.lanes.send(filling)? {
                    Filled::NotYet(requests) => return Ok(Next::Send(requests)),
                    Filled::Full => {}
                    Filled::OutOfBudget => is_full = false,
                }
            }
            *fill = match way {
                Strategy::Sequential(way) if is_full => way.advance(&mut run)?,
                Strategy::Merged(way) if is_full => way.advance(&mut run)?,
                _ => None,
            };
            if fill.is_none() {
                let answer = match way {
                    Strategy::Sequential(way) => way.finish(&run),
                    Strategy::Merged(way) => way.finish(&run),
                    Strategy::Sorted(way) => way.finish(&run, is_full),
                    Strategy::Counted(way) => way.finish(&run),
                };
                return answer.map(Next::Answer);
            }
        }
    }

    /// The consumed read units, plus the maximum of the requests in flight.
    pub fn read_units_at_most(&self) -> f64 {
        self.lanes.budget.spent_at_most()
    }

    /// Records that DynamoDB refused the request of an access, so that it consumed nothing.
    pub fn refused(&mut self, access: usize) {
        self.lanes.refused(access);
    }

    /// Takes the response to the request of an access. An error ends the execution.
    pub fn arrived(&mut self, access: usize, brought: ReadResponse) -> Result<(), AnswerError> {
        let Execution { table, lanes, way, fill, .. } = self;
        let table = (*table).borrow();
        lanes.take(table, access, brought)?;
        let (reader, lane) = (&lanes.readers[access], &mut lanes.lanes[access]);
        match way {
            Strategy::Sorted(way) => way.arrived(table, reader, lane)?,
            Strategy::Counted(way) => way.arrived(reader, lane)?,
            Strategy::Sequential(_) | Strategy::Merged(_) => {}
        }
        if let Some(fill) = fill {
            fill.arrived(lanes, access);
        }
        Ok(())
    }
}
