//! The requests of one caller in a minute, and its read units in a day. Unlimited by default.

use std::num::NonZeroU32;

use keyfold_core::query::check::{Caller, RequestError};
use keyfold_dynamo::{BudgetError, CallerBudget, Client, ReservedUnits};
use keyfold_edge::Problem;

use crate::caller::identity;

/// The budget of each caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The limits.
    pub of_caller: CallerBudget,
    /// The claim that identifies a caller; if absent, the principal.
    pub claim: Option<String>,
}

impl Budget {
    /// Counts a request, or refuses it. `now`: seconds since 1970.
    pub(crate) async fn count(&self, client: &Client, caller: &Caller, now: u64) -> Result<(), Problem> {
        let Some(caller) = self.caller(caller)? else { return Ok(()) };
        self.of_caller.count(client, &caller, now).await.map_err(refused)
    }

    /// Reserves the maximum units of a request: its cap, and the amount by which it can exceed the cap. `None`: units
    /// are not counted.
    pub(crate) async fn reserve(
        &self,
        client: &Client,
        caller: &Caller,
        wanted: f64,
        overrun: f64,
        now: u64,
    ) -> Result<Option<ReservedUnits>, Problem> {
        let Some(caller) = self.caller(caller)? else { return Ok(None) };
        self.of_caller.reserve(client, &caller, wanted, overrun, now).await.map_err(refused)
    }

    /// Replaces a reservation by the consumption.
    pub(crate) async fn correct(
        &self,
        client: &Client,
        reserved: &ReservedUnits,
        consumed: f64,
    ) -> Result<(), Problem> {
        self.of_caller.correct(client, reserved, consumed).await.map_err(refused)
    }

    /// The refusal of a request that needs more than is left of the day's units.
    pub(crate) fn exceeded(&self, now: u64) -> Problem {
        refused(self.of_caller.units_exceeded(now))
    }

    /// The caller whose budget a request uses. A trusted caller has no budget.
    fn caller(&self, caller: &Caller) -> Result<Option<String>, Problem> {
        let Caller::Claims(claims) = caller else { return Ok(None) };
        let Some(path) = &self.claim else {
            return Ok(Some(keyfold_edge::principal(claims).map_or_else(|| identity(caller), str::to_owned)));
        };
        match claims.get(path) {
            Some(value) => Ok(Some(value.clone())),
            None => Err(RequestError::ClaimMissing { claim: path.clone() }.into()),
        }
    }
}

fn refused(error: BudgetError) -> Problem {
    let (code, detail) = (error.code(), error.to_string());
    match error {
        BudgetError::Dynamo(error) => error.into(),
        BudgetError::NoRandom => Problem::new(500, code, detail),
        BudgetError::Reserved { .. } => Problem {
            again: true,
            ..Problem::new(429, code, detail).hint("repeat the request when the others are answered")
        },
        BudgetError::Requests { retry_after_seconds: seconds, .. }
        | BudgetError::Units { retry_after_seconds: seconds, .. } => {
            let retry_after_seconds = u32::try_from(seconds).ok().and_then(NonZeroU32::new);
            Problem { again: true, retry_after_seconds, ..Problem::new(429, code, detail) }
        }
    }
}
