//! Items whose key has no place in the target.

use super::*;
use crate::retrofit::Tracking;

const NARROW: &str = r#"
[tables.old]
partition = "id"
attributes = { id = "number", kind = "string" }
[tables.new]
partition = { attribute = "k", fold = "n{id:03}" }
attributes = { id = "number", kind = "string" }
[retrofits.r]
from = "old"
to = "new"
only = { kind = "a" }
"#;

/// Plays a task to its end, with this item in the source and nothing elsewhere.
fn ended(job: &Job, mut task: ItemTask, source: Option<&Item>) -> (TaskResult, Vec<Write>) {
    let (mut step, mut writes) = (task.start(job), Vec::new());
    loop {
        let response = match step {
            TaskStep::Done(result) => return (result, writes),
            TaskStep::Send(Request::Get { role: TableRole::Source, .. }) => Response::Item(source.cloned()),
            TaskStep::Send(Request::Get { .. }) => Response::Item(None),
            TaskStep::Send(Request::Write(write)) => {
                writes.push(write);
                Response::Written
            }
            TaskStep::Send(Request::Transact(all)) => {
                writes.extend(all);
                Response::Written
            }
        };
        step = task.respond(job, response);
    }
}

#[test]
fn an_item_without_a_place_is_in_quarantine_only_while_it_is_there_and_taken() {
    let parsed = parse("keyfold.toml", NARROW);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let mapping = Mapping::of(&model, "r").unwrap();
    assert_eq!(mapping.protocol(), Protocol::Fenced);
    let taken = item(r#"{"id":{"N":"12345"},"kind":{"S":"a"}}"#);
    let other = item(r#"{"id":{"N":"12345"},"kind":{"S":"b"}}"#);
    for tracking in [Tracking::Tombstones, Tracking::TombstonesAndRows, Tracking::Rows] {
        let job = Job::new(mapping.clone(), Epoch::FIRST).tracked_by(tracking);
        let record = |sequence: &str, new: Option<&Item>| ChangeRecord {
            sequence: SequenceNumber::parse(sequence).unwrap(),
            key: item(r#"{"id":{"N":"12345"}}"#),
            kind: ChangeKind::Modify,
            old: None,
            new: new.cloned(),
        };
        let (result, writes) = ended(&job, job.apply(&record("5", Some(&taken))), Some(&taken));
        assert_eq!(result.name(), "quarantined", "{tracking:?}");
        let Some(Action::Put(row)) = writes.last().map(|write| &write.action) else { panic!("{writes:?}") };
        let entry = Quarantined::read(row).unwrap();
        for gone in [None, Some(&other)] {
            let (result, _) = ended(&job, job.apply(&record("6", gone)), gone);
            assert!(!matches!(result, TaskResult::Quarantined(_)), "{tracking:?}: {result:?}");
            let (_, writes) = ended(&job, job.release(&entry).unwrap(), gone);
            let left = writes.last().map(|write| &write.action);
            assert!(matches!(left, Some(Action::Delete(_))), "{tracking:?}: {writes:?}");
        }
        let (result, _) = ended(&job, job.release(&entry).unwrap(), Some(&taken));
        assert_eq!(result.name(), "quarantined", "{tracking:?}");
    }
}
