//! Keys that move, once both tables' keys have rows.

use super::*;
use crate::index::{ITEM_BYTES_MAX, item_bytes};
use crate::retrofit::attributes::REMOVING_ATTRIBUTE;
use crate::retrofit::{Generation, Tracking};

/// The tables of one retrofit.
struct Tables {
    job: Job,
    items: Vec<(TableRole, Item, Item)>,
}

impl Tables {
    fn tidy() -> Tables {
        let job = job("rekeyed").tracked_by(Tracking::Rows).sealed_by(Some(Generation::FIRST));
        Tables { job, items: Vec::new() }
    }

    fn key(&self, role: TableRole, item: &Item) -> Item {
        let mapping = self.job.mapping();
        match role {
            TableRole::Source => mapping.source().key_of(item).unwrap(),
            TableRole::Target => mapping.target().key_of(item).unwrap(),
            TableRole::Control => [control::PARTITION, control::SORT]
                .map(|name| (name.to_owned(), item[name].clone()))
                .into_iter()
                .collect::<std::collections::HashMap<_, _>>()
                .into(),
        }
    }

    fn get(&self, role: TableRole, key: &Item) -> Option<&Item> {
        let is = |(of, at, _): &&(TableRole, Item, Item)| (*of, at) == (role, key);
        self.items.iter().find(is).map(|(_, _, item)| item)
    }

    fn delete(&mut self, role: TableRole, key: &Item) {
        self.items.retain(|(of, at, _)| (*of, at) != (role, key));
    }

    fn put(&mut self, role: TableRole, item: Item) {
        let key = self.key(role, &item);
        self.delete(role, &key);
        self.items.push((role, key, item));
    }

    fn all(&self, role: TableRole) -> Vec<&Item> {
        self.items.iter().filter(|(of, ..)| *of == role).map(|(_, _, item)| item).collect()
    }

    fn respond(&mut self, request: Request) -> Response {
        let writes = match request {
            Request::Get { role, key } => return Response::Item(self.get(role, &key).cloned()),
            Request::Write(write) => vec![write],
            Request::Transact(writes) => writes,
        };
        let is_too_large = |write: &Write| match &write.action {
            Action::Put(item) => item_bytes(item) > ITEM_BYTES_MAX,
            _ => false,
        };
        if writes.iter().any(is_too_large) {
            return Response::Rejected("item-too-large".to_owned());
        }
        let key = |tables: &Tables, write: &Write| match &write.action {
            Action::Put(item) => tables.key(write.role, item),
            Action::Delete(key) => key.clone(),
            Action::Update { .. } => unreachable!("nothing is updated here"),
        };
        let held = writes.iter().map(|write| write.guard.holds(self.get(write.role, &key(self, write))));
        let held: Vec<bool> = held.collect();
        if held.contains(&false) {
            return Response::Cancelled(held);
        }
        for write in writes {
            match write.action {
                Action::Put(item) => self.put(write.role, item),
                Action::Delete(key) => self.delete(write.role, &key),
                Action::Update { .. } => {}
            }
        }
        Response::Written
    }

    /// Plays a task to its end, or until this holds.
    fn play(&mut self, mut task: ItemTask, until: impl Fn(&Tables) -> bool) -> Option<TaskResult> {
        let job = self.job.clone();
        let mut step = task.start(&job);
        loop {
            match step {
                TaskStep::Done(result) => return Some(result),
                TaskStep::Send(request) => step = task.respond(&job, self.respond(request)),
            }
            if until(self) {
                return None;
            }
        }
    }

    /// The source's item gets this user, who is in its key in the target.
    fn write(&mut self, sequence: &str, who: &str, until: impl Fn(&Tables) -> bool) -> Option<TaskResult> {
        self.write_item("1", sequence, who, until)
    }

    fn write_item(
        &mut self,
        id: &str,
        sequence: &str,
        who: &str,
        until: impl Fn(&Tables) -> bool,
    ) -> Option<TaskResult> {
        self.put(TableRole::Source, event(id, who));
        self.play(self.job.apply(&record(sequence, id, Some(event(id, who)))), until)
    }

    fn marked(&self) -> Option<Item> {
        let target = self.all(TableRole::Target);
        target.into_iter().find(|item| item.contains_key(REMOVING_ATTRIBUTE)).cloned()
    }

    /// The target's stream shows that this item was deleted.
    fn deleted(&mut self, sequence: &str, old: Item) -> Option<TaskResult> {
        let key = self.key(TableRole::Target, &old);
        let kind = ChangeKind::Remove { expired: false };
        let record = ChangeRecord { key, kind, old: Some(old), ..record(sequence, "1", None) };
        self.play(self.job.late(&record, Epoch::FIRST), |_| false)
    }

