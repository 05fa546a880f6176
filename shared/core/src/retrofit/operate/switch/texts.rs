//! The messages of a switch: its progress, its outcomes, and the next command.

use super::{AfterPolicies, AfterStore, GiveBackReason, SwitchMachine, SwitchStage, Writers};
use crate::retrofit::control::Phase;
use crate::retrofit::gates::Gate;
use crate::retrofit::operate::arrivals::Arrivals;
use crate::retrofit::operate::comparison::Compared;
use crate::retrofit::operate::context::{OperationContext, failure_outcome};
use crate::retrofit::operate::effect::{Failure, TablePolicy};
use crate::retrofit::operate::outcome::{BacklogReport, End, Outcome};
use crate::retrofit::operate::policies::{TABLES, model, policy_unusable, wanted};
use crate::retrofit::request::TableRole;
use crate::retrofit::stop::PolicyChange;

const WRITERS_NOT_STOPPED: &str = "writers-not-stopped";

impl SwitchMachine {
    pub(in crate::retrofit::operate) fn status(&self, context: &OperationContext) -> String {
        let (closes, opens) = self.table_names(context);
        // Attested writers stand still from the start of the command: the pause is shown next to this text.
        let go_on = if self.stopped_since_ms.is_some() { "" } else { "; writers may go on" };
        match &self.stage {
            SwitchStage::Tidying(tidying) => tidying.status(context),
            SwitchStage::Comparing(passes) => format!("comparing both sides: {}", passes.status()),
            SwitchStage::Proof(_) => {
                format!("checking that the replicator would carry changes back{go_on}")
            }
            _ if self.is_giving_back() => {
                format!("taking the stop back: the writers of table `{closes}` will go on")
            }
            SwitchStage::Storing { then: AfterStore::Turn | AfterStore::InPlace, .. }
            | SwitchStage::Enforcing { then: AfterPolicies::Turned | AfterPolicies::End(_), .. }
            | SwitchStage::Over(_) => format!("opening table `{opens}`"),
            SwitchStage::Round(_) | SwitchStage::Carrying { .. } | SwitchStage::Waiting { .. }
                if !self.is_in_stop(context) =>
            {
                format!("reading what the streams have{go_on}")
            }
            _ if !self.is_in_stop(context) => {
                format!("checking what must hold before the stop{go_on}")
            }
            _ => format!(
                "the writers of table `{closes}` are stopped, {} s at most",
                context.limits.stop_max_ms / 1_000
            ),
        }
    }

    /// The command that goes on after an outcome of this one. The phase alone does not say which way the writers were to move.
    pub(in crate::retrofit::operate) fn next_command(
        &self,
        context: &OperationContext,
        outcome: &Outcome,
    ) -> Option<String> {
        // The row's phase names the next command here. This command again would be refused, or do nothing.
        if matches!(outcome.end, End::Done | End::Already) || outcome.code == "wrong-phase" {
            return None;
        }
        let retrofit = context.mapping.name();
        // The same `switch` would be refused again.
        if let Some(words) = context.head().opening(&outcome.gates).filter(|_| !self.options.back) {
            return Some(context.head().command(words));
        }
        let for_good = if self.options.for_good { " --for-good" } else { "" };
        // The way back from a stop is the other direction of the command.
        let takes_back = self.is_in_stop(context) && outcome.code == "no-way-back";
        let back = if takes_back { " --back" } else { "" };
        // Without it, the same command would be refused again.
        let writers = if outcome.code == WRITERS_NOT_STOPPED { " --writers HOW" } else { "" };
        Some(format!("keyfold retrofit {} {retrofit}{for_good}{back}{writers}", self.command()))
    }

    pub(super) fn already(&self, context: &OperationContext) -> Outcome {
        let ((_, opens), phase) = (self.table_names(context), context.head().phase.name());
        let message = format!("the writers use table `{opens}` already (phase `{phase}`): nothing was moved");
        Outcome::new(End::Already, phase, message)
    }

    pub(super) fn closed_gates(&self, context: &OperationContext) -> Outcome {
        let retrofit = context.mapping.name();
        let message =
            format!("retrofit `{retrofit}` cannot {}: {}", self.command(), listed(&self.gates, "; "));
        let outcome = Outcome { gates: self.gates.clone(), ..Outcome::refused("gates-closed", message) };
        let quarantined = self.gates.iter().any(|gate| matches!(gate, Gate::Quarantine { .. }));
        match quarantined {
            true => outcome.hinted(format!(
                "`keyfold retrofit quarantine {retrofit}` lists them: correct an item so that it fits, then run the command again; or accept \
                 that it stays out"
            )),
            false => outcome,
        }
    }

