//! Every command in every phase, as the machine answers: `docs/retrofit-commands.md` shows it.

use super::*;

const PAGE: &str = include_str!("../../../../../../docs/retrofit-commands.md");
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

/// The row of a retrofit in this phase; `None` if it never gets there.
fn row(name: &str, phase: Phase) -> Option<RetrofitState> {
    let mapping = job(name).mapping().clone();
    let started = RetrofitState::started(&mapping, Some("source-stream"));
    let to = |head: Option<RetrofitState>, phase: Phase| head.and_then(|head| head.to(phase).ok());
    let tidied = || Some(to(to(Some(started.clone()), Phase::Tidying), Phase::Tidy)?.swept());
    let closing = || Some(tidied()?.closing("target-stream").ok()?.exempting(&[ROLE.to_owned()]));
    let reversed = || to(closing()?.with_reverse_stream("target-stream").ok(), Phase::Reversed);
    let cut_over = || to(tidied().or_else(|| Some(started.clone())), Phase::CutOver);
    match phase {
        Phase::Running => Some(started.clone()),
        Phase::Tidying => to(Some(started.clone()), Phase::Tidying),
        Phase::Tidy => tidied(),
        Phase::Closing => closing(),
        Phase::Reversed => reversed(),
        Phase::Returning => to(reversed(), Phase::Returning),
        Phase::Settled => to(reversed(), Phase::Settled),
        Phase::CutOver => cut_over(),
        Phase::Finalising => to(to(reversed(), Phase::Settled).or_else(cut_over), Phase::Finalising),
        Phase::Finalised => to(row(name, Phase::Finalising), Phase::Finalised),
        Phase::Abandoned => to(Some(started.clone()), Phase::Abandoned),
    }
}

fn command(name: &str, phase: Phase, command: Command) -> String {
    let mut world = World::tidy("moved");
    world.mapping = job(name).mapping().clone();
    let mut head = row(name, phase).unwrap();
    if matches!(command, Command::Revise(_)) {
        // It was started with another manifest.
        head.mapping = job("rekeyed").mapping().hash().clone();
    }
    world.rows.clear();
    world.put(&head.store(None));
    compared(&mut world);
    // The replicator has processed records.
    world.put(&crate::retrofit::Lag { behind_ms: 0, told: 0 }.store(&job(name)));
    let outcome = world.drive(command).unwrap();
    let after = world.head().phase;
    match outcome.end {
        End::Refused => format!("`{}`", outcome.code),
        End::Failed => format!("fails: `{}`", outcome.code),
        _ if after == phase => "stays".to_owned(),
        _ => format!("to `{}`", after.name()),
    }
}

fn table(name: &str) -> String {
    let mut lines = vec![
        "| phase | `run` | `switch` | `switch --back` | `switch --lift` | `finish` | `revise` | `abandon` |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for phase in PHASES {
        if row(name, phase).is_none() {
            continue;
        }
        let finish = Finish { leave_marks: false, limits: Limits::LOCAL };
        let there = Switch { unproven: true, ..by_policy() };
        let cells = [
            command(name, phase, Command::Run(Run::default())),
            command(name, phase, Command::Switch(there.clone())),
            command(name, phase, Command::Switch(Switch { back: true, ..there })),
            command(name, phase, Command::Lift),
            command(name, phase, Command::Finish(finish)),
            command(name, phase, Command::Revise(Revise { limits: Limits::LOCAL })),
            command(name, phase, Command::Abandon),
        ];
        lines.push(format!("| `{}` | {} |", phase.name(), cells.join(" | ")));
    }
    lines.join("\n")
}

#[test]
fn the_page_of_commands_says_what_the_machine_does() {
    for name in ["moved", "inPlace"] {
        let table = table(name);
        assert!(PAGE.contains(&table), "docs/retrofit-commands.md must have this table:\n{table}");
    }
}
