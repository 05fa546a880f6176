//! Which indexes of a table hold all their items, read from the control table and kept for a few seconds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::Readiness;
use keyfold_core::retrofit::control::{self, Phase};
use keyfold_core::retrofit::readiness::{Filling, readiness};
use keyfold_core::retrofit::{Epoch, Job, Mapping, Pass, progress};

use super::{RequestSender, RetrofitError};
use crate::Client;

/// How long what was read is good for: so long can an index be refused that was just cut over, or be used after `undo`.
pub const READINESS_TIME: Duration = Duration::from_secs(5);
/// The most segments of a backfill that are read to say how far it is.
const SEGMENTS_READ_MAX: u32 = 500;

/// The readiness of the tables of one model.
#[derive(Debug)]
pub struct KnownReadiness {
    control_table: String,
    /// By the table's id: as many as the model has.
    kept: Mutex<BTreeMap<String, (Instant, Arc<Readiness>)>>,
}

impl KnownReadiness {
    /// By the control table of this name.
    pub fn new(control_table: &str) -> KnownReadiness {
        KnownReadiness { control_table: control_table.to_owned(), kept: Mutex::default() }
    }

    /// What is pending of a table. Nothing is read for a table that no retrofit fills. Without a control table, or without a
    /// row in it, what a retrofit fills is pending.
    pub async fn of(
        &self,
        client: &Client,
        model: &Model,
        table: &Table,
    ) -> Result<Arc<Readiness>, RetrofitError> {
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&table.id).cloned();
        if let Some((at, readiness)) = known
            && at.elapsed() < READINESS_TIME
        {
            return Ok(readiness);
        }
        let at = Instant::now();
        let into = model.retrofits.iter().filter(|retrofit| retrofit.to == table.id);
        let mappings = into.filter_map(|retrofit| Mapping::of(model, &retrofit.name).ok());
        let fillings = mappings.map(|mapping| filling(client, mapping, &self.control_table));
        let found = Arc::new(readiness(&try_join_all(fillings).await?));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(table.id.clone(), (at, Arc::clone(&found)));
        Ok(found)
    }
}

/// What the control table says of a retrofit.
async fn filling(client: &Client, mapping: Mapping, control_table: &str) -> Result<Filling, RetrofitError> {
    let sender = RequestSender::new(client.clone(), Job::new(mapping.clone(), Epoch::FIRST), control_table);
    let head = match sender.head().await {
        Ok(head) => head,
        Err(error) if error.is_not_started(control_table) => {
            return Ok(Filling { mapping, head: None, segments: Vec::new(), more: false });
        }
        Err(error) => return Err(error),
    };
    let (mut segments, mut more) = (Vec::new(), false);
    if head.phase == Phase::Running {
        // The rows of the backfill come first. The job is the row's own: progress needs no check of the mapping.
        let job = head.job(mapping.clone());
        let partition = control::segments_partition(mapping.name());
        let page = sender.page_of_rows(partition, None, Some(SEGMENTS_READ_MAX)).await?;
        more = page.last_key.is_some();
        segments.extend(page.items.iter().filter_map(|row| {
            let segment = progress::segment_of(&job, Pass::Backfill, row)?;
            progress::read_checkpoint(&job, Pass::Backfill, segment, row)
        }));
    }
    Ok(Filling { mapping, head: Some(head), segments, more })
}
