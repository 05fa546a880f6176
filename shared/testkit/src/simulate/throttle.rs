//! What DynamoDB throttles, by its reason, and for how long.

use keyfold_core::retrofit::{Request, TableRole};

use super::fault::Fault;
use super::scenario::number_of;
use super::state::SimulationState;
use super::work::{PendingRequest, writes};

/// The most turns that a partition, an index or an account stays throttled.
const WINDOW_TURNS: usize = 25;
/// The attempts after which a sender gives up.
pub(super) const ATTEMPTS_MAX: usize = 4;

impl SimulationState<'_> {
    /// Something is throttled for a while.
    pub(super) fn begin_throttling(&mut self) {
        let until = self.turns + self.random.between(5, WINDOW_TURNS) as u64;
        match self.random.below(3) {
            0 if self.faults.is_on(Fault::ThrottleAccount) => self.throttles.account_until = until,
            1 if self.faults.is_on(Fault::ThrottleIndex) => self.throttles.index_until = until,
            2 if self.faults.is_on(Fault::ThrottleKey) => {
                self.throttles.key_until = until;
                self.throttles.key = self.random.below(self.keys);
            }
            _ => {}
        }
    }

    /// Why the request of this work is throttled, if it is.
    pub(super) fn throttled(&mut self, work: &PendingRequest) -> Option<Fault> {
        let number = || number_of(work.pending.task.key());
        let (turn, windows) = (self.turns, &self.throttles);
        let fault = if turn < windows.account_until {
            Fault::ThrottleAccount
        } else if turn < windows.index_until && reaches_index(&work.request) {
            Fault::ThrottleIndex
        } else if turn < windows.key_until && number() == windows.key {
            Fault::ThrottleKey
        } else {
            let table = self.faults.strikes(Fault::ThrottleTable, &mut self.random, 6);
            return table.then_some(Fault::ThrottleTable);
        };
        if !self.faults.is_on(fault) {
            return None;
        }
        self.faults.hit(fault);
        Some(fault)
    }

    /// Is a page of a scan throttled?
    pub(super) fn is_scan_throttled(&mut self) -> bool {
        let account = self.turns < self.throttles.account_until && self.faults.is_on(Fault::ThrottleAccount);
        if account {
            self.faults.hit(Fault::ThrottleAccount);
        }
        account || self.faults.strikes(Fault::ThrottleTable, &mut self.random, 8)
    }
}

/// Does it write to a table with indexes?
fn reaches_index(request: &Request) -> bool {
    match request {
        Request::Get { .. } => false,
        Request::Write(write) => write.role != TableRole::Control,
        Request::Transact(_) => writes(request),
    }
}
