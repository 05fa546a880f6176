//! A request is checked, planned and answered. The order matters: nothing is read before everything that could refuse the
//! request has had its say.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use keyfold_core::model::Table;
use keyfold_core::query::check::Caller;
use keyfold_core::query::explain::{self, Explanation};
use keyfold_core::query::{PlanError, QueryPlan, QueryRequest, check, plan};
use keyfold_dynamo::{AnswerError, Position, QueryError, RunOptions};
use keyfold_edge::{Auth, Problem};

use crate::answer::Answer;
use crate::budget::Budget;
use crate::caller;
use crate::page::Pages;
use crate::settings::ANSWER_TIME_MAX;
use crate::{Api, Record, problem};

/// What is left of an invocation to say that the time was too short.
const DEADLINE_MARGIN: Duration = Duration::from_millis(500);

/// Who asks whom, and until when.
pub(crate) struct Asker<'a> {
    pub(crate) api: &'a Api,
    pub(crate) caller: &'a Caller,
    /// When the invocation ends, if it does.
    pub(crate) deadline: Option<SystemTime>,
}

impl Asker<'_> {
    /// Does the API answer this caller at all? A table's scope is another matter.
    pub(crate) fn may_ask(&self) -> bool {
        self.api.limits.auth == Auth::Open || caller::is_known(self.caller)
    }
}

/// A request that will be answered.
struct Planned<'m> {
    table: &'m Table,
    plan: QueryPlan,
}

/// The plan of a request. Of the table, nothing is read.
pub(crate) async fn explain(
    asker: &Asker<'_>,
    request: &QueryRequest,
    record: &mut Record,
) -> Result<Explanation, Problem> {
    Ok(explain::explain(&prepare(asker, request, record).await?.plan))
}

/// The answer to a request.
pub(crate) async fn query(
    asker: &Asker<'_>,
    request: &QueryRequest,
    record: &mut Record,
) -> Result<Answer, Problem> {
    let options = run_options(asker, request)?;
    let Planned { table, plan } = prepare(asker, request, record).await?;
    let pages = Pages::of(asker.api, asker.caller, request);
    let from = pages.open(request).await?;
    let answer = run(asker, table, &plan, from.as_ref(), &options).await?;
    record.consumed_read_units = answer.consumed_read_units;
    record.items_read = answer.items_read;
    record.items_returned = answer.items.len() as u64;
    record.requests = u64::from(answer.requests);
    let page = match &answer.next {
        Some(next) => Some(pages.seal(next).await?),
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

/// Carries out a plan within the caller's budget. What a run consumed that fails is not known: it counts with all it could.
async fn run(
    asker: &Asker<'_>,
    table: &Table,
    plan: &QueryPlan,
    from: Option<&Position>,
    options: &RunOptions,
) -> Result<keyfold_dynamo::Answer, Problem> {
    let Asker { api, caller, .. } = asker;
    let wanted = options.read_units_max.unwrap_or(api.limits.read_units_max);
    let reserved = match &api.budget {
        Some(budget) if !plan.accesses.is_empty() => budget.reserve(&api.client, caller, wanted).await?,
        _ => None,
    };
    let units = reserved.as_ref().map_or(wanted, |reserved| reserved.units);
    let options = RunOptions { read_units_max: Some(units), ..options.clone() };
    let run = keyfold_dynamo::run(&api.client, table, plan, from, &options);
    // Dropped when its time is over, the run reads no further.
    let answer =
        tokio::time::timeout(time_left(asker.deadline), run).await.map_err(|_| problem::timed_out())?;
    let is_short =
        units < wanted && matches!(&answer, Err(QueryError::Answer(AnswerError::ReadUnitsCap { .. })));
    if let Some(problem) = api.budget.as_ref().filter(|_| is_short).and_then(Budget::exceeded) {
        return Err(problem);
    }
    let answer = answer?;
    if let Some(budget) = &api.budget {
        budget.settle(&api.client, reserved, answer.consumed_read_units).await?;
    }
    Ok(answer)
}

async fn prepare<'a>(
    asker: &Asker<'a>,
    request: &QueryRequest,
    record: &mut Record,
) -> Result<Planned<'a>, Problem> {
    let Asker { api, caller, .. } = asker;
    let request = match request.scan && !api.limits.allow_scan {
        true => Cow::Owned(QueryRequest { scan: false, ..request.clone() }),
        false => Cow::Borrowed(request),
    };
    record.table = api.model.table(&request.table).map(|table| table.id.clone());
    // A table with a scope refuses a caller without its claims, whatever the settings say.
    let checked = check(&api.model, &request, caller)?;
    if checked.table.scope.is_empty() && !asker.may_ask() {
        return Err(Problem::not_authenticated());
    }
    api.may_read(caller)?;
    if let Some(budget) = &api.budget {
        budget.count(&api.client, caller).await?;
    }
    let readiness = tokio::time::timeout(time_left(asker.deadline), api.readiness(checked.table));
    let readiness = readiness.await.map_err(|_| problem::timed_out())??;
    let plan = plan(&checked, &readiness).map_err(|error| refused(error, api.limits.allow_scan))?;
    let mut sources: Vec<String> = Vec::new();
    for access in &plan.accesses {
        let source = access.source.index().map_or_else(|| "table".to_owned(), |name| format!("index {name}"));
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    (record.sources, record.reads) = (sources, plan.accesses.len());
    Ok(Planned { table: checked.table, plan })
}

/// Core's hint, but without the scan where that is not to be had.
fn refused(error: PlanError, allow_scan: bool) -> Problem {
    if allow_scan || matches!(error, PlanError::Unordered { .. } | PlanError::Unscoped { .. }) {
        return error.into();
    }
    let ways = error.hint_without_scan();
    let ways = if ways.is_empty() { "ask for an attribute of a partition key by equality" } else { &ways };
    let hint = format!("this API does not scan: {ways}");
    Problem::from(error).hint(hint)
}

fn run_options(asker: &Asker<'_>, request: &QueryRequest) -> Result<RunOptions, Problem> {
    let most = asker.api.limits.read_units_max;
    let units = match request.read_units_max {
        None => most,
        Some(units) if units.is_finite() && units > 0.0 => units.min(most),
        Some(_) => return Err(Problem::malformed("`readUnitsMax` must be above 0")),
    };
    Ok(RunOptions { read_units_max: Some(units), ..RunOptions::default() })
}

pub(crate) fn time_left(deadline: Option<SystemTime>) -> Duration {
    let Some(deadline) = deadline else { return ANSWER_TIME_MAX };
    let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
    left.saturating_sub(DEADLINE_MARGIN).min(ANSWER_TIME_MAX)
}