    fn notes(&self) -> usize {
        let rows = self.all(TableRole::Control).into_iter();
        rows.filter(|row| control::text(row, control::PARTITION) == Some("late#rekeyed")).count()
    }
}

#[test]
fn a_late_deletion_of_an_item_that_was_to_be_deleted_is_noted_whatever_was_deleted_since() {
    let mut tables = Tables::tidy();
    let is_marked = |tables: &Tables| tables.marked().is_some();
    tables.write("1", "ann", |_| false);
    // It moves, its old key is marked, and another program deletes that item before the retrofit does.
    assert_eq!(tables.write("2", "joe", is_marked), None);
    let lost = tables.marked().unwrap();
    let key = tables.key(TableRole::Target, &lost);
    tables.delete(TableRole::Target, &key);
    assert_eq!(tables.write("2", "joe", |_| false), Some(TaskResult::Written));
    // It moves there and away again.
    tables.write("3", "ann", |_| false);
    assert_eq!(tables.write("4", "joe", is_marked), None);
    let removed = tables.marked().unwrap();
    assert_eq!(tables.write("4", "joe", |_| false), Some(TaskResult::Written));
    assert_eq!((tables.all(TableRole::Target).len(), tables.marked()), (1, None));

    assert_eq!(tables.deleted("90", removed), Some(TaskResult::Superseded), "the retrofit's own");
    assert_eq!(tables.notes(), 0);
    tables.deleted("80", lost);
    assert_eq!(tables.notes(), 1);
}

#[test]
fn an_item_that_another_program_moves_with_its_marks_is_late() {
    let mut tables = Tables::tidy();
    tables.write("2", "joe", |_| false);
    // At the key to which it is moved, the retrofit has written a higher fence.
    tables.write_item("2", "50", "max", |_| false);
    tables.write_item("2", "51", "zoe", |_| false);
    let key = |who: &str| AttributeValue::S(format!("r-{who}"));
    let joe = tables.all(TableRole::Target).into_iter().find(|item| item["pk"] == key("joe"));
    let mut moved = joe.unwrap().clone();
    moved.insert("accessedBy", AttributeValue::S("max".to_owned()));
    moved.insert("pk", key("max"));
    tables.put(TableRole::Target, moved.clone());
    let late = ChangeRecord {
        key: tables.key(TableRole::Target, &moved),
        new: Some(moved),
        ..record("90", "1", None)
    };
    tables.play(tables.job.late(&late, Epoch::FIRST), |_| false);
    assert_eq!(tables.notes(), 1);
    let target = tables.all(TableRole::Target);
    assert!(target.iter().all(|item| item["pk"] != key("max")), "{target:?}");
}

#[test]
fn an_item_without_room_for_a_mark_loses_attributes_before_it_is_deleted() {
    let mut tables = Tables::tidy();
    tables.write("1", "ann", |_| false);
    let mut full = tables.all(TableRole::Target)[0].clone();
    let room = usize::try_from(ITEM_BYTES_MAX - item_bytes(&full)).unwrap() - "note".len();
    full.insert("note", AttributeValue::S("x".repeat(room)));
    tables.put(TableRole::Target, full);
    assert_eq!(tables.write("2", "joe", |tables| tables.marked().is_some()), None);
    let removed = tables.marked().unwrap();
    assert!(removed.contains_key("id") && !removed.contains_key("note"));
    assert_eq!(tables.write("2", "joe", |_| false), Some(TaskResult::Written));
    assert_eq!((tables.all(TableRole::Target).len(), tables.marked()), (1, None));
    assert_eq!(tables.deleted("90", removed), Some(TaskResult::Superseded), "the retrofit's own");
}

#[test]
fn an_item_that_no_longer_fits_leaves_its_place_for_the_quarantine() {
    let mut tables = Tables::tidy();
    tables.write("1", "ann", |_| false);
    let mut odd = event("1", "ann");
    odd.insert("accessedBy", AttributeValue::N("1".to_owned()));
    tables.put(TableRole::Source, odd.clone());
    let task = tables.job.apply(&record("2", "1", Some(odd)));
    let result = tables.play(task, |_| false);
    assert!(matches!(result, Some(TaskResult::Quarantined(_))), "{result:?}");
    assert!(tables.all(TableRole::Target).is_empty());
    let rows = tables.all(TableRole::Control).into_iter();
    let entries = rows.filter(|row| control::text(row, control::PARTITION) == Some("quarantine#rekeyed"));
    assert_eq!(entries.count(), 1);
    // It fits again.
    assert_eq!(tables.write("3", "ann", |_| false), Some(TaskResult::Written));
    assert_eq!(tables.all(TableRole::Target).len(), 1);
}
