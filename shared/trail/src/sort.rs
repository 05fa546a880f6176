//! Sorts events by id, on disk: the journal's records of an id and the items with it are in one file. Files are judged
//! one by one, so at most one file is in memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};

use keyfold_core::audit::{Group, Hash, Intent, Mark, Seen, Stored};
use serde::{Deserialize, Serialize};

use crate::error::TrailError;
use crate::journal::Marks;

/// The number of files. All are open at once; systems allow at least 256.
const FILES: usize = 128;

/// A line of a file.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Intent(Intent),
    Seen(Seen),
    Stored(String, Stored),
}

impl Line {
    fn id(&self) -> &str {
        match self {
            Line::Intent(Intent { id, .. }) | Line::Seen(Seen { id, .. }) | Line::Stored(id, _) => id,
        }
    }
}

/// The files. They are unnamed, and deleted when they are dropped.
#[derive(Debug)]
pub(crate) struct Sorted {
    files: Vec<BufWriter<File>>,
}

impl Sorted {
    pub(crate) fn new() -> Result<Sorted, TrailError> {
        let files = (0..FILES).map(|_| Ok(BufWriter::new(tempfile::tempfile()?)));
        Ok(Sorted { files: files.collect::<Result<_, std::io::Error>>()? })
    }

    /// Adds an item with its event's id.
    pub(crate) fn stored(&mut self, id: &str, stored: Stored) -> Result<(), TrailError> {
        self.line(&Line::Stored(id.to_owned(), stored))
    }

    fn line(&mut self, line: &Line) -> Result<(), TrailError> {
        // Ids can be anything, but their hashes are distributed evenly.
        let file = usize::from(Hash::of(line.id().as_bytes()).bytes()[0]) % FILES;
        serde_json::to_writer(&mut self.files[file], line)?;
        Ok(self.files[file].write_all(b"\n")?)
    }

    /// Passes the records and items of each id to `judge`, once.
    pub(crate) fn each(self, mut judge: impl FnMut(&Group)) -> Result<(), TrailError> {
        for file in self.files {
            let mut file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.rewind()?;
            let mut groups: BTreeMap<String, Group> = BTreeMap::new();
            for line in BufReader::new(file).lines() {
                let line: Line = serde_json::from_str(&line?)?;
                let group = groups.entry(line.id().to_owned()).or_default();
                match line {
                    Line::Intent(intent) => group.intents.push(intent),
                    Line::Seen(seen) => group.seen.push(seen),
                    Line::Stored(_, stored) => group.stored.push(stored),
                }
            }
            groups.values().for_each(&mut judge);
        }
        Ok(())
    }
}

impl Marks for Sorted {
    fn take(&mut self, mark: Mark) -> Result<(), TrailError> {
        self.line(&match mark {
            Mark::Intent(intent) => Line::Intent(intent),
            Mark::Seen(seen) => Line::Seen(seen),
        })
    }
}
