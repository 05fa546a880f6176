//! Calls to Step Functions and S3 for the operator: runs of a retrofit's state machine, and batches that Lambda
//! discarded.
//!
//! <https://docs.aws.amazon.com/step-functions/latest/apireference/Welcome.html>

use std::env;
use std::fmt::Write;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_smithy_http_client::Connector;
use serde::Deserialize;
use serde_json::Value;

use crate::client::{Settings, connector, shared};
use crate::signed::{S3, Signer, answer};

/// Maximum wait for a response.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
const STATES: &str = "states";
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// One service of AWS, with the region and the credentials of the environment.
#[derive(Debug)]
pub struct Service {
    name: &'static str,
    endpoint: String,
    region: String,
    credentials: Credentials,
    connector: Connector,
}

/// Why a service call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The environment lacks a region or credentials.
    #[error("no {missing} for {service}")]
    Missing {
        /// The service.
        service: &'static str,
        /// The missing part.
        missing: &'static str,
    },
    /// No response.
    #[error("{service} was not reached at `{endpoint}`")]
    NotReached {
        /// The service.
        service: &'static str,
        /// The endpoint.
        endpoint: String,
    },
    /// The service refused.
    #[error("{service} refused `{action}`: {code}: {message}")]
    Refused {
        /// The service.
        service: &'static str,
        /// The action.
        action: String,
        /// The service's error code.
        code: String,
        /// Its message.
        message: String,
    },
}

impl ServiceError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            ServiceError::Missing { .. } => "aws-not-configured",
            ServiceError::NotReached { .. } => "service-not-reached",
            ServiceError::Refused { .. } => "service-refused",
        }
    }

    /// A suggestion.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ServiceError::Missing { .. } => {
                Some("set AWS_REGION and the usual AWS credentials, such as AWS_PROFILE")
            }
            ServiceError::NotReached { .. } => Some("check the region and your network"),
            ServiceError::Refused { .. } => None,
        }
    }
}

impl Service {
    /// Step Functions, or the endpoint in `AWS_ENDPOINT_URL_SFN`.
    pub(crate) async fn step_functions(settings: &Settings) -> Result<Service, ServiceError> {
        Service::named(STATES, "AWS_ENDPOINT_URL_SFN", settings).await
    }

    /// S3, or the endpoint in `AWS_ENDPOINT_URL_S3`.
    pub async fn s3(settings: &Settings) -> Result<Service, ServiceError> {
        Service::named(S3, "AWS_ENDPOINT_URL_S3", settings).await
    }

    async fn named(name: &'static str, variable: &str, settings: &Settings) -> Result<Service, ServiceError> {
        let missing = |missing| ServiceError::Missing { service: title(name), missing };
        let config = shared(settings).await;
        let region = config.region().ok_or_else(|| missing("region"))?.to_string();
        let provider = config.credentials_provider().ok_or_else(|| missing("credentials"))?;
        let credentials = provider.provide_credentials().await.map_err(|_| missing("credentials"))?;
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let endpoint = env::var(variable).ok().filter(|url| !url.is_empty());
        let endpoint = endpoint.unwrap_or_else(|| format!("https://{name}.{region}.{suffix}"));
        let connector = connector(&endpoint, &settings.roots);
        Ok(Service { name, endpoint, region, credentials, connector })
    }

    /// Calls an action of Step Functions, such as `DescribeExecution`.
    pub(crate) async fn call(&self, action: &str, input: &Value) -> Result<Value, ServiceError> {
        let target = format!("AWSStepFunctions.{action}");
        let headers = [("content-type", CONTENT_TYPE), ("x-amz-target", target.as_str())];
        let body = self.send("POST", "/", &headers, &input.to_string(), action).await?;
        serde_json::from_slice(&body).map_err(|_| self.not_reached())
    }

    /// Reads an object of S3 by its address, such as `s3://bucket/key`.
    pub async fn object(&self, place: &str) -> Result<Vec<u8>, ServiceError> {
        self.on_object("GET", "GetObject", place).await
    }

    /// Deletes an object of S3 by its address.
    pub async fn delete_object(&self, place: &str) -> Result<(), ServiceError> {
        self.on_object("DELETE", "DeleteObject", place).await.map(drop)
    }

    async fn on_object(&self, method: &str, action: &str, place: &str) -> Result<Vec<u8>, ServiceError> {
        let path = place.strip_prefix("s3://").unwrap_or(place);
        self.send(method, &format!("/{}", encoded(path)), &[], "", &format!("{action} {place}")).await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&'static str, &str)],
        body: &str,
        action: &str,
    ) -> Result<Vec<u8>, ServiceError> {
        let url = format!("{}{path}", self.endpoint.trim_end_matches('/'));
        let signer = Signer { service: self.name, region: &self.region, credentials: &self.credentials };
        let request = signer.request(method, &url, headers, body).ok_or_else(|| self.not_reached())?;
        let answered = tokio::time::timeout(ANSWER_TIME_MAX, answer(&self.connector, request)).await;
        match answered.ok().flatten() {
            Some((true, body)) => Ok(body),
            Some((false, body)) => {
                let (code, message) = refusal(&body);
                Err(ServiceError::Refused {
                    service: title(self.name),
                    action: action.to_owned(),
                    code,
                    message,
                })
            }
            None => Err(self.not_reached()),
        }
    }

    pub(crate) fn not_reached(&self) -> ServiceError {
        ServiceError::NotReached { service: title(self.name), endpoint: self.endpoint.clone() }
    }
}

fn title(name: &'static str) -> &'static str {
    if name == S3 { "S3" } else { "Step Functions" }
}

/// A path in S3's signature: everything but unreserved characters and slashes is encoded.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            byte => drop(write!(text, "%{byte:02X}")),
        }
    }
    text
}

/// The code and the message of a refusal: JSON of Step Functions, XML of S3.
fn refusal(body: &[u8]) -> (String, String) {
    #[derive(Deserialize)]
    struct Refusal {
        #[serde(rename = "__type")]
        kind: String,
        #[serde(default, alias = "Message")]
        message: String,
    }
    let text = String::from_utf8_lossy(body);
    if let Ok(Refusal { kind, message }) = serde_json::from_str(&text) {
        return (kind.rsplit('#').next().unwrap_or_default().to_owned(), message);
    }
    let of = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0.to_owned())
    };
    (of("Code").unwrap_or_else(|| "unreadable answer".to_owned()), of("Message").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_encoded_as_it_is_signed_and_refusals_are_read_in_both_forms() {
        assert_eq!(encoded("bucket/aws/lambda/a=b c"), "bucket/aws/lambda/a%3Db%20c");
        let json = br#"{"__type":"com.amazonaws#ExecutionDoesNotExist","message":"no run"}"#;
        assert_eq!(refusal(json), ("ExecutionDoesNotExist".to_owned(), "no run".to_owned()));
        let xml = b"<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>";
        assert_eq!(refusal(xml), ("NoSuchKey".to_owned(), "gone".to_owned()));
        assert_eq!(refusal(b"?").0, "unreadable answer");
    }
}
