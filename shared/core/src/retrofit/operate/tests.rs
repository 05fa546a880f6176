//! Commands against two empty tables: what every step asks for, what failures do, and what is left after a kill. The simulator plays
//! them with items, streams and functions.

use std::collections::BTreeMap;

mod commands;
mod shards;
mod table;

use super::*;
use crate::retrofit::control::{self, Phase, RetrofitState};
use crate::retrofit::request::{Response, TableRole};
use crate::retrofit::reverse::{Reverse, ReverseAnswer};
use crate::retrofit::tests::job;
use crate::retrofit::{Action, Mapping, Write};
use crate::value::{AttributeValue, Item};

const ROLE: &str = "arn:aws:iam::1:role/replicator";

/// Two empty tables, a control table, and what can be wrong with them.
struct World {
    mapping: Mapping,
    rows: BTreeMap<(String, String), Item>,
    policies: [Option<(String, u64)>; 2],
    tags: [Option<String>; 2],
    streams: [String; 2],
    /// What a release of an entry does: it leaves the quarantine.
    releases: bool,
    now_ms: u64,
    revision: u64,
    listings: u64,
    effects: Vec<&'static str>,
    /// The effect of this name fails so often.
    fails: Option<(&'static str, u64, FailureKind)>,
    kill_after: Option<usize>,
}

fn text(row: &Item, name: &str) -> String {
    match row.get(name) {
        Some(AttributeValue::S(text)) => text.clone(),
        _ => String::new(),
    }
}

fn place(key: &Item) -> (String, String) {
    (text(key, control::PARTITION), text(key, control::SORT))
}

fn name(effect: &Effect) -> &'static str {
    match effect {
        Effect::Read { .. } => "read",
        Effect::Page { .. } => "page",
        Effect::Send(_) => "send",
        Effect::Carry { .. } => "carry",
        Effect::Describe(_) => "describe",
        Effect::Policy(_) => "policy",
        Effect::SetPolicy { .. } => "set-policy",
        Effect::Probe(_) => "probe",
        Effect::Tag { .. } => "tag",
        Effect::Shards { .. } => "shards",
        Effect::Records { .. } => "records",
        Effect::Pass { .. } => "pass",
        Effect::ForgetSegments(_) => "forget-segments",
        Effect::Wait { .. } => "wait",
    }
}

impl World {
    fn tidy(name: &str) -> World {
        World::of(job(name).mapping().clone())
    }

    /// With the row of a retrofit of this mapping that is tidy.
    fn of(mapping: Mapping) -> World {
        let started = RetrofitState::started(&mapping, Some("source-stream"));
        let first = started.to(started.tidied_first().unwrap()).unwrap();
        let tidy = if first.phase == Phase::Tidy { first } else { first.to(Phase::Tidy).unwrap() };
        let mut world = World {
            mapping,
            rows: BTreeMap::new(),
            policies: [None, None],
            tags: [None, None],
            streams: ["source-stream".to_owned(), "target-stream".to_owned()],
            releases: true,
            now_ms: 1_000_000_000_000,
            revision: 0,
            listings: 0,
            effects: Vec::new(),
            fails: None,
            kill_after: None,
        };
        world.put(&tidy.swept().store(None));
        world
    }

    fn put(&mut self, write: &Write) -> Response {
        let key = match &write.action {
            Action::Put(item) | Action::Delete(item) => place(item),
            Action::Update { key, .. } => place(key),
        };
        if !write.guard.holds(self.rows.get(&key)) {
            return Response::Refused(crate::retrofit::ItemSeen::Unknown);
        }
        match &write.action {
            Action::Put(item) => drop(self.rows.insert(key, item.clone())),
            Action::Delete(_) => drop(self.rows.remove(&key)),
            Action::Update { .. } => unreachable!("the operator updates no row"),
        }
        Response::Written
    }

    fn head(&self) -> RetrofitState {
        let key = place(&control::head_key(self.mapping.name()));
        RetrofitState::read(self.mapping.name(), self.rows.get(&key)).unwrap()
    }

