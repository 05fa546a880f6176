//! The query API in this process. Its port serves only this machine, so every caller is trusted, and scans are allowed.

use std::path::Path;

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{Request, Response};
use keyfold_dynamo::{Settings as DynamoSettings, TokenKeys};
use keyfold_query_api::{
    Api, ApiRequest, Auth, Caller, Grants, Limits, READ_UNITS_MAX_DEFAULT, Settings, respond,
};

/// The API of a manifest, or why it cannot start. Page tokens of other runs are invalid.
pub(crate) async fn start(manifest: &Path, dynamo: DynamoSettings, control: &str) -> Result<Api, String> {
    let token_keys = TokenKeys::random().map_err(|error| error.to_string())?;
    let settings = Settings {
        manifest: manifest.to_owned(),
        dynamo,
        control_table: control.to_owned(),
        grants: Grants::default(),
        token_keys: token_keys.into(),
        limits: Limits { auth: Auth::Open, allow_scan: true, read_units_max: READ_UNITS_MAX_DEFAULT },
        budget: None,
    };
    Api::start(settings).await.map_err(|error| error.to_string())
}

/// The API's response to a request.
pub(crate) async fn answer(api: &Api, parts: Parts, body: &Bytes, id: String) -> Response<String> {
    let request = Request::from_parts(parts, body.to_vec());
    Box::pin(respond(api, &ApiRequest::of_http(request, Caller::Trusted, id))).await.0
}
