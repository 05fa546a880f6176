//! Rounds of reading, before the stop and in it.

use super::drain::{Round, RoundPurpose};
use super::{SwitchMachine, SwitchStage};
use crate::retrofit::operate::context::OperationContext;
use crate::retrofit::operate::effect::Reply;

impl SwitchMachine {
    pub(super) fn round(&mut self, purpose: RoundPurpose) -> SwitchStage {
        SwitchStage::Round(self.drain_mut().begin_round(purpose))
    }

    pub(super) fn round_answered(
        &mut self,
        context: &mut OperationContext,
        reply: Reply,
    ) -> Option<SwitchStage> {
        let SwitchStage::Round(round) = &mut self.stage else { unreachable!("the reply is for a round") };
        let Some(drain) = &mut self.drain else { unreachable!("the streams were opened") };
        match drain.take(context, round, reply) {
            Ok(()) => None,
            // By the other operator's row the table may be open: this round must decide nothing about it.
            Err(there) => Some(self.raced(context, there.as_deref())),
        }
    }

    /// Leaves steps of a round that ask for nothing.
    pub(super) fn round_on(&mut self, context: &OperationContext, mut round: Round) -> SwitchStage {
        let is_check = self.options.check;
        match self.drain_mut().advance(context, &mut round, is_check) {
            None => SwitchStage::Round(round),
            Some(end) if round.purpose == RoundPurpose::BeforeStop => self.read_on(context, &end),
            Some(end) => self.drained(context, round.purpose, &end),
        }
    }
}
