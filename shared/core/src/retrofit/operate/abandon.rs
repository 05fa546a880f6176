//! Gives a retrofit up. Neither table is asked for anything: they may be gone.

use super::context::{OperationContext, raced};
use super::effect::Reply;
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Store, Stored};
use crate::retrofit::control::Phase;
use crate::retrofit::step::CompletedStep;

/// An abandoning at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AbandonMachine {
    Storing(Box<Store>),
    Refused(Box<Outcome>),
}

impl AbandonMachine {
    pub(super) fn new(context: &OperationContext) -> AbandonMachine {
        // Refused once the writers have moved: the target would be the live table, and nothing would carry its changes back.
        match context.head().to(Phase::Abandoned) {
            Ok(next) => AbandonMachine::Storing(Box::new(Store::of(context, next))),
            Err(error) => AbandonMachine::Refused(Box::new(context.control_error(&error))),
        }
    }
}

impl Part for AbandonMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        match self {
            AbandonMachine::Refused(outcome) => PartStep::Over((**outcome).clone()),
            AbandonMachine::Storing(store) => match store.next(context) {
                PartStep::Ask(effect) => PartStep::Ask(effect),
                // Another operator may have moved the writers to the target since: given up now, the source would be taken for complete.
                PartStep::Over(Stored::Raced(there)) => PartStep::Over(raced(context, there.as_deref())),
                PartStep::Over(Stored::Done) => {
                    let message = CompletedStep::Abandoned.message(context.head(), &context.mapping);
                    PartStep::Over(Outcome::new(End::Done, Phase::Abandoned.name(), message))
                }
            },
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        match self {
            AbandonMachine::Storing(store) => store.take(context, reply),
            AbandonMachine::Refused(outcome) => unreachable!("{reply:?} came after `{}`", outcome.code),
        }
    }
}
