//! What fuzz targets share: the sample's model, a client that reaches nothing, and functions on it.

use std::sync::LazyLock;

use keyfold_audit_writer::{Settings as WriterSettings, Writer};
use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_dynamo::{Client, Settings, TokenKeys, plain_client};
use keyfold_edge::{Auth, Environment};
use keyfold_query_api::{Api, Limits};
use tokio::runtime::{Builder, Runtime};

/// The manifests that requests, events and records are read for.
const MANIFESTS: [&str; 2] = [include_str!("../../keyfold.toml"), include_str!("../../examples/projects/keyfold.toml")];

/// The model of the sample.
pub static MODEL: LazyLock<Model> =
    LazyLock::new(|| manifest::parse("keyfold.toml", MANIFESTS[0]).model.expect("the sample has no errors"));

/// A query API for each manifest.
pub static APIS: LazyLock<Vec<Api>> = LazyLock::new(|| MANIFESTS.iter().copied().map(api).collect());

/// The audit writer of the sample.
pub static WRITER: LazyLock<Writer> = LazyLock::new(|| {
    let settings = WriterSettings::read(Environment::new(&|_| None)).expect("no settings are needed");
    let table = MODEL.table("audit").expect("the sample has it").clone();
    Writer::new(table, client(), settings).expect("the sample has what the writer needs")
});

/// What answers need: they have a time to be given in.
pub static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

fn api(manifest: &str) -> Api {
    let keys = TokenKeys::random().expect("random bytes");
    let limits = Limits { auth: Auth::Open, allow_scan: true, ..Limits::default() };
    let api = Api::new("keyfold.toml", manifest, client(), keys, limits).expect("a manifest without errors");
    api.with_complete_indexes()
}

/// Nobody listens there, and no target asks.
fn client() -> Client {
    plain_client("http://127.0.0.1:9", &Settings::default())
}
