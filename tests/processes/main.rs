//! The retrofit's real programs, killed at random during writes: no write may be lost.
//!
//! The replicator is its real binary, fed by the stream poller. The backfiller's binary copies old items, while the
//! verifier's compares, in consecutive slices as in the state machine; one test uses the command instead. Every step is
//! the command's. `KEYFOLD_KILLS`: the number of kills (a few if unset); `KEYFOLD_SEED` repeats a run's choices as far
//! as the machine allows. At the end an independent comparison must agree with the command's.
//!
//! A retrofit is a [`scenario`]; [`carrying`] chooses the programs, [`slices`] runs a function, [`backfill`] the
//! command, [`tidy`] the command that deletes the target's tombstones; [`switching`] moves writers there and back;
//! [`generated`] plays random manifests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "how to repeat a run, and what it did, is shown with --nocapture")]

mod backfill;
mod carrying;
mod deployment;
mod generated;
mod killable;
mod own;
mod programs;
mod scenario;
mod slices;
mod switching;
mod tidy;
mod writers;

use carrying::Means;
use own::Plain;
use scenario::Scenario;

/// Two tables, and the source's key fixes the target's.
const MOVED: Scenario = scenario("moved", "old", "new", own::moved);
/// One table.
const IN_PLACE: Scenario = scenario("inPlace", "same", "same", own::in_place);
/// Two tables, and keys can move. An item without the attributes of its key could not be in the target at all.
const KEYED: Scenario = Scenario { partial: false, ..scenario("keyed", "old", "keyed", own::keyed) };

const fn scenario(
    retrofit: &'static str,
    source: &'static str,
    target: &'static str,
    own: fn(&Plain) -> Plain,
) -> Scenario {
    Scenario { retrofit, source, target, own, partial: true, means: Means::Functions, tidies: false }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_table_with_fences_loses_nothing() {
    MOVED.play().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_table_with_fences_loses_nothing_by_the_command() {
    Scenario { means: Means::Command, ..MOVED }.play().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_is_tidied_loses_nothing_and_keeps_no_tombstone() {
    Scenario { means: Means::Command, tidies: true, ..MOVED }.play().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_in_place_gets_every_key() {
    IN_PLACE.play().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_table_whose_keys_move_loses_nothing() {
    KEYED.play().await;
}
