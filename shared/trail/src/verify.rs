//! Compares the journal with the table.
//!
//! The order matters, because writers continue. The journal is read first: the events it confirms were in the table
//! before the table is read, so a missing one is a finding. Then the table. Then the new part of the journal: events
//! are recorded before they are written, so an item that is still unknown was inserted by another program.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::audit::{
    Anchor, Counts, Finding, FindingKind, Mark, Weight, day_of, judge, links, milliseconds_of,
};
use keyfold_core::query::own::is_tombstone;
use keyfold_dynamo::{PageRequest, ScanPage, scan_page};
use serde::Serialize;

use crate::anchors::{AnchorFolder, last_whole_day};
use crate::error::TrailError;
use crate::journal::{Chains, Journal, Taker, day_before, days, next_day};
use crate::pace::Pace;
use crate::sort::Sorted;
use crate::table::{Reader, Trail};

/// Maximum findings kept in full. All are counted.
pub const FINDINGS_SHOWN_MAX: usize = 10_000;

/// The options of a verification.
#[derive(Debug, Default)]
pub struct VerifyOptions {
    /// The first day; the journal's first by default.
    pub from: Option<String>,
    /// The last day; today by default.
    pub to: Option<String>,
    /// The time now.
    pub now: String,
    /// The folder of anchors, if there is one. Then each past day must have one.
    pub anchors: Option<AnchorFolder>,
    /// Maximum read units in a second.
    pub units_per_second: f64,
}

/// The result.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The first day.
    pub from: String,
    /// The last day.
    pub to: String,
    /// When the journal began.
    pub since: String,
    /// The number of verified chains.
    pub chains: u64,
    /// Their rows.
    pub rows: u64,
    /// The anchors of these days.
    pub anchors: u64,
    /// The number of items read.
    pub items: u64,
    /// The events by category.
    pub events: Counts,
    /// The number of findings of each kind.
    pub found: BTreeMap<&'static str, u64>,
    /// The findings, up to [`FINDINGS_SHOWN_MAX`].
    pub findings: Vec<Finding>,
    /// The consumed read units.
    pub read_units: f64,
}

impl Report {
    fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            *self.found.entry(finding.kind.name()).or_default() += 1;
            if self.findings.len() < FINDINGS_SHOWN_MAX {
                self.findings.push(finding);
            }
        }
    }

    /// Are there no findings?
    pub fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// The number of findings of this kind.
    pub fn count(&self, kind: FindingKind) -> u64 {
        self.found.get(kind.name()).copied().unwrap_or_default()
    }
}

/// Verifies the requested days.
pub async fn verify(trail: &Trail<'_>, options: VerifyOptions) -> Result<Report, TrailError> {
    let VerifyOptions { from, to, now, anchors, units_per_second } = options;
    let mut report = Report::default();
    let must_be_anchored = anchors.is_some();
    let AnchorFolder { mut anchors, unread } = anchors.unwrap_or_default();
    report.add(links(&mut anchors));
    report.add(unread.iter().map(|file| Finding::unread(file)));
    let anchors: Vec<Anchor> = anchors.into_iter().map(|(anchor, _)| anchor).collect();
    let journal = Journal { client: trail.client, table: trail.journal };
    let is_whole = from.is_none() && to.is_none();
    // An anchor still proves the time if the journal's own row was removed.
    let said = anchors.iter().map(|anchor| anchor.since.clone()).chain(journal.since().await?);
    let since = said.min_by_key(|at| milliseconds_of(at));
    let since = since.or_else(|| from.as_ref().map(|day| format!("{day}T00:00:00Z")));
    let since = since.ok_or_else(|| TrailError::NoBeginning { journal: trail.journal.to_owned() })?;
    let (from, to) =
        (from.unwrap_or_else(|| day_of(&since).to_owned()), to.unwrap_or_else(|| day_of(&now).to_owned()));
    if from > to {
        return Err(TrailError::DaysReversed { from, to });
    }
    if must_be_anchored {
        report.add(missing_anchors(&anchors, from.as_str().max(day_of(&since)), &to, &now)?);
    }
    let (since_ms, now_ms) =
        (milliseconds_of(&since).unwrap_or_default(), milliseconds_of(&now).unwrap_or_default());

    let mut sorted = Sorted::new()?;
    let mut pace = Pace::new(units_per_second);
    let mut noted = BTreeSet::new();
    // An event of a day's last minutes can be in the next day's chain. A day's chains can still grow today and shortly
    // after midnight.
    let open = [day_before(day_of(&now))?, day_of(&now).to_owned()];
    let after = next_day(&to)?;
    let mut growing: BTreeMap<String, Chains> = BTreeMap::new();
    for day in days(&from, &after)? {
        let weight = if day == after { Weight::Outside } else { Weight::Settled };
        let (mut chains, mut findings) = (Chains::new(), Vec::new());
        let taker = Taker { marks: &mut sorted, findings: &mut findings, pace: &mut pace };
        journal.read(&day, weight, &anchors, &mut chains, taker).await?;
        noted.extend(chains.values().flat_map(|chain| chain.left_out().iter().cloned()));
        if day != after {
            report.add(findings);
        }
        if open.contains(&day) {
            growing.insert(day, chains);
        } else {
            finish(&day, chains, &anchors, day != after, &mut sorted, &mut report)?;
        }
    }
    scan(
        trail,
        &noted,
        |day| is_whole || day.is_some_and(|day| (from.as_str()..=to.as_str()).contains(&day)),
        &mut sorted,
        &mut report,
        &mut pace,
    )
    .await?;
    for (day, mut chains) in growing {
        let (mut findings, weight) = (Vec::new(), if day == after { Weight::Outside } else { Weight::Late });
        let taker = Taker { marks: &mut sorted, findings: &mut findings, pace: &mut pace };
        journal.read(&day, weight, &anchors, &mut chains, taker).await?;
        if day != after {
            report.add(findings);
        }
        finish(&day, chains, &anchors, day != after, &mut sorted, &mut report)?;
    }
    sorted.each(|group| {
        let verdict = judge(group, since_ms, now_ms);
        report.events.add(&verdict.counts);
        report.add(verdict.findings);
    })?;
    let of_these = |anchor: &&Anchor| (from.as_str()..=to.as_str()).contains(&anchor.day.as_str());
    report.anchors = anchors.iter().filter(of_these).count() as u64;
    report.findings.sort_by_cached_key(|found| (found.key.is_some(), found.kind, format!("{found:?}")));
    report.read_units = pace.units();
    Ok(Report { from, to, since, ..report })
}

