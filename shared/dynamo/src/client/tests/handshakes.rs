//! Handshakes with a server whose authority is in the bundle, or unknown.

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

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: 17\r\nconnection: close\r\n\r\n{\"TableNames\":[]}";

/// The counts of a server.
#[derive(Default)]
struct Handshake {
    refused: AtomicUsize,
    asked: AtomicUsize,
}

/// A server with a certificate of this authority.
async fn server(authority: &CertifiedIssuer<'static, KeyPair>) -> (SocketAddr, Arc<Handshake>) {
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
    let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Handshake::default()));
    let counted = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            answer(&acceptor, stream, &counted).await;
        }
    });
    (address, seen)
}

async fn answer(acceptor: &TlsAcceptor, stream: TcpStream, seen: &Handshake) {
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

/// Sends two requests to a server of this authority, with one attempt each. Returns whether it answered, its refusals,
/// and its requests.
async fn asked(authority: &CertifiedIssuer<'static, KeyPair>, roots: &Roots) -> (bool, usize, usize) {
    let (address, seen) = server(authority).await;
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .http_client(https::client(roots))
        .endpoint_url(format!("https://{address}"))
        .region(Region::new("us-east-1"))
        .credentials_provider(plain_credentials());
    let client =
        Client::from_conf(tuned(config, &Settings { attempts_max: 1, ..Settings::default() }).build());
    let first = client.list_tables().send().await;
    let second = client.list_tables().send().await;
    assert_eq!(first.is_ok(), second.is_ok(), "{first:?} {second:?}");
    (first.is_ok(), seen.refused.load(Ordering::Relaxed), seen.asked.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_server_of_an_authority_in_the_bundle_is_trusted() {
    let (one, other) = (authority("One"), authority("Other"));
    let bundle = Roots::Bundle([one.der().clone(), other.der().clone()].into());
    assert_eq!(asked(&one, &bundle).await, (true, 0, 2));
    assert_eq!(asked(&other, &bundle).await, (true, 0, 2));
}

#[tokio::test]
async fn a_server_of_another_authority_gets_no_request() {
    let bundle = Roots::Bundle([authority("One").der().clone()].into());
    // The name does not matter: the authority has the same name and another key.
    for roots in [bundle, Roots::Mozilla, Roots::System] {
        let (answered, _, asked) = asked(&authority("One"), &roots).await;
        assert_eq!((answered, asked), (false, 0));
    }
}
