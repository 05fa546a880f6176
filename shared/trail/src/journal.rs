//! The journal, read by days.

use std::collections::BTreeMap;

use jiff::civil::Date;
use keyfold_core::audit::{
    Anchor, ChainCheck, Finding, JOURNAL_SHARDS, Mark, StoredRow, Weight, partition, since_key, since_of,
};
use keyfold_core::retrofit::control::PARTITION;
use keyfold_core::value::AttributeValue;
use keyfold_dynamo::{BatchGet, Client, PageRequest, QueryPage, batch_get, query_page};

use crate::error::TrailError;
use crate::pace::Pace;

/// Maximum days in one verification: 27 years.
pub(crate) const DAYS_MAX: usize = 10_000;

/// The chains of one day.
pub(crate) type Chains = BTreeMap<String, ChainCheck>;

/// A journal's table, with the settings of its reads.
#[derive(Debug)]
pub(crate) struct Journal<'j> {
    pub(crate) client: &'j Client,
    pub(crate) table: &'j str,
}

/// Takes marks as they are read.
pub(crate) trait Marks {
    fn take(&mut self, mark: Mark) -> Result<(), TrailError>;
}

/// Takes everything that is read.
pub(crate) struct Taker<'t> {
    pub(crate) marks: &'t mut dyn Marks,
    pub(crate) findings: &'t mut Vec<Finding>,
    pub(crate) pace: &'t mut Pace,
}

impl Journal<'_> {
    /// When the journal began, according to its own row.
    pub(crate) async fn since(&self) -> Result<Option<String>, TrailError> {
        let keys = vec![since_key()];
        let get = BatchGet { table: self.table.to_owned(), keys, consistent: true, ..BatchGet::default() };
        let since = batch_get(self.client, &get).await?.items.first().map(since_of).transpose();
        let since = since.map_err(|source| TrailError::Format { place: self.table.to_owned(), source })?;
        Ok(since.flatten())
    }

    /// Reads the rows of a day and follows its chains. Rows that `chains` has taken before are skipped.
    pub(crate) async fn read(
        &self,
        day: &str,
        weight: Weight,
        anchors: &[Anchor],
        chains: &mut Chains,
        taker: Taker<'_>,
    ) -> Result<(), TrailError> {
        let Taker { marks: to, findings, pace } = taker;
        let mut marks = Vec::new();
        for shard in JOURNAL_SHARDS {
            let mut start_key = None;
            loop {
                let query = QueryPage {
                    page: PageRequest {
                        table: self.table.to_owned(),
                        names: BTreeMap::from([("#p".to_owned(), PARTITION.to_owned())]),
                        values: BTreeMap::from([(":p".to_owned(), AttributeValue::S(partition(day, shard)))]),
                        consistent: true,
                        start_key,
                        ..PageRequest::default()
                    },
                    key_condition: "#p = :p".to_owned(),
                    forward: true,
                };
                let page = query_page(self.client, &query).await?;
                for row in page.items.iter().filter_map(StoredRow::read) {
                    let chain = chains
                        .entry(row.chain.clone())
                        .or_insert_with(|| ChainCheck::new(day, &row.chain, anchors.iter()));
                    chain.take(&row, weight, &mut marks, findings);
                }
                marks.drain(..).try_for_each(|mark| to.take(mark))?;
                pace.consumed(page.consumed.units).await;
                start_key = page.last_key;
                if start_key.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The days of a range, both ends included.
pub(crate) fn days(from: &str, to: &str) -> Result<Vec<String>, TrailError> {
    let (first, last) = (date(from)?, date(to)?);
    let all: Vec<String> = first
        .series(jiff::Span::new().days(1))
        .take_while(|day| *day <= last)
        .take(DAYS_MAX + 1)
        .map(|day| day.to_string())
        .collect();
    if all.len() > DAYS_MAX {
        return Err(TrailError::Days { from: from.to_owned(), to: to.to_owned(), max: DAYS_MAX });
    }
    Ok(all)
}

/// The next day; the same day at the end of the calendar.
pub(crate) fn next_day(day: &str) -> Result<String, TrailError> {
    let day = date(day)?;
    Ok(day.tomorrow().unwrap_or(day).to_string())
}

/// The previous day; the same day at the beginning of the calendar.
pub(crate) fn day_before(day: &str) -> Result<String, TrailError> {
    let day = date(day)?;
    Ok(day.yesterday().unwrap_or(day).to_string())
}

fn date(day: &str) -> Result<Date, TrailError> {
    let wrong = |_| TrailError::Day { day: day.to_owned() };
    day.parse::<Date>().map_err(wrong).and_then(|date| match date.to_string() == day {
        true => Ok(date),
        false => Err(TrailError::Day { day: day.to_owned() }),
    })
}
