//! Which indexes of a table hold all their items, read from the control table and kept for a few seconds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::Readiness;
use keyfold_core::query::readiness::Pending;
use keyfold_core::retrofit::control;
use keyfold_core::retrofit::readiness::{Filling, SEGMENTS_READ_MAX, readiness, retrofits_into};
use keyfold_core::retrofit::{Epoch, Job, Mapping};

use super::{RequestSender, RetrofitError};
use crate::Client;

/// How long what was read is good for: so long can an index be refused that was just cut over, or be used after `undo`.
pub const READINESS_TIME: Duration = Duration::from_secs(5);

/// How long an index that a table does not have is not asked for again.
const MISSING_TIME: Duration = Duration::from_secs(60);

/// The readiness of the tables of one model.
#[derive(Debug)]
pub struct KnownReadiness {
    control_table: String,
    /// Indexes that a table did not have, by the ids of both.
    missing: Mutex<BTreeMap<(String, String), Instant>>,
    /// By the table's id: as many as the model has.
    kept: Mutex<BTreeMap<String, (Instant, Arc<Readiness>)>>,
}

impl KnownReadiness {
    /// By the control table of this name.
    pub fn new(control_table: &str) -> KnownReadiness {
        KnownReadiness {
            control_table: control_table.to_owned(),
            missing: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    /// The table did not have this index when a query asked for it: it is pending for a minute.
    pub fn note_missing(&self, table: &Table, index: &str) {
        let missing = (table.id.clone(), index.to_owned());
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).insert(missing, Instant::now());
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(&table.id);
    }

    fn add_missing(&self, table: &Table, found: &mut Readiness) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.retain(|_, at| at.elapsed() < MISSING_TIME);
        for (id, index) in missing.keys().filter(|(id, _)| *id == table.id) {
            found.add_index(id, index, Pending::Missing);
        }
    }

    /// The pending indexes of a table. Nothing is read for a table that no retrofit fills. Without a control table, or without a
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
        let mappings = retrofits_into(model, &table.id);
        let fillings = mappings.map(|mapping| filling(client, mapping, &self.control_table));
        let mut found = readiness(&try_join_all(fillings).await?);
        self.add_missing(table, &mut found);
        let found = Arc::new(found);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(table.id.clone(), (at, Arc::clone(&found)));
        Ok(found)
    }
}

/// The state of a retrofit in the control table.
async fn filling(client: &Client, mapping: Mapping, control_table: &str) -> Result<Filling, RetrofitError> {
    let sender = RequestSender::new(client.clone(), Job::new(mapping.clone(), Epoch::FIRST), control_table);
    let head = match sender.head().await {
        Ok(head) => head,
        Err(error) if error.is_not_started(control_table) => return Ok(Filling::unknown(mapping)),
        Err(error) => return Err(error),
    };
    if !head.phase.is_filling() {
        return Ok(Filling::of_rows(mapping, head, &[], false)?);
    }
    // The rows of the backfill come first.
    let partition = control::segments_partition(mapping.name());
    let page = sender.page_of_rows(partition, None, Some(SEGMENTS_READ_MAX)).await?;
    Ok(Filling::of_rows(mapping, head, &page.items, page.last_key.is_some())?)
}
