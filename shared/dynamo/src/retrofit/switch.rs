//! What a switch of writers needs of the control table: seals, and the late changes that were noted.

use futures_util::stream::{self, TryStreamExt};
use keyfold_core::condition::Condition;
use keyfold_core::retrofit::late::LateChange;
use keyfold_core::retrofit::{Action, Generation, Guard, Request, Response, TableRole, Write, control, seal};

use super::{IN_FLIGHT_DEFAULT, RequestSender, RetrofitError};

impl RequestSender {
    /// Writes every seal of this generation: nothing of it can be written after that, wherever its requests are.
    pub async fn seal(&self, generation: Generation) -> Result<(), RetrofitError> {
        let name = self.job().mapping().name().to_owned();
        stream::iter(seal::seals(&name, generation).map(Ok))
            .try_for_each_concurrent(IN_FLIGHT_DEFAULT, |write| async move { self.note(write).await })
            .await
    }

    /// The changes that came to the closed table too late, in either direction.
    pub async fn late(&self) -> Result<Vec<LateChange>, RetrofitError> {
        let rows = self.rows(control::late_partition(self.job().mapping().name())).await?;
        Ok(rows.iter().filter_map(LateChange::read).collect())
    }

    /// Forgets a late change that somebody has dealt with; was it still there?
    pub async fn forget_late(&self, change: &LateChange) -> Result<bool, RetrofitError> {
        let write = Write {
            role: TableRole::Control,
            action: Action::Delete(change.row_key(self.job().mapping().name())),
            guard: Guard::Present(Condition::always()),
        };
        match self.send(&Request::Write(write)).await? {
            Response::Written => Ok(true),
            Response::Rejected(code) => {
                Err(RetrofitError::Refused { table: self.table(TableRole::Control).id.clone(), code })
            }
            _ => Ok(false),
        }
    }
}
