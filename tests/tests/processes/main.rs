//! The retrofit's real programs, killed at random while writers go on: whatever dies, nothing is lost.
//!
//! The replicator is its real binary, fed by the stream pump; the backfill, the verification and every step are the command's.
//! `KEYFOLD_KILLS` says how often something is killed (a few times if unset), `KEYFOLD_SEED` repeats a run's choices as far as
//! the machine allows. At the end a comparison of its own, in plain code, must agree with the command's.
//!
//! A program more is added in three places: [`programs`] finds it, [`backfill`] or [`scenario`] runs it, `Scenario::kill` kills it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "how to repeat a run, and what it did, is shown with --nocapture")]

mod backfill;
mod deployment;
mod own;
mod programs;
mod scenario;
mod writers;

use scenario::Scenario;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_table_with_fences_loses_nothing() {
    let scenario =
        Scenario { retrofit: "moved", source: "old", target: "new", own: own::moved, partial: true };
    scenario.play().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_in_place_gets_every_key() {
    let scenario =
        Scenario { retrofit: "inPlace", source: "same", target: "same", own: own::in_place, partial: true };
    scenario.play().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_table_whose_keys_move_loses_nothing() {
    // An item without the attributes of its key could not be in the target at all.
    let scenario =
        Scenario { retrofit: "keyed", source: "old", target: "keyed", own: own::keyed, partial: false };
    scenario.play().await;
}
