//! The paths of the programs: next to this test's own, where cargo puts those of the whole workspace.

use std::path::PathBuf;

/// The program with this name.
///
/// `cargo test --workspace` builds all of them first. A run of this package alone does not.
pub(crate) fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.ancestors().find(|folder| folder.join(name).is_file());
    match folder {
        Some(folder) => folder.join(name),
        None => panic!("`{name}` is not built: run `cargo build --workspace --bins` first"),
    }
}
