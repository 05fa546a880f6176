//! Removes the policies that deny writes to either table. This works without a row: the control table may be lost.

use super::context::{OperationContext, raced};
use super::effect::Reply;
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Store, Stored, advance};
use super::policies::{PolicySync, TABLES, direction};
use crate::retrofit::control::RetrofitState;

/// A removal of policies at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LiftMachine {
    /// The row first: after a kill in between, the next command does not apply the policies again.
    Storing(Box<Store>),
    Removing(PolicySync),
    Over(Box<Outcome>),
}

impl LiftMachine {
    pub(super) fn new(context: &OperationContext) -> LiftMachine {
        match &context.head {
            Some(head) if head.phase.is_stop() => LiftMachine::Over(Box::new(in_stop(context, head))),
            Some(head) if !head.exempt.is_empty() => {
                LiftMachine::Storing(Box::new(Store::of(context, head.exempting(&[]))))
            }
            // Also for a row without roles: a policy can be left over from a row that was lost or restored, and would deny writes for ever.
            _ => LiftMachine::Removing(PolicySync::removing(context)),
        }
    }

    /// A policy may still deny writes.
    pub(super) fn is_behind(&self) -> bool {
        // Before the removal, policies are what the row says, even if they deny writes.
        matches!(self, LiftMachine::Removing(policies) if policies.is_behind())
    }
}

impl Part for LiftMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        match self {
            LiftMachine::Over(outcome) => PartStep::Over((**outcome).clone()),
            LiftMachine::Storing(store) => store.next(context).pending(),
            LiftMachine::Removing(policies) => match policies.next(context) {
                PartStep::Ask(effect) => PartStep::Ask(effect),
                PartStep::Over(Stored::Done) => PartStep::Over(removed(context)),
                // Another operator may have started a stop since the row was stored: its policies must stay.
                PartStep::Over(Stored::Raced(there)) => PartStep::Over(raced(context, there.as_deref())),
            },
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        match self {
            LiftMachine::Removing(policies) => policies.take(context, reply),
            LiftMachine::Storing(store) => match advance(store.as_mut(), context, reply) {
                None => {}
                Some(Stored::Done) => *self = LiftMachine::Removing(PolicySync::removing(context)),
                // Nothing is removed by a row that is no longer in force.
                Some(Stored::Raced(there)) => {
                    *self = LiftMachine::Over(Box::new(raced(context, there.as_deref())));
                }
            },
            LiftMachine::Over(outcome) => unreachable!("{reply:?} came after `{}`", outcome.code),
        }
    }
}

/// A resumed stop whose row names no roles takes its writers for stopped: those that a lift let in would write past the switch.
fn in_stop(context: &OperationContext, head: &RetrofitState) -> Outcome {
    let message = format!(
        "retrofit `{}` is in phase `{}`: its policies stay until the writers are moved or the stop is taken back",
        head.retrofit,
        head.phase.name()
    );
    let refused = context.control_error(&head.wrong_phase(head.phase));
    Outcome { message, ..refused }
}

fn removed(context: &OperationContext) -> Outcome {
    let mapping = &context.mapping;
    let changes = TABLES.iter().zip(&context.put_policies).filter_map(|(role, put)| {
        let (text, _) = put.as_ref()?;
        Some((direction(*role), text.clone()))
    });
    let policies: Vec<_> = changes.collect();
    let message = match policies.is_empty() {
        true => format!("retrofit `{}` denies no writes to either table", mapping.name()),
        false => format!("the policies of retrofit `{}` are removed", mapping.name()),
    };
    let (code, open_text) = match &context.head {
        Some(head) => (head.phase.name(), String::new()),
        None => (
            "no-row",
            format!(
                "the retrofit has no row: no policy of it denies writes to `{}` or `{}`",
                mapping.source().name,
                mapping.target().name
            ),
        ),
    };
    Outcome { policies, open_text, ..Outcome::new(End::Done, code, message) }
}
