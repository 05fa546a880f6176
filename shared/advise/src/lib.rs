//! From questions to indexes: the cheapest set of indexes that answers all questions of a table.
//!
//! The planner of `keyfold-core` is the oracle: an index is worth what plans with it cost, so that advice and reality agree. The
//! steps, one module each:
//!
//! 1. `workload`: how often each question is asked, how many items there are, how often they are written;
//! 2. `shape`: keys that could answer a question; `design`: an index with such a key, as the manifest writes it;
//! 3. `screen`: the manifest reads each design, and what it refuses or warns of is dropped;
//! 4. `oracle`: the planner says which sets of candidates answer each question, and for how many read units;
//! 5. `price`: what each candidate adds to writes and storage;
//! 6. `program`: an integer program chooses; `merge`: several entities in one index, and the program once more;
//! 7. `advice`: the choice as text of the manifest, planned again with the manifest that it makes.
//!
//! Indexes that exist are kept. No entity is added to one of them: while a retrofit filled it, questions that use it would be refused.

mod advice;
mod design;
mod expectation;
mod merge;
mod missing;
mod oracle;
mod price;
mod program;
mod screen;
mod search;
mod shape;
mod workload;

#[cfg(test)]
mod tests;

use std::time::Duration;

use keyfold_core::manifest;
use keyfold_core::model::{IndexKind, Model, Table};

pub use self::advice::{Advice, AdvisedIndex, AdvisedQuestion, IndexState, Total};
pub use self::expectation::with_expect;
pub use self::price::Cost;
use self::search::{Limits, Search, SearchError};

/// The default quota of global indexes of a table.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>
pub const GLOBAL_INDEXES_MAX: usize = 20;
/// The most local indexes of a table.
const LOCAL_INDEXES_MAX: usize = 5;

/// What limits the search.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The most global indexes, those that exist included.
    pub global_max: usize,
    /// The table does not exist yet: it may get local indexes, and nothing has to be filled.
    pub local_allowed: bool,
    /// After this time, the best set so far is advised.
    pub time_limit: Duration,
    /// A question to explain.
    pub explain: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            global_max: GLOBAL_INDEXES_MAX,
            local_allowed: false,
            time_limit: Duration::from_millis(1500),
            explain: None,
        }
    }
}

/// Why there is no advice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdviseError {
    /// The manifest has errors.
    #[error("the manifest has errors")]
    Manifest,
    /// There is no such table.
    #[error("the manifest has no table `{table}`")]
    UnknownTable {
        /// The name that was given.
        table: String,
    },
    /// Nothing is asked.
    #[error("table `{table}` has no questions")]
    NoQuestions {
        /// The table's id.
        table: String,
    },
    /// There is no such question.
    #[error("table `{table}` has no question `{question}`")]
    UnknownQuestion {
        /// The table's id.
        table: String,
        /// The name that was given.
        question: String,
    },
    /// The manifest writes the table's indexes inline.
    #[error("no index can be added to table `{table}`: its `indexes` or `entities` are an inline table")]
    InlineTables {
        /// The table's id.
        table: String,
    },
    /// No typical item can be made.
    #[error("no typical item of table `{table}` can be made, so nothing has a price")]
    Unpriced {
        /// The table's id.
        table: String,
    },
}

impl AdviseError {
    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self {
            AdviseError::Manifest => "manifest",
            AdviseError::UnknownTable { .. } => "unknown-table",
            AdviseError::NoQuestions { .. } => "no-questions",
            AdviseError::UnknownQuestion { .. } => "unknown-question",
            AdviseError::InlineTables { .. } => "inline-tables",
            AdviseError::Unpriced { .. } => "unpriced",
        }
    }

    /// What to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            AdviseError::Manifest => "`keyfold check` lists them".to_owned(),
            AdviseError::NoQuestions { table } => {
                format!("add what you ask under [questions.{table}.NAME], with its `where` and its `rate`")
            }
            AdviseError::InlineTables { table } => format!(
                "write them as sections, like [tables.{table}.indexes.NAME] and [tables.{table}.entities.NAME]"
            ),
            AdviseError::Unpriced { .. } => {
                "`keyfold fold` shows for an item of yours what does not fit".to_owned()
            }
            AdviseError::UnknownTable { .. } | AdviseError::UnknownQuestion { .. } => return None,
        })
    }
}

/// The cheapest set of indexes for one table of a manifest.
///
/// ```
/// let text = r#"
/// [tables.orders]
/// partition = "id"
/// attributes = { id = "string", customer = "string", at = "timestamp" }
///
/// [questions.orders.ofCustomer]
/// where = ["customer", "at >="]
/// rate = "40/s"
/// "#;
/// let advice = keyfold_advise::advise(text, "orders", &keyfold_advise::Options::default())?;
/// assert_eq!(advice.indexes[0].name, "byCustomerAt");
/// assert_eq!(advice.advised.unserved, 0);
/// # Ok::<(), keyfold_advise::AdviseError>(())
/// ```
pub fn advise(text: &str, table: &str, options: &Options) -> Result<Advice, AdviseError> {
    let model = manifest::model("", text).map_err(|_| AdviseError::Manifest)?;
    let found = model.table(table).ok_or_else(|| AdviseError::UnknownTable { table: table.to_owned() })?;
    let table = || found.id.clone();
    if model.questions_of(found).next().is_none() {
        return Err(AdviseError::NoQuestions { table: table() });
    }
    if let Some(question) = &options.explain
        && model.questions_of(found).all(|known| known.name != *question)
    {
        return Err(AdviseError::UnknownQuestion { table: table(), question: question.clone() });
    }
    let search = Search::run(&model, text, found, limits(found, options)).map_err(|error| match error {
        SearchError::NotExtensible => AdviseError::InlineTables { table: table() },
        SearchError::Unpriced => AdviseError::Unpriced { table: table() },
    })?;
    advice_of(&search, &model, text, options).ok_or_else(|| AdviseError::Unpriced { table: table() })
}

fn advice_of(search: &Search<'_>, model: &Model, text: &str, options: &Options) -> Option<Advice> {
    advice::advice(search, model, text, options.local_allowed, options.explain.as_deref())
}

fn limits(table: &Table, options: &Options) -> Limits {
    let local = table.local_indexes().count();
    let global = table.indexes.iter().filter(|index| index.kind == IndexKind::Global).count();
    Limits {
        global_max: options.global_max.saturating_sub(global),
        local_max: if options.local_allowed { LOCAL_INDEXES_MAX.saturating_sub(local) } else { 0 },
        time: options.time_limit,
        candidates_max: usize::MAX,
    }
}
