//! What was written.

use keyfold_core::value::Item;
use keyfold_dynamo::{PageRequest, ScanPage, scan_page};

use crate::function::Function;

impl Function {
    /// Every item of a table.
    pub(crate) async fn items(&self, table: &str) -> Vec<Item> {
        let table = self.table(table).name.clone();
        let page = PageRequest { table, consistent: true, ..PageRequest::default() };
        scan_page(&self.dynamo.client(), &ScanPage { page, segment: None }).await.unwrap().items
    }
}
