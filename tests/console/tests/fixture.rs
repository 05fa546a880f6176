//! The program that `.ci/console` opens in a browser is built with the tests, and starts.

use std::process::Command;

#[test]
fn the_fixture_starts() {
    let output = Command::new(env!("CARGO_BIN_EXE_console-fixture")).arg("--help").output();
    assert!(output.is_ok_and(|output| output.status.success()));
}
