//! Answers a planned request: page by page, within the caller's budget and the remaining time.

use keyfold_core::model::Table;
use keyfold_core::query::explain::{self, Explanation};
use keyfold_core::query::{QueryPlan, QueryRequest};
use keyfold_core::value::Item;
use keyfold_dynamo::{AnswerError, Binding, Position, QueryError, RunOptions, cap_overrun, run_counting};
use keyfold_edge::{INDEX_PENDING, Problem};
use serde::Serialize;

use crate::Record;
use crate::caller::identity;
use crate::context::RequestContext;
use crate::page_token::PageTokens;
use crate::plain::{Format, Items};
use crate::plan::{PlannedRequest, plan_request};

/// One page of an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `None`: only the number was requested.
    items: Option<Vec<Item>>,
    count: u64,
    /// The token of the next page.
    page: Option<String>,
    consumed_read_units: f64,
    /// The number of items read, before any filter.
    items_read: u64,
    /// The plan, if it was requested.
    plan: Option<Explanation>,
}

/// An answer in a format.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Items<'a>>,
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'a str>,
    consumed_read_units: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    items_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a Explanation>,
}

impl Answer {
    pub(crate) fn body(&self, format: Format) -> AnswerBody<'_> {
        AnswerBody {
            items: self.items.as_deref().map(|items| Items(items, format)),
            count: self.count,
            page: self.page.as_deref(),
            consumed_read_units: self.consumed_read_units,
            items_read: self.plan.is_some().then_some(self.items_read),
            plan: self.plan.as_ref(),
        }
    }
}

/// The answer to a request. If an index turns out to be missing, it is pending from then on, and the request is planned
/// again.
pub(crate) async fn query(
    context: &RequestContext<'_>,
    request: &QueryRequest,
    record: &mut Record,
) -> Result<Answer, Problem> {
    let mut planned = plan_request(context, request, record).await?;
    for _ in 0..planned.table.indexes.len() {
        match answered(context, request, record, planned).await {
            Err(problem) if problem.code == INDEX_PENDING => {}
            answer => return answer,
        }
        planned = plan_request(context, request, record).await?;
    }
    answered(context, request, record, planned).await
}

async fn answered(
    context: &RequestContext<'_>,
    request: &QueryRequest,
    record: &mut Record,
    PlannedRequest { table, plan }: PlannedRequest<'_>,
) -> Result<Answer, Problem> {
    let units_max = units_max(context, request)?;
    let binding = Binding::new(request, &identity(context.caller), &context.api.version);
    let tokens = PageTokens::new(&context.api.token_keys, binding, context.now);
    let from = tokens.open(request.page.as_deref()).await?;
    let answer = run(context, table, &plan, from.as_ref(), units_max).await?;
    record.consumed_read_units = answer.consumed_read_units;
    record.items_read = answer.items_read;
    record.items_returned = answer.items.len() as u64;
    record.requests = u64::from(answer.requests);
    let page = match &answer.next {
        Some(next) => Some(tokens.seal(next).await?),
        None => None,
    };
    Ok(Answer {
        page,
        items: (!request.count).then_some(answer.items),
        count: answer.count,
        consumed_read_units: answer.consumed_read_units,
        items_read: answer.items_read,
        plan: request.explain.then(|| explain::explain(&plan)),
    })
}

/// Runs a plan within the caller's budget.
async fn run(
    context: &RequestContext<'_>,
    table: &Table,
    plan: &QueryPlan,
    from: Option<&Position>,
    wanted: f64,
) -> Result<keyfold_dynamo::Answer, Problem> {
    let RequestContext { api, caller, now, .. } = context;
    let counted = match &api.budget {
        Some(budget) if !plan.accesses.is_empty() => {
            let overrun = cap_overrun(plan.consistent);
            let reserved = budget.reserve(&api.client, caller, wanted, overrun, *now).await?;
            reserved.map(|reserved| (budget, reserved))
        }
        _ => None,
    };
    let cap = counted.as_ref().map_or(wanted, |(_, reserved)| reserved.cap);
    let options = RunOptions { read_units_max: Some(cap), ..RunOptions::default() };
    let mut units = 0.0;
    let running = run_counting(&api.client, table, plan, from, &options, &mut units);
    let answer = context.in_time(running).await;
    if let Some((budget, reserved)) = &counted {
        // The answer hides the units of an item that the caller may not see, and so must the budget.
        let consumed = answer.as_ref().ok().and_then(|answer| answer.as_ref().ok());
        let consumed = consumed.map_or(units, |answer| answer.consumed_read_units);
        budget.correct(&api.client, reserved, consumed).await?;
    }
    let answer = answer?;
    if let Err(QueryError::Dynamo(error)) = &answer
        && let Some(index) = error.missing_index()
    {
        api.note_missing(table, index);
        return Err(Problem::index_pending(table, index));
    }
    match (answer, counted) {
        (Err(QueryError::Answer(AnswerError::ReadUnitsCap { .. })), Some((budget, _))) if cap < wanted => {
            Err(budget.exceeded(*now))
        }
        (answer, _) => Ok(answer?),
    }
}

/// The maximum read units of the request: its own limit, capped by the API's.
fn units_max(context: &RequestContext<'_>, request: &QueryRequest) -> Result<f64, Problem> {
    let most = context.api.limits.read_units_max;
    match request.read_units_max {
        None => Ok(most),
        Some(units) if units.is_finite() && units > 0.0 => Ok(units.min(most)),
        Some(_) => Err(Problem::malformed("`readUnitsMax` must be above 0")),
    }
}
