//! The commands that a phase refuses, as `docs/retrofit-commands.md` lists them, given to the real command.

use keyfold_core::retrofit::Action;
use keyfold_core::retrofit::control::{self, Phase, RetrofitState};

use crate::retrofit::{old_and_new, refuses, start};

const PAGE: &str = include_str!("../../../docs/retrofit-commands.md");
const NAME: &str = "auditV2";

/// The commands of the page's columns. `revise` depends on the manifest too.
const COMMANDS: [Option<&[&str]>; 7] = [
    Some(&["run", NAME]),
    Some(&["switch", NAME, "--writers", "attested"]),
    Some(&["switch", NAME, "--back", "--writers", "attested"]),
    Some(&["finish", NAME]),
    Some(&["quarantine", NAME, "--retry"]),
    None,
    Some(&["abandon", NAME]),
];

/// The row in each phase.
fn rows(begun: &RetrofitState) -> Vec<RetrofitState> {
    let to = |head: &RetrofitState, phase| head.to(phase).unwrap();
    let tidying = to(begun, Phase::Tidying);
    let tidy = to(&tidying, Phase::Tidy).swept();
    let closing = tidy.closing("stream").unwrap();
    let reversed = to(&closing.with_reverse_stream("stream").unwrap(), Phase::Reversed);
    let settled = to(&reversed, Phase::Settled);
    let finalising = to(&settled, Phase::Finalising);
    vec![
        begun.clone(),
        tidying,
        tidy,
        closing,
        to(&reversed, Phase::Returning),
        reversed,
        settled,
        to(begun, Phase::CutOver),
        to(&finalising, Phase::Finalised),
        finalising,
        to(begun, Phase::Abandoned),
    ]
}

#[tokio::test]
async fn the_commands_refuse_where_the_page_says_so_and_write_nothing() {
    let site = old_and_new().await;
    start(&site, NAME);
    let control = control::table("keyfold-control");
    let keys = [control::head_key(NAME)];
    let begun = RetrofitState::read(NAME, site.items(&control.name, &keys).await.first()).unwrap();
    let page = PAGE.split("### In place").next().unwrap();
    let mut refused = 0;
    // No row is older than the tags that an earlier one left.
    for (version, head) in (100..).zip(rows(&begun)) {
        let phase = head.phase.name();
        let Action::Put(row) = (RetrofitState { version, ..head }).store(None).action else {
            panic!("a row")
        };
        site.put(&control, row.clone()).await;
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("| `{phase}` | "))).unwrap();
        for (cell, command) in line.split(" | ").zip(COMMANDS) {
            let code =
                cell.trim_end_matches(" |").strip_prefix("refuses: ").map(|code| code.trim_matches('`'));
            if let (Some(code), Some(command)) = (code, command) {
                refuses(&site, command, &[code]);
                refused += 1;
            }
        }
        assert_eq!(site.items(&control.name, &keys).await, [row], "`{phase}`");
    }
    assert_eq!(refused, 34, "cells of the page that refuse");
}
