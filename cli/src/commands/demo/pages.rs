//! Reads a table's items page by page, strongly consistent, in a plain loop.

use keyfold_core::value::Item;
use keyfold_dynamo::{Client, PageRequest, ScanPage, scan_page};

/// The pages of a table that are still to be read.
pub(super) struct Pages<'c> {
    client: &'c Client,
    next: Option<PageRequest>,
}

impl<'c> Pages<'c> {
    /// From the table's beginning.
    pub(super) fn of(client: &'c Client, table: &str) -> Pages<'c> {
        let next = PageRequest { table: table.to_owned(), consistent: true, ..PageRequest::default() };
        Pages { client, next: Some(next) }
    }

    /// The next page; `None` after the last.
    pub(super) async fn next(&mut self) -> anyhow::Result<Option<Vec<Item>>> {
        let Some(page) = self.next.take() else { return Ok(None) };
        let scan = ScanPage { page, segment: None };
        let read = scan_page(self.client, &scan).await?;
        if read.last_key.is_some() {
            self.next = Some(PageRequest { start_key: read.last_key, ..scan.page });
        }
        Ok(Some(read.items))
    }
}
