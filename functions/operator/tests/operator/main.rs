//! The function as a process: one that cannot start says why. `statemachine/functions.py` plays what it does once it runs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of this build, or the deployed binary.
fn program() -> PathBuf {
    std::env::var_os("KEYFOLD_BINARIES").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_operator")),
        |folder| Path::new(&folder).join("operator/bootstrap"),
    )
}

#[test]
fn a_function_that_cannot_start_says_which_setting_is_wrong() {
    let output = Command::new(program())
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1")
        .env("AWS_REGION", "us-east-1")
        .env("KEYFOLD_MANIFEST", "/nowhere/keyfold.toml")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("`/nowhere/keyfold.toml` cannot be read"), "{said}");
}
