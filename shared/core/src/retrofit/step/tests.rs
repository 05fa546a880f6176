//! Every text of every phase, by protocol. A change of one shows in the snapshot: `INSTA_UPDATE=always cargo test` writes it again.

use std::fmt::Write;

use super::*;
use crate::manifest::parse;
use crate::retrofit::control::{ControlError, OTHER_KEYS, OTHER_TABLE, ReverseStream};
use crate::retrofit::gates::Gate;
use crate::retrofit::{Epoch, Generation};

const MANIFEST: &str = r#"
[tables.old]
name = "OldEvents"
partition = "id"
attributes = { id = "string", user = "string", at = "timestamp" }

[tables.new]
name = "NewEvents"
partition = "id"
attributes = { id = "string", user = "string", at = "timestamp" }
indexes.byUser.partition = "u:{user}-{at}"

[tables.keyed]
name = "KeyedEvents"
partition = "u:{user}-{id}"
attributes = { id = "string", user = "string", at = "timestamp" }

[tables.live]
name = "LiveEvents"
partition = "id"
attributes = { id = "string", user = "string", at = "timestamp", note = "string" }
indexes.byUser.partition = "u:{user}-{at}"
indexes.byTime.partition = "t:{at}-{user}"

[retrofits.inPlace]
from = "live"
to = "live"

[retrofits.inPlaceWithChanges]
from = "live"
to = "live"
rename = { note = "remark" }
set = { origin = "web" }
drop = ["junk"]
changes-live-attributes = true
fills = ["byUser"]

[retrofits.inPlaceForGood]
from = "live"
to = "live"
keep-folded = true

[retrofits.fenced]
from = "old"
to = "new"

[retrofits.ledger]
from = "old"
to = "keyed"
"#;

const PHASES: [Phase; 11] = [
    Phase::Running,
    Phase::Tidying,
    Phase::Tidy,
    Phase::Closing,
    Phase::Reversed,
    Phase::Returning,
    Phase::Settled,
    Phase::CutOver,
    Phase::Finalising,
    Phase::Finalised,
    Phase::Abandoned,
];

fn mapping(name: &str) -> Mapping {
    let parsed = parse("keyfold.toml", MANIFEST);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Mapping::of(&model, name).unwrap()
}

/// The rows that a retrofit of this protocol can have in this phase, each with its difference from the others.
fn rows(mapping: &Mapping, phase: Phase) -> Vec<(&'static str, RetrofitState)> {
    let started = RetrofitState::started(mapping, Some("stream"));
    let plain = RetrofitState { phase, ..started.clone() };
    let rowed = RetrofitState { phase, generation: Some(Generation::FIRST), ..started };
    let reverse_stream = Some(ReverseStream { stream: "back".to_owned(), epoch: Epoch::FIRST });
    let returned = RetrofitState { reverse_stream, swept: true, ..rowed.clone() };
    let tidied = mapping.protocol() != Protocol::InPlace;
    match phase {
        Phase::Tidying if mapping.protocol() == Protocol::Fenced => vec![("", rowed)],
        Phase::Tidy if tidied => vec![("", rowed.clone()), (", swept", rowed.swept())],
        Phase::Closing | Phase::Reversed | Phase::Returning | Phase::Settled if tidied => {
            vec![("", returned)]
        }
        Phase::Tidying | Phase::Tidy | Phase::Closing => Vec::new(),
        Phase::Reversed | Phase::Returning | Phase::Settled => Vec::new(),
        Phase::Abandoned if tidied => vec![("", plain), (" after a return", returned)],
        Phase::Running => vec![("", plain.clone()), (", mended", RetrofitState { revising: true, ..plain })],
        _ => vec![("", plain)],
    }
}

