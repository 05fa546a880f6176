//! Reads the source and notes what a backfill would make of each item. Writes nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use keyfold_core::retrofit::{
    Checkpoint, Pass, Protocol, RetrofitEstimate, SegmentId, Slice, Survey, TableRole,
};

use super::backfill::read_page;
use super::pass::{PassEnd, PassOptions, PassWatch, rounds};
use super::{RequestSender, RetrofitError, SliceOptions};
use crate::{PageRequest, ScanPage, scan_page};

impl RequestSender {
    /// Prices the whole retrofit by all items of its source, with the counts that a backfill would have; `None` if it was interrupted.
    pub async fn survey(
        &self,
        options: &PassOptions,
        watch: &dyn PassWatch,
    ) -> Result<Option<(RetrofitEstimate, BTreeMap<String, u64>)>, RetrofitError> {
        let survey = Mutex::new(Survey::of_all(self.job()));
        let (slice, total) = (options.slice(false), options.segments());
        watch.begins_pass(Pass::Backfill, false, self.items_about().await?);
        let ends =
            rounds(total, options, watch, |segment| self.survey_segment(&survey, segment, &slice, watch));
        let end = PassEnd::of(&ends.await?, total);
        watch.ends_pass(Pass::Backfill, false, &end);
        let survey = survey.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(end.done.then(|| (survey.of_these(), end.counts)))
    }

    /// Adds a segment. Its checkpoint is kept nowhere.
    async fn survey_segment(
        &self,
        survey: &Mutex<Survey<'_>>,
        segment: SegmentId,
        options: &SliceOptions,
        watch: &dyn PassWatch,
    ) -> Result<Checkpoint, RetrofitError> {
        let mut slice = Slice::from(Checkpoint::start(self.job(), Pass::Backfill, segment));
        watch.begins(slice.checkpoint());
        let mut pages = 0;
        while slice.next().is_some() && options.may_begin(pages) && self.turn(options).await {
            let page = read_page(self, TableRole::Source, &slice, options).await?;
            let number = slice.page(page.items.len(), page.last_key);
            for item in &page.items {
                let result = survey.lock().unwrap_or_else(PoisonError::into_inner).add(item);
                slice.item_done(number, &result);
            }
            self.carried(page.items.len());
            pages += 1;
            let _ = self.page_done(slice.checkpoint(), watch);
        }
        Ok(slice.checkpoint().clone())
    }

    /// Will a backfill meet nothing in the target? In place it meets what it reads.
    pub async fn target_is_empty(&self) -> Result<bool, RetrofitError> {
        if self.job().mapping().protocol() == Protocol::InPlace {
            return Ok(true);
        }
        let page = PageRequest {
            table: self.table(TableRole::Target).name.clone(),
            limit: Some(1),
            consistent: true,
            ..PageRequest::default()
        };
        let scan = ScanPage { page, segment: None };
        let page = self.with_retries(|| scan_page(self.client(), &scan).boxed()).await?;
        self.has_read(&page.consumed);
        Ok(page.items.is_empty() && page.last_key.is_none())
    }
}
