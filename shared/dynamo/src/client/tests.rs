//! Clients, and whom they trust: against servers of this process.

use std::convert::Infallible;

use aws_sdk_dynamodb::config::Intercept;
use aws_smithy_types::body::SdkBody;
use futures_util::stream;
use http_body_util::StreamBody;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use self::server::{Server, answer};
use super::*;

mod handshakes;
pub(crate) mod server;

/// An authority of this name.
pub(super) fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[test]
fn the_scheme_says_whether_there_is_tls() {
    assert!(matches!(Endpoint::parse("http://localhost:8000"), Ok(Endpoint::Plain(_))));
    assert!(matches!(Endpoint::parse("HTTPS://example.com/"), Ok(Endpoint::Tls(_))));
    for text in ["", "localhost:8000", "ftp://x", "http://", "://x"] {
        assert_eq!(Endpoint::parse(text), Err(EndpointError { url: text.to_owned() }), "{text}");
    }
}

#[test]
fn certificates_are_looked_for_only_where_there_is_tls() {
    let variable = |name: &str| (name == "AWS_CA_BUNDLE").then(|| "/nowhere/at/all.pem".to_owned());
    let plain = Settings::at(Endpoint::Plain("http://127.0.0.1:8000".to_owned()));
    assert_eq!(plain.clone().trusting(&variable).unwrap(), plain);
    for endpoint in [Endpoint::Aws, Endpoint::Tls("https://127.0.0.1:8000".to_owned())] {
        let error = Settings::at(endpoint).trusting(&variable).unwrap_err();
        assert!(matches!(error, RootsError::Unreadable { variable: "AWS_CA_BUNDLE", .. }), "{error}");
    }
}

#[test]
fn a_plain_client_has_everything_it_needs() {
    let settings = Settings { region: Some("eu-west-1".to_owned()), attempts_max: 0, ..Settings::default() };
    let client = plain_client("http://127.0.0.1:9", &settings);
    let config = client.config();
    assert_eq!(config.region().map(AsRef::as_ref), Some("eu-west-1"));
    assert_eq!(config.retry_config().map(RetryConfig::max_attempts), Some(1));
    assert_eq!(config.timeout_config().and_then(TimeoutConfig::operation_timeout), Some(OPERATION_TIMEOUT));
    assert!(config.stalled_stream_protection().is_some_and(|watch| !watch.is_enabled()));
    for name in ["keyfold exchange", "keyfold signing"] {
        assert!(config.interceptors().any(|interceptor| interceptor.name() == name), "{name}");
    }
    assert!(config.auth_schemes().any(|scheme| format!("{scheme:?}").contains("Signing(Signer")));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stalls_is_given_up_in_time() {
    let settings = Settings { attempts_max: 1, ..Settings::default() };
    let begins = |_: &_| {
        let body = StreamBody::new(stream::pending::<Result<_, Infallible>>());
        answer(200, SdkBody::from_body_1_x(body))
    };
    let config = Builder::from(&plain("http://127.0.0.1:9", &settings)).http_client(Server::new(begins));
    let client = Client::from_conf(tuned(config, &settings).build());
    let begin = tokio::time::Instant::now();
    let asked = tokio::time::timeout(OPERATION_TIMEOUT * 2, client.list_tables().send()).await;
    asked.unwrap().unwrap_err();
    assert_eq!(begin.elapsed().as_secs(), ATTEMPT_TIMEOUT.as_secs());
}