/// The steps that lead into a phase.
fn steps(head: &RetrofitState) -> Vec<CompletedStep> {
    match head.phase {
        Phase::Running => vec![CompletedStep::Started, CompletedStep::Undone, CompletedStep::Revised],
        Phase::Tidying | Phase::Finalising => Vec::new(),
        Phase::Tidy if head.swept && head.protocol == Protocol::Ledger => vec![
            CompletedStep::Tidied { swept: 0, revived: 0 },
            CompletedStep::Turned { items: 7, milliseconds: 12_345 },
            CompletedStep::Undone,
        ],
        Phase::Tidy if head.swept => vec![
            CompletedStep::Tidied { swept: 3, revived: 0 },
            CompletedStep::Tidied { swept: 3, revived: 2 },
            CompletedStep::Turned { items: 7, milliseconds: 12_345 },
            CompletedStep::Undone,
        ],
        Phase::Tidy => Vec::new(),
        Phase::Closing | Phase::Returning => vec![CompletedStep::Stopped { seconds: 120 }],
        Phase::Reversed => vec![CompletedStep::Turned { items: 7, milliseconds: 12_345 }],
        Phase::Settled => {
            vec![CompletedStep::Settled, CompletedStep::MovedForGood { items: 7, milliseconds: 12_345 }]
        }
        Phase::CutOver if head.protocol == Protocol::InPlace => {
            vec![CompletedStep::CutOver, CompletedStep::Revised]
        }
        Phase::CutOver => vec![CompletedStep::CutOver],
        Phase::Finalised if head.protocol == Protocol::InPlace => {
            vec![CompletedStep::Finalised { cleaned: 0, revived: 0, left: false }]
        }
        Phase::Finalised => {
            vec![
                CompletedStep::Finalised { cleaned: 5, revived: 0, left: false },
                CompletedStep::Finalised { cleaned: 5, revived: 2, left: false },
                CompletedStep::Finalised { cleaned: 0, revived: 0, left: true },
            ]
        }
        Phase::Abandoned => vec![CompletedStep::Abandoned],
    }
}

fn gates(mapping: &Mapping) -> Vec<Gate> {
    let mut gates = vec![
        Gate::Backfill { done: 0, total: 0 },
        Gate::Backfill { done: 3, total: 8 },
        Gate::NotVerified,
        Gate::Differences { count: 2 },
        Gate::Stale { hours: 30 },
        Gate::AtWork { segments: 1 },
        Gate::Quarantine { count: 4 },
        Gate::Index { index: "byUser".to_owned() },
        Gate::Stream,
        Gate::FormerStream,
        Gate::Revision,
    ];
    gates.extend(match mapping.protocol() {
        Protocol::InPlace => None,
        Protocol::Fenced => Some(Gate::Tombstones),
        Protocol::Ledger => Some(Gate::Tidying),
    });
    gates
}

/// The refusals that a retrofit of this protocol can meet.
fn refusals(mapping: &Mapping) -> Vec<ControlError> {
    let retrofit = || mapping.name().to_owned();
    let (other, phase) = ("another".to_owned(), Phase::Running);
    let in_place = mapping.protocol() == Protocol::InPlace;
    let table = || mapping.source().id.clone();
    let mut refusals = vec![
        ControlError::NotStarted { retrofit: retrofit() },
        ControlError::MappingChanged { retrofit: retrofit(), started: "a".to_owned(), given: "b".to_owned() },
        ControlError::WrongPhase { retrofit: retrofit(), phase, wanted: Phase::Settled },
        ControlError::Closed { retrofit: retrofit(), phase: Phase::Abandoned },
        ControlError::SourceUnfinished { retrofit: retrofit(), table: table(), other: other.clone(), phase },
        ControlError::TargetShared { retrofit: retrofit(), table: table(), other, phase },
        ControlError::StateLost {
            retrofit: retrofit(),
            found: "rows under `segments` are left".to_owned(),
            in_place,
        },
        ControlError::OtherStream { retrofit: retrofit() },
        ControlError::EpochsUsedUp { retrofit: retrofit() },
        ControlError::Unreadable { retrofit: retrofit() },
    ];
    if in_place {
        refusals.push(ControlError::NothingToTidy { retrofit: retrofit() });
    }
    refusals.extend(match in_place {
        true => vec![cannot_revise(mapping, OTHER_TABLE)],
        false => [OTHER_KEYS, "its target is tidied"].map(|why| cannot_revise(mapping, why)).into(),
    });
    if mapping.keeps_folded() {
        refusals.push(ControlError::KeepsFolded { retrofit: retrofit(), table: table() });
    }
    match mapping.live_changes().into_iter().next() {
        Some(change) => {
            refusals.push(ControlError::LiveAttributes { retrofit: retrofit(), table: table(), change });
        }
        None if in_place => {}
        None => refusals.push(ControlError::CutOver { retrofit: retrofit() }),
    }
    refusals
}