    fn denies(&self, role: TableRole) -> bool {
        self.policies[usize::from(role == TableRole::Target)].is_some()
    }

    /// The replicator answers whatever is asked.
    fn answers(&mut self) {
        let key = place(&Reverse::key(&job("moved")));
        let Some(asked) = self.rows.get(&key).and_then(Reverse::read) else { return };
        let answer = ReverseAnswer { stream: "target-stream".to_owned(), allowed: true };
        self.put(&asked.answered(answer, 1).store(&job("moved")));
    }

    fn perform(&mut self, effect: &Effect) -> Result<Reply, Failure> {
        self.now_ms += 5;
        self.effects.push(name(effect));
        if let Some((failing, left, kind)) = &mut self.fails
            && *failing == name(effect)
            && *left > 0
        {
            *left -= 1;
            let (code, message) = ("throttled".to_owned(), format!("{failing} was throttled"));
            return Err(Failure { kind: *kind, code, message, hint: None });
        }
        let at = |role: &TableRole| usize::from(*role == TableRole::Target);
        Ok(match effect {
            Effect::Read { table: TableRole::Control, keys } => {
                self.answers();
                Reply::Items(keys.iter().map(|key| self.rows.get(&place(key)).cloned()).collect())
            }
            Effect::Read { keys, .. } => Reply::Items(vec![None; keys.len()]),
            Effect::Page { of: PageSource::Partition(partition), .. } => {
                let rows = self.rows.iter().filter(|((of, _), _)| of == partition);
                Reply::Page { items: rows.map(|(_, row)| row.clone()).collect(), last: None }
            }
            Effect::Page { .. } => Reply::Page { items: Vec::new(), last: None },
            Effect::Send(writes) => Reply::Responses(writes.iter().map(|write| self.put(write)).collect()),
            Effect::Carry { tasks, .. } => {
                if self.releases {
                    self.rows.retain(|(partition, _), _| !partition.starts_with("quarantine#"));
                }
                Reply::Results(vec![crate::retrofit::TaskResult::Unchanged; tasks.len()])
            }
            Effect::Describe(role) => {
                let name = if *role == TableRole::Target { "target" } else { "source" };
                let (arn, stream) = (format!("arn:{name}"), Some(self.streams[at(role)].clone()));
                Reply::Table(TableFacts { arn, stream, ..TableFacts::default() })
            }
            Effect::Policy(role) => Reply::Policy(
                self.policies[at(role)]
                    .clone()
                    .map(|(text, revision)| TablePolicy { text, revision: revision.to_string() }),
            ),
            Effect::SetPolicy { table, text, revision } => {
                let there = self.policies[at(table)].as_ref().map(|(_, revision)| revision.to_string());
                let same = there == *revision;
                if same {
                    self.revision += 1;
                    self.policies[at(table)] = text.clone().map(|text| (text, self.revision));
                }
                Reply::Changed(same)
            }
            Effect::Probe(role) => Reply::Denied(self.denies(*role)),
            Effect::Tag { table, write } => {
                if write.is_some() {
                    self.tags[at(table)].clone_from(write);
                }
                Reply::Tag(self.tags[at(table)].clone())
            }
            Effect::Shards { .. } => {
                self.listings += 1;
                let shards = vec![Shard { name: "shard".to_owned(), parent: None }];
                Reply::Shards { shards, last: None }
            }
            Effect::Records { from, .. } => Reply::Records(vec![Ok(ShardPage::default()); from.len()]),
            Effect::Pass { .. } => {
                compared(self);
                Reply::Pass { done: true, counts: BTreeMap::new() }
            }
            Effect::ForgetSegments(_) => Reply::Done,
            Effect::Wait { until_ms } => {
                self.now_ms = self.now_ms.max(*until_ms);
                Reply::Done
            }
        })
    }

