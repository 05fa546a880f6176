//! The result of an execution.

use std::collections::HashSet;

use super::budget::REQUESTS_MAX;
use super::error::AnswerError;
use super::lanes::Lanes;
use super::position::KeyValue;
use super::position::{Position, Start};
use super::shape::Shape;
use crate::model::Table;
use crate::query::{QueryPlan, own};
use crate::value::Item;

/// The name under which a driver can attach a handle to an item: no DynamoDB attribute has it. It stays on the item,
/// regardless of `select`.
pub const HANDLE: &str = "";

/// A page of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The items; none if only their number was wanted.
    pub items: Vec<Item>,
    /// How many items: those above, or those counted by this run.
    pub count: u64,
    /// The position of the next page; `None` at the end. The next page can be empty.
    pub next: Option<Position>,
    /// The consumed read units, as DynamoDB reports them. If a caller with a scope may not see the single item read:
    /// those of a missing item.
    pub consumed_read_units: f64,
    /// The number of entries read, before any filter.
    pub items_read: u64,
    /// The number of calls.
    pub requests: u32,
}

/// A plan during its execution.
pub(super) struct Run<'p> {
    pub(super) table: &'p Table,
    pub(super) plan: &'p QueryPlan,
    pub(super) lanes: &'p mut Lanes,
    pub(super) start: &'p Start,
}

impl Run<'_> {
    /// The answer with the position of each access. `Err`: the budget ended it before any progress.
    pub(super) fn finish(&self, items: Vec<Item>, count: u64) -> Result<Answer, AnswerError> {
        let lanes = &*self.lanes;
        let next = if lanes.lanes.iter().all(super::lane::Lane::is_finished) {
            None
        } else {
            let lanes = lanes.lanes.iter().zip(&lanes.readers);
            let progress = lanes.map(|(lane, reader)| lane.progress(&reader.shape, &items));
            let progress = progress.collect::<Result<Vec<_>, _>>()?;
            if progress == self.start.lanes && items.is_empty() && self.plan.limit > 0 {
                return Err(self.out_of_budget());
            }
            Some(Position::of_accesses(self.plan, progress))
        };
        Ok(self.with(items, count, next))
    }

    /// The answer with its cost.
    pub(super) fn with(&self, mut items: Vec<Item>, count: u64, next: Option<Position>) -> Answer {
        let select = self.plan.select.as_ref();
        for item in &mut items {
            let is_selected = |name: &str| select.is_none_or(|select| select.iter().any(|one| one == name));
            item.retain(|name, _| name == HANDLE || !own::is_own(name) && is_selected(name));
        }
        // The only item read may belong to another caller, so the answer must look as if there were none.
        let hides = self.plan.hides_cost && count == 0;
        Answer {
            items,
            count,
            next,
            consumed_read_units: if hides { self.lanes.budget.least() } else { self.lanes.budget.spent() },
            items_read: if hides { 0 } else { self.lanes.items_read },
            requests: self.lanes.budget.requests(),
        }
    }

    /// Why the budget ended an execution.
    pub(super) fn out_of_budget(&self) -> AnswerError {
        let (table, budget) = (self.table.id.clone(), &self.lanes.budget);
        match budget.units_max() {
            Some(units) if budget.requests() < REQUESTS_MAX => AnswerError::ReadUnitsCap { table, units },
            _ => AnswerError::TooManyReads { table, requests: budget.requests() },
        }
    }
}

/// The primary keys returned so far.
pub(super) struct GivenOut {
    /// `None` if no item can appear twice.
    keys: Option<HashSet<Vec<KeyValue>>>,
}

impl GivenOut {
    pub(super) fn among(accesses: usize) -> GivenOut {
        GivenOut { keys: (accesses > 1).then(HashSet::new) }
    }

    /// Is this the first time? Remembers it.
    pub(super) fn is_new(&mut self, shape: &Shape, item: &Item) -> Result<bool, AnswerError> {
        match &mut self.keys {
            Some(keys) => Ok(keys.insert(shape.primary_key(item)?)),
            None => Ok(true),
        }
    }
}
