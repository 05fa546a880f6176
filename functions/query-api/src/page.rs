//! Page tokens: opened before anything is read, sealed when there is more to come.

use keyfold_core::query::QueryRequest;
use keyfold_core::query::check::Caller;
use keyfold_dynamo::{Binding, Position};
use keyfold_edge::Problem;

use crate::Api;
use crate::caller::identity;
use crate::clock::now_seconds;
use crate::settings::PAGE_TOKEN_SECONDS;

/// What the tokens of one request are bound to.
pub(crate) struct Pages<'a> {
    api: &'a Api,
    binding: Binding,
    /// Seconds since 1970.
    now: u64,
}

impl<'a> Pages<'a> {
    pub(crate) fn of(api: &'a Api, caller: &Caller, request: &QueryRequest) -> Pages<'a> {
        Pages { api, binding: Binding::new(request, &identity(caller), &api.version), now: now_seconds() }
    }

    /// Where the request goes on, if it has a token. Every kind of bad token is one problem.
    pub(crate) async fn open(&self, request: &QueryRequest) -> Result<Option<Position>, Problem> {
        let Some(token) = &request.page else { return Ok(None) };
        let keys = self.api.token_keys.ring(Some(token)).await?;
        Ok(Some(keys.open(token, &self.binding, self.now)?))
    }

    /// The token with which the caller goes on.
    pub(crate) async fn seal(&self, next: &Position) -> Result<String, Problem> {
        let keys = self.api.token_keys.ring(None).await?;
        Ok(keys.seal(next, &self.binding, self.now, PAGE_TOKEN_SECONDS)?)
    }
}
