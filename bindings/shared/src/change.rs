//! An update, request by request.

use keyfold_core::value::Item;
use keyfold_core::write::{AttributeOperation, Update, UpdateRequest, UpdateTask};
use serde_json::json;

use crate::failure::{Failure, text};
use crate::requests::{self, read};
use crate::table_of::TableOf;

/// An update of one item.
#[derive(Debug)]
pub struct Change {
    of: TableOf,
    task: UpdateTask<TableOf>,
}

impl Change {
    pub(crate) fn new(
        of: TableOf,
        key: &Item,
        update: Update,
        operations: Vec<AttributeOperation>,
    ) -> Result<Change, Failure> {
        let task = UpdateTask::with_operations(of.clone(), key, update, operations)?;
        Ok(Change { of, task })
    }

    /// The next request: `{"operation": "GetItem" or "UpdateItem", "input": ...}`.
    pub fn request(&self) -> String {
        let table = self.of.table();
        text(&match self.task.request() {
            UpdateRequest::Read(key) => {
                json!({ "operation": "GetItem", "input": requests::get(&table.name, key) })
            }
            UpdateRequest::Write(action, guard) => {
                let expressions =
                    self.task.expressions().unwrap_or_else(|| unreachable!("a write was requested"));
                let input = requests::write_with(table, action, Some(guard), expressions);
                json!({ "operation": "UpdateItem", "input": input })
            }
        })
    }

    /// Takes the item that was read; `null` if it is missing.
    pub fn was_read(&mut self, item: &str) -> Result<(), Failure> {
        Ok(self.task.was_read(read("the item", item)?)?)
    }

    /// The condition of the write failed. Takes the stored item, or `null`.
    pub fn was_refused(&mut self, item: &str) -> Result<(), Failure> {
        Ok(self.task.was_refused(read("the item", item)?)?)
    }

    /// The number of refused writes.
    pub fn refused(&self) -> u32 {
        self.task.refused()
    }
}
