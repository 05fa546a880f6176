//! Removes the policies that deny writes to either table. This works without a row: the control table may be lost.

use super::context::{OperationContext, raced};
use super::effect::Reply;
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Store, Stored, advance};
use super::policies::{PolicySync, TABLES, model};
use crate::retrofit::control::RetrofitState;
use crate::retrofit::stop::PolicyChange;

/// A removal of policies at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LiftMachine {
    Removing(PolicySync),
    /// The row last: if it came first, a kill in between would leave policies that no other command knows of.
    Storing(Box<Store>),
    Over(Box<Outcome>),
}

impl LiftMachine {
    pub(super) fn new(context: &OperationContext) -> LiftMachine {
        match &context.head {
            Some(head) if head.phase.is_stop() => LiftMachine::Over(Box::new(in_stop(context, head))),
            // Also for a row without roles: a policy can be left over from a row that was lost or restored, and would deny writes for ever.
            _ => LiftMachine::Removing(PolicySync::removing(context)),
        }
    }

    /// A policy may still deny writes.
    pub(super) fn is_behind(&self) -> bool {
        matches!(self, LiftMachine::Removing(policies) if policies.is_behind())
    }

    fn next_stage(&mut self, context: &mut OperationContext, reply: Reply) -> Option<LiftMachine> {
        let (stored, was_removing) = match self {
            LiftMachine::Removing(policies) => (advance(policies, context, reply)?, true),
            LiftMachine::Storing(store) => (advance(store.as_mut(), context, reply)?, false),
            LiftMachine::Over(outcome) => unreachable!("{reply:?} came after `{}`", outcome.code),
        };
        let outcome = match (stored, &context.head) {
            (Stored::Done, Some(head)) if was_removing && !head.exempt.is_empty() => {
                return Some(LiftMachine::Storing(Box::new(Store::of(context, head.exempting(&[])))));
            }
            (Stored::Done, _) => removed(context),
            // Another operator may have started a stop meanwhile: its policies must stay.
            (Stored::Raced(there), _) => raced(context, there.as_deref()),
        };
        Some(LiftMachine::Over(Box::new(outcome)))
    }
}

impl Part for LiftMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        match self {
            LiftMachine::Removing(policies) => policies.next(context).pending(),
            LiftMachine::Storing(store) => store.next(context).pending(),
            LiftMachine::Over(outcome) => PartStep::Over((**outcome).clone()),
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        if let Some(next) = self.next_stage(context, reply) {
            *self = next;
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
        Some(PolicyChange { table: model(context, *role).name.clone(), policy: text.clone() })
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
