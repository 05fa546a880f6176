//! Shared parts of the fuzz targets: the sample's model, a client without an endpoint, and functions with them.

use std::sync::LazyLock;

use keyfold_audit_writer::{Settings as WriterSettings, Writer};
use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_dynamo::{Client, Settings, TokenKeys, plain_client};
use keyfold_edge::{Auth, Environment};
use keyfold_query_api::{Api, ApiRequest, Caller, Limits, respond};
use tokio::runtime::{Builder, Runtime};

/// The manifests that requests, events and records are read for.
const MANIFESTS: [&str; 2] = [include_str!("../../keyfold.toml"), include_str!("../../examples/projects/keyfold.toml")];

/// The model of the sample.
pub static MODEL: LazyLock<Model> =
    LazyLock::new(|| manifest::parse("keyfold.toml", MANIFESTS[0]).model.expect("the sample has no errors"));

/// A query API for each manifest.
pub static APIS: LazyLock<Vec<Api>> = LazyLock::new(|| MANIFESTS.iter().copied().map(api).collect());

/// A query API whose table callers write: with a scope that only keys hold, entities, folded keys and every kind of attribute.
pub static WRITES: LazyLock<Api> = LazyLock::new(|| api(WRITABLE));

/// The manifest of [`WRITES`].
const WRITABLE: &str = r##"
[deploy]
query-api = true
query-api-writes = ["t"]
[tables.t]
name = "writable"
partition = { attribute = "PK" }
sort = { attribute = "SK" }
scope = { org = "jwt.org" }
[tables.t.attributes]
org = { type = "string", from-key = true }
id = { type = "string", from-key = true }
kind = "string"
note = "string"
size = "number"
at = "timestamp"
tags = "string-set"
photo = "binary"
[tables.t.indexes.byOrg]
partition = { attribute = "GSI1PK" }
sort = "{size:04}"
[tables.t.entities.customer]
partition = "CUSTOMER#{org}"
sort = "PROFILE#{id}"
[tables.t.entities.order]
partition = "ORDER#{id}"
sort = "ORDER"
indexes.byOrg.partition = "CUSTOMER#{org}"
"##;

/// Sends any body to a path of [`WRITES`]. Valid requests go to a DynamoDB that does not exist.
///
/// # Panics
/// If the answer is another internal error, or invalid JSON.
pub fn write(path: &str, body: &[u8]) {
    for caller in [Caller::Trusted, Caller::Claims([("jwt.org", "acme"), ("iam.userArn", "joe")].map(|(name, value)| (name.to_owned(), value.to_owned())).into())] {
        let request = http::Request::post(path).body(body.to_vec()).expect("a request");
        let (response, _) = RUNTIME.block_on(respond(&WRITES, &ApiRequest::of_http(request, caller, "fuzz")));
        let (status, answer) = (response.status().as_u16(), response.body());
        assert!(status < 500 || answer.contains("\"not-reached\""), "{status}: {answer}");
        assert!(serde_json::from_str::<serde_json::Value>(answer).is_ok());
    }
}

/// The audit writer of the sample.
pub static WRITER: LazyLock<Writer> = LazyLock::new(|| {
    let settings = WriterSettings::read(Environment::new(&|_| None)).expect("no settings are needed");
    let table = MODEL.table("audit").expect("the sample has it").clone();
    Writer::new(table, client(), settings).expect("the sample has what the writer needs")
});

/// The runtime, because answers have a time limit.
pub static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

fn api(manifest: &str) -> Api {
    let keys = TokenKeys::random().expect("random bytes");
    let limits = Limits { auth: Auth::Open, allow_scan: true, ..Limits::default() };
    let api = Api::new("keyfold.toml", manifest, client(), keys, limits).expect("a manifest without errors");
    api.with_complete_indexes()
}

/// No server listens there. Only writes call it, once.
fn client() -> Client {
    plain_client("http://127.0.0.1:9", &Settings { attempts_max: 1, ..Settings::default() })
}
