//! Writers of the target, once readers and writers were switched to it: they know nothing of what the retrofit keeps on its
//! items. Their last writes must be there at the end.

use keyfold_core::retrofit::TableRole;
use keyfold_core::retrofit::attributes::TOMBSTONE_ATTRIBUTE;
use keyfold_core::value::AttributeValue;

use super::check::is_foreign;
use super::fault::WriterAction;
use super::scenario::text;
use super::state::SimulationState;
use super::store::place;
use super::truth::Violation;
use super::work::short;
use crate::generated::messy::without_marks;

impl SimulationState<'_> {
    /// A writer of the target does something, or not. `while_cleaning`: between the read of an item and the write that cleans it.
    pub(super) fn write_target_now_and_then(&mut self, while_cleaning: bool) {
        let items = self.target.items();
        let Some(there) = self.random.any(&items).filter(|item| !is_foreign(item)).cloned() else { return };
        if !self.random.chance(15) {
            return;
        }
        let target = self.mapping().target();
        let Some(key) = target.key_of(&there) else { return };
        let dead = there.contains_key(TOMBSTONE_ATTRIBUTE);
        let new = match self.random.below(4) {
            0 if !dead => None,
            // The whole item: whatever the retrofit kept on it goes.
            1 => {
                let mut new = key.clone();
                new.extend(
                    there.iter().filter(|(name, _)| *name == "id").map(|(n, v)| (n.clone(), v.clone())),
                );
                new.insert("v".to_owned(), AttributeValue::N("9".to_owned()));
                Some(new)
            }
            // An attribute: it keeps the rest. No condition can say "and nothing else", so of a tombstone that is being deleted
            // just then only attributes of the manifest are known to the retrofit.
            _ => {
                let mut new = there.clone();
                let name = if dead && while_cleaning { "kind" } else { "v" };
                new.insert(name.to_owned(), text("target"));
                Some(new)
            }
        };
        self.faults.did(WriterAction::Target);
        self.note(|| format!("a writer of the target: {}", new.as_ref().map_or("deletes".to_owned(), short)));
        let bare = new.as_ref().map(without_marks);
        self.written_in_target.insert(place(target, &key).into_owned(), bare);
        self.set(TableRole::Target, &key, new, false);
    }

    /// At the places that writers of the target wrote there is what they wrote, and nothing else.
    pub(super) fn check_target_writers(&self) -> Result<(), Violation> {
        for (at, wanted) in &self.written_in_target {
            if self.target.at(at) != wanted.as_ref() {
                return Err(Violation::new(format!(
                    "what a writer of the target wrote at {at} is not there"
                )));
            }
        }
        Ok(())
    }
}
