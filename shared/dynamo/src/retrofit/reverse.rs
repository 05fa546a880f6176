//! The replicator's answer to the operator's question whether items can be carried the other way.
//! `keyfold_core::retrofit::reverse` says what an answer shows.

use futures_util::FutureExt;
use keyfold_core::retrofit::{Reverse, ReverseAnswer, TableRole};

use super::clock::now_seconds;
use super::{RequestSender, RetrofitError};
use crate::policy::{Tried, may_write};

impl RequestSender {
    /// The question that was asked last, with its answer.
    pub async fn reverse(&self) -> Result<Option<Reverse>, RetrofitError> {
        let rows = self.read(TableRole::Control, vec![Reverse::key(self.job())]).await?;
        Ok(rows.first().and_then(Reverse::read))
    }

    /// Answers, if there is a question: may this client put and delete items of the table that items are carried from? The writes
    /// that are tried change nothing. `stream` is the caller's stream.
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
}
