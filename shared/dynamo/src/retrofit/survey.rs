//! Reads a segment of the source and notes what a backfill would make of each item. Writes nothing.

use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use keyfold_core::retrofit::{Checkpoint, Pass, Protocol, SegmentId, Slice, Survey, TableRole};

use super::backfill::read_page;
use super::{RequestSender, RetrofitError, SliceOptions};
use crate::{PageRequest, ScanPage, scan_page};

/// Adds a segment to the survey. The counts of the checkpoint are those that a backfill of the segment would have; it is kept nowhere.
pub async fn survey_slice(
    sender: &RequestSender,
    survey: &Mutex<Survey<'_>>,
    segment: SegmentId,
    options: &SliceOptions,
    watch: &dyn Fn(&Checkpoint),
) -> Result<Checkpoint, RetrofitError> {
    let mut slice = Slice::from(Checkpoint::start(sender.job(), Pass::Backfill, segment));
    let mut pages = 0;
    while slice.next().is_some() && options.may_begin(pages) && sender.turn(options).await {
        let page = read_page(sender, TableRole::Source, &slice, options).await?;
        let number = slice.page(page.items.len(), page.last_key);
        for item in &page.items {
            let result = survey.lock().unwrap_or_else(PoisonError::into_inner).add(item);
            slice.item_done(number, &result);
        }
        sender.carried(page.items.len());
        pages += 1;
        watch(slice.checkpoint());
    }
    Ok(slice.checkpoint().clone())
}

impl RequestSender {
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
