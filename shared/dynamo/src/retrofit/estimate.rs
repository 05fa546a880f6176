//! The estimated cost of a retrofit, from a sample of its source.

use futures_util::FutureExt;
use keyfold_core::retrofit::RetrofitEstimate;
use keyfold_core::retrofit::TableRole;

use super::{RequestSender, RetrofitError};
use crate::{PageRequest, ScanPage, Segment, scan_page};

/// The number of places in the table that are sampled.
const SAMPLE_PLACES: u32 = 5;

impl RequestSender {
    /// Prices the whole retrofit, judged by about `sample` items. `items` says how many the source has; else the manifest
    /// does, or DynamoDB, which counts them every few hours. `None` if there is nothing to judge by. Nothing is written.
    pub async fn estimate(
        &self,
        items: Option<u64>,
        sample: u32,
    ) -> Result<Option<RetrofitEstimate>, RetrofitError> {
        let source = self.table(TableRole::Source);
        let mut seen = Vec::new();
        for number in 0..SAMPLE_PLACES {
            let page = PageRequest {
                table: source.name.clone(),
                limit: Some(sample.div_ceil(SAMPLE_PLACES).max(1)),
                ..PageRequest::default()
            };
            let segment = Some(Segment { number, total: SAMPLE_PLACES });
            let scan = ScanPage { page, segment };
            let page = self.with_retries(|| scan_page(self.client(), &scan).boxed()).await?;
            self.has_read(&page.consumed);
            seen.extend(page.items);
        }
        let items = match items.or(source.expect.items) {
            Some(items) => items,
            None => self.items_about().await?.max(seen.len() as u64),
        };
        Ok(RetrofitEstimate::of_sample(self.job(), items, &seen))
    }
}
