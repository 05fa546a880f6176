//! A stop that is taken back: its limit is over, somebody wrote meanwhile, or somebody says so.

use std::process::ExitCode;
use std::time::Duration;

use keyfold_core::retrofit::TableRole;
use keyfold_dynamo::retrofit::{Backlog, RequestSender, RetrofitState};

use super::super::env::explained;
use super::super::texts::report;
use super::state::{Switch, Way};
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::INTERRUPTED;

/// Why a stop was taken back.
pub(super) enum TakenBack {
    Interrupted,
    TooLong(Backlog),
    NotDenied,
    Moved(Backlog),
}

/// Ends a stop without a look at the streams: one of them may be gone.
pub(super) async fn take_back(
    sender: &RequestSender,
    head: &RetrofitState,
    way: &'static Way,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let next = before_the_stop(sender, head, way).await?;
    report(out, &next, &format!("the writers of table `{}` may go on", sender.table(TableRole::Source).name))
}

/// Everything is as it was before the stop, in the next generation. No generation ends unsealed: whoever still works in this one
/// could write after the next turn.
async fn before_the_stop(
    sender: &RequestSender,
    head: &RetrofitState,
    way: &Way,
) -> anyhow::Result<RetrofitState> {
    let Some(generation) = head.generation else { unreachable!("no stop begins without one") };
    sender.seal(generation).await.map_err(explained)?;
    let next = head.to(way.from).map_err(explained)?;
    sender.store(&next, Some(head)).await.map_err(explained)?;
    sender.enforce(&next).await.map_err(explained)?;
    Ok(next)
}

impl Switch<'_> {
    /// Takes the stop back, and says why.
    pub(super) async fn taken_back(mut self, why: TakenBack, paused: Duration) -> anyhow::Result<ExitCode> {
        self.head = before_the_stop(&self.sender, &self.head, self.way).await?;
        let (closes, _) = self.tables();
        let again = format!(
            "nothing was switched: the writers of table `{closes}` may go on (after {:.1} s); run the command again when you like",
            paused.as_secs_f64()
        );
        match why {
            TakenBack::Interrupted => {
                self.out.note(format!("interrupted; {again}\n"));
                Ok(ExitCode::from(INTERRUPTED))
            }
            TakenBack::NotDenied => refuse!(
                "writers-not-denied",
                "the limit of {} s is over, and writes to table `{closes}` still went through although its policy denies them\n{again}\n\
                 hint: DynamoDB applies policies after a while: try again with a larger --stop-max; did somebody write over the policy?",
                self.args.stop_max
            ),
            TakenBack::TooLong(backlog) => refuse!(
                "stop-too-long",
                "the limit of {} s is over, and {}\n{again}\nhint: a replicator that is behind, or writers that go on? see \
                 `{} --check`",
                self.args.stop_max,
                match backlog.is_empty() {
                    true => "records kept coming".to_owned(),
                    false => self.arrived(&backlog),
                },
                self.command()
            ),
            TakenBack::Moved(backlog) => refuse!(
                "written-while-stopped",
                "something was written while nobody should write, or went into quarantine: {}\n{again}\nhint: somebody still \
                 writes to table `{closes}`? see `keyfold retrofit quarantine {}` too",
                self.arrived(&backlog),
                self.head.retrofit
            ),
        }
    }
}
