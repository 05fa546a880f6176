//! The policies of a retrofit's tables, as its row wants them, and whether they are in effect.

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use keyfold_core::model::Table;
use keyfold_core::retrofit::control::{Direction, RetrofitState};
use keyfold_core::retrofit::stop::{PolicyChange, same_policy};

use super::{RequestSender, RetrofitError};
use crate::policy::{Tried, may_write, policy};
use crate::table::description;

/// Writes that are tried at once, each over a separate connection as far as the client has them.
const PROBES: usize = 8;

impl RequestSender {
    /// The policies of both tables that this row wants, where they differ. Changes nothing.
    pub async fn policy_changes(&self, head: &RetrofitState) -> Result<Vec<PolicyChange>, RetrofitError> {
        let there = self.job().mapping().forward();
        let mut changes = Vec::new();
        for (side, table) in [(Direction::Forward, there.source()), (Direction::Reverse, there.target())] {
            let facts = self.with_retries(|| description(self.client(), table).boxed()).await?;
            let arn = facts.table_arn().unwrap_or_default();
            let before = self.with_retries(|| policy(self.client(), arn).boxed()).await?;
            let text = before.as_ref().map(|policy| policy.text.as_str());
            let wanted = head
                .policy(arn, head.write_access(side), text)
                .map_err(|source| RetrofitError::Policy { table: table.id.clone(), source })?;
            if !same_policy(text, wanted.as_deref()) {
                changes.push(PolicyChange { table: table.name.clone(), policy: wanted });
            }
        }
        Ok(changes)
    }

    /// Is every one of several writes denied that are tried at once? Their condition never holds, so none changes anything.
    pub async fn is_denied(&self, table: &Table) -> Result<bool, RetrofitError> {
        let tried =
            (0..PROBES).map(|_| self.with_retries(|| may_write(self.client(), table, Tried::Delete).boxed()));
        Ok(!try_join_all(tried).await?.contains(&true))
    }
}