    pub(super) fn stop_first(&self, context: &OperationContext) -> Outcome {
        let (closes, opens) = self.table_names(context);
        let message =
            format!("the writers of table `{closes}` have to be stopped until this command has ended");
        Outcome::refused(WRITERS_NOT_STOPPED, message).hinted(format!(
            "with `--writers policy`, a policy on the table denies their writes; or stop them yourself and use `--writers attested`, then start \
             the writers of table `{opens}`"
        ))
    }

    pub(super) fn stream_replaced(&self, context: &OperationContext, role: TableRole) -> Outcome {
        let (retrofit, table) = (context.mapping.name(), &model(context, role).name);
        let message = format!(
            "the stream of table `{table}` was switched off or replaced since retrofit `{retrofit}` began to follow it: what came to the \
             table meanwhile is not known"
        );
        let hint = match (self.options.back, role) {
            (true, _) => format!(
                "the writers stay where they are; `keyfold retrofit finish {retrofit}` ends the way back"
            ),
            (false, TableRole::Target) => {
                format!("switch the stream of table `{table}` on, with both images (NEW_AND_OLD_IMAGES)")
            }
            (false, _) => {
                format!("`keyfold retrofit run {retrofit}` begins with the new stream and backfills again")
            }
        };
        Outcome::refused("stream-replaced", message).hinted(hint)
    }

    pub(super) fn stream_too_long(&self, context: &OperationContext) -> Outcome {
        let (closes, _) = self.table_names(context);
        let seconds = context.limits.read_max_ms / 1_000;
        let message = format!(
            "the stream of table `{closes}` could not be read to its newest record within {seconds} s"
        );
        Outcome::refused("stream-too-long", message).hinted("run the command again at a quieter time")
    }

    pub(super) fn too_far_behind(&self, context: &OperationContext) -> Outcome {
        let (closes, opens) = self.table_names(context);
        let message = format!(
            "the replicator is too far behind for a stop: more items of table `{closes}` than can be waited for have not arrived in table \
             `{opens}`"
        );
        Outcome::refused("too-far-behind", message)
            .hinted("wait until `keyfold retrofit status` shows a lag of seconds")
    }

    pub(super) fn too_late_to_stop(&self, context: &OperationContext) -> Outcome {
        let paused = self.paused_ms(context).unwrap_or(0) / 1_000;
        let (closes, _) = self.table_names(context);
        let message = format!(
            "the limit of the pause was over before the stop began: it took {paused} s to read the streams and to check what could block the switch"
        );
        Outcome::refused("stop-too-long", message).hinted(format!(
            "the writers of table `{closes}` may go on. Run the command again, with a larger --stop-max if reading alone takes that long: \
             what was tidied and compared need not be done again. Or use `--writers policy`, which stops them only after all this"
        ))
    }

    pub(super) fn given_back(&self, context: &OperationContext) -> Outcome {
        let backlog = self.drain.as_ref().map(|drain| drain.arrivals.report());
        // Who asked for it has what was asked for.
        let is_asked = matches!(self.reason, None | Some(GiveBackReason::Asked));
        let end = if is_asked { End::Done } else { End::TakenBack };
        Outcome { end, backlog, paused_ms: self.paused_ms(context), ..self.reason_outcome(context) }
    }

    fn reason_outcome(&self, context: &OperationContext) -> Outcome {
        let (closes, opens) = self.table_names(context);
        let retrofit = context.mapping.name();
        let pending =
            self.drain.as_ref().map_or(String::new(), |drain| pending(&drain.arrivals, closes, opens));
        let limit = self.limit_over(context);
        let outcome = |code: &str, message: String| Outcome::new(End::TakenBack, code, message);
        match &self.reason {
            None | Some(GiveBackReason::Asked) => {
                let phase = context.head().phase.name();
                outcome(phase, format!("the stop of retrofit `{retrofit}` is taken back"))
            }
            Some(GiveBackReason::Interrupted) => {
                outcome("interrupted", "interrupted; nothing was switched".to_owned())
            }
            Some(GiveBackReason::NotDenied) => outcome(
                "writers-not-denied",
                format!("{limit}writes to table `{closes}` went through although its policy denies them"),
            )
            .hinted(
                "DynamoDB applies a policy after some seconds: try again with a larger --stop-max, and see whether another program replaced the policy",
            ),
            Some(GiveBackReason::TooLong) => {
                outcome("stop-too-long", format!("{limit}{pending}")).hinted(match self.to {
                    Phase::Settled => "a switch for good compares both tables while the writers are stopped: a large table needs a larger \
                                       --stop-max"
                        .to_owned(),
                    _ => format!(
                        "is the replicator behind, or do writers go on? See `keyfold retrofit status {retrofit}`"
                    ),
                })
            }
            Some(GiveBackReason::TooFarBehind) => self.too_far_behind(context),
            Some(GiveBackReason::Moved(gates)) => {
                let gates = gates.iter().map(|gate| format!("; {gate}")).collect::<String>();
                outcome(
                    "written-while-stopped",
                    format!(
                        "something was written while the writers were stopped, or went into quarantine: {pending}{gates}"
                    ),
                )
                .hinted(format!(
                    "does a program still write to table `{closes}`? See `keyfold retrofit quarantine {retrofit}` too"
                ))
            }
            Some(GiveBackReason::Differs(compared)) => differing(compared, closes, opens),
            Some(GiveBackReason::StreamReplaced(role)) => self.stream_replaced(context, *role),
            Some(GiveBackReason::Failed(failure)) => failed_in_stop(failure, &limit),
        }
    }

