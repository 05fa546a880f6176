//! Whether items can be carried the other way: the operator's question, the replicator's answer, and the item whose record leads
//! the one to the other. `keyfold_core::retrofit::reverse` says what an answer shows.

use futures_util::FutureExt;
use keyfold_core::retrofit::{Reverse, ReverseAnswer, TableRole, TaskResult};

use super::control::unique;
use super::worker_lease::now_seconds;
use super::{RequestSender, RetrofitError};
use crate::policy::{Tried, may_write};
use crate::{PageRequest, ScanPage, scan_page};

/// How many items are looked at for one that can be written once more.
const ITEMS_MAX: u32 = 100;

impl RequestSender {
    /// The question that was asked last, with its answer.
    pub async fn reverse(&self) -> Result<Option<Reverse>, RetrofitError> {
        let rows = self.read(TableRole::Control, vec![Reverse::key(self.job())]).await?;
        Ok(rows.first().and_then(Reverse::read))
    }

    /// Asks whether items can be carried the other way.
    pub async fn ask_reverse(&self) -> Result<Reverse, RetrofitError> {
        let asked = Reverse::asked(unique(), now_seconds());
        self.note(asked.store(self.job())).await?;
        Ok(asked)
    }

    /// Answers, if there is a question: may this client put and delete items of the table that items are carried from? The writes
    /// that are tried change nothing. `stream` is the one that the caller follows.
    pub async fn answer_reverse(&self, stream: &str) -> Result<(), RetrofitError> {
        let Some(asked) = self.reverse().await?.filter(|asked| asked.is_open_for(stream)) else {
            return Ok(());
        };
        let table = self.table(TableRole::Source);
        let mut allowed = true;
        for tried in [Tried::Put, Tried::Delete] {
            allowed &= self.with_retries(|| may_write(self.client(), table, tried).boxed()).await?;
        }
        let answer = ReverseAnswer { stream: stream.to_owned(), allowed };
        self.note(asked.answered(answer, now_seconds()).store(self.job())).await
    }

    /// Writes one item of the target once more, so that the target's stream shows something. False if there is none that the
    /// retrofit has written.
    pub async fn rewrite_one(&self) -> Result<bool, RetrofitError> {
        let page = PageRequest {
            table: self.table(TableRole::Target).name.clone(),
            limit: Some(ITEMS_MAX),
            consistent: true,
            ..PageRequest::default()
        };
        let scan = ScanPage { page, segment: None };
        let page = self.with_retries(|| scan_page(self.client(), &scan).boxed()).await?;
        self.has_read(&page.consumed);
        for item in &page.items {
            let Some(mut task) = self.job().rewrite(item) else { continue };
            if self.carry(&mut task).await? == TaskResult::Written {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
