//! What DynamoDB throttles, by its reason, and for how long.

use keyfold_core::retrofit::{Request, TableRole};

use super::super::fault::Fault;
use super::scene::KEYS;
use super::work::Work;
use super::world::{World, number_of};

/// The most turns that a partition, an index or an account stays throttled.
const WINDOW_TURNS: usize = 25;

impl World {
    /// Something is throttled for a while.
    pub(super) fn begin_throttling(&mut self) {
        let until = self.turns + self.random.between(5, WINDOW_TURNS) as u64;
        match self.random.below(3) {
            0 if self.is_on(Fault::ThrottleAccount) => self.fill_mut().throttles.account_until = until,
            1 if self.is_on(Fault::ThrottleIndex) => self.fill_mut().throttles.index_until = until,
            2 if self.is_on(Fault::ThrottleKey) => {
                let key = self.random.below(KEYS);
                let throttles = &mut self.fill_mut().throttles;
                (throttles.key_until, throttles.key) = (until, key);
            }
            _ => {}
        }
    }

    /// Is the request of this task throttled?
    pub(super) fn is_throttled(&mut self, work: &Work) -> bool {
        if !self.is_filling() {
            return false;
        }
        let (turn, windows) = (self.turns, &self.fill().throttles);
        let fault = if turn < windows.account_until {
            Fault::ThrottleAccount
        } else if turn < windows.index_until && reaches_index(&work.request) {
            Fault::ThrottleIndex
        } else if turn < windows.key_until && number_of(work.task.key()) == windows.key {
            Fault::ThrottleKey
        } else {
            return self.strikes(Fault::ThrottleTable, 6);
        };
        self.strikes(fault, 100)
    }

    /// Is a page of a scan throttled?
    pub(super) fn is_scan_throttled(&mut self) -> bool {
        let account = self.turns < self.fill().throttles.account_until;
        (account && self.strikes(Fault::ThrottleAccount, 100)) || self.strikes(Fault::ThrottleTable, 8)
    }
}

/// Does it write to a table with indexes?
fn reaches_index(request: &Request) -> bool {
    match request {
        Request::Get { .. } => false,
        Request::Write(write) => write.role != TableRole::Control,
        Request::Transact(_) => true,
    }
}
