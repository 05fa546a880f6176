//! An item of the open table that moves to the place it wants in the other one, as it was read.

use std::borrow::Cow;

use super::place::{Place, check_with_marks};
use super::row::LedgerRow;
use crate::retrofit::attributes::OWNER_ATTRIBUTE;
use crate::retrofit::fence::Fence;
use crate::retrofit::job::Job;
use crate::retrofit::mapping::same_item;
use crate::retrofit::quarantine::QuarantineReason;
use crate::retrofit::request::{Request, TableRole, Write};
use crate::retrofit::source_key::SourceKey;
use crate::value::Item;

/// An item that moves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mover {
    pub(super) name: SourceKey,
    pub(super) key: Item,
    pub(super) row: Option<LedgerRow>,
    /// The other table's item that it maps to now.
    pub(super) wanted: Option<Item>,
    /// The place that it wants.
    pub(super) place: Option<Place>,
    /// Why it cannot be in the other table, whatever is there.
    pub(super) misfit: Option<QuarantineReason>,
}

impl Mover {
    pub(super) fn new(name: SourceKey, key: Item) -> Mover {
        Mover { name, key, row: None, wanted: None, place: None, misfit: None }
    }

    pub(super) fn read_item(&self) -> Request {
        Request::Get { role: TableRole::Source, key: self.key.clone() }
    }

    /// Its item is this one. What DynamoDB has refused already is not tried again.
    pub(super) fn know_item(&mut self, job: &Job, item: Option<&Item>, refused: Option<String>) {
        let wanted = match (item, refused) {
            (None, _) => Ok(None),
            (Some(_), Some(code)) => Err(QuarantineReason::Rejected(code)),
            (Some(item), None) => self.mapped(job, item),
        };
        (self.wanted, self.misfit) = match wanted {
            Ok(wanted) => (wanted, None),
            Err(reason) => (None, Some(reason)),
        };
        self.place = self.wanted.as_ref().and_then(|wanted| Place::of(job, wanted));
    }

    /// The other table's item, with its marks.
    fn mapped(&self, job: &Job, item: &Item) -> Result<Option<Item>, QuarantineReason> {
        let mapping = job.mapping();
        let Some(mut wanted) = mapping.carried(Cow::Borrowed(item))? else { return Ok(None) };
        if !mapping.is_reverse() {
            wanted.insert(OWNER_ATTRIBUTE, self.name.value());
        }
        check_with_marks(job, &self.name, &mut wanted)?;
        Ok(Some(wanted))
    }

    pub(super) fn fence(&self) -> Option<&Fence> {
        self.row.as_ref().map(|row| &row.fence)
    }

    /// The place that it has, by its row.
    pub(super) fn before(&self, job: &Job) -> Option<Place> {
        Place::of(job, self.row.as_ref()?.target.as_ref()?)
    }

    /// Does its row name this place?
    pub(super) fn has(&self, place: &Place) -> bool {
        let named = self.row.as_ref().and_then(|row| row.target.as_ref());
        named.is_some_and(|key| same_item(key, &place.key, &[]))
    }

    pub(super) fn wants(&self, place: &SourceKey) -> bool {
        self.place.as_ref().is_some_and(|wanted| wanted.name == *place)
    }

    /// Is it as it should be where it should be?
    pub(super) fn is_there(&self) -> bool {
        let (Some(place), Some(wanted)) = (&self.place, &self.wanted) else { return true };
        place.is_held_by(&self.key) && self.has(place) && place.has(wanted)
    }

    /// The writes that put it at the place that it wants, or nowhere. `left` is a place that is freed.
    pub(super) fn moved(
        &self,
        job: &Job,
        fence: &Fence,
        stamp: &str,
        left: Option<&Place>,
        is_put: bool,
    ) -> Vec<Write> {
        let place = self.place.as_ref().filter(|_| is_put);
        let before = self.row.clone().unwrap_or_else(|| LedgerRow::new(fence.clone()));
        let (stamped, target) = (Some(stamp.to_owned()), place.map(|place| place.key.clone()));
        let row = LedgerRow { fence: fence.clone(), stamp: stamped, target, ..before };
        let mut writes = vec![row.put_over(self.row.as_ref(), job.mapping(), &self.name, &self.key)];
        writes.extend(left.into_iter().flat_map(|left| left.free(job, stamp)));
        if let (Some(place), Some(wanted)) = (place, &self.wanted) {
            writes.extend(place.put(job, wanted.clone(), &self.key, fence, stamp));
        }
        writes
    }
}
