//! The model, the client, the keys and the limits: built once, before the first request.

use std::sync::Arc;

use keyfold_core::model::{Model, Table};
use keyfold_core::query::Readiness;
use keyfold_core::value::Hex;
use keyfold_dynamo::retrofit::{CONTROL_TABLE_DEFAULT, KnownReadiness, RetrofitError};
use keyfold_dynamo::{Client, model_version};
use keyfold_edge::{Auth, ManifestError, SettingsError, parse_manifest, read_manifest};

use crate::budget::Budget;
use crate::page_token::TokenKeySource;
use crate::settings::{Grants, Limits, Settings};

/// The query API of one manifest.
#[derive(Debug)]
pub struct Api {
    pub(crate) model: Model,
    /// A digest of the manifest's text: page tokens with another digest are refused.
    pub(crate) version: [u8; 32],
    pub(crate) client: Client,
    pub(crate) token_keys: TokenKeySource,
    pub(crate) limits: Limits,
    control_table: String,
    pub(crate) grants: Grants,
    /// The budget of each caller, if there is one.
    pub(crate) budget: Option<Budget>,
    /// `None`: every index is complete.
    readiness: Option<KnownReadiness>,
}

/// Why there is no API.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An invalid setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No usable manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Writes are not restricted.
    #[error(
        "anyone could write table `{table}`: `KEYFOLD_AUTH` is `open`, and the manifest lists the table in `query-api-writes`"
    )]
    OpenWrites {
        /// The table's id.
        table: String,
    },
}

impl Api {
    /// The API of a deployed function, reachable from a network. Refused if any caller could write.
    pub async fn deployed(settings: Settings) -> Result<Api, StartError> {
        let api = Api::start(settings).await?;
        match api.model.deploy.query_api_writes.first() {
            Some(table) if api.limits.auth == Auth::Open => {
                Err(StartError::OpenWrites { table: table.clone() })
            }
            _ => Ok(api),
        }
    }

    /// The API with these settings.
    pub async fn start(settings: Settings) -> Result<Api, StartError> {
        let text = read_manifest(&settings.manifest)?;
        let client = keyfold_dynamo::client(&settings.dynamo).await;
        let file_name = settings.manifest.to_string_lossy();
        let api = Api::new(&file_name, &text, client, settings.token_keys, settings.limits)?;
        Ok(Api {
            grants: settings.grants,
            budget: settings.budget,
            ..api.with_control_table(settings.control_table)
        })
    }

    /// The API of a manifest's text, with this client.
    pub fn new(
        file_name: &str,
        manifest_text: &str,
        client: Client,
        token_keys: impl Into<TokenKeySource>,
        limits: Limits,
    ) -> Result<Api, ManifestError> {
        let model = parse_manifest(file_name, manifest_text)?;
        let version = model_version(manifest_text);
        Ok(Api {
            model,
            version,
            client,
            token_keys: token_keys.into(),
            limits,
            control_table: CONTROL_TABLE_DEFAULT.to_owned(),
            grants: Grants::default(),
            budget: None,
            readiness: Some(KnownReadiness::new(CONTROL_TABLE_DEFAULT)),
        })
    }

    /// The same API with another control table.
    pub fn with_control_table(self, name: impl Into<String>) -> Api {
        let name = name.into();
        Api { readiness: Some(KnownReadiness::new(&name)), control_table: name, ..self }
    }

    /// The same API, with all indexes taken as complete, without reading the control table.
    pub fn with_complete_indexes(self) -> Api {
        Api { readiness: None, ..self }
    }

    /// The indexes of a table that a retrofit still fills.
    pub(crate) async fn readiness(&self, table: &Table) -> Result<Arc<Readiness>, RetrofitError> {
        match &self.readiness {
            Some(known) => known.of(&self.client, &self.model, table).await,
            None => Ok(Arc::default()),
        }
    }

    /// Records that the table lacks this index: it is pending for a while.
    pub(crate) fn note_missing(&self, table: &Table, index: &str) {
        if let Some(known) = &self.readiness {
            known.note_missing(table, index);
        }
    }

    /// The same API with these required OAuth scopes.
    pub fn with_grants(self, grants: Grants) -> Api {
        Api { grants, ..self }
    }

    /// The model of the API.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The client of its DynamoDB.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The limits of a request.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The control table of the retrofits.
    pub fn control_table(&self) -> &str {
        &self.control_table
    }

    /// The start of the manifest's digest: enough to see which one is deployed.
    pub(crate) fn version_text(&self) -> String {
        Hex(&self.version[..6]).to_string()
    }
}
