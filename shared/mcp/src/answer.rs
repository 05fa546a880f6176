//! One request: checked, planned, priced, and answered within the budget.

use keyfold_core::model::{Model, Prices, Table};
use keyfold_core::query::check::Caller;
use keyfold_core::query::explain::explain;
use keyfold_core::query::{QueryPlan, QueryRequest, check, plan};
use keyfold_dynamo::{Answer, Binding, Position, TokenKeys, cap_overrun};
use keyfold_edge::{Problem, plain_item};
use serde_json::{Value, json};

use crate::hidden::{HiddenAttributes, is_visible};
use crate::limits::{ITEMS_DEFAULT, Limits};
use crate::reader::Reader;
use crate::spending::{Reserved, Spending, SpendingError};

/// How long a page token is valid, in seconds.
const PAGE_TOKEN_SECONDS: u64 = 3600;
/// Maximum bytes of the parts of an answer besides its items.
const ENVELOPE_BYTES_MAX: usize = 8 * 1024;

/// What every request is checked against.
pub(crate) struct Asking<'s> {
    pub(crate) model: &'s Model,
    pub(crate) caller: &'s Caller,
    pub(crate) hidden: &'s HiddenAttributes,
    pub(crate) limits: &'s Limits,
    pub(crate) reader: &'s Reader,
    pub(crate) keys: &'s TokenKeys,
    /// The version of the manifest, and the caller, for page tokens.
    pub(crate) version: [u8; 32],
    pub(crate) identity: &'s str,
    pub(crate) now_seconds: u64,
}

/// A request that may be answered.
pub(crate) struct Planned<'s> {
    table: &'s Table,
    pub(crate) plan: QueryPlan,
}

/// Units and dollars.
pub(crate) fn price(prices: &Prices, units: f64) -> Value {
    json!({ "readUnits": units, "dollars": units * prices.read_million / 1e6 })
}

impl From<SpendingError> for Problem {
    fn from(error: SpendingError) -> Problem {
        let status = match error {
            SpendingError::File { .. } | SpendingError::Format(_) | SpendingError::NoRandom => 500,
            SpendingError::Session { .. } | SpendingError::Day { .. } | SpendingError::Reserved { .. } => 429,
        };
        Problem::new(status, error.code(), error.to_string()).hint(error.hint())
    }
}

