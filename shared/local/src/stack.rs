//! The whole stack on one machine: the embedded DynamoDB with the manifest's tables, the replicator of each retrofit at
//! its source's stream, query API, audit writer and console over HTTP.
//!
//! The functions run in this process, or as the deployed binaries. Start with [`Stack::start`].

mod api;
mod event;
mod follow;
mod options;
mod replicator;
mod writer;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keyfold_core::audit::journal_table;
use keyfold_core::model::Model;
use keyfold_core::retrofit::control::table as control_table;
use keyfold_dynamo::{TableOptions, TableStep, ensure_table, plan_table, table_options};
use tokio::task::JoinHandle;

pub use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT as CONTROL_TABLE;
pub use options::{StackError, StackOptions};
pub use replicator::InProcessReplicator;
pub use writer::AUDIT_TABLE;

use self::follow::Follower;
use crate::port::{ListenError, listen};
use crate::{Database, EmbeddedDynamo, EmbeddedOptions, Store};

/// The data file, in the given folder.
const DATA_FILE: &str = "keyfold.sqlite";

/// An index of the manifest that an existing table lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingIndex {
    /// The table, as the manifest calls it.
    pub table: String,
    /// The index.
    pub index: String,
}

/// A running stack. It stops when it is dropped.
#[derive(Debug)]
pub struct Stack {
    dynamo: EmbeddedDynamo,
    api: SocketAddr,
    options: StackOptions,
    missing: Vec<MissingIndex>,
    routes: Arc<api::CurrentRoutes>,
    serving: JoinHandle<()>,
    /// What depends on the manifest.
    tasks: Vec<JoinHandle<()>>,
}

impl Stack {
    /// Starts everything.
    pub async fn start(model: &Model, options: &StackOptions) -> Result<Stack, StackError> {
        Stack::over(Stack::database(options)?, model, options).await
    }

    /// The stack's DynamoDB alone, for [`over`](Self::over).
    pub fn database(options: &StackOptions) -> Result<EmbeddedDynamo, StackError> {
        let embedded = EmbeddedOptions {
            port: options.port,
            hosts: options.hosts.clone(),
            ..EmbeddedOptions::default()
        };
        Ok(EmbeddedDynamo::start_with(&store(options.data.as_deref())?, embedded)?)
    }

    /// Starts everything else, over this DynamoDB.
    pub async fn over(
        dynamo: EmbeddedDynamo,
        model: &Model,
        options: &StackOptions,
    ) -> Result<Stack, StackError> {
        let listener = listen(options.api_port, "--api-port").await?;
        let missing = tables(model, &dynamo).await?;
        let api =
            listener.local_addr().map_err(|source| ListenError::Failed { port: options.api_port, source })?;
        let routes = api::routes(model, &dynamo, options).await?;
        let routes = Arc::new(api::CurrentRoutes::new(routes));
        let followers = followers(model, &dynamo, options)?;
        let serving = tokio::spawn(api::serve(listener, options.hosts.clone(), Arc::clone(&routes)));
        let options = options.clone();
        let mut stack = Stack { dynamo, api, options, missing, routes, serving, tasks: Vec::new() };
        stack.spawn(model, followers);
        Ok(stack)
    }

    /// Goes on with another manifest: makes its new tables, answers by it, and follows its retrofits. The data stays. If that fails,
    /// everything goes on as before.
    pub async fn reload(&mut self, model: &Model) -> Result<(), StackError> {
        let missing = tables(model, &self.dynamo).await?;
        let routes = api::routes(model, &self.dynamo, &self.options).await?;
        let followers = followers(model, &self.dynamo, &self.options)?;
        // A follower begins at the oldest record of its stream again: fences keep out what was carried over before.
        self.tasks.drain(..).for_each(|task| task.abort());
        self.missing = missing;
        self.routes.replace(routes);
        self.spawn(model, followers);
        Ok(())
    }

    fn spawn(&mut self, model: &Model, followers: Vec<Follower>) {
        self.tasks.extend(followers.into_iter().map(|follower| tokio::spawn(follower.run())));
        if model.tables.iter().any(|table| table.ttl.is_some()) {
            self.tasks.push(tokio::spawn(sweep(self.dynamo.database().clone(), self.options.sweep_every)));
        }
    }

    /// The embedded DynamoDB.
    pub fn dynamo(&self) -> &EmbeddedDynamo {
        &self.dynamo
    }

    /// The URL of the HTTP API.
    pub fn api(&self) -> String {
        format!("http://{}", self.api)
    }

    /// The indexes that existing tables lacked at the start.
    pub fn missing(&self) -> &[MissingIndex] {
        &self.missing
    }

    /// Stops everything. Requests of DynamoDB in flight are answered.
    pub fn shutdown(mut self) {
        self.tasks.drain(..).for_each(|task| task.abort());
        self.serving.abort();
        self.dynamo.shutdown();
    }
}

/// Those of all streams that the manifest's retrofits follow.
fn followers(
    model: &Model,
    dynamo: &EmbeddedDynamo,
    options: &StackOptions,
) -> Result<Vec<Follower>, StackError> {
    let mut followers = Vec::new();
    for retrofit in &model.retrofits {
        let handler = replicator::handler(model, &retrofit.name, dynamo, options)?;
        followers.extend(Follower::of(model, &retrofit.name, dynamo, handler, options.data.as_deref()));
    }
    Ok(followers)
}

fn store(data: Option<&Path>) -> Result<Store, StackError> {
    let Some(folder) = data else { return Ok(Store::Memory) };
    std::fs::create_dir_all(folder)
        .map_err(|source| StackError::Folder { path: folder.to_owned(), source })?;
    Ok(Store::File(folder.join(DATA_FILE)))
}

/// Deletes expired items periodically. DynamoDB takes up to days for that.
async fn sweep(database: Database, every: Duration) {
    let mut next = tokio::time::interval(every);
    loop {
        next.tick().await;
        let database = database.clone();
        // The next sweep repeats failed work.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

/// The manifest's tables, with a stream where a retrofit starts or can roll back from, and the control table. An index
/// missing in an existing table is left to the user, because filling it changes the results of queries.
async fn tables(model: &Model, dynamo: &EmbeddedDynamo) -> Result<Vec<MissingIndex>, StackError> {
    let client = dynamo.client();
    let mut missing = Vec::new();
    for table in &model.tables {
        let options = table_options(model, table);
        let mut plan = plan_table(&client, table, options).await?;
        missing.extend(
            plan.added().map(|index| MissingIndex { table: table.id.clone(), index: index.to_owned() }),
        );
        plan.steps.retain(|step| !matches!(step, TableStep::Add { .. }));
        plan.carry_out(&client, table, options, None, &mut |_| {}).await?;
    }
    ensure_table(&client, &control_table(CONTROL_TABLE), TableOptions::default()).await?;
    if let Some(journal) = &model.deploy.audit_journal {
        ensure_table(&client, &journal_table(journal), TableOptions::default()).await?;
    }
    Ok(missing)
}
