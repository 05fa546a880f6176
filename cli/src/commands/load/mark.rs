//! The progress of a load, in a file next to the items, so that it can continue.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use keyfold_core::format::StoredFormat;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::refusal::refuse;

/// The form of a mark.
const FORMAT: StoredFormat = StoredFormat { name: "the progress of a load", version: 1 };

/// The progress of a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mark {
    v: u32,
    /// Table and options: a load with others does not continue from here.
    what: Value,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    /// The digest of the bytes before.
    pub(super) digest: String,
    /// Items that were written.
    pub(super) written: u64,
    /// Items that existed already.
    pub(super) there: u64,
    /// Items whose key another item has.
    pub(super) taken: u64,
    /// The first lines of those.
    pub(super) taken_lines: Vec<u64>,
    /// Capacity units.
    pub(super) units: f64,
}

impl Mark {
    /// The beginning of a load.
    pub(super) fn new(what: Value) -> Mark {
        Mark { v: FORMAT.version, what, ..Mark::default() }
    }

    /// The mark of this load, or a new one.
    pub(super) fn read(place: &Path, what: Value) -> anyhow::Result<Mark> {
        let text = match std::fs::read_to_string(place) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Mark::new(what)),
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", place.display())),
        };
        if let Err(unknown) = FORMAT.check_json(text.as_bytes()) {
            refuse!("unknown-format", "`{}`: {unknown}\nhint: {}", place.display(), unknown.hint());
        }
        let mark: Option<Mark> = serde_json::from_str(&text).ok();
        match mark.filter(|mark| mark.what == what) {
            Some(mark) => Ok(mark),
            None => bail!(
                "`{}` is the progress of another load: of another table, or with other options\n\
                 hint: `--again` loads from the beginning, and `--progress FILE` keeps this one apart",
                place.display()
            ),
        }
    }

    /// The items that are done.
    pub(super) fn items(&self) -> u64 {
        self.written + self.there + self.taken
    }

    /// Replaces the file at once: a kill in between leaves the old one.
    pub(super) fn write(&self, place: &Path) -> anyhow::Result<()> {
        let mut name = place.as_os_str().to_owned();
        name.push(".new");
        let wrote =
            std::fs::write(&name, serde_json::to_string(self)?).and_then(|()| std::fs::rename(&name, place));
        wrote.with_context(|| format!("cannot write `{}`; `--progress FILE` names another", place.display()))
    }

    /// The load is over.
    pub(super) fn remove(&self, place: &Path) -> anyhow::Result<()> {
        match std::fs::remove_file(place) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove `{}`", place.display()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_of_another_version_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("items.progress");
        Mark::new(Value::Null).write(&place).unwrap();
        assert_eq!(Mark::read(&place, Value::Null).unwrap(), Mark::new(Value::Null));
        let text = std::fs::read_to_string(&place).unwrap().replace("\"v\":1", "\"v\":2");
        std::fs::write(&place, &text).unwrap();
        let refused = format!("{:#}", Mark::read(&place, Value::Null).unwrap_err());
        assert!(refused.contains("format version 2, and this Keyfold reads version 1 only"), "{refused}");
        assert_eq!(std::fs::read_to_string(&place).unwrap(), text);
        let StoredFormat { name, version } = FORMAT;
        let documented = include_str!("../../../../docs/architecture.md");
        assert!(documented.contains(&format!("| {name} | {version} |")));
    }
}
