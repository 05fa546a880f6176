//! The late changes that were noted after a switch of writers.

use keyfold_core::retrofit::control;
use keyfold_core::retrofit::late::LateChange;

use super::{RequestSender, RetrofitError};

impl RequestSender {
    /// The changes that came to the closed table too late, in either direction.
    pub async fn late(&self) -> Result<Vec<LateChange>, RetrofitError> {
        let rows = self.rows(control::late_partition(self.job().mapping().name())).await?;
        Ok(rows.iter().filter_map(LateChange::read).collect())
    }
}
