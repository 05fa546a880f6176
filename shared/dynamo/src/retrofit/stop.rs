//! The policies of a retrofit's tables, as its row wants them, and whether they are in effect.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use keyfold_core::model::Table;
use keyfold_core::retrofit::control::{Direction, RetrofitState};
use keyfold_core::retrofit::stop::{PolicyError, lifted_policy, same_policy};

use super::{RequestSender, RetrofitError};
use crate::policy::{Tried, change_policy, may_write, policy};
use crate::table::description;

/// How long a change of a policy is tried: DynamoDB takes none for 15 seconds after another one.
const CHANGE_TIME_MAX: Duration = Duration::from_secs(60);
/// The pause between two attempts.
const CHANGE_PAUSE: Duration = Duration::from_millis(500);
/// Writes that are tried at once, each over a separate connection as far as the client has them.
const PROBES: usize = 8;

/// A table's new policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyChange {
    /// The table's name in DynamoDB.
    pub table: String,
    /// The policy afterwards; `None` for none.
    pub policy: Option<String>,
}

impl RequestSender {
    /// The policies of both tables that this row wants, where they differ. Changes nothing.
    pub async fn policy_changes(&self, head: &RetrofitState) -> Result<Vec<PolicyChange>, RetrofitError> {
        self.each_policy(false, by_row(head)).await
    }

    /// Opens both tables to all their former writers. This needs no row: the control table may be lost.
    pub async fn open_doors(&self) -> Result<Vec<PolicyChange>, RetrofitError> {
        let retrofit = self.job().mapping().name();
        self.each_policy(true, |_, _, policy| lifted_policy(retrofit, policy)).await
    }

    async fn each_policy(
        &self,
        change: bool,
        wanted: impl Fn(Direction, &str, Option<&str>) -> Result<Option<String>, PolicyError>,
    ) -> Result<Vec<PolicyChange>, RetrofitError> {
        let there = self.job().mapping().forward();
        let mut changes = Vec::new();
        for (side, table) in [(Direction::Forward, there.source()), (Direction::Reverse, there.target())] {
            changes.extend(self.one_policy(table, change, |arn, policy| wanted(side, arn, policy)).await?);
        }
        Ok(changes)
    }

    async fn one_policy(
        &self,
        table: &Table,
        change: bool,
        wanted: impl Fn(&str, Option<&str>) -> Result<Option<String>, PolicyError>,
    ) -> Result<Option<PolicyChange>, RetrofitError> {
        let unusable = |source| RetrofitError::Policy { table: table.id.clone(), source };
        let there = self.with_retries(|| description(self.client(), table).boxed()).await?;
        let arn = there.table_arn().unwrap_or_default();
        let started = Instant::now();
        loop {
            let before = self.with_retries(|| policy(self.client(), arn).boxed()).await?;
            let text = before.as_ref().map(|policy| policy.text.as_str());
            let wanted = wanted(arn, text).map_err(unusable)?;
            if same_policy(text, wanted.as_deref()) {
                return Ok(None);
            }
            let done = !change
                || self
                    .with_retries(|| {
                        change_policy(
                            self.client(),
                            arn,
                            before.as_ref().map(|policy| policy.revision.as_str()),
                            wanted.as_deref(),
                        )
                        .boxed()
                    })
                    .await?;
            if done {
                return Ok(Some(PolicyChange { table: table.name.clone(), policy: wanted }));
            }
            if started.elapsed() >= CHANGE_TIME_MAX {
                return Err(RetrofitError::PolicyBusy { table: table.id.clone() });
            }
            tokio::time::sleep(CHANGE_PAUSE).await;
        }
    }

    /// Is every one of several writes denied that are tried at once? Their condition never holds, so none changes anything.
    pub async fn is_denied(&self, table: &Table) -> Result<bool, RetrofitError> {
        let tried =
            (0..PROBES).map(|_| self.with_retries(|| may_write(self.client(), table, Tried::Delete).boxed()));
        Ok(!try_join_all(tried).await?.contains(&true))
    }
}

/// The policy of each table by the retrofit's row.
fn by_row(
    head: &RetrofitState,
) -> impl Fn(Direction, &str, Option<&str>) -> Result<Option<String>, PolicyError> + '_ {
    |side, arn, policy| head.policy(arn, head.door(side), policy)
}