    /// Words for a limit that is over, before what follows from it.
    fn limit_over(&self, context: &OperationContext) -> String {
        match self.is_late(context) || self.reason == Some(GiveBackReason::TooLong) {
            true => format!("the limit of {} s is over, and ", context.limits.stop_max_ms / 1_000),
            false => String::new(),
        }
    }

    pub(super) fn turned(&self, context: &OperationContext) -> Outcome {
        let (closes, opens) = self.table_names(context);
        let report = self.drain.as_ref().map(|drain| drain.arrivals.report());
        let items = report.as_ref().map_or(0, |report| report.items);
        let paused = self.paused_ms(context).unwrap_or(0);
        let message = format!(
            "the writers of retrofit `{}` may use table `{opens}` now: all {items} items that the stream of table `{closes}` names have arrived; \
             the pause took {}.{} s",
            context.mapping.name(),
            paused / 1_000,
            paused % 1_000 / 100
        );
        let outcome = Outcome::new(End::Done, context.head().phase.name(), message);
        Outcome { backlog: report, paused_ms: Some(paused), ..outcome }
    }

    pub(super) fn checked(&self, context: &OperationContext, read: &[Option<TablePolicy>]) -> Outcome {
        let (closes, opens) = self.table_names(context);
        let arrivals = &self.drain().arrivals;
        let mut policies = Vec::new();
        // By the row that the stop would store: the present one puts no policy on a table that is open.
        if let (Some(Writers::Policy(_)), Ok(stop)) = (&self.options.writers, self.stop_row(context)) {
            for (role, there) in TABLES.iter().zip(read) {
                match wanted(context, &stop, *role, there.as_ref()) {
                    Ok(Some(policy)) => {
                        policies.push(PolicyChange { table: model(context, *role).name.clone(), policy });
                    }
                    Ok(None) => {}
                    Err(error) => return policy_unusable(context, *role, &error),
                }
            }
        }
        let message = format!(
            "retrofit `{}` can {}: nothing blocks it; {}",
            context.mapping.name(),
            self.command(),
            pending(arrivals, closes, opens)
        );
        let outcome = Outcome::new(End::Checked, context.head().phase.name(), message);
        Outcome { backlog: Some(arrivals.report()), policies, ..outcome }
    }
}

fn listed(all: &[impl ToString], between: &str) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

fn differing(compared: &Compared, closes: &str, opens: &str) -> Outcome {
    let message = format!(
        "{} of {} items are not the same in tables `{closes}` and `{opens}` although the streams were idle ({})",
        compared.differing,
        compared.items,
        listed(&compared.first, ", ")
    );
    Outcome::new(End::TakenBack, "differences", message)
        .hinted("their records may have been published late: run the command again")
}

fn failed_in_stop(failure: &Failure, limit: &str) -> Outcome {
    let failed = failure_outcome(failure);
    Outcome { message: format!("{limit}{}", failed.message), ..failed }
}

/// The backlog in words.
fn pending(arrivals: &Arrivals, closes: &str, opens: &str) -> String {
    let report: BacklogReport = arrivals.report();
    let pending = [
        (report.waiting, format!("have not arrived in table `{opens}`")),
        (report.differing, format!("are not the same in table `{opens}`")),
        (report.unseen, format!("were not seen yet in the stream of table `{opens}`")),
    ];
    let pending: Vec<String> = pending
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let named = format!("of {} items that the stream of table `{closes}` names", report.items);
    if pending.is_empty() {
        return format!("{named}, all have arrived in table `{opens}`");
    }
    format!("{named}, {} ({})", pending.join(", "), listed(&report.first, ", "))
}
