//! In place, items that the retrofit takes no longer.

use super::*;

const OPEN: &str = r#"
[tables.same]
partition = "id"
attributes = { id = "string", state = "string", kind = "string" }
indexes.byState.partition = "{state}#{id}"
[retrofits.r]
from = "same"
to = "same"
only = { kind = "a" }
"#;

fn job() -> Job {
    let parsed = parse("keyfold.toml", OPEN);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Job::new(Mapping::of(&model, "r").unwrap(), Epoch::FIRST)
}

fn stored(kind: &str, state: &str, key: &str) -> Item {
    item(&format!(
        r#"{{"id":{{"S":"1"}},"kind":{{"S":"{kind}"}},"state":{{"S":"{state}"}},"byState_pk":{{"S":"{key}"}}}}"#
    ))
}

fn changed(sequence: &str, old: Item, new: Item) -> ChangeRecord {
    ChangeRecord { old: Some(old), ..record(sequence, "1", Some(new)) }
}

fn removed(task: &mut ItemTask, job: &Job) -> Option<(Vec<String>, Write)> {
    let TaskStep::Send(Request::Write(write)) = task.start(job) else { return None };
    let Action::Update { remove, set, .. } = &write.action else { panic!("{write:?}") };
    assert!(set.is_empty());
    Some((remove.clone(), write.clone()))
}

#[test]
fn a_key_that_nobody_keeps_right_any_more_is_taken_off_once_it_is_wrong() {
    let job = job();
    let taken = stored("a", "open", "open#1");
    let left = stored("b", "done", "open#1");
    let (names, write) = removed(&mut job.apply(&changed("5", taken.clone(), left.clone())), &job).unwrap();
    assert_eq!(names, ["byState_pk"]);
    assert!(write.guard.holds(Some(&left)));
    for other in [taken.clone(), stored("b", "done", "mine"), stored("b", "open", "open#1")] {
        assert!(!write.guard.holds(Some(&other)), "it has changed since: {other:?}");
    }
    // It was right when the item left, and a later update made it wrong.
    let (before, after) = (stored("b", "open", "open#1"), stored("b", "done", "open#1"));
    assert!(removed(&mut job.apply(&changed("6", before, after)), &job).is_some());
    // It is right still; the application wrote it; the item was never taken.
    for (old, new) in [
        (taken.clone(), stored("b", "open", "open#1")),
        (taken.clone(), stored("b", "done", "mine")),
        (stored("b", "open", "mine"), stored("b", "done", "mine")),
        (stored("b", "open", "open#1"), stored("b", "open", "open#1")),
    ] {
        assert_eq!(removed(&mut job.apply(&changed("5", old, new.clone())), &job), None, "{new:?}");
    }
}

#[test]
fn a_batch_tells_that_an_item_has_left_though_a_later_record_is_applied() {
    let job = job();
    let left = stored("b", "done", "open#1");
    let mut noted = left.clone();
    noted.insert("note", AttributeValue::Bool(true));
    let records = [changed("5", stored("a", "open", "open#1"), left.clone()), changed("6", left, noted)];
    for order in [[0, 1], [1, 0]] {
        let mut received = order.map(|at| Received::Change(records[at].clone()));
        let open = Batch::of(&job, &mut received).open();
        assert_eq!(open.len(), 1);
        let names = removed(&mut job.receive(&received[open[0]]), &job).map(|(names, _)| names);
        assert_eq!(names, Some(vec!["byState_pk".to_owned()]), "{order:?}");
    }
}
