//! Gives a retrofit up. Neither table is asked for anything: they may be gone.

use super::effect::Reply;
use super::known::{Known, raced};
use super::outcome::{End, Outcome};
use super::parts::{Part, Store, Stored, Turn};
use crate::retrofit::control::Phase;
use crate::retrofit::step::CompletedStep;

/// An abandoning at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Abandoning {
    Storing(Store),
    Refused(Box<Outcome>),
}

impl Abandoning {
    pub(super) fn new(known: &Known) -> Abandoning {
        match known.head().to(Phase::Abandoned) {
            Ok(next) => Abandoning::Storing(Store::of(known, next)),
            Err(error) => Abandoning::Refused(Box::new(known.control_error(&error))),
        }
    }

    pub(super) fn next(&self, known: &Known) -> Turn<Outcome> {
        match self {
            Abandoning::Refused(outcome) => Turn::Over((**outcome).clone()),
            Abandoning::Storing(store) => match store.next(known) {
                Turn::Ask(effect) => Turn::Ask(effect),
                Turn::Over(Stored::Raced(there)) => Turn::Over(raced(known, there.as_ref())),
                Turn::Over(Stored::Done) => {
                    let message = CompletedStep::Abandoned.message(known.head(), &known.mapping);
                    Turn::Over(Outcome::new(End::Done, Phase::Abandoned.name(), message))
                }
            },
        }
    }

    pub(super) fn take(&mut self, known: &mut Known, reply: Reply) {
        match self {
            Abandoning::Storing(store) => store.take(known, reply),
            Abandoning::Refused(outcome) => unreachable!("{reply:?} came after `{}`", outcome.code),
        }
    }
}
