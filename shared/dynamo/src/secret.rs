//! Reads one secret of AWS Secrets Manager.
//!
//! <https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html>

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_smithy_http_client::Connector;
use serde::Deserialize;

use crate::client::{Roots, connector};
use crate::signed::{Signer, answer};

/// Maximum wait for a secret.
const READ_TIME_MAX: Duration = Duration::from_secs(3);
const SERVICE: &str = "secretsmanager";
const TARGET: &str = "secretsmanager.GetSecretValue";
const CONTENT_TYPE: &str = "application/x-amz-json-1.1";
/// The endpoint of Secrets Manager, if not in AWS.
const ENDPOINT: &str = "AWS_ENDPOINT_URL_SECRETS_MANAGER";

/// A version of a secret, by the label that Secrets Manager moves when the secret changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretLabel {
    /// The current one.
    Current,
    /// The previous one.
    Previous,
}

impl SecretLabel {
    fn text(self) -> &'static str {
        match self {
            SecretLabel::Current => "AWSCURRENT",
            SecretLabel::Previous => "AWSPREVIOUS",
        }
    }
}

/// A readable secret.
#[derive(Debug)]
pub struct Secret {
    id: String,
    endpoint: String,
    region: String,
    credentials: Credentials,
    connector: Connector,
}

/// One version of a secret.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SecretVersion {
    /// Its id.
    #[serde(rename = "VersionId")]
    pub id: String,
    /// The text.
    #[serde(rename = "SecretString")]
    pub text: String,
}

/// Shows only its id.
impl std::fmt::Debug for SecretVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretVersion").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why a secret cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum SecretError {
    /// The environment lacks a region or credentials.
    #[error("`{name}` is not set, and secret `{secret}` cannot be read without it")]
    Missing { secret: String, name: &'static str },
    /// No response from Secrets Manager in time.
    #[error("Secrets Manager was not reached for secret `{secret}`")]
    NotReached { secret: String },
    /// Secrets Manager refused.
    #[error("Secrets Manager refused to read secret `{secret}`: `{code}`")]
    Refused { secret: String, code: String },
    /// The response is invalid, or the secret is binary.
    #[error("secret `{secret}` has no text")]
    NoText { secret: String },
}

impl Secret {
    /// The secret with this name or ARN, with the region and the credentials in these variables.
    pub fn new(
        id: &str,
        roots: &Roots,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Secret, SecretError> {
        let set = |name: &'static str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| SecretError::Missing { secret: id.to_owned(), name })
        };
        let region = set("AWS_REGION").or_else(|missing| set("AWS_DEFAULT_REGION").map_err(|_| missing))?;
        let (key, secret) = (set("AWS_ACCESS_KEY_ID")?, set("AWS_SECRET_ACCESS_KEY")?);
        let credentials = Credentials::new(key, secret, set("AWS_SESSION_TOKEN").ok(), None, "environment");
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let endpoint = set(ENDPOINT).unwrap_or_else(|_| format!("https://{SERVICE}.{region}.{suffix}/"));
        let connector = connector(&endpoint, roots);
        Ok(Secret { id: id.to_owned(), endpoint, region, credentials, connector })
    }

    /// The version with this label; `None` if no version has it.
    pub async fn version(&self, label: SecretLabel) -> Result<Option<SecretVersion>, SecretError> {
        let not_reached = || SecretError::NotReached { secret: self.id.clone() };
        let body = serde_json::json!({ "SecretId": self.id, "VersionStage": label.text() }).to_string();
        let signer = Signer { service: SERVICE, region: &self.region, credentials: &self.credentials };
        let headers = [("content-type", CONTENT_TYPE), ("x-amz-target", TARGET)];
        let request = signer.request("POST", &self.endpoint, &headers, &body).ok_or_else(not_reached)?;
        let answered = tokio::time::timeout(READ_TIME_MAX, answer(&self.connector, request)).await;
        let (ok, body) = answered.ok().flatten().ok_or_else(not_reached)?;
        if ok {
            let version = serde_json::from_slice(&body);
            return version.map(Some).map_err(|_| SecretError::NoText { secret: self.id.clone() });
        }
        match refusal(&body) {
            code if code == "ResourceNotFoundException" && label == SecretLabel::Previous => Ok(None),
            code => Err(SecretError::Refused { secret: self.id.clone(), code }),
        }
    }
}

/// The service's error code, without its namespace.
fn refusal(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        #[serde(rename = "__type")]
        kind: String,
    }
    match serde_json::from_slice::<Refusal>(body) {
        Ok(refusal) => refusal.kind.rsplit('#').next().unwrap_or_default().to_owned(),
        Err(_) => "unreadable answer".to_owned(),
    }
}
