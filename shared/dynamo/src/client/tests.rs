//! Clients and the servers they trust, against servers of this process.

use aws_sdk_dynamodb::config::Intercept;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::*;

mod handshakes;

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
    for text in ["", "localhost:8000", "ftp://x", "http://", "http:///x", "://x", "http://a b"] {
        assert_eq!(Endpoint::parse(text), Err(EndpointError), "{text}");
    }
}

#[test]
fn an_invalid_endpoint_is_not_shown_and_a_password_is_never_taken() {
    for url in [
        "htps://joe:pass-word@example.com",
        "joe:pass-word@host",
        "http://joe:pass-word@host:8000/x",
        "http://joe:pass-word/@host:8000",
    ] {
        let error = Endpoint::parse(url).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("pass-word"), "{error}");
    }
    for url in ["http://host/a@b", "http://host:8000", "http://[::1]:8000/", "http://[::1]"] {
        assert!(Endpoint::parse(url).is_ok(), "{url}");
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
    assert!(config.interceptors().any(|interceptor| interceptor.name() == "keyfold exchange"));
}
