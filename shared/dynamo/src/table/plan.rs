//! Plans and applies the changes that make a live table match the manifest: the table itself, its stream, the time to
//! live, and global indexes one after the other.
//!
//! No state is stored: each run compares again, so it can be interrupted and repeated. Nothing is deleted or replaced.
//! Differences that DynamoDB cannot change are found first, and then nothing is changed.

use std::fmt;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TableDescription;
use keyfold_core::model::{IndexKind, Model, Retrofit, Table};
use keyfold_core::retrofit::Mapping;
use keyfold_core::text::closest;

use super::add::{AddIndexError, LiveIndexes, WarmThroughput, add_indexes, whole};
use super::create::create_table;
use super::describe::{description, expires_by, table_names};
use super::diff::{Difference, TableDiff, other_view};
use super::schema::TableOptions;
use super::stream::enable_stream;
use super::stream::enable_ttl;
use crate::error::DynamoError;

/// The differences between a table of the manifest and the one in DynamoDB.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TablePlan {
    /// The steps of [`carry_out`](TablePlan::carry_out), in order.
    pub steps: Vec<TableStep>,
    /// Differences that cannot be changed. If there are any, no step is taken.
    pub obstacles: Vec<Mismatch>,
    /// Parts of the table that are not in the manifest. They stay unchanged.
    pub extras: Vec<Mismatch>,
    /// The approximate number of items: DynamoDB updates it every few hours.
    pub items: u64,
    /// Their approximate size in bytes.
    pub bytes: u64,
}

/// One step towards the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableStep {
    /// The table is created, on demand, with all its indexes.
    Create,
    /// Waits for an index that is being created already.
    Await {
        /// The index.
        index: String,
    },
    /// The stream is enabled.
    Stream,
    /// Time to live is enabled.
    Expire {
        /// The attribute.
        attribute: String,
    },
    /// An index is added and filled.
    Add {
        /// The index.
        index: String,
    },
}

/// A difference that must be resolved by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The table does not exist, and another table has a similar name.
    NoTable {
        /// The other table's name in DynamoDB.
        nearest: String,
    },
    /// Of keys, types, projections and indexes.
    Schema(Difference),
    /// The stream does not contain both images. DynamoDB cannot change the view type of a stream.
    StreamView {
        /// Its projection, in DynamoDB's terms.
        found: String,
    },
    /// Time to live uses another attribute.
    Expiry {
        /// The manifest's attribute, if it has one.
        wanted: Option<String>,
        /// DynamoDB's.
        found: String,
    },
}

impl TablePlan {
    /// The plan for an existing table, with its attribute of time to live.
    fn of(
        table: &Table,
        options: TableOptions,
        found: &TableDescription,
        expires: Option<String>,
    ) -> TablePlan {
        let (items, bytes) = (whole(found.item_count()), whole(found.table_size_bytes()));
        let mut plan = TablePlan { items, bytes, ..TablePlan::default() };
        plan.steps = LiveIndexes::busy(found).map(|index| TableStep::Await { index }).collect();
        let mut add = Vec::new();
        for difference in TableDiff::of(table, options, found).differences {
            match difference {
                Difference::NoIndex { index } if is_global(table, &index) => {
                    add.push(TableStep::Add { index });
                }
                Difference::NoStream => match other_view(found) {
                    Some(found) => plan.obstacles.push(Mismatch::StreamView { found }),
                    None => plan.steps.push(TableStep::Stream),
                },
                Difference::UnknownIndex { .. } => plan.extras.push(Mismatch::Schema(difference)),
                _ => plan.obstacles.push(Mismatch::Schema(difference)),
            }
        }
        match (expires, table.ttl.clone()) {
            (None, Some(attribute)) => plan.steps.push(TableStep::Expire { attribute }),
            (Some(found), None) => plan.extras.push(Mismatch::Expiry { wanted: None, found }),
            (Some(found), wanted) if Some(&found) != wanted.as_ref() => {
                plan.obstacles.push(Mismatch::Expiry { wanted, found });
            }
            _ => {}
        }
        // Last, because they take hours.
        plan.steps.extend(add);
        plan
    }

    /// Does the table match the manifest?
    pub fn is_done(&self) -> bool {
        self.steps.is_empty() && self.obstacles.is_empty()
    }

