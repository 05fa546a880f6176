//! Builds a client from settings: the endpoint, time-outs and attempts.
//!
//! A plain `http` endpoint is a DynamoDB on this machine. Its client uses no TLS, reads no credentials from the network
//! and needs no configuration.

mod https;
mod roots;

use std::env;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, SharedInterceptor};

pub(crate) use self::https::connector;
pub use self::roots::{Roots, RootsError};
use crate::wire;

/// Maximum wait for a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum wait for the response to one attempt.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time of an operation, with all its attempts.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum attempts of the SDK for a request with a transient error.
pub const ATTEMPTS_MAX: u32 = 4;
/// The SDK's first wait between two attempts.
const RETRY_BACKOFF_BASE: Duration = Duration::from_millis(50);
/// The SDK's maximum wait between two attempts.
const RETRY_BACKOFF_CAP: Duration = Duration::from_secs(2);

/// The default region for signing requests to a plain endpoint.
const PLAIN_REGION: &str = "us-east-1";
/// The default access key and secret for a plain endpoint.
const PLAIN_CREDENTIALS: &str = "local";

/// The endpoint of DynamoDB.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Endpoint {
    /// In AWS, configured by the environment.
    #[default]
    Aws,
    /// An `http` URL, without TLS.
    Plain(String),
    /// An `https` URL.
    Tls(String),
}

/// An invalid endpoint. The text is not shown, because a URL can contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the endpoint is invalid: it must be `http://` or `https://` and a host, without a user, a password or spaces"
)]
pub struct EndpointError;

/// Why the environment contains no valid settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// An invalid endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Unusable certificates.
    #[error(transparent)]
    Roots(#[from] RootsError),
}

impl Endpoint {
    /// Is it on this machine? Then a request is never in flight for long.
    ///
    /// ```
    /// use keyfold_dynamo::Endpoint;
    /// assert!(Endpoint::parse("http://127.0.0.1:8000").unwrap().is_loopback());
    /// assert!(!Endpoint::parse("http://dynamodb.us-east-1.amazonaws.com").unwrap().is_loopback());
    /// ```
    pub fn is_loopback(&self) -> bool {
        let Endpoint::Plain(url) = self else { return false };
        let Ok(url) = url.parse::<http::Uri>() else { return false };
        let host = url.host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    /// The endpoint that a URL names.
    ///
    /// ```
    /// use keyfold_dynamo::Endpoint;
    /// assert_eq!(Endpoint::parse("http://127.0.0.1:8000"), Ok(Endpoint::Plain("http://127.0.0.1:8000".to_owned())));
    /// assert!(Endpoint::parse("localhost:8000").is_err());
    /// ```
    pub fn parse(url: &str) -> Result<Endpoint, EndpointError> {
        let (scheme, rest) = url.split_once("://").ok_or(EndpointError)?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // `joe:pass/word@host` is a password with a slash, not a port.
        let port = host.rsplit_once(':').filter(|_| !host.ends_with(']')).map_or("", |(_, port)| port);
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        if host.is_empty()
            || host.contains('@')
            || !is_port
            || !rest.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(EndpointError);
        }
        match scheme.to_ascii_lowercase().as_str() {
            "http" => Ok(Endpoint::Plain(url.to_owned())),
            "https" => Ok(Endpoint::Tls(url.to_owned())),
            _ => Err(EndpointError),
        }
    }
}

/// The settings of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The endpoint of DynamoDB.
    pub endpoint: Endpoint,
    /// The region; `None` for the environment's.
    pub region: Option<String>,
    /// How many times the SDK sends a request; 1 for no retries.
    pub attempts_max: u32,
    /// Maximum time of an operation, with all its attempts.
    pub operation_timeout: Duration,
    /// The root certificates that are trusted.
    pub roots: Roots,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            endpoint: Endpoint::Aws,
            region: None,
            attempts_max: ATTEMPTS_MAX,
            operation_timeout: OPERATION_TIMEOUT,
            roots: Roots::default(),
        }
    }
}

impl Settings {
    /// The defaults, at this endpoint, with the system's root certificates.
    pub fn at(endpoint: Endpoint) -> Settings {
        Settings { endpoint, ..Settings::default() }
    }

