//! Two consoles with sample data on one embedded DynamoDB: the audit sample in the middle of its retrofit, and the pets that
//! overload an index.

use std::ops::ControlFlow;
use std::sync::Mutex;

use anyhow::ensure;
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Checkpoint, Epoch, Job, Mapping, Pass, SegmentId, TableRole, progress};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState, SliceOptions, backfill_slice, verify_slice};
use keyfold_dynamo::{TableOptions, TokenKeys, ensure_table};
use keyfold_local::{ConsoleServer, EmbeddedDynamo};
use keyfold_query_api::{Api, Auth, Limits};

use super::items;

const AUDIT: &str = include_str!("../../../keyfold.toml");
const AUDIT_ITEMS: &str = include_str!("../../../examples/audit/items.jsonl");
const PETS: &str = include_str!("../../../examples/pets/keyfold.toml");
const PETS_ITEMS: &str = include_str!("../../../examples/pets/pets.jsonl");
const HOMES_ITEMS: &str = include_str!("../../../examples/pets/homes.jsonl");

/// The running retrofit.
const RETROFIT: &str = "auditV2";
const CONTROL: &str = "keyfold-control";
const SEGMENTS: u32 = 4;
/// The number of items of one [`step`](Fixture::step).
const STEP_ITEMS: u32 = 12;
/// Maximum steps of the sample's retrofit.
const STEPS_MAX: u32 = 100;

/// The sample, served.
pub(crate) struct Fixture {
    pub(crate) audit: ConsoleServer,
    pub(crate) pets: ConsoleServer,
    sender: RequestSender,
    left: Mutex<Vec<Checkpoint>>,
    _dynamo: EmbeddedDynamo,
}

impl Fixture {
    /// Loads and serves everything.
    pub(crate) async fn start() -> anyhow::Result<Fixture> {
        let dynamo = EmbeddedDynamo::memory()?;
        let audit = served(&dynamo, AUDIT).await?;
        let pets = served(&dynamo, PETS).await?;
        let sender = started(&dynamo, api(&dynamo, AUDIT)?.model()).await?;
        let left = segments(&sender)?;
        let fixture = Fixture { audit, pets, sender, left: Mutex::new(left), _dynamo: dynamo };
        // All segments but the last, and one step of that.
        for _ in 0..STEPS_MAX {
            if fixture.left.lock().is_ok_and(|left| left.len() == 1) {
                break;
            }
            fixture.step().await?;
        }
        fixture.step().await?;
        Ok(fixture)
    }

    /// Advances the retrofit by one step; after the backfill both sides are compared. `false`: complete.
    pub(crate) async fn step(&self) -> anyhow::Result<bool> {
        let next = self
            .left
            .lock()
            .ok()
            .and_then(|mut left| if left.is_empty() { None } else { Some(left.remove(0)) });
        let Some(checkpoint) = next else { return Ok(false) };
        let options = SliceOptions { pages_max: Some(1), page_items: STEP_ITEMS, ..stored() };
        let end =
            backfill_slice(&self.sender, checkpoint, &options, &mut |_| ControlFlow::Continue(())).await;
        ensure!(end.error.is_none(), "{:?}", end.error);
        if !end.checkpoint.is_done() {
            if let Ok(mut left) = self.left.lock() {
                left.insert(0, end.checkpoint);
            }
        } else if self.left.lock().is_ok_and(|left| left.is_empty()) {
            self.compare().await?;
        }
        Ok(true)
    }

    async fn compare(&self) -> anyhow::Result<()> {
        let sender = &self.sender;
        for pass in progress::comparison(sender.job().mapping().protocol()) {
            let start = sender.begin_comparison(*pass, SegmentId::WHOLE).await?;
            let end = verify_slice(sender, start, false, &stored(), &mut |_| ControlFlow::Continue(())).await;
            ensure!(end.error.is_none(), "{:?}", end.error);
        }
        Ok(())
    }
}

/// Checkpoints are kept in the control table, where the console finds them.
fn stored() -> SliceOptions {
    SliceOptions { store: true, ..SliceOptions::default() }
}

fn api(dynamo: &EmbeddedDynamo, manifest: &str) -> anyhow::Result<Api> {
    let limits = Limits { auth: Auth::Open, ..Limits::default() };
    let api = Api::new("keyfold.toml", manifest, dynamo.client(), TokenKeys::random()?, limits)?;
    // The sample is in the middle of its retrofit, and must still answer.
    Ok(api.with_complete_indexes())
}

/// The console of a manifest, with its tables filled.
async fn served(dynamo: &EmbeddedDynamo, manifest: &str) -> anyhow::Result<ConsoleServer> {
    let api = api(dynamo, manifest)?;
    dynamo.create_tables(&api.model().tables, TableOptions::default()).await?;
    fill(dynamo, api.model()).await?;
    Ok(ConsoleServer::of(api, dynamo.endpoint()).await?)
}

async fn fill(dynamo: &EmbeddedDynamo, model: &Model) -> anyhow::Result<()> {
    for table in &model.tables {
        let held: Vec<Item> = match table.id.as_str() {
            "audit-legacy" => [items::lines(AUDIT_ITEMS)?, items::events()?].concat(),
            "pets" => items::lines(PETS_ITEMS)?,
            "homes" => [items::lines(HOMES_ITEMS)?, items::homes()?].concat(),
            _ => Vec::new(),
        };
        for item in held {
            keyfold_dynamo::put(&dynamo.client(), table, item).await?;
        }
    }
    Ok(())
}

async fn started(dynamo: &EmbeddedDynamo, model: &Model) -> anyhow::Result<RequestSender> {
    let job = Job::new(Mapping::of(model, RETROFIT)?, Epoch::FIRST);
    let sender = RequestSender::new(dynamo.client(), job, CONTROL);
    ensure_table(sender.client(), sender.table(TableRole::Control), TableOptions::default()).await?;
    sender.store(&RetrofitState::started(sender.job().mapping(), None), None).await?;
    sender.begin_writing().await?;
    Ok(sender)
}

fn segments(sender: &RequestSender) -> anyhow::Result<Vec<Checkpoint>> {
    (0..SEGMENTS)
        .map(|number| {
            let segment = SegmentId::new(number, SEGMENTS)?;
            Ok(Checkpoint::start(sender.job(), Pass::Backfill, segment))
        })
        .collect()
}