impl<'s> Asking<'s> {
    /// The tables that the caller may ask: with a scope, those that are scoped.
    pub(crate) fn tables(&self) -> Vec<&'s Table> {
        let is_visible = |table: &&Table| *self.caller == Caller::Trusted || !table.scope.is_empty();
        self.model.tables.iter().filter(is_visible).collect()
    }

    /// The plan of a request, after every check that could refuse it. Nothing is read from its table.
    pub(crate) async fn plan(&self, request: &QueryRequest) -> Result<Planned<'s>, Problem> {
        let scan = request.scan && self.limits.allow_scans;
        let request = QueryRequest { scan, ..request.clone() };
        let asked = check(self.model, &request, &Caller::Trusted);
        self.hidden.check(&asked.map_err(|error| self.hidden.malformed(error))?)?;
        let checked = check(self.model, &request, self.caller)?;
        if !self.tables().iter().any(|table| table.id == checked.table.id) {
            let detail =
                format!("table `{}` has no scope, so this server does not answer from it", checked.table.id);
            return Err(Problem::new(403, "out-of-scope", detail));
        }
        let readiness = self.reader.readiness(self.model, checked.table).await?;
        let readiness = self.hidden.withhold(checked.table, &readiness);
        let planned = plan(&checked, &readiness);
        let mut plan =
            planned.map_err(|error| HiddenAttributes::unplanned(error, self.limits.allow_scans))?;
        let items_max = if request.limit.is_some() { u32::MAX } else { ITEMS_DEFAULT };
        plan.limit = plan.limit.min(items_max).min(self.limits.items_max);
        Ok(Planned { table: checked.table, plan })
    }

    /// The plan for the agent, without a word about hidden attributes.
    pub(crate) fn explained(&self, plan: &QueryPlan) -> Value {
        let mut plan = plan.clone();
        plan.rejected.retain(is_visible);
        let explanation = explain(&plan);
        let mut value = serde_json::to_value(explanation).unwrap_or_default();
        self.hidden.redact_all(&mut value);
        value
    }

    /// The cap of a request's units, before the budget: its own, capped by the server's.
    pub(crate) fn cap(&self, request: &QueryRequest) -> Result<f64, Problem> {
        let most = self.limits.call_units_max;
        match request.read_units_max {
            None => Ok(most),
            Some(units) if units.is_finite() && units > 0.0 => Ok(units.min(most)),
            Some(_) => Err(Problem::malformed("`readUnitsMax` must be above 0")),
        }
    }

    /// Refuses a plan whose price is above the cap.
    pub(crate) fn affordable(&self, plan: &QueryPlan, cap: f64) -> Result<(), Problem> {
        let units = plan.estimated_units;
        if units <= cap {
            return Ok(());
        }
        let detail = format!("this call is estimated at {units} read units, and at most {cap} are allowed");
        Err(Problem::new(429, "call-too-expensive", detail).hint(
            "ask for less: a smaller `limit`, or conditions that an index can answer; `explain` shows the price for free",
        ))
    }

    /// One page of an answer. All calls of a server share `spending`, so one runs at a time.
    pub(crate) async fn answer(
        &self,
        request: &QueryRequest,
        spending: &mut Spending,
    ) -> Result<Value, Problem> {
        let planned = self.plan(request).await?;
        let cap = self.cap(request)?;
        let binding = Binding::new(request, self.identity, &self.version);
        let from = match request.page.as_deref() {
            Some(token) => Some(self.keys.open(token, &binding, self.now_seconds)?),
            None => None,
        };
        let overrun = cap_overrun(planned.plan.consistent);
        let reserved = spending.reserve(self.limits, cap, overrun, self.now_seconds)?;
        let mut units = 0.0;
        let answer = match self.affordable(&planned.plan, reserved.cap) {
            Ok(()) => self.fitting(&planned, from.as_ref(), &reserved, &mut units).await,
            Err(problem) => Err(problem),
        };
        spending.settle(&reserved, units, self.now_seconds)?;
        let (answer, items) = match answer {
            Ok(answer) => answer,
            Err(mut problem) => {
                problem.members.insert("consumed".to_owned(), price(&self.model.prices, units));
                return Err(problem);
            }
        };
        let mut found = json!({
            "count": answer.count,
            "estimated": price(&self.model.prices, planned.plan.estimated_units),
            "consumed": price(&self.model.prices, units),
            "left": self.left(spending)?,
        });
        if !request.count {
            found["items"] = items;
        }
        if let Some(next) = &answer.next {
            let sealed = self.keys.seal(next, &binding, self.now_seconds, PAGE_TOKEN_SECONDS)?;
            found["page"] = json!(sealed);
        }
        if request.explain {
            found["plan"] = self.explained(&planned.plan);
        }
        Ok(found)
    }

    /// The units that are left of the session and of the day.
    pub(crate) fn left(&self, spending: &Spending) -> Result<Value, Problem> {
        let day = spending.day_units(self.now_seconds)?;
        let left = |most: f64, used: f64| (most - used).max(0.0);
        Ok(json!({
            "session": left(self.limits.session_units_max, spending.session_units()),
            "day": left(self.limits.day_units_max, day),
        }))
    }

    /// An answer within the bytes of an answer. A page that is too large is read again with fewer items: the position of
    /// the next page is that of the last returned item. `units`: what all reads consumed.
    async fn fitting(
        &self,
        planned: &Planned<'_>,
        from: Option<&Position>,
        reserved: &Reserved,
        units: &mut f64,
    ) -> Result<(Answer, Value), Problem> {
        let mut plan = planned.plan.clone();
        loop {
            let before = *units;
            let left = reserved.cap - before;
            if left <= 0.0 {
                return Err(self.too_large(&plan.table));
            }
            let read = self.reader.page(planned.table, &plan, from, left, units).await;
            let mut answer = match read {
                Ok(answer) => answer,
                Err(problem) => {
                    *units += before;
                    return Err(problem);
                }
            };
            // An answer hides the units of an item that the caller may not see, and so must the budget.
            *units = before + answer.consumed_read_units;
            answer.items.iter_mut().for_each(|item| self.hidden.strip(planned.table, item));
            let items: Vec<Value> = answer.items.iter().map(plain_item).collect();
            let fitting = self.fitting_items(&items);
            if fitting == items.len() {
                return Ok((answer, Value::Array(items)));
            }
            plan.limit = u32::try_from(fitting).unwrap_or_default();
            if plan.limit == 0 {
                return Err(self.too_large(&plan.table));
            }
        }
    }

    /// How many of the items fit into an answer.
    fn fitting_items(&self, items: &[Value]) -> usize {
        let most = self.limits.bytes_max.saturating_sub(ENVELOPE_BYTES_MAX);
        let mut bytes = 0;
        let ends = items.iter().map(|item| {
            bytes += item.to_string().len() + 1;
            bytes
        });
        ends.take_while(|end| *end <= most).count()
    }

    fn too_large(&self, table: &str) -> Problem {
        let detail = format!("an answer from table `{table}` has more than {} bytes", self.limits.bytes_max);
        Problem::new(413, "answer-too-large", detail).hint("name the attributes that you need in `select`")
    }
}
