//! The way back, proven before anybody is stopped: the replicator is asked, by an item that is written once more, whether it follows the
//! stream of the table that opens, and may write the one that closes.

use std::time::{Duration, Instant};

use keyfold_core::retrofit::control::Direction;
use keyfold_core::retrofit::{Reverse, ReverseAnswer};
use serde_json::{Value, json};

use super::super::env::explained;
use super::state::{LOOK, Switch};
use crate::refusal::refuse;
use crate::support::now_seconds;

/// When it is asked again. A policy that was taken off a moment ago may have denied what was tried first.
const ASK_AGAIN: Duration = Duration::from_secs(15);

impl Switch<'_> {
    /// Waits until the replicator has shown that it can carry items the other way; refuses if it cannot.
    pub(super) async fn proven(&self) -> anyhow::Result<()> {
        if self.needs_no_proof() {
            return Ok(());
        }
        let begun = Instant::now();
        let (mut asked, mut has_item) = self.ask().await?;
        let (mut asked_at, mut last) = (Instant::now(), None);
        loop {
            let known = self.sender.reverse().await.map_err(explained)?;
            let answer =
                known.filter(|known| known.question == asked.question).and_then(|known| known.answer);
            if answer.as_ref().is_some_and(|answer| self.is_proof(answer)) {
                return Ok(());
            }
            last = answer.or(last);
            if begun.elapsed() >= Duration::from_secs(self.waits.proof) {
                return self.unproven(last.as_ref(), has_item);
            }
            if asked_at.elapsed() >= ASK_AGAIN {
                (asked, has_item) = self.ask().await?;
                asked_at = Instant::now();
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks; false if there is no item whose record could lead to an answer.
    async fn ask(&self) -> anyhow::Result<(Reverse, bool)> {
        let asked = self.sender.ask_reverse().await.map_err(explained)?;
        Ok((asked, self.sender.rewrite_one().await.map_err(explained)?))
    }

    fn is_proof(&self, answer: &ReverseAnswer) -> bool {
        answer.allowed && answer.stream == self.reverse_stream
    }

    fn unproven(&self, answer: Option<&ReverseAnswer>, has_item: bool) -> anyhow::Result<()> {
        let (closes, opens) = self.tables();
        let (retrofit, seconds) = (&self.head.retrofit, self.waits.proof);
        let found = match answer {
            Some(answer) if answer.stream != self.reverse_stream => {
                format!(
                    "the replicator follows stream `{}` of table `{opens}`, and the table has another one now",
                    answer.stream
                )
            }
            Some(_) => refuse!(
                "reverse-denied",
                "retrofit `{retrofit}` is not moved: nothing could be carried back from table `{opens}`, because the replicator may not put and \
                 delete items of table `{closes}`\n\
                 hint: give its role these rights (the stack's parameter `{}`), and see whether a policy on the table denies them; `--for-good` moves the writers without a way back",
                self.parameter()
            ),
            None if !has_item => {
                format!("table `{opens}` has no item of the retrofit that its stream could show")
            }
            None => format!(
                "in {seconds} s the replicator has not shown that it follows the stream of table `{opens}`"
            ),
        };
        refuse!(
            "reverse-unproven",
            "retrofit `{retrofit}` is not moved: nothing shows that changes of table `{opens}` would be carried back: {found}\n\
             hint: does the replicator's event source mapping of that stream exist (the stack's parameter `{}`), is it enabled, and not far behind? `--for-good` moves the writers \
             without a way back",
            self.parameter()
        )
    }

    /// The stack's parameter with which the replicator follows the table that opens.
    fn parameter(&self) -> &'static str {
        match self.way.lead {
            Direction::Forward => "FollowBack",
            Direction::Reverse => "FollowStream",
        }
    }

    /// Does nobody have to show anything?
    fn needs_no_proof(&self) -> bool {
        self.args.for_good
    }

    /// What was answered last, for `--check`: as a value, and as a line.
    pub(super) async fn last_answer(&self) -> anyhow::Result<(Value, String)> {
        if self.needs_no_proof() {
            return Ok((Value::Null, String::new()));
        }
        let known = self.sender.reverse().await.map_err(explained)?;
        let said = match known.as_ref().map(|known| &known.answer) {
            None => "never-asked",
            Some(None) => "no-answer",
            Some(Some(answer)) if self.is_proof(answer) => "proven",
            Some(Some(answer)) if answer.allowed => "other-stream",
            Some(Some(_)) => "denied",
        };
        let seconds = known.map(|known| now_seconds().saturating_sub(known.seconds));
        let ago = seconds.map_or_else(String::new, |seconds| format!(" {seconds} s ago"));
        let text = format!(
            "the way back: {said}{ago}; `{}` asks the replicator before it stops anybody\n",
            self.command()
        );
        Ok((json!({ "said": said, "secondsAgo": seconds }), text))
    }

    /// A stream that was replaced during the stop is none that the replicator was asked about.
    pub(super) fn check_reverse_stream(
        &self,
        (stream, back_stream): &(String, String),
    ) -> anyhow::Result<()> {
        let now = match self.way.lead {
            Direction::Forward => back_stream,
            Direction::Reverse => stream,
        };
        if *now == self.reverse_stream {
            return Ok(());
        }
        let (_, opens) = self.tables();
        refuse!(
            "stream-replaced",
            "the stream of table `{opens}` was replaced during the stop, and the way back would follow the former one\n\
             hint: run `{}`, which takes the switch back, then the command again",
            self.way.take_back(&self.head.retrofit)
        )
    }
}
