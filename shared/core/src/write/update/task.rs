//! The work of one update, from its first request to its last.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{self, Change};
use super::refusal::{self, UpdateRefusal};
use super::spec::Update;
use crate::model::Table;
use crate::value::Item;
use crate::write::action::{Action, Guard};
use crate::write::expressions::WriteExpressions;
use crate::write::operation::AttributeOperation;
use crate::write::primary_key::primary_key;

/// Maximum attempts of an update when the item changes in between.
pub const UPDATE_ATTEMPTS_MAX: u32 = 8;

/// The request that an update sends next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UpdateRequest<'t> {
    /// Reads the item with this key, strongly consistently. The result goes to [`UpdateTask::was_read`].
    Read(&'t Item),
    /// Writes. On success the update is complete; if the guard fails, the stored item goes to
    /// [`UpdateTask::was_refused`].
    Write(&'t Action, &'t Guard),
}

/// One update: which request comes next. `T` is the table, borrowed or owned.
#[derive(Debug)]
pub struct UpdateTask<T> {
    table: T,
    key: Item,
    update: Update,
    /// `None`: the item is read first.
    write: Option<(Action, Guard)>,
    attempts: u32,
    read: bool,
}

impl<T: Borrow<Table>> UpdateTask<T> {
    /// An update of the existing item with this key, given as the key itself or as the attributes it is folded from.
    ///
    /// Attributes of a folded key that the update does not set are taken from the primary key, from
    /// [`expecting`](Update::expecting) and from the item's entity, which the key or [`of_entity`](Update::of_entity) can
    /// tell. If some are still missing, the update is refused with `update-needs-reading`,
    /// unless it [allows reading](Update::reading): then the item is read strongly consistently and written on
    /// condition that it has not changed, in at most [`UPDATE_ATTEMPTS_MAX`] attempts.
    pub fn new(table: T, key: &Item, update: Update) -> Result<UpdateTask<T>, UpdateRefusal> {
        let of = table.borrow();
        let key = primary_key(of, key)?;
        of.check_names(update.names(), &key)?;
        change::check(of, &update)?;
        let write = match change::without_reading(of, &key, &update)? {
            Ok(change) => Some(guarded(&key, change)),
            Err(missing) if !update.reading => return Err(missing),
            Err(_) => None,
        };
        Ok(UpdateTask { table, key, update, write, attempts: 0, read: false })
    }

    /// An update with operations whose result DynamoDB computes; [`expressions`](Self::expressions) has them.
    pub fn with_operations(
        table: T,
        key: &Item,
        mut update: Update,
        operations: Vec<AttributeOperation>,
    ) -> Result<UpdateTask<T>, UpdateRefusal> {
        update.operations = operations;
        UpdateTask::new(table, key, update)
    }

    /// The expressions of the next write, with all operations; `None` if the item is read first.
    pub fn expressions(&self) -> Option<WriteExpressions> {
        let (action, guard) = self.write.as_ref()?;
        Some(WriteExpressions::with(self.table.borrow(), action, Some(guard), &self.update.operations))
    }

    /// The next request.
    pub fn request(&self) -> UpdateRequest<'_> {
        match &self.write {
            Some((action, guard)) => UpdateRequest::Write(action, guard),
            None => UpdateRequest::Read(&self.key),
        }
    }

    /// Takes the result of the read; `None`: no item.
    pub fn was_read(&mut self, stored: Option<Item>) -> Result<(), UpdateRefusal> {
        self.read = true;
        let stored = stored.ok_or_else(|| refusal::not_found(self.table.borrow()))?;
        self.derive(stored)
    }

    /// The guard of the write failed. `found`: the stored item, if there is one.
    pub fn was_refused(&mut self, found: Option<Item>) -> Result<(), UpdateRefusal> {
        let table = self.table.borrow();
        self.attempts += 1;
        let Some(found) = found else { return Err(refusal::not_found(table)) };
        // Without a read, the condition can also contain what the entity was expected to be.
        if !self.read && (!self.update.reading || !self.update.expected.holds(&found)) {
            return Err(refusal::expectation(table, self.differing(&found), found));
        }
        self.read = true;
        if self.attempts >= UPDATE_ATTEMPTS_MAX {
            return Err(UpdateRefusal::Contended { table: table.id.clone(), attempts: self.attempts });
        }
        self.derive(found)
    }

    /// How many writes were refused.
    pub fn refused(&self) -> u32 {
        self.attempts
    }

    /// Was the item read?
    pub fn has_read(&self) -> bool {
        self.read
    }

    /// The attributes that are not as expected; those that identify the entity if all others are.
    fn differing(&self, stored: &Item) -> Vec<String> {
        let differing = self.update.expected.differing(stored);
        if !differing.is_empty() {
            return differing;
        }
        let whens = self.table.borrow().entities.iter().flat_map(|entity| &entity.when);
        whens.map(|when| when.attribute.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Computes the write over this stored item.
    fn derive(&mut self, stored: Item) -> Result<(), UpdateRefusal> {
        let table = self.table.borrow();
        let asked = self.update.asked_entity(table, &self.key)?;
        let is_other = asked.is_some() && table.entity_of(&stored)? != asked;
        if is_other || !self.update.expected.holds(&stored) {
            return Err(refusal::expectation(table, self.differing(&stored), stored));
        }
        let change = change::of_stored(table, &self.key, &stored, &self.update)?;
        self.write = Some(guarded(&self.key, change));
        Ok(())
    }
}

fn guarded(key: &Item, change: Change) -> (Action, Guard) {
    let (set, remove) = (
        change.set.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        change.remove.into_iter().collect(),
    );
    (Action::Update { key: Arc::new(key.clone()), set, remove }, Guard::Present(change.condition))
}
