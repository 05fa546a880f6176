//! The live table: its description, and a sample of its items.

use std::fmt;

use keyfold_dynamo::{PageRequest, SampleOptions, ScanPage, sample, scan_page, table_description};
use keyfold_init::draft::{Draft, SampledItem};
use keyfold_init::{ReadError, Source};
use serde_json::{Value, json};

use crate::globals::Globals;
use crate::output::grouped;
use crate::support::block_on;

/// The size of the sample, and its price.
pub(super) struct Sampled {
    items: usize,
    pages: u32,
    units: f64,
    allowed: u32,
}

impl Sampled {
    pub(super) fn as_json(&self) -> Value {
        json!({ "items": self.items, "pages": self.pages, "readUnits": self.units, "allowed": self.allowed })
    }
}

impl fmt::Display for Sampled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sampled {} items in {} pages for {} of {} read units; nothing was written",
            grouped(self.items as u64),
            self.pages,
            self.units,
            self.allowed
        )
    }
}

/// The error, with its stable code.
pub(super) fn coded(error: ReadError) -> anyhow::Error {
    let code = error.code();
    anyhow::Error::new(error).context(code)
}

/// Describes and samples a table.
pub(super) fn live(globals: &Globals, table: &str, read_units_max: u32) -> anyhow::Result<(Draft, Sampled)> {
    block_on(async {
        let client = globals.client().await?;
        let described = table_description(&client, table).await?;
        let name = format!("table {table}");
        let source = Source { name: name.clone(), text: described.table.to_string() };
        let mut draft = keyfold_init::read(&source).map_err(coded)?;
        if let Some(ttl) = &described.time_to_live {
            let more = keyfold_init::read(&Source { name, text: ttl.to_string() }).map_err(coded)?;
            for (table, ttl) in draft.tables.iter_mut().zip(more.tables) {
                table.ttl = ttl.ttl;
            }
        }
        let options = SampleOptions { read_units_max: f64::from(read_units_max), ..SampleOptions::default() };
        let sampled = sample(&client, table, &described, options).await?;
        let described = Sampled {
            items: sampled.items.len(),
            pages: sampled.pages,
            units: sampled.read_units,
            allowed: read_units_max,
        };
        for table in &mut draft.tables {
            let rows = sampled.items.iter().map(|item| SampledItem { item: item.clone(), entity: None });
            table.items.extend(rows);
        }
        Ok((draft, described))
    })
}

/// Does a live table hold any item?
pub(super) fn any_item(globals: &Globals, table: &str) -> anyhow::Result<bool> {
    block_on(async {
        let client = globals.client().await?;
        let page = PageRequest { table: table.to_owned(), limit: Some(1), ..PageRequest::default() };
        Ok(!scan_page(&client, &ScanPage { page, segment: None }).await?.items.is_empty())
    })
}
