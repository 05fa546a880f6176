//! A table of a model, kept alive by it.

use std::borrow::Borrow;
use std::sync::Arc;

use keyfold_core::model::{Model, Table};
use keyfold_core::query::RequestError;

use crate::failure::Failure;

/// A table of a model.
#[derive(Debug, Clone)]
pub(crate) struct TableOf {
    model: Arc<Model>,
    number: usize,
}

impl TableOf {
    /// The table with this id, or with this name in DynamoDB.
    pub(crate) fn find(model: &Arc<Model>, name: &str) -> Result<TableOf, Failure> {
        let number = model.tables.iter().position(|table| table.id == name);
        let number = number.or_else(|| model.tables.iter().position(|table| table.name == name));
        match number {
            Some(number) => Ok(TableOf { model: Arc::clone(model), number }),
            None => Err(RequestError::UnknownTable { table: name.to_owned(), closest: None }.into()),
        }
    }

    pub(crate) fn table(&self) -> &Table {
        &self.model.tables[self.number]
    }
}

impl Borrow<Table> for TableOf {
    fn borrow(&self) -> &Table {
        self.table()
    }
}
