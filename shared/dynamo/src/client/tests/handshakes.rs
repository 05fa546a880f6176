//! Handshakes with a server whose authority is Amazon's by name, another of the bundle, or unknown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::client::trust::AWS_CA_BUNDLE;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: 17\r\nconnection: close\r\n\r\n{\"TableNames\":[]}";

/// What a server has seen.
#[derive(Default)]
struct Seen {
    refused: AtomicUsize,
    asked: AtomicUsize,
}

/// A server with a certificate of this authority.
async fn server(authority: &CertifiedIssuer<'static, KeyPair>) -> (SocketAddr, Arc<Seen>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Seen::default()));
    let counted = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            answer(&acceptor, stream, &counted).await;
        }
    });
    (address, seen)
}

async fn answer(acceptor: &TlsAcceptor, stream: TcpStream, seen: &Seen) {
    let Ok(mut stream) = acceptor.accept(stream).await else {
        seen.refused.fetch_add(1, Ordering::Relaxed);
        return;
    };
    // A certificate that is refused late shows as a connection without a request.
    match stream.read(&mut [0; 4096]).await {
        Ok(1..) => {
            seen.asked.fetch_add(1, Ordering::Relaxed);
            stream.write_all(ANSWER).await.unwrap();
            let _ = stream.shutdown().await;
        }
        _ => {
            seen.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Asks a server of this authority twice, trusting a bundle; says what became of it and how often it was refused and asked.
async fn asked(
    authority: &CertifiedIssuer<'static, KeyPair>,
    bundle: &[&CertifiedIssuer<'static, KeyPair>],
) -> (bool, usize, usize) {
    let (address, seen) = server(authority).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bundle.iter().map(|issuer| issuer.pem()).collect::<String>()).unwrap();
    let path = file.path().to_str().unwrap().to_owned();
    let trust = Trust::find(&|name| (name == AWS_CA_BUNDLE).then(|| path.clone())).unwrap();
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .http_client(https::client(&trust))
        .endpoint_url(format!("https://{address}"))
        .region(Region::new("us-east-1"))
        .credentials_provider(plain_credentials());
    // One attempt: whoever turns to the whole bundle must not need another.
    let client =
        Client::from_conf(tuned(config, &Settings { attempts_max: 1, ..Settings::default() }).build());
    let first = client.list_tables().send().await;
    let second = client.list_tables().send().await;
    assert_eq!(first.is_ok(), second.is_ok(), "{first:?} {second:?}");
    (first.is_ok(), seen.refused.load(Ordering::Relaxed), seen.asked.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_server_of_amazons_is_trusted_at_once() {
    let (amazon, other) = (authority("Amazon Root CA 9"), authority("Somebody"));
    assert_eq!(asked(&amazon, &[&other, &amazon]).await, (true, 0, 2));
}

#[tokio::test]
async fn a_proxy_of_the_bundle_is_trusted_after_one_refusal_and_without_another_attempt() {
    let (amazon, proxy) = (authority("Amazon Root CA 9"), authority("Proxy"));
    assert_eq!(asked(&proxy, &[&amazon, &proxy]).await, (true, 1, 2));
}

#[tokio::test]
async fn a_bundle_without_amazons_roots_is_taken_as_a_whole() {
    let proxy = authority("Proxy");
    assert_eq!(asked(&proxy, &[&proxy]).await, (true, 0, 2));
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_hears_no_request() {
    let (amazon, proxy) = (authority("Amazon Root CA 9"), authority("Proxy"));
    let (answered, refused, asked) = asked(&authority("Amazon Root CA 9"), &[&amazon, &proxy]).await;
    assert!(!answered && asked == 0, "{answered} {asked}");
    assert!(refused >= 2, "the narrow one and the whole: {refused}");
}
