//! Whose certificates are trusted: one bundle, found once, before the first event.
//!
//! The TLS library would read every certificate of the machine, file and folder, each time that it makes a connector. That
//! is most of a function's start. A bundle is read as text, and the few roots that AWS itself uses are picked from it; the
//! others are looked at only if those do not suffice.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_smithy_http_client::tls::TrustStore;

use super::pem::{blocks, is_amazons, is_usable};

/// A file of certificates that the AWS command line honours too.
pub(super) const AWS_CA_BUNDLE: &str = "AWS_CA_BUNDLE";
/// A file of certificates, as OpenSSL has it.
pub(super) const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
/// Folders of certificates, as OpenSSL has them. They are left to the TLS library.
const SSL_CERT_DIR: &str = "SSL_CERT_DIR";

/// Where systems keep their bundle. Lambda's `provided.al2023` has the first.
const BUNDLES: [&str; 5] = [
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
];

/// Whose certificates are trusted; by default those of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// Amazon's roots, if the bundle has any: tried before the whole.
    amazons: Option<Arc<str>>,
    /// The whole bundle; without it, what the machine trusts.
    bundle: Option<Arc<str>>,
}

/// A bundle that was asked for and cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read.
    #[error("`{variable}` names `{}`, which cannot be read: {source}", path.display())]
    Unreadable {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file has no certificate.
    #[error("`{variable}` names `{}`, which holds no certificate that can be read (PEM)", path.display())]
    NoCertificate {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        path: PathBuf,
    },
}

impl Trust {
    /// What these variables say: `AWS_CA_BUNDLE`, else `SSL_CERT_FILE`, else the machine's own bundle.
    pub fn find(variable: &dyn Fn(&str) -> Option<String>) -> Result<Trust, TrustError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(path) = set(AWS_CA_BUNDLE) {
            let text = read(AWS_CA_BUNDLE, Path::new(&path))?;
            return Ok(Trust { amazons: amazons(&text), bundle: Some(text.into()) });
        }
        let dirs = set(SSL_CERT_DIR);
        let text = match set(SSL_CERT_FILE) {
            Some(path) => Some(read(SSL_CERT_FILE, Path::new(&path))?),
            None if dirs.is_some() => None,
            None => BUNDLES.iter().find_map(|path| std::fs::read_to_string(path).ok()),
        };
        // The TLS library knows these variables, and the machine's bundle, by itself.
        Ok(Trust { amazons: text.as_deref().and_then(amazons), bundle: None })
    }

    /// Amazon's roots alone.
    pub(super) fn narrow(&self) -> Option<TrustStore> {
        self.amazons.as_deref().map(store)
    }

    /// Everything that is trusted.
    pub(super) fn whole(&self) -> TrustStore {
        self.bundle.as_deref().map_or_else(TrustStore::default, store)
    }
}

/// A store of the certificates of a text that can be used.
fn store(text: &str) -> TrustStore {
    let usable = blocks(text).filter(|block| is_usable(block));
    usable.fold(TrustStore::empty(), |store, block| store.with_pem_certificate(block))
}

fn amazons(text: &str) -> Option<Arc<str>> {
    let found: Vec<&str> = blocks(text).filter(|block| is_amazons(block) && is_usable(block)).collect();
    (!found.is_empty()).then(|| found.join("\n").into())
}

fn read(variable: &'static str, path: &Path) -> Result<String, TrustError> {
    let bytes = std::fs::read(path).map_err(|source| TrustError::Unreadable {
        variable,
        path: path.to_owned(),
        source,
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if blocks(&text).any(is_usable) {
        return Ok(text);
    }
    Err(TrustError::NoCertificate { variable, path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::tests::authority;

    fn find(variables: &[(&str, &str)]) -> Result<Trust, TrustError> {
        Trust::find(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn file(content: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    #[test]
    fn a_bundle_that_is_asked_for_must_be_there_and_hold_a_certificate() {
        for variable in [AWS_CA_BUNDLE, SSL_CERT_FILE] {
            let error = find(&[(variable, "/nowhere/at/all.pem")]).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!(
                    "`{variable}` names `/nowhere/at/all.pem`, which cannot be read: "
                )),
                "{error}"
            );
            for content in
                ["", "not a certificate", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"]
            {
                let empty = file(content);
                let error = find(&[(variable, empty.path().to_str().unwrap())]).unwrap_err().to_string();
                assert!(
                    error.contains(variable)
                        && error.ends_with("which holds no certificate that can be read (PEM)"),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn amazons_roots_are_picked_and_one_that_cannot_be_read_is_left_out() {
        let (amazon, other) = (authority("Amazon Root CA 9").pem(), authority("Proxy").pem());
        let broken = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        let bundle = file(&format!("{other}{broken}{amazon}"));
        let trust =
            find(&[(AWS_CA_BUNDLE, bundle.path().to_str().unwrap()), (SSL_CERT_FILE, "/nowhere")]).unwrap();
        assert_eq!(trust.amazons.as_deref(), Some(amazon.trim_end()));
        assert!(trust.bundle.as_deref().is_some_and(|text| text.contains(&other)));
        let without = file(&other);
        let trust = find(&[(SSL_CERT_FILE, without.path().to_str().unwrap())]).unwrap();
        assert!(trust.narrow().is_none() && trust.bundle.is_none());
    }

    #[test]
    fn folders_that_are_asked_for_are_left_to_the_tls_library() {
        assert_eq!(find(&[(SSL_CERT_DIR, "/etc/ssl/certs")]).unwrap(), Trust::default());
        assert_eq!(find(&[(SSL_CERT_DIR, "/etc/ssl/certs"), (SSL_CERT_FILE, "")]).unwrap(), Trust::default());
    }
}
