//! Checks a request against the model and the caller, and plans it. Nothing is read from its table.

use std::borrow::Cow;

use keyfold_core::model::Table;
use keyfold_core::query::explain::{self, Explanation};
use keyfold_core::query::{PlanError, QueryPlan, QueryRequest, check, plan};
use keyfold_edge::Problem;

use crate::Record;
use crate::context::RequestContext;

/// A request that can be answered.
pub(crate) struct PlannedRequest<'m> {
    pub(crate) table: &'m Table,
    pub(crate) plan: QueryPlan,
}

/// The plan of a request, as data for the caller.
pub(crate) async fn explain(
    context: &RequestContext<'_>,
    request: &QueryRequest,
    record: &mut Record,
) -> Result<Explanation, Problem> {
    Ok(explain::explain(&plan_request(context, request, record).await?.plan))
}

/// The plan of a request, after every check that could refuse it.
pub(crate) async fn plan_request<'a>(
    context: &RequestContext<'a>,
    request: &QueryRequest,
    record: &mut Record,
) -> Result<PlannedRequest<'a>, Problem> {
    let api = context.api;
    let request = match request.scan && !api.limits.allow_scan {
        true => Cow::Owned(QueryRequest { scan: false, ..request.clone() }),
        false => Cow::Borrowed(request),
    };
    record.table = api.model.table(&request.table).map(|table| table.id.clone());
    let checked = check(&api.model, &request, context.caller)?;
    context.authorize(checked.table, api.grants.read.as_deref())?;
    let readiness = context.admit(checked.table).await?;
    let plan = plan(&checked, &readiness).map_err(|error| unplanned(error, api.limits.allow_scan))?;
    record.reads = plan.accesses.len();
    for access in &plan.accesses {
        let source = access.source.index().map_or_else(|| "table".to_owned(), |name| format!("index {name}"));
        if !record.sources.contains(&source) {
            record.sources.push(source);
        }
    }
    Ok(PlannedRequest { table: checked.table, plan })
}

/// The planner's refusal, without suggesting a scan if the API allows none.
fn unplanned(error: PlanError, allow_scan: bool) -> Problem {
    match error.hint_without_scan().filter(|_| !allow_scan) {
        Some(ways) => Problem::from(error).hint(format!("this API does not scan: {ways}")),
        None => error.into(),
    }
}
