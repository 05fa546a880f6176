//! The late changes that were noted after a switch of writers.

use keyfold_core::condition::Condition;
use keyfold_core::retrofit::late::LateChange;
use keyfold_core::retrofit::{Action, Guard, Request, Response, TableRole, Write, control};

use super::{RequestSender, RetrofitError};

impl RequestSender {
    /// The changes that came to the closed table too late, in either direction.
    pub async fn late(&self) -> Result<Vec<LateChange>, RetrofitError> {
        let rows = self.rows(control::late_partition(self.job().mapping().name())).await?;
        Ok(rows.iter().filter_map(LateChange::read).collect())
    }

    /// Deletes the note of a handled late change; was it still there?
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
