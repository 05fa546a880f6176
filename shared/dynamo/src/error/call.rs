//! Which call an error is about.

use std::fmt;

/// An operation, and what it was called on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The operation, in DynamoDB's words: `Query`.
    pub operation: &'static str,
    /// The table's name in DynamoDB.
    pub table: Box<str>,
    /// The index, if the operation names one.
    pub index: Option<Box<str>>,
}

impl Call {
    /// An operation on a table.
    pub(crate) fn new(operation: &'static str, table: &str) -> Call {
        Call { operation, table: table.into(), index: None }
    }

    /// An operation on a table or one of its indexes.
    pub(crate) fn on(operation: &'static str, table: &str, index: Option<&str>) -> Call {
        Call { index: index.map(Into::into), ..Call::new(operation, table) }
    }
}

/// `` `Query` on table `audit`, index `byUser` ``
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` on table `{}`", self.operation, self.table)?;
        match &self.index {
            Some(index) => write!(f, ", index `{index}`"),
            None => Ok(()),
        }
    }
}