    /// Drives a command to its end; `None` if it was killed.
    fn drive(&mut self, command: Command) -> Option<Outcome> {
        let mut operation = Operation::new(self.mapping.clone(), command, "nonce", self.now_ms);
        for step in 0..20_000 {
            if self.kill_after.is_some_and(|after| step >= after) {
                return None;
            }
            match operation.next() {
                Step::Over(outcome) => return Some(*outcome),
                Step::Ask(effect) => {
                    let reply = self.perform(&effect);
                    operation.answer(self.now_ms, reply);
                }
            }
        }
        panic!("it never ends: {:?}", operation.status())
    }
}

fn switch(writers: Writers) -> Switch {
    Switch {
        back: false,
        for_good: false,
        writers: Some(writers),
        unproven: false,
        check: false,
        take_back: false,
        limits: Limits { denied_ms: 1_000, ..Limits::LOCAL },
    }
}

fn by_policy() -> Switch {
    switch(Writers::Policy(vec![ROLE.to_owned()]))
}

/// Both sides were compared just now.
fn compared(world: &mut World) {
    use crate::retrofit::progress::{self, ComparisonStart};
    use crate::retrofit::{Checkpoint, Pass, SegmentId, Slice};
    let (head, now) = (world.head(), world.now_ms / 1_000);
    let job = head.job(world.mapping.clone());
    let mark = world.rows.get(&place(&progress::mark_key(&job))).and_then(progress::read_mark);
    let start = ComparisonStart { mark: mark.unwrap_or_default(), version: head.version, seconds: now };
    for pass in [Pass::Backfill, Pass::VerifySource, Pass::VerifyTarget] {
        let started = Checkpoint::start(&job, pass, SegmentId::new(0, 1).unwrap());
        let mark = (pass != Pass::Backfill).then(|| start.text());
        let mut slice = Slice::from(started.marked(mark));
        slice.page(0, None);
        world.put(&progress::begin_segment(&job, slice.checkpoint()));
    }
}

fn ready(name: &str) -> World {
    let mut world = World::tidy(name);
    compared(&mut world);
    world
}

#[test]
fn a_switch_and_its_return_move_the_row_and_the_policies() {
    let mut world = ready("moved");
    let done = world.drive(Command::Switch(by_policy())).unwrap();
    assert_eq!((done.end, done.open), (End::Done, OpenTable::Target), "{}", done.text());
    assert_eq!(world.head().phase, Phase::Reversed);
    let seals = world.rows.keys().filter(|(partition, _)| partition.starts_with("seal#")).count();
    assert_eq!(seals, usize::from(crate::retrofit::seal::SEALS));
    assert!(world.denies(TableRole::Source) && !world.denies(TableRole::Target));
    assert!(done.text().contains("is open: its writers may write"), "{}", done.text());
    let back = world.drive(Command::Switch(Switch { back: true, unproven: true, ..by_policy() })).unwrap();
    assert_eq!((back.end, back.open), (End::Done, OpenTable::Source), "{}", back.text());
    assert!(!world.denies(TableRole::Source) && world.denies(TableRole::Target));
}

#[test]
fn a_failure_during_the_stop_is_tried_again() {
    for effect in ["shards", "records", "probe", "send", "tag", "set-policy"] {
        let mut world = ready("moved");
        world.fails = Some((effect, 4, FailureKind::Passing));
        let done = world.drive(Command::Switch(by_policy())).unwrap();
        assert_eq!(done.end, End::Done, "{effect}: {}", done.text());
    }
}

#[test]
fn a_failure_that_lasts_gives_the_table_back() {
    let mut world = ready("moved");
    let mut operation =
        Operation::new(world.mapping.clone(), Command::Switch(by_policy()), "nonce", world.now_ms);
    let outcome = loop {
        if world.head().phase == Phase::Closing {
            world.fails = Some(("records", u64::MAX, FailureKind::Passing));
        }
        match operation.next() {
            Step::Over(outcome) => break outcome,
            Step::Ask(effect) => {
                let reply = world.perform(&effect);
                operation.answer(world.now_ms, reply);
            }
        }
    };
    assert_eq!((outcome.end, outcome.open), (End::TakenBack, OpenTable::Source), "{}", outcome.text());
    assert_eq!(outcome.code, "throttled");
    assert!(!world.denies(TableRole::Source), "the policy is taken off");
    let paused = outcome.paused_ms.unwrap();
    assert!((120_000..135_000).contains(&paused), "{paused}");
}

