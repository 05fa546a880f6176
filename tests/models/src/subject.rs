//! Keyfold, as a case asks it: the items of the case in an embedded DynamoDB, by the manifest's model.

use futures_util::stream;
use keyfold_core::index::ItemError;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::check::Caller;
use keyfold_core::query::{PlanError, QueryPlan, QueryRequest, Readiness, RequestError, check, plan};
use keyfold_core::value::Item;
use keyfold_dynamo::{AnswerError, Client, LoadError, QueryError, RunOptions, TableOptions, load, run};
use keyfold_local::{EmbeddedDynamo, EmbeddedError};

use crate::case::Case;

/// A loaded table.
#[derive(Debug)]
pub struct Subject {
    model: Model,
    client: Client,
    /// Stops when it is dropped.
    _dynamo: EmbeddedDynamo,
}

/// Why a case cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The manifest declares no table.
    #[error("the manifest declares no table")]
    NoTable,
    /// No DynamoDB.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// The table is not there.
    #[error(transparent)]
    Table(#[from] keyfold_dynamo::EnsureError),
    /// An item does not fit the manifest.
    #[error("natural item {at}: {source}")]
    Item {
        /// Its place in the file.
        at: usize,
        /// The error.
        source: ItemError,
    },
    /// An item was not written.
    #[error("{}", chain(.0))]
    Load(#[from] Box<LoadError>),
    /// Two items have the same key, so one was replaced.
    #[error("{given} items, but {written} keys: the manifest gives one key to several")]
    SameKey {
        /// How many items the case has.
        given: usize,
        /// How many different keys they have.
        written: usize,
    },
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It does not fit the model.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// No plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The plan was not executed.
    #[error("{}", chain(.0))]
    Query(#[from] QueryError),
}

/// An answer, all of its pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// How.
    pub plan: QueryPlan,
    /// The items.
    pub items: Vec<Item>,
    /// How many.
    pub count: u64,
    /// The read units it consumed.
    pub units: f64,
}

impl AskError {
    /// Was the question refused, rather than failed?
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            AskError::Request(_)
                | AskError::Plan(_)
                | AskError::Query(QueryError::Answer(AnswerError::SortTooLarge { .. }))
        )
    }
}

impl Subject {
    /// Loads the case's natural items.
    pub async fn load(case: &Case, model: Model) -> Result<Subject, SubjectError> {
        let table = table_for(&model, case).ok_or(SubjectError::NoTable)?;
        let items = stored(case, table)?;
        let dynamo = EmbeddedDynamo::memory()?;
        let client = dynamo.client();
        dynamo.create_tables([table], TableOptions::default()).await?;
        load(&client, table, stream::iter(items)).await.map_err(Box::new)?;
        let model = Model { tables: vec![table.clone()], ..model };
        Ok(Subject { model, client, _dynamo: dynamo })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.model.tables[0]
    }

    /// Plans a request.
    pub fn plan(&self, request: &QueryRequest) -> Result<QueryPlan, AskError> {
        Ok(plan(&check(&self.model, request, &Caller::Trusted)?, &Readiness::complete())?)
    }

    /// Reads page after page until the end, or until there are `enough` items.
    pub async fn ask(&self, request: &QueryRequest, enough: Option<usize>) -> Result<Answered, AskError> {
        let plan = self.plan(request)?;
        let mut answered = Answered { plan, items: Vec::new(), count: 0, units: 0.0 };
        let mut from = None;
        loop {
            let options = RunOptions::default();
            let page = run(&self.client, self.table(), &answered.plan, from.as_ref(), &options).await?;
            answered.items.extend(page.items);
            answered.count += page.count;
            answered.units += page.consumed_read_units;
            from = page.next;
            let is_enough = enough.is_some_and(|enough| answered.items.len() >= enough);
            if from.is_none() || is_enough {
                answered.items.truncate(enough.unwrap_or(usize::MAX));
                return Ok(answered);
            }
        }
    }
}

/// The table of the case: the one with the published name, or the first.
pub fn table_for<'m>(model: &'m Model, case: &Case) -> Option<&'m Table> {
    model.tables.iter().find(|table| table.name == case.table.name).or_else(|| model.tables.first())
}

/// The items as they will be stored.
pub fn stored(case: &Case, table: &Table) -> Result<Vec<Item>, SubjectError> {
    let one = |(at, natural): (usize, &crate::case::Natural)| {
        let item = natural.attributes.clone();
        // Items of undeclared entities are stored unchanged, if the table's keys can be folded for them.
        let item = match table.entity(&natural.entity) {
            Some(_) => table.as_entity(item, &natural.entity),
            None => Ok(item),
        };
        item.and_then(|item| table.with_keys(item)).map_err(|source| SubjectError::Item { at, source })
    };
    let items: Vec<Item> = case.natural.iter().enumerate().map(one).collect::<Result<_, _>>()?;
    let keys: std::collections::BTreeSet<String> = items.iter().map(|item| key(table, item)).collect();
    if keys.len() < items.len() {
        return Err(SubjectError::SameKey { given: items.len(), written: keys.len() });
    }
    Ok(items)
}

fn key(table: &Table, item: &Item) -> String {
    let value = |key: &keyfold_core::model::KeyAttribute| item.get(&key.name).map(crate::case::canonical);
    format!("{:?}", table.key_attributes().map(value).collect::<Vec<_>>())
}

/// An error with all its causes.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}