    /// The indexes that are to be added.
    pub fn added(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match step {
            TableStep::Add { index } => Some(&**index),
            _ => None,
        })
    }

    /// Makes the table match the model, or changes nothing. The result of DescribeTable is reported while indexes are
    /// added.
    pub async fn carry_out(
        &self,
        client: &Client,
        table: &Table,
        options: TableOptions,
        warm: Option<WarmThroughput>,
        told: &mut dyn FnMut(&LiveIndexes),
    ) -> Result<(), ApplyError> {
        self.check(table)?;
        for step in &self.steps {
            match step {
                TableStep::Create => create_table(client, table, options).await?,
                TableStep::Stream => drop(enable_stream(client, table).await?),
                TableStep::Expire { .. } => enable_ttl(client, table).await?,
                // An index that the manifest does not have is waited for as well.
                TableStep::Await { index } | TableStep::Add { index } => {
                    let wanted: Vec<_> = table.index(index).into_iter().collect();
                    add_indexes(client, table, &wanted, warm, told).await?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a plan that has obstacles.
    pub fn check(&self, table: &Table) -> Result<(), ApplyError> {
        match self.obstacles.is_empty() {
            true => Ok(()),
            false => {
                Err(ApplyError::Obstacles { table: table.name.clone(), obstacles: self.obstacles.clone() })
            }
        }
    }
}

impl Mismatch {
    /// A suggestion.
    pub fn hint(&self) -> &'static str {
        match self {
            Mismatch::NoTable { .. } => {
                "correct the table's `name` in the manifest; a new table needs a name that differs more"
            }
            Mismatch::Schema(difference) => difference.hint(),
            Mismatch::StreamView { .. } => {
                "switch the stream off and apply again, when nobody reads it any more: DynamoDB cannot change what a stream holds, \
                 and its readers lose it"
            }
            Mismatch::Expiry { wanted: Some(_), .. } => {
                "correct the manifest's `ttl`, or switch the time-to-live off and apply again: DynamoDB takes up to an hour to let go"
            }
            Mismatch::Expiry { wanted: None, .. } => {
                "declare it as the table's `ttl`, so that the manifest says what happens"
            }
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::NoTable { nearest } => write!(f, "it does not exist: did you mean `{nearest}`?"),
            Mismatch::Schema(difference) => difference.fmt(f),
            Mismatch::StreamView { found } => write!(f, "its stream holds `{found}` instead of both images"),
            Mismatch::Expiry { wanted: Some(wanted), found } => {
                write!(f, "its time to live is in `{found}` instead of `{wanted}`")
            }
            Mismatch::Expiry { wanted: None, found } => {
                write!(f, "its time to live is in `{found}`, and the manifest has no `ttl`")
            }
        }
    }
}

impl fmt::Display for TableStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableStep::Create => f.write_str("create the table, with all its indexes"),
            TableStep::Await { index } => write!(f, "wait until index `{index}` is active"),
            TableStep::Stream => f.write_str("switch the stream on, with both images"),
            TableStep::Expire { attribute } => {
                write!(f, "switch time to live on, with the time in `{attribute}`")
            }
            TableStep::Add { index } => write!(f, "add index `{index}`"),
        }
    }
}

/// The options of a table besides the model: a stream, if a retrofit starts there or can roll back from there.
pub fn table_options(model: &Model, table: &Table) -> TableOptions {
    let follows = |retrofit: &Retrofit| {
        retrofit.from == table.id
            || retrofit.to == table.id
                && Mapping::of(model, &retrofit.name).is_ok_and(|mapping| mapping.reverse().is_ok())
    };
    TableOptions { stream: model.retrofits.iter().any(follows) }
}

/// Compares the table in DynamoDB with the model. Read-only.
pub async fn plan_table(
    client: &Client,
    table: &Table,
    options: TableOptions,
) -> Result<TablePlan, DynamoError> {
    let found = match description(client, table).await {
        Ok(found) => found,
        Err(DynamoError::NotFound { .. }) => {
            return Ok(TablePlan { steps: created(table), ..TablePlan::default() });
        }
        Err(error) => return Err(error),
    };
    let expires = expires_by(client, table).await?;
    Ok(TablePlan::of(table, options, &found, expires))
}

/// [`plan_table`] for a table outside the stack (`managed = false`). If it does not exist and an undeclared table has a
/// similar name, the name counts as misspelt, and nothing is created.
pub async fn plan_existing(client: &Client, model: &Model, table: &Table) -> Result<TablePlan, DynamoError> {
    let plan = plan_table(client, table, table_options(model, table)).await?;
    if plan.steps.first() != Some(&TableStep::Create) {
        return Ok(plan);
    }
    let names = match table_names(client).await {
        Ok(names) => names,
        // Creating a table does not need the permission to list tables.
        Err(DynamoError::Denied { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    let is_other = |name: &&str| model.tables.iter().all(|known| known.name != *name);
    Ok(match closest(&table.name, names.iter().map(String::as_str).filter(is_other)) {
        Some(nearest) => TablePlan { obstacles: vec![Mismatch::NoTable { nearest }], ..TablePlan::default() },
        None => plan,
    })
}

/// Why a table does not match the manifest.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum ApplyError {
    /// Differences that cannot be changed. Nothing was changed.
    #[error("table `{table}` differs from the manifest: {}", listed(.obstacles))]
    Obstacles { table: String, obstacles: Vec<Mismatch> },
    /// An index could not be added.
    #[error(transparent)]
    Index(#[from] AddIndexError),
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
}

impl ApplyError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            ApplyError::Obstacles { .. } => "table-differs",
            ApplyError::Index(error) => error.code(),
            ApplyError::Dynamo(error) => error.code(),
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ApplyError::Obstacles { obstacles, .. } => obstacles.first().map(Mismatch::hint),
            ApplyError::Index(error) => error.hint(),
            ApplyError::Dynamo(error) => error.hint(),
        }
    }
}

fn listed(obstacles: &[Mismatch]) -> String {
    obstacles.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn is_global(table: &Table, index: &str) -> bool {
    table.index(index).is_some_and(|index| index.kind == IndexKind::Global)
}

/// A new table is created with its stream.
fn created(table: &Table) -> Vec<TableStep> {
    let expire = table.ttl.iter().map(|attribute| TableStep::Expire { attribute: attribute.clone() });
    [TableStep::Create].into_iter().chain(expire).collect()
}

#[cfg(test)]
mod tests;