/// The past days that no anchor closed.
fn missing_anchors(anchors: &[Anchor], from: &str, to: &str, now: &str) -> Result<Vec<Finding>, TrailError> {
    let last = last_whole_day(now)?;
    let closed: BTreeSet<&str> =
        anchors.iter().filter(|anchor| anchor.closed).map(|anchor| anchor.day.as_str()).collect();
    let is_missing = |day: &String| *day <= last && !closed.contains(day.as_str());
    let mut missing: Vec<String> = days(from, to)?.into_iter().filter(is_missing).collect();
    if missing.is_empty() && anchors.is_empty() {
        missing.push(from.to_owned());
    }
    Ok(missing.iter().map(|day| Finding::of_day(FindingKind::AnchorMissing, day)).collect())
}

/// Ends the chains of a day. `counts` is false for the day after the last, which only explains events.
fn finish(
    day: &str,
    chains: Chains,
    anchors: &[Anchor],
    counts: bool,
    sorted: &mut Sorted,
    report: &mut Report,
) -> Result<(), TrailError> {
    let of_day = anchors.iter().filter(|anchor| anchor.day == day);
    let anchored: BTreeSet<&String> = of_day.flat_map(|anchor| anchor.chains.keys()).collect();
    let gone = anchored.into_iter().filter(|chain| !chains.contains_key(*chain));
    let mut findings: Vec<Finding> = gone.map(|chain| Finding::missing_chain(day, chain)).collect();
    let mut marks: Vec<Mark> = Vec::new();
    for mut chain in chains.into_values() {
        chain.finish(&mut marks, &mut findings);
        report.chains += u64::from(counts);
        report.rows += if counts { chain.end().rows } else { 0 };
    }
    if counts {
        report.add(findings);
    }
    marks.into_iter().try_for_each(|mark| crate::journal::Marks::take(sorted, mark))
}

async fn scan(
    trail: &Trail<'_>,
    noted: &BTreeSet<String>,
    in_range: impl Fn(Option<&str>) -> bool,
    sorted: &mut Sorted,
    report: &mut Report,
    pace: &mut Pace,
) -> Result<(), TrailError> {
    let reader = Reader::new(trail, noted);
    let mut start_key = None;
    loop {
        let page = PageRequest {
            table: trail.table.name.clone(),
            consistent: true,
            start_key,
            ..PageRequest::default()
        };
        let page = scan_page(trail.client, &ScanPage { page, segment: None }).await?;
        for item in page.items.iter().filter(|item| !is_tombstone(item)) {
            let (id, stored) = reader.read(item, &in_range);
            if stored.in_range {
                report.add(reader.keys(item, &stored.key));
            }
            sorted.stored(&id, stored)?;
            report.items += 1;
        }
        pace.consumed(page.consumed.units).await;
        start_key = page.last_key;
        if start_key.is_none() {
            return Ok(());
        }
    }
}
