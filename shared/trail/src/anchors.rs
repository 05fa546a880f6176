//! Anchors: made from the journal, and stored as files in a folder. The user must keep them unchangeable: in a bucket
//! with object lock, or on paper.

use std::fs;
use std::path::{Path, PathBuf};

use keyfold_core::audit::{Anchor, FORMAT, Hash, Weight, day_of, milliseconds_of};
use keyfold_dynamo::Client;

use crate::error::TrailError;
use crate::journal::{Chains, Journal, Marks, Taker, day_before, next_day};
use crate::pace::Pace;

/// How long after a day's end its chains can no longer grow: far longer than an invocation lives.
const CLOSED_AFTER_MS: i64 = 60 * 60 * 1000;

/// The anchor of a day, at this time. `previous`: the hash of the previous anchor.
pub async fn anchor(
    client: &Client,
    journal: &str,
    day: &str,
    made: &str,
    previous: Option<Hash>,
    units_per_second: f64,
) -> Result<Anchor, TrailError> {
    let journal = Journal { client, table: journal };
    let since = journal.since().await?;
    let since = since.ok_or_else(|| TrailError::NoBeginning { journal: journal.table.to_owned() })?;
    let end = milliseconds_of(&format!("{}T00:00:00Z", next_day(day)?)).unwrap_or(i64::MAX);
    let now = milliseconds_of(made).unwrap_or_default();
    let mut chains = Chains::new();
    let (mut findings, mut pace) = (Vec::new(), Pace::new(units_per_second));
    let taker = Taker { marks: &mut Nothing, findings: &mut findings, pace: &mut pace };
    journal.read(day, Weight::Settled, &[], &mut chains, taker).await?;
    Ok(Anchor {
        v: FORMAT.version,
        day: day.to_owned(),
        made: made.to_owned(),
        closed: now >= end.saturating_add(CLOSED_AFTER_MS),
        since,
        previous,
        chains: chains.into_iter().map(|(id, chain)| (id, chain.end())).collect(),
    })
}

/// The newest day whose chains can no longer grow.
pub fn last_whole_day(now: &str) -> Result<String, TrailError> {
    let yesterday = day_before(day_of(now))?;
    let midnight = milliseconds_of(&format!("{}T00:00:00Z", day_of(now))).unwrap_or_default();
    match milliseconds_of(now).unwrap_or_default() - midnight >= CLOSED_AFTER_MS {
        true => Ok(yesterday),
        false => day_before(&yesterday),
    }
}

/// An anchor contains the ends of chains, not their contents.
struct Nothing;

impl Marks for Nothing {
    fn take(&mut self, _: keyfold_core::audit::Mark) -> Result<(), TrailError> {
        Ok(())
    }
}

/// The contents of a folder of anchors.
#[derive(Debug, Clone, Default)]
pub struct AnchorFolder {
    /// The anchors, each with the hash of its file.
    pub anchors: Vec<(Anchor, Hash)>,
    /// The names of the ignored files, which do not end in `.json`.
    pub unread: Vec<String>,
}

/// The anchors in a folder.
pub fn read_anchors(folder: &Path) -> Result<AnchorFolder, TrailError> {
    let file = |path: &Path, source| TrailError::File { path: path.to_owned(), source };
    let (mut anchors, mut unread) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(|error| file(folder, error))? {
        let path = entry.map_err(|error| file(folder, error))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            unread.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            continue;
        }
        let text = fs::read(&path).map_err(|error| file(&path, error))?;
        let place = || path.display().to_string();
        FORMAT.check_json(&text).map_err(|source| TrailError::Format { place: place(), source })?;
        let anchor = serde_json::from_slice::<Anchor>(&text).ok();
        let known = anchor.filter(|anchor| milliseconds_of(&anchor.made).is_some());
        anchors.push((known.ok_or(TrailError::Anchor { path })?, Hash::of(&text)));
    }
    anchors.sort_by_key(|(anchor, _)| milliseconds_of(&anchor.made));
    unread.sort();
    Ok(AnchorFolder { anchors, unread })
}

/// Writes an anchor to a new file. In a folder, the file is named after the day and the time.
pub fn write_anchor(to: &Path, anchor: &Anchor) -> Result<PathBuf, TrailError> {
    let path = match to.is_dir() {
        true => to.join(format!("{}-{}.json", anchor.day, anchor.made.replace([':', '.'], "-"))),
        false => to.to_owned(),
    };
    let file = |source| TrailError::File { path: path.clone(), source };
    let text = serde_json::to_string_pretty(anchor)? + "\n";
    let mut new = fs::File::create_new(&path).map_err(file)?;
    std::io::Write::write_all(&mut new, text.as_bytes()).and_then(|()| new.sync_all()).map_err(file)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::last_whole_day;

    #[test]
    fn a_day_is_whole_an_hour_after_its_end() {
        assert_eq!(last_whole_day("2026-03-01T01:00:00.000Z").unwrap(), "2026-02-28");
        assert_eq!(last_whole_day("2026-03-01T00:59:59.999Z").unwrap(), "2026-02-27");
    }
}
