//! A server in place of DynamoDB: TLS, a certificate of an authority made for this run, and one answer for everything.
//!
//! The authority stands in a bundle with all those of the machine, which is about as long as Mozilla's list.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::NamedTempFile;

use super::call::request;

/// Bundles of systems.
const BUNDLES: [&str; 2] = ["/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt"];
/// An error that nobody sends again.
const ANSWER: &str =
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"none"}"#;

/// The server. It lives as long as this process.
pub(super) struct Server {
    address: SocketAddr,
    bundle: NamedTempFile,
    asked: Arc<AtomicUsize>,
}

impl Server {
    pub(super) fn start() -> anyhow::Result<Server> {
        let (config, authority) = config()?;
        let mut bundle = NamedTempFile::new()?;
        let machine = BUNDLES.iter().find_map(|path| std::fs::read(path).ok());
        bundle.write_all(&machine.context("this machine has no bundle of certificates")?)?;
        bundle.write_all(authority.as_bytes())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, asked) = (listener.local_addr()?, Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, asked) = (Arc::clone(&config), Arc::clone(&counted));
                // It ends with the connection.
                thread::spawn(move || serve(config, stream, &asked));
            }
        });
        Ok(Server { address, bundle, asked })
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(super) fn bundle(&self) -> &Path {
        self.bundle.path()
    }

    /// How many requests there were.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// How to serve, and the authority's certificate.
fn config() -> anyhow::Result<(Arc<ServerConfig>, String)> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "Amazon Root CA of this run");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let server =
        CertificateParams::new(vec![Ipv4Addr::LOCALHOST.to_string()])?.signed_by(&key, &authority)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![server.der().clone()], key)?;
    Ok((Arc::new(config), authority.pem()))
}

fn serve(config: Arc<ServerConfig>, stream: TcpStream, asked: &AtomicUsize) -> anyhow::Result<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(config)?, stream);
    while request(&mut stream)?.is_some() {
        asked.fetch_add(1, Ordering::Relaxed);
        let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/x-amz-json-1.0\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n{ANSWER}", ANSWER.len())?;
        stream.flush()?;
    }
    Ok(())
}
