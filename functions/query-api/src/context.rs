//! One request's caller, API and time: the checks of every route before it reads or writes.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyfold_core::model::Table;
use keyfold_core::query::Readiness;
use keyfold_core::query::check::Caller;
use keyfold_edge::{Auth, Problem};

use crate::Api;
use crate::caller::is_known;
use crate::settings::ANSWER_TIME_MAX;

/// The part of an invocation's time reserved for the response.
const DEADLINE_MARGIN: Duration = Duration::from_millis(500);

/// The caller of a request, its API and its time.
pub(crate) struct RequestContext<'a> {
    pub(crate) api: &'a Api,
    pub(crate) caller: &'a Caller,
    /// The invocation's timeout, if it has one.
    deadline: Option<SystemTime>,
    /// When the request arrived, in seconds since 1970.
    pub(crate) now: u64,
}

impl<'a> RequestContext<'a> {
    pub(crate) fn new(api: &'a Api, caller: &'a Caller, deadline: Option<SystemTime>) -> RequestContext<'a> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        RequestContext { api, caller, deadline, now }
    }

    /// Refuses a caller without claims, unless the API is open, and one whose token does not grant the OAuth scope. For a table
    /// with a scope, `check` has refused a caller without its claims already.
    pub(crate) fn authorize(&self, table: &Table, oauth_scope: Option<&str>) -> Result<(), Problem> {
        if table.scope.is_empty() && self.api.limits.auth == Auth::Claims && !is_known(self.caller) {
            return Err(Problem::not_authenticated());
        }
        match (oauth_scope, self.caller) {
            (Some(scope), Caller::Claims(claims)) if !keyfold_edge::grants(claims, scope) => {
                Err(Problem::not_granted(scope))
            }
            _ => Ok(()),
        }
    }

    /// Counts the request in the caller's budget, then reads which indexes of the table are complete.
    pub(crate) async fn admit(&self, table: &Table) -> Result<Arc<Readiness>, Problem> {
        if let Some(budget) = &self.api.budget {
            budget.count(&self.api.client, self.caller, self.now).await?;
        }
        Ok(self.in_time(self.api.readiness(table)).await??)
    }

    /// The result of work within the remaining time. Longer work is dropped and sends no further request.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        tokio::time::timeout(self.time_left(), work).await.map_err(|_| {
            Problem::new(504, "timed-out", "the answer was not complete in time")
                .hint("ask for less: a smaller `limit`, or conditions that an index can answer")
        })
    }

    pub(crate) fn time_left(&self) -> Duration {
        let Some(deadline) = self.deadline else { return ANSWER_TIME_MAX };
        let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
        left.saturating_sub(DEADLINE_MARGIN).min(ANSWER_TIME_MAX)
    }
}
