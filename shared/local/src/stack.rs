//! Everything on one machine: the embedded DynamoDB with the manifest's tables, the replicator of each retrofit behind its
//! source's stream, query API, audit writer and console over HTTP.
//!
//! The functions run in this process, or as the very binaries that are deployed. Start with [`Stack::start`].

mod api;
mod event;
mod follow;
mod replicator;
mod writer;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keyfold_core::audit::journal_table;
use keyfold_core::model::Model;
use keyfold_core::retrofit::control::table as control_table;
use keyfold_dynamo::{
    ApplyError, EnsureError, TableOptions, TableStep, ensure_table, plan_table, table_options,
};
use keyfold_edge::FunctionError;
use tokio::task::JoinHandle;

pub use api::AUDIT_TABLE;
pub use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT as CONTROL_TABLE;
pub use replicator::InProcessReplicator;

use crate::port::{ListenError, listen};
use crate::runtime_api::InvocationResult;
use crate::{AllowedHosts, Database, EmbeddedDynamo, EmbeddedError, EmbeddedOptions, FunctionOptions, Store};

/// The file that holds the data, in the folder that is given for it.
const DATA_FILE: &str = "keyfold.sqlite";

/// What is to be started.
#[derive(Debug, Clone)]
pub struct StackOptions {
    /// The manifest's path, for functions that read it themselves.
    pub manifest: PathBuf,
    /// A folder that keeps the data; in memory if `None`.
    pub data: Option<PathBuf>,
    /// The port of DynamoDB; 0 for any free one.
    pub port: u16,
    /// The port of the HTTP API; 0 for any free one.
    pub api_port: u16,
    /// A folder with the functions' binaries; in this process if `None`.
    pub functions: Option<PathBuf>,
    /// The names that a request may use for this machine, on both ports.
    pub hosts: AllowedHosts,
    /// How often items whose time is over are deleted.
    pub sweep_every: Duration,
}

/// Why the stack does not start.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The embedded DynamoDB does not.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// The folder for the data cannot be made.
    #[error("cannot create the folder `{}` for the data", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A table is there otherwise than the manifest says.
    #[error(transparent)]
    Differs(#[from] ApplyError),
    /// The control table or the journal is, or a table cannot be made.
    #[error(transparent)]
    Table(#[from] EnsureError),
    /// A stream, or the deletion of items whose time is over, cannot be switched on.
    #[error(transparent)]
    Stream(#[from] keyfold_dynamo::DynamoError),
    /// The HTTP API's port cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A function's binary is not where it should be.
    #[error("there is no `{name}` in `{}`; build it with `cargo lambda build` or `cargo build`", folder.display())]
    NoBinary {
        /// The function.
        name: &'static str,
        /// The folder.
        folder: PathBuf,
    },
    /// A function does not start in this process.
    #[error("the {name} cannot start: {reason}")]
    Function {
        /// The function.
        name: &'static str,
        /// Why not.
        reason: String,
    },
}

/// An index of the manifest that a table of an earlier run lacks.
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
    missing: Vec<MissingIndex>,
    tasks: Vec<JoinHandle<()>>,
}

impl Stack {
    /// Starts everything.
    pub async fn start(model: &Model, options: &StackOptions) -> Result<Stack, StackError> {
        let listener = listen(options.api_port, "--api-port").await?;
        let embedded = EmbeddedOptions {
            port: options.port,
            hosts: options.hosts.clone(),
            ..EmbeddedOptions::default()
        };
        let dynamo = EmbeddedDynamo::start_with(&store(options.data.as_deref())?, embedded)?;
        let missing = tables(model, &dynamo).await?;
        let api =
            listener.local_addr().map_err(|source| ListenError::Failed { port: options.api_port, source })?;
        let routes = api::routes(model, &dynamo, options).await?;
        let mut tasks = vec![tokio::spawn(api::serve(listener, options.hosts.clone(), routes))];
        for retrofit in &model.retrofits {
            let handler = replicator::handler(model, &retrofit.name, &dynamo, options)?;
            let followers =
                follow::Follower::of(model, &retrofit.name, &dynamo, handler, options.data.as_deref());
            tasks.extend(followers.into_iter().map(|follower| tokio::spawn(follower.run())));
        }
        if model.tables.iter().any(|table| table.ttl.is_some()) {
            tasks.push(tokio::spawn(sweep(dynamo.database().clone(), options.sweep_every)));
        }
        Ok(Stack { dynamo, api, missing, tasks })
    }

    /// Where DynamoDB answers.
    pub fn dynamo(&self) -> &EmbeddedDynamo {
        &self.dynamo
    }

    /// Where the HTTP API answers.
    pub fn api(&self) -> String {
        format!("http://{}", self.api)
    }

    /// The indexes that tables of an earlier run lacked when the stack started.
    pub fn missing(&self) -> &[MissingIndex] {
        &self.missing
    }

    /// Stops everything: requests of DynamoDB that are under way are answered.
    pub fn shutdown(mut self) {
        self.tasks.drain(..).for_each(|task| task.abort());
        self.dynamo.shutdown();
    }
}

fn store(data: Option<&Path>) -> Result<Store, StackError> {
    let Some(folder) = data else { return Ok(Store::Memory) };
    std::fs::create_dir_all(folder)
        .map_err(|source| StackError::Folder { path: folder.to_owned(), source })?;
    Ok(Store::File(folder.join(DATA_FILE)))
}

/// Deletes items whose time is over, again and again. DynamoDB takes up to days for that.
async fn sweep(database: Database, every: Duration) {
    let mut next = tokio::time::interval(every);
    loop {
        next.tick().await;
        let database = database.clone();
        // What fails in one sweep is left to the next.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

/// The manifest's tables, with a stream where a retrofit begins or can lead back from, and the control table. An index that a
/// table of an earlier run lacks is left to the user: filling it changes what questions find.
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

/// A function's binary, with settings that say where manifest and DynamoDB are.
fn function(
    name: &'static str,
    folder: &Path,
    dynamo: &EmbeddedDynamo,
    options: &StackOptions,
) -> Result<FunctionOptions, StackError> {
    let manifest = std::path::absolute(&options.manifest).unwrap_or_else(|_| options.manifest.clone());
    Ok(FunctionOptions::of(binary(folder, name)?)
        .env("KEYFOLD_MANIFEST", manifest.display().to_string())
        .env("KEYFOLD_ENDPOINT", dynamo.endpoint()))
}

/// What became of an invocation in this process, as Lambda tells it.
fn outcome(answer: Result<serde_json::Value, FunctionError>) -> InvocationResult {
    match answer {
        Ok(value) => InvocationResult::Response(value.to_string()),
        Err(FunctionError { error_type, message }) => {
            let error = serde_json::json!({ "errorType": error_type, "errorMessage": message });
            InvocationResult::Error(error.to_string())
        }
    }
}

/// The binary of a function: as `cargo lambda build` lays it, or as `cargo build` does.
fn binary(folder: &Path, name: &'static str) -> Result<PathBuf, StackError> {
    [folder.join(name).join("bootstrap"), folder.join(name)]
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| StackError::NoBinary { name, folder: folder.to_owned() })
}