#[test]
fn a_switch_that_is_killed_at_any_step_goes_on() {
    let mut whole = ready("moved");
    whole.drive(Command::Switch(by_policy())).unwrap();
    for after in 0..whole.effects.len() {
        let mut world = ready("moved");
        world.kill_after = Some(after);
        assert_eq!(world.drive(Command::Switch(by_policy())), None);
        world.kill_after = None;
        let done = world.drive(Command::Switch(by_policy())).unwrap();
        assert!(done.is_success(), "after {after}: {}", done.text());
        assert_eq!((world.head().phase, world.denies(TableRole::Source)), (Phase::Reversed, true), "{after}");
    }
}

#[test]
fn a_session_is_no_role_and_a_denied_policy_stops_nobody() {
    let mut world = ready("moved");
    let session = "arn:aws:sts::1:assumed-role/replicator/abc".to_owned();
    let refused = world.drive(Command::Switch(switch(Writers::Policy(vec![session])))).unwrap();
    assert_eq!((refused.end, &*refused.code), (End::Refused, "exempt-no-role"));
    assert!(refused.text().contains("arn:aws:iam::1:role/replicator"), "{}", refused.text());
    for effect in ["policy", "set-policy"] {
        let mut world = ready("moved");
        world.fails = Some((effect, u64::MAX, FailureKind::Denied));
        let refused = world.drive(Command::Switch(by_policy())).unwrap();
        assert_eq!((refused.end, world.head().phase), (End::Failed, Phase::Tidy), "{effect}");
        assert_eq!(refused.open, OpenTable::Source);
    }
}

#[test]
fn a_control_table_of_before_is_noticed() {
    let mut world = ready("moved");
    let before = world.rows.clone();
    world.drive(Command::Switch(by_policy())).unwrap();
    world.rows = before.clone();
    for command in [
        Command::Switch(by_policy()),
        Command::Finish(Finish { leave_marks: true, limits: Limits::LOCAL }),
        Command::Run(Run { repair: true, ..Run::default() }),
    ] {
        let refused = world.drive(command).unwrap();
        assert_eq!((refused.end, &*refused.code), (End::Refused, "control-table-restored"));
        assert!(refused.text().contains("reversed"), "{}", refused.text());
        assert_eq!(world.rows, before, "nothing is written");
    }
}

#[test]
fn shards_are_listed_when_the_reading_begins_and_before_the_last_look() {
    let mut world = ready("moved");
    world.drive(Command::Switch(by_policy())).unwrap();
    assert_eq!(world.listings, 2, "{:?}", world.effects);
}

#[test]
fn writers_who_stand_still_by_themselves_are_paused_from_the_beginning() {
    let mut world = ready("moved");
    let slow = Limits { stop_max_ms: 30, ..Limits::LOCAL };
    let refused = world.drive(Command::Switch(Switch { limits: slow, ..switch(Writers::Attested) })).unwrap();
    assert_eq!((refused.end, &*refused.code), (End::Refused, "stop-too-long"), "{}", refused.text());
    assert_eq!(refused.open, OpenTable::Source);
}

#[test]
fn a_stream_that_is_replaced_during_the_stop_gives_the_table_back() {
    for (replaced, name) in [(0, "source"), (1, "target")] {
        let mut world = ready("moved");
        let mut operation =
            Operation::new(world.mapping.clone(), Command::Switch(by_policy()), "nonce", world.now_ms);
        let outcome = loop {
            if world.head().phase == Phase::Closing {
                world.streams[replaced] = "another".to_owned();
            }
            match operation.next() {
                Step::Over(outcome) => break outcome,
                Step::Ask(effect) => {
                    let reply = world.perform(&effect);
                    operation.answer(world.now_ms, reply);
                }
            }
        };
        assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "stream-replaced"), "{name}");
        assert_eq!((outcome.open, world.denies(TableRole::Source)), (OpenTable::Source, false));
    }
}

