//! Requests of a history that fills are carried out here, as weakened protocols send them too.

use keyfold_core::condition::Condition;
use keyfold_core::retrofit::control::Direction;
use keyfold_core::retrofit::{Action, Guard, ItemSeen, Response, TableRole, Write};
use keyfold_core::value::{AttributeValue, Item};

use super::super::mutant::{Mutant, weakened};
use super::super::scenario::REFUSED;
use super::super::work::TaskOrigin;
use super::world::{World, number_of};

impl World {
    /// The stale item that a weakened repair reads.
    pub(super) fn stale(&mut self, role: TableRole, key: &Item) -> Option<Option<Item>> {
        let is_read = self.has(Mutant::EventualRepair)
            && self.is_filling()
            && self.origin == TaskOrigin::Repair
            && role == TableRole::Source;
        let stale = is_read.then(|| self.fill().stale(number_of(key), self.turns).cloned()).flatten()?;
        self.bites += 1;
        Some(stale)
    }

    /// Writes all or none.
    pub(super) fn write_filling(&mut self, sent: &[Write], is_transaction: bool) -> Response {
        if sent.iter().any(is_refused) {
            return Response::Rejected("refused-by-table".to_owned());
        }
        let weak: Vec<Option<Option<Write>>> = sent.iter().map(|write| self.weaken(write)).collect();
        let now = sent.iter().zip(&weak);
        let now = now.map(|(write, weak)| weak.as_ref().map_or(Some(write), Option::as_ref));
        let now: Vec<Option<&Write>> = now.collect();
        let held: Vec<bool> =
            now.iter().map(|write| write.is_none_or(|write| self.holds(Direction::Forward, write))).collect();
        let all = held.iter().all(|held| *held);
        let torn = !all && held.contains(&true) && self.bites(Mutant::NotAtomic);
        for (write, held) in now.iter().zip(&held) {
            if let (Some(write), true) = (write, all || (torn && *held)) {
                self.make(Direction::Forward, write);
            }
        }
        match (all, is_transaction) {
            (true, _) => Response::Written,
            (false, true) => Response::Cancelled(held),
            // The response may or may not carry the item that was met.
            (false, false) if self.random.chance(50) => Response::Refused(ItemSeen::Unknown),
            (false, false) => {
                let Write { role, action, .. } = now[0].unwrap_or(&sent[0]);
                let there = self.there(Direction::Forward, *role, action.key()).cloned();
                Response::Refused(there.map_or(ItemSeen::Nothing, |item| ItemSeen::Item(Box::new(item))))
            }
        }
    }

    /// The write that a weakened protocol sends in place of this one, in the form of [`weakened`].
    fn weaken(&mut self, write: &Write) -> Option<Option<Write>> {
        let weak = match self.mutant? {
            Mutant::WholeItem => self.whole_item(write),
            mutant => weakened(mutant, write, self.origin),
        }?;
        let held = self.holds(Direction::Forward, write);
        let differs = match &weak {
            None => held,
            Some(other) => {
                self.holds(Direction::Forward, other) != held || (held && other.action != write.action)
            }
        };
        self.bites += u64::from(differs);
        Some(weak)
    }

    /// An update in place as a put of the item as it was a moment ago, if it still exists.
    fn whole_item(&self, write: &Write) -> Option<Option<Write>> {
        let Action::Update { key, .. } = &write.action else { return None };
        let before = self.fill().stale(number_of(key), self.turns)?.clone()?;
        let guard = Guard::Present(Condition::All(Vec::new()));
        let folded = self.mapping_now().target_item(&before).ok()??;
        Some(Some(Write { action: Action::Put(folded), guard, ..write.clone() }))
    }
}

fn is_refused(write: &Write) -> bool {
    let Action::Put(item) = &write.action else { return false };
    write.role == TableRole::Target
        && matches!(item.get("v"), Some(AttributeValue::S(text)) if text == REFUSED)
}