fn cannot_revise(mapping: &Mapping, why: &'static str) -> ControlError {
    ControlError::CannotRevise { retrofit: mapping.name().to_owned(), why }
}

/// All messages of one retrofit.
fn said(mapping: &Mapping) -> String {
    let mut text = format!("# {}\n", mapping.name());
    for phase in PHASES {
        for (which, head) in rows(mapping, phase) {
            let _ = writeln!(text, "\n## {}{which}\nstatus: {}", phase.name(), head.shown());
            let _ = writeln!(text, "means: {}", head.meaning());
            for step in steps(&head) {
                let _ = writeln!(text, "{step:?}: {}", step.message(&head, mapping));
            }
        }
    }
    let _ = writeln!(text, "\n## gates");
    for gate in gates(mapping) {
        let _ = writeln!(text, "{}: {gate}", gate.code());
    }
    let _ = writeln!(text, "\n## refusals");
    for error in refusals(mapping) {
        let _ = writeln!(text, "{}: {error}\n  hint: {}", error.code(), error.hint().unwrap_or("-"));
    }
    if let Err(why) = mapping.reverse() {
        let _ = writeln!(text, "no way back: {why}\n  hint: {}", why.hint());
    }
    text
}

#[test]
fn every_text_of_every_phase_is_right_for_its_protocol() {
    let all = ["inPlace", "inPlaceWithChanges", "fenced", "ledger"].map(|name| said(&mapping(name)));
    insta::assert_snapshot!("texts", all.join("\n"));
}

#[test]
fn in_place_nobody_is_told_to_move_or_to_get_rid_of_a_table() {
    for name in ["inPlace", "inPlaceWithChanges"] {
        // A code stays the same, whatever the message says.
        let said = said(&mapping(name)).to_lowercase().replace("target-shared:", "");
        for word in ["target", "delete", "readers and writers to"] {
            assert!(!said.contains(word), "`{word}` in\n{said}");
        }
        // Queries switch to the indexes; readers and writers stay.
        for line in said.lines().filter(|line| line.contains("switch")) {
            assert!(!line.contains("writers"), "{line}");
        }
    }
}

#[test]
fn what_is_given_up_in_place_is_told_by_attribute() {
    let mapping = mapping("inPlaceWithChanges");
    let head = RetrofitState { phase: Phase::Abandoned, ..RetrofitState::started(&mapping, None) };
    let said = CompletedStep::Abandoned.message(&head, &mapping);
    for change in ["`note` is renamed to `remark`", "`origin` is set to a constant", "`junk` is removed"] {
        assert!(said.contains(change), "{said}");
    }
}

#[test]
fn a_retrofit_that_fills_no_index_says_so() {
    let manifest = MANIFEST.replace("fills = [\"byUser\"]", "fills = []");
    let model = parse("keyfold.toml", &manifest).model.unwrap();
    let mapping = Mapping::of(&model, "inPlaceWithChanges").unwrap();
    let head = RetrofitState::started(&mapping, Some("stream"));
    assert_eq!(
        CompletedStep::Undone.message(&head, &mapping),
        "queries do not use the indexes that it fills (there are none) until you switch again; no item of table `LiveEvents` changes"
    );
}
