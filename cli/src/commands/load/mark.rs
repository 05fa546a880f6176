//! How far a load is, kept in a file beside the items, so that it can go on.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How far a load is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mark {
    /// What is loaded where: another load does not go on from here.
    what: Value,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    /// Of the bytes before.
    pub(super) digest: String,
    /// Items that were written.
    pub(super) written: u64,
    /// Items that were there already.
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
        Mark { what, ..Mark::default() }
    }

    /// The mark of this load, or its beginning if there is none.
    pub(super) fn read(place: &Path, what: Value) -> anyhow::Result<Mark> {
        let text = match std::fs::read_to_string(place) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Mark::new(what)),
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", place.display())),
        };
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

    /// The items that are dealt with.
    pub(super) fn items(&self) -> u64 {
        self.written + self.there + self.taken
    }

    /// Replaces the file at once: who is killed meanwhile leaves the old one.
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
