//! Preparing a tool: once, for as long as what it is prepared from stays the same.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why a peer cannot take part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// The file that says from what a folder was prepared.
const STAMP: &str = "prepared-from";

/// Runs `prepare` in a folder, unless it was done from the very same text before.
pub(super) fn once(
    folder: &Path,
    from: &str,
    prepare: impl FnOnce() -> Result<(), Missing>,
) -> Result<(), Missing> {
    let stamp = folder.join(STAMP);
    if std::fs::read_to_string(&stamp).is_ok_and(|before| before == from) {
        return Ok(());
    }
    let unwritable = |error| Missing(format!("`{}` cannot be written: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    prepare()?;
    std::fs::write(&stamp, from).map_err(unwritable)
}

/// Runs a command to its end.
pub(super) fn run(command: &mut Command) -> Result<(), Missing> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| Missing(format!("`{name}` does not start: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(Missing(format!("`{name}` failed ({}): {last}", output.status)))
}

/// The text of a file of ours.
pub(super) fn read(path: &Path) -> Result<String, Missing> {
    std::fs::read_to_string(path).map_err(|error| Missing(format!("`{}`: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_prepared_again_only_from_something_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut times = 0;
        for from in ["one", "one", "two"] {
            once(folder.path(), from, || {
                times += 1;
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(times, 2);
    }

    #[test]
    fn what_failed_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let failed = once(folder.path(), "one", || Err(Missing("no network".to_owned())));
        assert_eq!(failed.unwrap_err().to_string(), "no network");
        let mut times = 0;
        once(folder.path(), "one", || {
            times += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(times, 1);
    }

    #[test]
    fn a_program_that_is_not_there_or_fails_says_so() {
        let absent = run(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(absent.0.starts_with("`no-such-program-anywhere` does not start"), "{absent}");
        let failed =
            run(Command::new("sh").args(["-c", "echo first >&2; echo last >&2; exit 3"])).unwrap_err();
        assert!(failed.0.ends_with("last") && failed.0.contains('3'), "{failed}");
    }
}
