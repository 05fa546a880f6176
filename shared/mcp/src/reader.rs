//! A client of DynamoDB without writes.
//!
//! The client is private to this module, and no method here writes. So no tool can.

use std::sync::Arc;
use std::time::Duration;

use keyfold_core::model::{Model, Table};
use keyfold_core::query::{QueryPlan, Readiness};
use keyfold_core::retrofit::Mapping;
use keyfold_dynamo::retrofit::{KnownReadiness, RequestSender, RetrofitError, Status};
use keyfold_dynamo::{Answer, Client, Position, QueryError, RunOptions, run_counting};
use keyfold_edge::Problem;

/// Maximum time of one answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(28);

/// Reads the tables of a manifest, and the state of its retrofits.
#[derive(Debug)]
pub struct Reader {
    client: Client,
    control_table: String,
    readiness: KnownReadiness,
}

impl Reader {
    /// With this client, and this control table of retrofits.
    pub fn new(client: Client, control_table: &str) -> Reader {
        let readiness = KnownReadiness::new(control_table);
        Reader { client, control_table: control_table.to_owned(), readiness }
    }

    /// The indexes of a table that a retrofit still fills.
    pub(crate) async fn readiness(
        &self,
        model: &Model,
        table: &Table,
    ) -> Result<Arc<Readiness>, RetrofitError> {
        self.readiness.of(&self.client, model, table).await
    }

    /// One page of an answer. `units`: the consumed read units, also after an error.
    pub(crate) async fn page(
        &self,
        table: &Table,
        plan: &QueryPlan,
        from: Option<&Position>,
        units_max: f64,
        units: &mut f64,
    ) -> Result<Answer, Problem> {
        let options = RunOptions { read_units_max: Some(units_max), ..RunOptions::default() };
        let running = run_counting(&self.client, table, plan, from, &options, units);
        let answer = tokio::time::timeout(ANSWER_TIME_MAX, running).await.map_err(|_| {
            Problem::new(504, "timed-out", "the answer was not complete in time")
                .hint("ask for less: a smaller `limit`, or conditions that an index can answer")
        })?;
        if let Err(QueryError::Dynamo(error)) = &answer
            && let Some(index) = error.missing_index()
        {
            self.readiness.note_missing(table, index);
            return Err(
                Problem::index_pending(table, index).hint("ask again: it is planned without this index now")
            );
        }
        Ok(answer?)
    }

    /// The status of a retrofit; `None` if it was not started.
    pub(crate) async fn status(&self, mapping: Mapping) -> Result<Option<Status>, RetrofitError> {
        let started = RequestSender::started(self.client.clone(), mapping, &self.control_table).await;
        let (sender, head) = match started {
            Ok(started) => started,
            Err(error) if error.is_not_started(&self.control_table) => return Ok(None),
            Err(error) => return Err(error),
        };
        sender.status(head).await.map(Some)
    }
}
