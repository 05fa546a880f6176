//! Keys that move, once both tables' keys have rows.

use super::*;
use crate::index::{ITEM_BYTES_MAX, item_bytes};
use crate::retrofit::attributes::REMOVING_ATTRIBUTE;
use crate::retrofit::{Generation, Tracking};

/// The tables of one retrofit.
struct Tables {
    job: Job,
    items: Vec<(TableRole, Item, Item)>,
    /// An attribute with which an item is refused, as if it were too large.
    refuses: Option<&'static str>,
}

impl Tables {
    fn tidy() -> Tables {
        Tables::of(job("rekeyed").mapping().clone())
    }

    fn of(mapping: Mapping) -> Tables {
        let job = Job::new(mapping, Epoch::FIRST).tracked_by(Tracking::Rows);
        Tables { job: job.sealed_by(Some(Generation::FIRST)), items: Vec::new(), refuses: None }
    }

    /// The row of this key of the target.
    fn place_row(&self, item: &Item) -> Option<LedgerRow> {
        let mapping = self.job.mapping();
        let place = SourceKey::of(mapping.target(), item).unwrap();
        self.get(TableRole::Control, &LedgerRow::place_key(mapping, &place)).and_then(LedgerRow::read)
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
            Action::Put(item) => {
                item_bytes(item) > ITEM_BYTES_MAX || self.refuses.is_some_and(|name| item.contains_key(name))
            }
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
        let keys: Vec<_> = writes.iter().map(|write| (write.role, key(self, write))).collect();
        let is_twice = |at: usize| keys[..at].contains(&keys[at]);
        assert!(!(0..keys.len()).any(is_twice), "DynamoDB refuses two writes of one item: {keys:?}");
        let held =
            writes.iter().zip(&keys).map(|(write, (role, key))| write.guard.holds(self.get(*role, key)));
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

    /// Plays a task to its end, or until this holds. As a worker does, it gives up if it stays blocked.
    fn play(&mut self, mut task: ItemTask, until: impl Fn(&Tables) -> bool) -> Option<TaskResult> {
        let job = self.job.clone();
        let mut step = task.start(&job);
        loop {
            match step {
                TaskStep::Done(TaskResult::Blocked) => step = task.park(&job),
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
        self.carry(sequence, event(id, who), until)
    }

    /// The source gets this item, and its record is carried over.
    fn carry(&mut self, sequence: &str, item: Item, until: impl Fn(&Tables) -> bool) -> Option<TaskResult> {
        self.put(TableRole::Source, item.clone());
        let key = self.key(TableRole::Source, &item);
        let record = ChangeRecord { key, ..record(sequence, "", Some(item)) };
        self.play(self.job.apply(&record), until)
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

    fn rows_in(&self, partition: &str) -> usize {
        let rows = self.all(TableRole::Control).into_iter();
        rows.filter(|row| control::text(row, control::PARTITION) == Some(partition)).count()
    }

    fn notes(&self) -> usize {
        self.rows_in("late#rekeyed")
    }

    /// Each user's item in the target, by its id, in their order.
    fn users(&self) -> Vec<(&str, &str)> {
        let all = self.all(TableRole::Target).into_iter();
        let mut users: Vec<_> =
            all.filter_map(|item| Some((control::text(item, "id")?, control::text(item, "pk")?))).collect();
        users.sort_unstable();
        users
    }

    /// The row of this user's place names the item with this id, whose own row does not name that place.
    fn name_in_place_row(&mut self, id: &str, who: &str) {
        let mapping = self.job.mapping().clone();
        let place = mapping.target_item(&event(id, who)).unwrap().unwrap();
        let holder = self.key(TableRole::Source, &event(id, who));
        let row = LedgerRow { target: Some(holder), ..LedgerRow::new(Fence::of_scan(Epoch::FIRST)) };
        let name = SourceKey::of(mapping.target(), &place).unwrap();
        let key = self.key(TableRole::Target, &place);
        self.respond(Request::Write(row.put_place(None, &mapping, &name, &key)));
    }

    /// The items of these users, carried over one by one.
    fn with(users: &[(&str, &str)]) -> Tables {
        let mut tables = Tables::tidy();
        for (id, who) in users {
            assert_eq!(tables.write_item(id, id, who, |_| false), Some(TaskResult::Written));
        }
        tables
    }

    /// The source's items get these users, and the record of the first comes alone.
    fn change(&mut self, users: &[(&str, &str)]) -> Option<TaskResult> {
        for (id, who) in users {
            self.put(TableRole::Source, event(id, who));
        }
        let (id, who) = users[0];
        self.write_item(id, "50", who, |_| false)
    }
}

#[test]
fn an_item_that_gives_way_moves_with_the_one_that_takes_its_place() {
    for (second, place) in [("max", "r-max"), ("ann", "r-ann")] {
        let mut tables = Tables::with(&[("1", "ann"), ("2", "joe")]);
        assert_eq!(tables.change(&[("1", "joe"), ("2", second)]), Some(TaskResult::Written));
        assert_eq!(tables.users(), [("1", "r-joe"), ("2", place)]);
        // Its own record finds it there.
        assert_eq!(tables.write_item("2", "51", second, |_| false), Some(TaskResult::Written));
        assert_eq!(tables.users(), [("1", "r-joe"), ("2", place)]);
        assert_eq!(tables.marked(), None);
    }
}

#[test]
fn a_place_whose_row_alone_names_an_item_that_moves_already_is_free() {
    let mut tables = Tables::with(&[("1", "ann"), ("2", "joe")]);
    tables.name_in_place_row("1", "zoe");
    assert_eq!(tables.change(&[("1", "joe"), ("2", "zoe")]), Some(TaskResult::Written));
    assert_eq!(tables.users(), [("1", "r-joe"), ("2", "r-zoe")]);
}

#[test]
fn an_item_keeps_its_place_and_the_one_that_wants_it_goes_into_quarantine() {
    let mut tables = Tables::with(&[("1", "ann"), ("2", "joe")]);
    let result = tables.change(&[("1", "joe")]);
    assert_eq!(result, Some(TaskResult::Quarantined("target-key-collision".to_owned())));
    assert_eq!(tables.users(), [("2", "r-joe")]);
}

#[test]
fn an_item_that_gives_way_and_does_not_fit_goes_into_quarantine() {
    let mut tables = Tables::with(&[("1", "ann"), ("2", "joe")]);
    let mut odd = event("2", "joe");
    odd.insert("accessedBy", AttributeValue::N("1".to_owned()));
    tables.put(TableRole::Source, odd);
    assert_eq!(tables.change(&[("1", "joe")]), Some(TaskResult::Written));
    assert_eq!((tables.users(), tables.rows_in("quarantine#rekeyed")), (vec![("1", "r-joe")], 1));
}

#[test]
fn what_dynamodb_refuses_is_charged_to_the_item_itself() {
    let with_note = |id: &str, who: &str| {
        let mut item = event(id, who);
        item.insert("note", AttributeValue::N("1".to_owned()));
        item
    };
    // Items 1, 2 and 3 move together; this one is refused.
    for (notes, users, ended) in [
        ("2", vec![("1", "r-joe"), ("3", "r-max")], TaskResult::Written),
        ("3", vec![("1", "r-joe"), ("2", "r-max")], TaskResult::Written),
        ("1", vec![("2", "r-joe"), ("3", "r-max")], TaskResult::Quarantined("item-too-large".to_owned())),
    ] {
        let mut tables = Tables::with(&[("1", "ann"), ("2", "joe"), ("3", "max")]);
        tables.refuses = Some("note");
        for (id, who) in [("1", "joe"), ("2", "max"), ("3", "zoe")] {
            let item = if id == notes { with_note(id, who) } else { event(id, who) };
            tables.put(TableRole::Source, item);
        }
        let moved = if notes == "1" { with_note("1", "joe") } else { event("1", "joe") };
        assert_eq!(tables.carry("50", moved, |_| false), Some(ended), "{notes}");
        assert_eq!((tables.users(), tables.rows_in("quarantine#rekeyed")), (users, 1), "{notes}");
    }
}

#[test]
fn an_item_takes_the_place_that_is_left_although_another_program_wrote_there() {
    let mut tables = Tables::with(&[("1", "ann"), ("2", "joe")]);
    let theirs = tables.job.mapping().target_item(&event("9", "ann")).unwrap().unwrap();
    tables.put(TableRole::Target, theirs);
    assert_eq!(tables.change(&[("1", "joe"), ("2", "ann")]), Some(TaskResult::Written));
    assert_eq!(tables.users(), [("1", "r-joe"), ("2", "r-ann")]);
}

#[test]
fn an_item_that_gives_way_leaves_another_programs_item_where_it_is() {
    let mut tables = Tables::with(&[("1", "ann"), ("2", "joe")]);
    let theirs = tables.job.mapping().target_item(&event("9", "max")).unwrap().unwrap();
    tables.put(TableRole::Target, theirs.clone());
    assert_eq!(tables.change(&[("1", "joe"), ("2", "max")]), Some(TaskResult::Written));
    assert_eq!(tables.users(), [("1", "r-joe"), ("9", "r-max")]);
    assert_eq!(
        (tables.all(TableRole::Target).contains(&&theirs), tables.rows_in("quarantine#rekeyed")),
        (true, 1)
    );
}

#[test]
fn another_programs_item_is_not_replaced_although_the_item_before_it_gives_way() {
    let mut tables = Tables::with(&[("1", "ann"), ("2", "joe")]);
    let theirs = tables.job.mapping().target_item(&event("9", "joe")).unwrap().unwrap();
    tables.put(TableRole::Target, theirs);
    let result = tables.change(&[("1", "joe"), ("2", "max")]);
    assert_eq!(result, Some(TaskResult::Quarantined("target-item-foreign".to_owned())));
    assert_eq!(tables.users(), [("9", "r-joe")]);
}

#[test]
fn of_two_items_that_want_one_place_the_one_that_gives_way_goes_into_quarantine() {
    let mut tables = Tables::with(&[("1", "ann"), ("2", "joe"), ("3", "max")]);
    assert_eq!(tables.change(&[("1", "joe"), ("2", "max"), ("3", "joe")]), Some(TaskResult::Written));
    assert_eq!(tables.users(), [("1", "r-joe"), ("2", "r-max")]);
    assert_eq!(tables.rows_in("quarantine#rekeyed"), 1);
}

#[test]
fn a_long_row_of_items_that_give_way_ends_in_quarantine() {
    let ids = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let places: Vec<(&str, &str)> =
        ids.into_iter().zip(["a", "b", "c", "d", "e", "f", "g", "h", "i"]).collect();
    let next: Vec<(&str, &str)> =
        ids.into_iter().zip(["b", "c", "d", "e", "f", "g", "h", "i", "j"]).collect();
    let mut tables = Tables::with(&places);
    assert_eq!(tables.change(&next), Some(TaskResult::Written));
    assert_eq!((tables.users().len(), tables.rows_in("quarantine#rekeyed")), (8, 1));
    // The entry is tried again.
    let key = tables.key(TableRole::Source, &event("9", "j"));
    assert_eq!(tables.play(tables.job.repair(&key), |_| false), Some(TaskResult::Written));
    assert_eq!(tables.users().last(), Some(&("9", "r-j")));
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
fn the_fence_on_a_copy_that_another_program_moved_is_higher_than_its_own() {
    let mut tables = Tables::tidy();
    tables.write("2", "joe", |_| false);
    let mut moved = tables.all(TableRole::Target)[0].clone();
    moved.insert("accessedBy", AttributeValue::S("max".to_owned()));
    moved.insert("pk", AttributeValue::S("r-max".to_owned()));
    tables.put(TableRole::Target, moved.clone());
    let change = ChangeRecord {
        key: tables.key(TableRole::Target, &moved),
        new: Some(moved.clone()),
        ..record("90", "1", None)
    };
    let late = tables.job.late(&change, Epoch::FIRST);
    assert_eq!(tables.play(late, |tables| tables.marked().is_some()), None);
    let own = ChangeRecord { key: change.key, old: Some(moved), ..record("91", "1", tables.marked()) };
    assert_eq!(tables.play(tables.job.late(&own, Epoch::FIRST), |_| false), Some(TaskResult::Superseded));
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
    let number = AttributeValue::N("1".to_owned());
    // It fits into the source's item. With the key and the marks of the target it is too large.
    let room = usize::try_from(ITEM_BYTES_MAX - item_bytes(&event("1", "ann"))).unwrap() - "note".len();
    for (name, value) in [("accessedBy", number), ("note", AttributeValue::S("x".repeat(room)))] {
        let mut tables = Tables::tidy();
        tables.write("1", "ann", |_| false);
        let mut odd = event("1", "ann");
        odd.insert(name, value);
        tables.put(TableRole::Source, odd.clone());
        let task = tables.job.apply(&record("2", "1", Some(odd)));
        let result = tables.play(task, |_| false);
        assert!(matches!(result, Some(TaskResult::Quarantined(_))), "{name}: {result:?}");
        assert!(tables.all(TableRole::Target).is_empty(), "{name}");
        assert_eq!(tables.rows_in("quarantine#rekeyed"), 1, "{name}");
        // It fits again.
        assert_eq!(tables.write("3", "ann", |_| false), Some(TaskResult::Written), "{name}");
        assert_eq!(tables.all(TableRole::Target).len(), 1, "{name}");
    }
}

#[test]
fn what_dynamodb_refuses_leaves_its_place_for_the_quarantine() {
    let mut tables = Tables::tidy();
    tables.write("1", "ann", |_| false);
    tables.refuses = Some("note");
    let mut odd = event("1", "ann");
    odd.insert("note", AttributeValue::N("1".to_owned()));
    tables.put(TableRole::Source, odd.clone());
    let result = tables.play(tables.job.apply(&record("2", "1", Some(odd))), |_| false);
    assert_eq!(result, Some(TaskResult::Quarantined("item-too-large".to_owned())));
    assert!(tables.all(TableRole::Target).is_empty());
}

/// The way back of a retrofit that takes only some items, and an item of its source with this id. It belongs to that key of its target.
fn back_of_some() -> (Tables, impl Fn(&str) -> Item) {
    let only = changed("rekeyed", "to = \"keyed\"", "to = \"keyed\"\nonly = { resourceId = \"r\" }");
    let tables = Tables::of(only.reverse().unwrap());
    (tables, move |id| only.target_item(&event(id, "ann")).unwrap().unwrap())
}

#[test]
fn an_item_that_the_retrofit_does_not_take_stays_where_another_was() {
    let (mut tables, item) = back_of_some();
    tables.carry("1", item("1"), |_| false);
    let mut theirs = event("1", "ann");
    theirs.insert("resourceId", AttributeValue::S("other".to_owned()));
    tables.put(TableRole::Target, theirs.clone());
    assert_eq!(tables.carry("2", item("2"), |_| false), Some(TaskResult::Written));
    let target = tables.all(TableRole::Target);
    assert!(target.contains(&&theirs) && target.len() == 2, "{target:?}");
}

#[test]
fn an_item_that_lost_attributes_to_its_mark_is_deleted_although_the_retrofit_would_not_take_it() {
    let (mut tables, item) = back_of_some();
    tables.carry("1", item("1"), |_| false);
    assert_eq!(tables.carry("2", item("2"), |tables| tables.marked().is_some()), None);
    let mut marked = tables.marked().unwrap();
    marked.remove("resourceId");
    tables.put(TableRole::Target, marked);
    assert_eq!(tables.carry("2", item("2"), |_| false), Some(TaskResult::Written));
    assert_eq!(tables.all(TableRole::Target).len(), 1);
}

#[test]
fn a_late_deletion_of_an_item_that_was_put_back_is_noted_although_the_retrofit_deleted_that_one() {
    let mut tables = Tables::tidy();
    tables.write("1", "ann", |_| false);
    let stored = tables.all(TableRole::Target)[0].clone();
    // A program deletes it and puts it back, then it moves.
    assert_eq!(tables.write("2", "joe", |_| false), Some(TaskResult::Written));
    tables.deleted("80", stored);
    assert_eq!(tables.notes(), 1);
}

#[test]
fn a_marked_item_that_another_program_puts_back_is_marked_again_before_it_is_deleted() {
    let mut tables = Tables::tidy();
    tables.write("1", "ann", |_| false);
    assert_eq!(tables.write("2", "joe", |tables| tables.marked().is_some()), None);
    let former = tables.marked().unwrap();
    assert_eq!(tables.write("2", "joe", |_| false), Some(TaskResult::Written));
    tables.write("3", "ann", |_| false);
    tables.put(TableRole::Target, former.clone());
    let newer = |tables: &Tables| tables.marked().is_some_and(|now| Fence::on(&now) > Fence::on(&former));
    assert_eq!(tables.write("4", "joe", newer), None);
    let removed = tables.marked().unwrap();
    assert_eq!(tables.write("4", "joe", |_| false), Some(TaskResult::Written));
    assert_eq!(tables.deleted("90", removed), Some(TaskResult::Superseded), "the retrofit's own");
}

#[test]
fn a_deletion_in_the_source_of_an_item_that_the_retrofit_leaves_out_is_not_noted() {
    let (mut tables, _) = back_of_some();
    for (resource, notes) in [("other", 0), ("r", 1)] {
        let mut old = event("1", "ann");
        old.insert("resourceId", AttributeValue::S(resource.to_owned()));
        let kind = ChangeKind::Remove { expired: false };
        let late = ChangeRecord { kind, old: Some(old), ..record("90", "1", None) };
        tables.play(tables.job.late(&late, Epoch::FIRST), |_| false);
        assert_eq!(tables.notes(), notes, "{resource}");
    }
}

#[test]
fn until_the_target_was_open_an_item_there_without_a_mark_is_another_programs() {
    let mut tables = Tables::tidy();
    let theirs = tables.job.mapping().target_item(&event("1", "ann")).unwrap().unwrap();
    tables.put(TableRole::Target, theirs.clone());
    let result = tables.write("1", "ann", |_| false);
    assert_eq!(result, Some(TaskResult::Quarantined("target-item-foreign".to_owned())));
    assert_eq!(tables.all(TableRole::Target), [&theirs]);
}

#[test]
fn a_place_whose_row_alone_names_an_item_is_free() {
    let mut tables = Tables::tidy();
    tables.put(TableRole::Source, event("2", "ann"));
    tables.name_in_place_row("2", "ann");
    assert_eq!(tables.write("1", "ann", |_| false), Some(TaskResult::Written));
}

#[test]
fn an_item_that_gives_up_leaves_its_place_although_something_newer_of_it_is_in_quarantine() {
    let mut tables = Tables::tidy();
    tables.write("1", "ann", |_| false);
    let mut odd = event("1", "ann");
    odd.insert("accessedBy", AttributeValue::N("1".to_owned()));
    let (name, key) = (SourceKey::of(tables.job.mapping().source(), &odd).unwrap(), event("1", "ann"));
    let key = tables.key(TableRole::Source, &key);
    let newer = Fence::of_record(Epoch::FIRST, SequenceNumber::parse("9").unwrap());
    let entry = Quarantined::item(&key, &name, &QuarantineReason::Collision, newer);
    tables.respond(Request::Write(entry.enter(tables.job.mapping())));
    tables.put(TableRole::Source, odd.clone());
    let result = tables.play(tables.job.apply(&record("2", "1", Some(odd))), |_| false);
    assert!(matches!(result, Some(TaskResult::Quarantined(_))), "{result:?}");
    assert!(tables.all(TableRole::Target).is_empty());
}

#[test]
fn in_the_first_phase_an_item_that_stays_writes_the_row_of_its_key_again() {
    let mut tables = Tables { job: job("rekeyed"), items: Vec::new(), refuses: None };
    tables.write("1", "ann", |_| false);
    let stored = tables.all(TableRole::Target)[0].clone();
    let mapping = tables.job.mapping();
    let place = SourceKey::of(mapping.target(), &stored).unwrap();
    let row = LedgerRow::place_key(mapping, &place);
    tables.delete(TableRole::Control, &row);
    let mut noted = event("1", "ann");
    noted.insert("note", AttributeValue::N("1".to_owned()));
    tables.put(TableRole::Source, noted.clone());
    tables.play(tables.job.apply(&record("2", "1", Some(noted))), |_| false);
    assert!(tables.place_row(&stored).is_some());
}

#[test]
fn finishing_leaves_the_row_of_a_key_that_a_worker_has_written_since() {
    let mut tables = Tables::tidy();
    tables.write("1", "ann", |_| false);
    let stored = tables.all(TableRole::Target)[0].clone();
    let rows = |tables: &Tables| {
        let rows = tables.all(TableRole::Control).into_iter().cloned();
        rows.filter_map(|row| finalise::forget("rekeyed", &row)).collect::<Vec<_>>()
    };
    let read = rows(&tables);
    assert_eq!(read.len(), 2, "of both keys");
    tables.write("2", "ann", |_| false);
    let mapping = tables.job.mapping().clone();
    tables.job = tables.job.clone().by_rows_alone();
    tables.play(tables.job.rewrite(&stored).unwrap(), |_| false);
    for write in read {
        tables.respond(Request::Write(write));
    }
    assert!(tables.place_row(&stored).is_some());
    let source = SourceKey::of(mapping.source(), &event("1", "ann")).unwrap();
    assert!(tables.get(TableRole::Control, &LedgerRow::key(&mapping, &source)).is_some());
}