/// Items of the target that could not be carried back.
fn with_entries(ids: &[&str]) -> World {
    use crate::retrofit::{Fence, QuarantineReason, Quarantined, SourceKey};
    let mut world = ready("moved");
    world.drive(Command::Switch(by_policy())).unwrap();
    let back = world.head().reverse_job(&world.mapping).unwrap();
    for id in ids {
        let key = back.mapping().source().key_of(&crate::retrofit::tests::event(id, "joe")).unwrap();
        let source = SourceKey::of(back.mapping().source(), &key).unwrap();
        let fence = Fence::of_scan(back.epoch());
        let entry = Quarantined::item(&key, &source, &QuarantineReason::Discarded, fence);
        world.put(&entry.enter(back.mapping()));
    }
    world
}

/// It was mended since.
#[test]
fn an_entry_of_the_way_back_is_tried_again_and_does_not_block_for_good() {
    for (releases, end) in [(true, End::Done), (false, End::Refused)] {
        let mut world = with_entries(&["1"]);
        world.releases = releases;
        let outcome =
            world.drive(Command::Switch(Switch { back: true, unproven: true, ..by_policy() })).unwrap();
        assert_eq!(outcome.end, end, "{}", outcome.text());
        assert!(releases || outcome.text().contains("quarantine"), "{}", outcome.text());
    }
}

/// One item was in the other's way.
#[test]
fn entries_are_tried_again_as_long_as_fewer_are_left() {
    let mut world = with_entries(&["1", "2"]);
    let mut carried = Vec::new();
    let outcome =
        faults_tests::played(&mut world, Command::Switch(faults_tests::back()), |world, _, effect| {
            let Effect::Carry { tasks, .. } = effect else { return None };
            carried.push(tasks.len());
            let entry =
                world.rows.keys().find(|(partition, _)| partition.starts_with("quarantine#")).cloned();
            world.rows.remove(&entry.unwrap());
            Some(Ok(Reply::Results(vec![crate::retrofit::TaskResult::Unchanged; tasks.len()])))
        });
    assert_eq!((outcome.end, carried), (End::Done, vec![2, 1]), "{}", outcome.text());
}

/// A retrofit in place that was compared, and whose stream has no record yet.
fn in_place() -> World {
    let mapping = job("inPlace").mapping().clone();
    let mut world = World::tidy("moved");
    world.mapping = mapping.clone();
    world.rows.clear();
    world.put(&RetrofitState::started(&mapping, Some("source-stream")).store(None));
    compared(&mut world);
    world
}

#[test]
fn in_place_the_replicator_has_to_have_processed_a_record() {
    let mut world = in_place();
    let refused = world.drive(Command::Switch(by_policy())).unwrap();
    let codes: Vec<_> = refused.gates.iter().map(crate::retrofit::gates::Gate::code).collect();
    assert_eq!((refused.end, codes), (End::Refused, vec!["replicator-silent"]), "{}", refused.text());
    world.put(&crate::retrofit::Lag { behind_ms: 0, told: 0 }.store(&job("inPlace")));
    assert_eq!(world.drive(Command::Switch(by_policy())).unwrap().end, End::Done);
}

#[test]
fn in_place_a_table_without_traffic_can_be_switched_unproven() {
    let mut world = in_place();
    let switch = |back| Command::Switch(Switch { unproven: true, back, ..by_policy() });
    let done = world.drive(switch(false)).unwrap();
    assert_eq!((done.end, world.head().phase), (End::Done, Phase::CutOver), "{}", done.text());
    assert!(done.message.contains("readers and writers stay where they are"), "{}", done.text());
    let back = world.drive(switch(true)).unwrap();
    assert_eq!((back.end, world.head().phase), (End::Done, Phase::Running), "{}", back.text());
    assert!(back.message.contains("until you switch again"), "{}", back.text());
}

mod faults_tests;
mod items_tests;
mod stop_tests;
mod trial_tests;