    /// The defaults, at the endpoint in `AWS_ENDPOINT_URL_DYNAMODB` or `AWS_ENDPOINT_URL`, or else in AWS.
    pub fn from_env() -> Result<Settings, SettingsError> {
        let url = set("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| set("AWS_ENDPOINT_URL"));
        let endpoint = url.map_or(Ok(Endpoint::Aws), |url| Endpoint::parse(&url))?;
        Ok(Settings::at(endpoint).trusting(&set)?)
    }

    /// These settings with the root certificates named by `AWS_CA_BUNDLE` or `SSL_CERT_FILE`, if one of them is set.
    /// Nothing is read for a plain endpoint.
    pub fn trusting(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Settings, RootsError> {
        match self.endpoint {
            Endpoint::Plain(_) => Ok(self),
            Endpoint::Aws | Endpoint::Tls(_) => {
                Ok(Settings { roots: Roots::named(variable)?.unwrap_or(self.roots), ..self })
            }
        }
    }
}

/// A client with these settings. Credentials are loaded with the first request.
pub async fn client(settings: &Settings) -> Client {
    match &settings.endpoint {
        Endpoint::Plain(url) => plain_client(url, settings),
        Endpoint::Tls(_) | Endpoint::Aws => {
            Client::from_conf(tuned(Builder::from(&shared(settings).await), settings).build())
        }
    }
}

/// A client for the streams of the same tables.
pub(crate) async fn streams_client(settings: &Settings) -> aws_sdk_dynamodbstreams::Client {
    let config = aws_sdk_dynamodbstreams::config::Builder::from(&shared(settings).await);
    let config = config.timeout_config(timeouts(settings)).retry_config(retries(settings));
    aws_sdk_dynamodbstreams::Client::from_conf(config.build())
}

/// The common configuration of all clients.
pub(crate) async fn shared(settings: &Settings) -> SdkConfig {
    let endpoint = match &settings.endpoint {
        Endpoint::Plain(url) => return plain(url, settings),
        Endpoint::Tls(url) => Some(url),
        Endpoint::Aws => None,
    };
    let mut loader =
        aws_config::defaults(BehaviorVersion::latest()).http_client(https::client(&settings.roots));
    let region = || set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION"));
    if let Some(region) = settings.region.clone().or_else(region) {
        loader = loader.region(Region::new(region));
    }
    // If the environment contains credentials, as in Lambda, the SDK uses them. Without this line it also prepares all
    // other credential providers, which takes a tenth of the start-up time.
    if set("AWS_ACCESS_KEY_ID").is_some() && set("AWS_SECRET_ACCESS_KEY").is_some() {
        loader = loader.credentials_provider(EnvironmentVariableCredentialsProvider::new());
    }
    if let Some(url) = endpoint {
        loader = loader.endpoint_url(url);
    }
    loader.load().await
}

/// A client for a plain `http` URL, regardless of the endpoint in the settings.
pub fn plain_client(url: &str, settings: &Settings) -> Client {
    Client::from_conf(tuned(Builder::from(&plain(url, settings)), settings).build())
}

fn plain(url: &str, settings: &Settings) -> SdkConfig {
    let region = settings.region.clone().or_else(|| set("AWS_REGION")).or_else(|| set("AWS_DEFAULT_REGION"));
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(url)
        .region(Region::new(region.unwrap_or_else(|| PLAIN_REGION.to_owned())))
        .credentials_provider(SharedCredentialsProvider::new(plain_credentials()))
        .build()
}

/// The environment's credentials if it has any, because some local endpoints separate tables by access key.
fn plain_credentials() -> Credentials {
    let (key, secret) = match (set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY")) {
        (Some(key), Some(secret)) => (key, secret),
        _ => (PLAIN_CREDENTIALS.to_owned(), PLAIN_CREDENTIALS.to_owned()),
    };
    Credentials::new(key, secret, None, None, "keyfold plain endpoint")
}

/// Timeouts, retries, and the interceptor that writes requests and decodes responses.
fn tuned(config: Builder, settings: &Settings) -> Builder {
    let mut config = config.timeout_config(timeouts(settings)).retry_config(retries(settings));
    // Permanent, so that the SDK does not check in each call whether the interceptor is disabled.
    config.push_interceptor(SharedInterceptor::permanent(wire::Interceptor));
    config
}

fn timeouts(settings: &Settings) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(settings.operation_timeout)
        .build()
}

fn retries(settings: &Settings) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(settings.attempts_max.max(1))
        .with_initial_backoff(RETRY_BACKOFF_BASE)
        .with_max_backoff(RETRY_BACKOFF_CAP)
}

/// A variable of the environment that is set and not empty.
fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
pub(crate) mod tests;
