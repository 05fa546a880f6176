//! Requests are carried out here, with all that can go wrong around them.

use keyfold_core::retrofit::{Action, ItemSeen, Protocol, Request, Response, TableRole, Write};
use keyfold_core::value::{AttributeValue, Item};

use super::fault::Fault;
use super::mutant::{Mutant, Weakened, weakened};
use super::scenario::{REFUSED, number_of};
use super::state::SimulationState;
use super::store::{key_in, outcome};
use super::throttle::ATTEMPTS_MAX;
use super::work::{LateRequest, PendingRequest, TaskOrigin, line, outcome_name, writes};

/// The outcome for a task.
pub(super) enum Exchange {
    /// This.
    Heard(Response),
    /// Nothing: the request is sent again.
    Again,
    /// Nothing, so often that it gives up.
    GaveUp,
    /// Nothing: the task has ended.
    Crashed,
}

impl SimulationState<'_> {
    /// Carries a request out.
    pub(super) fn send(&mut self, request: &Request, kind: TaskOrigin) -> Response {
        let outcome = match request {
            Request::Get { role, key } => return Response::Item(self.read(*role, key, kind)),
            Request::Write(write) => self.write(write, kind),
            Request::Transact(writes) => self.transact(writes, kind),
        };
        self.note(|| format!("    {kind:?} {} -> {}", line(request), outcome_name(&outcome)));
        outcome
    }

    fn read(&mut self, place: TableRole, key: &Item, kind: TaskOrigin) -> Option<Item> {
        if kind == TaskOrigin::Repair && place == TableRole::Source && self.has(Mutant::EventualRepair) {
            let stale = self.truth.stale(number_of(key), self.turns).cloned();
            if let Some(stale) = stale {
                self.bitten();
                return stale;
            }
        }
        self.get(place, key).cloned()
    }

    fn write(&mut self, write: &Write, kind: TaskOrigin) -> Response {
        match self.weaken(write, kind) {
            None => self.write_as_is(write),
            Some(Weakened::Nothing) => Response::Written,
            Some(Weakened::Write(other)) => self.write_as_is(&other),
        }
    }

    fn write_as_is(&mut self, write: &Write) -> Response {
        if is_refused(write) {
            return Response::Rejected("refused-by-table".to_owned());
        }
        if self.holds(write) {
            self.apply(write);
            return Response::Written;
        }
        // The response may or may not carry the item that was met.
        if self.random.chance(50) {
            return Response::Refused(ItemSeen::Unknown);
        }
        let there = self.get(write.role, key_in(&write.action)).cloned();
        Response::Refused(there.map_or(ItemSeen::Nothing, |item| ItemSeen::Item(Box::new(item))))
    }

    fn transact(&mut self, sent: &[Write], kind: TaskOrigin) -> Response {
        if sent.iter().any(is_refused) {
            return Response::Rejected("refused-by-table".to_owned());
        }
        let weak: Vec<Option<Weakened>> = sent.iter().map(|write| self.weaken(write, kind)).collect();
        let now = |(write, weak)| match weak {
            &Some(Weakened::Nothing) => None,
            Some(Weakened::Write(other)) => Some(other),
            &None => Some(write),
        };
        let now: Vec<Option<&Write>> = sent.iter().zip(&weak).map(now).collect();
        let held: Vec<bool> = now.iter().map(|write| write.is_none_or(|write| self.holds(write))).collect();
        let all = held.iter().all(|held| *held);
        let torn = !all && held.contains(&true) && self.bites(Mutant::NotAtomic);
        for (write, held) in now.iter().zip(&held) {
            if let (Some(write), true) = (write, all || (torn && *held)) {
                self.apply(write);
            }
        }
        if all { Response::Written } else { Response::Cancelled(held) }
    }

    /// The request of a weakened protocol in place of a write.
    fn weaken(&mut self, write: &Write, kind: TaskOrigin) -> Option<Weakened> {
        let weak = match self.mutant? {
            Mutant::WholeItem => self.whole_item(write),
            mutant => weakened(mutant, write, kind),
        }?;
        let held = self.holds(write);
        let differs = match &weak {
            Weakened::Nothing => held,
            Weakened::Write(other) => self.holds(other) != held || (held && other.action != write.action),
        };
        if differs {
            self.bitten();
        }
        Some(weak)
    }

    /// An update in place as a put of the item as it was a moment ago, if it still exists.
    fn whole_item(&self, write: &Write) -> Option<Weakened> {
        let Action::Update { key, .. } = &write.action else { return None };
        let before = self.truth.stale(number_of(key), self.turns)?.clone()?;
        let guard = keyfold_core::retrofit::Guard::Present(keyfold_core::query::Condition::All(Vec::new()));
        let folded = self.mapping().target_item(&before).ok()??;
        Some(Weakened::Write(Write { action: Action::Put(folded), guard, ..write.clone() }))
    }

    fn holds(&self, write: &Write) -> bool {
        write.guard.holds(self.get(write.role, key_in(&write.action)))
    }

    fn apply(&mut self, write: &Write) {
        let key = key_in(&write.action);
        let item = outcome(self.get(write.role, key), &write.action);
        self.set(write.role, key, item, false);
    }

    /// Carries out a request whose sender heard nothing.
    pub(super) fn send_late(&mut self, at: usize) {
        let late = self.late.swap_remove(at);
        self.note(|| "  a late request is carried out".to_owned());
        self.send(&late.request, late.kind);
    }

    /// Sends what a task wants sent, with all that can go wrong.
    pub(super) fn exchange(&mut self, work: &mut PendingRequest) -> Exchange {
        let write = writes(&work.request);
        if self.throttled(work).is_some() {
            if write && work.pending.kind != TaskOrigin::Repair && self.bites(Mutant::ThrottledIsWritten) {
                return Exchange::Heard(Response::Written);
            }
            return self.resend(work);
        }
        if write && self.conflicts(&work.request) {
            return self.resend(work);
        }
        if self.faults.strikes(Fault::CrashBefore, &mut self.random, 2) {
            return Exchange::Crashed;
        }
        if write && self.faults.strikes(Fault::Zombie, &mut self.random, 4) {
            self.note(|| "  a request times out".to_owned());
            self.late.push(LateRequest { request: work.request.clone(), kind: work.pending.kind });
            return if self.random.chance(50) { Exchange::Crashed } else { Exchange::Again };
        }
        let mut outcome = self.send(&work.request, work.pending.kind);
        if write && self.faults.strikes(Fault::LostResponse, &mut self.random, 6) {
            self.note(|| "  the response is lost; sent again".to_owned());
            // A transaction's token makes the second one the first one, for ten minutes.
            if !matches!(work.request, Request::Transact(_)) || self.random.chance(50) {
                outcome = self.send(&work.request, work.pending.kind);
            }
        }
        if self.faults.strikes(Fault::CrashAfter, &mut self.random, 3) {
            return Exchange::Crashed;
        }
        Exchange::Heard(outcome)
    }

    /// Once more, unless it was throttled too often.
    fn resend(&mut self, work: &mut PendingRequest) -> Exchange {
        work.attempts += 1;
        if work.attempts < ATTEMPTS_MAX || !self.faults.is_on(Fault::GiveUp) {
            return Exchange::Again;
        }
        self.faults.hit(Fault::GiveUp);
        Exchange::GaveUp
    }

    /// Only where there are transactions.
    fn conflicts(&mut self, request: &Request) -> bool {
        let percent = if matches!(request, Request::Transact(_)) { 10 } else { 3 };
        self.scenario.protocol == Protocol::Ledger
            && self.faults.strikes(Fault::Conflict, &mut self.random, percent)
    }
}

fn is_refused(write: &Write) -> bool {
    let Action::Put(item) = &write.action else { return false };
    write.role == TableRole::Target
        && matches!(item.get("v"), Some(AttributeValue::S(text)) if text == REFUSED)
}
