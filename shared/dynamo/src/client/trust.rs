//! Whose certificates are trusted: those of one bundle.
//!
//! The TLS library would read every certificate of the machine, file and folder, each time that it makes a connector. That
//! was most of a function's start. A bundle is read as text, and the few roots that AWS itself uses are picked from it; the
//! others are looked at only if those do not suffice. A bundle that a variable names is read at the start, because it may be
//! wrong; the machine's own is read with the first request.

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
pub struct Trust(Source);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Source {
    /// The machine's bundle; and what else it trusts.
    #[default]
    Machine,
    /// Folders, which are left to the TLS library.
    Folders,
    /// A text that `SSL_CERT_FILE` names. The TLS library knows that variable by itself.
    Known(Arc<str>),
    /// A text that the TLS library knows nothing of.
    Named(Arc<str>),
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
    #[error("`{variable}` names `{}`, which has no readable certificate (PEM)", path.display())]
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
        Ok(Trust(if let Some(path) = set(AWS_CA_BUNDLE) {
            Source::Named(read(AWS_CA_BUNDLE, Path::new(&path))?.into())
        } else if let Some(path) = set(SSL_CERT_FILE) {
            Source::Known(read(SSL_CERT_FILE, Path::new(&path))?.into())
        } else if set(SSL_CERT_DIR).is_some() {
            Source::Folders
        } else {
            Source::Machine
        }))
    }

    /// Amazon's roots alone, if there are any.
    pub(super) fn narrow(&self) -> Option<TrustStore> {
        match &self.0 {
            Source::Machine => amazons(&BUNDLES.iter().find_map(|path| std::fs::read_to_string(path).ok())?),
            Source::Folders => None,
            Source::Known(text) | Source::Named(text) => amazons(text),
        }
    }

    /// Everything that is trusted.
    pub(super) fn whole(&self) -> TrustStore {
        match &self.0 {
            Source::Named(text) => store(blocks(text)),
            Source::Machine | Source::Folders | Source::Known(_) => TrustStore::default(),
        }
    }
}

fn amazons(text: &str) -> Option<TrustStore> {
    let mut found = blocks(text).filter(|block| is_amazons(block) && is_usable(block)).peekable();
    found.peek()?;
    Some(store(found))
}

/// A store of those certificates that can be used.
fn store<'b>(blocks: impl Iterator<Item = &'b str>) -> TrustStore {
    let usable = blocks.filter(|block| is_usable(block));
    usable.fold(TrustStore::empty(), TrustStore::with_pem_certificate)
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
                    error.contains(variable) && error.ends_with("which has no readable certificate (PEM)"),
                    "{error}"
                );
            }
        }
    }

    /// How many certificates a store has, and whether it has those of the machine.
    fn counted(store: &TrustStore) -> (usize, bool) {
        let shown = format!("{store:?}");
        (shown.matches("CertificatePEM(").count(), shown.contains("enable_native_roots: true"))
    }

    #[test]
    fn amazons_roots_are_picked_and_one_that_cannot_be_read_is_left_out() {
        let (amazon, other) = (authority("Amazon Root CA 9").pem(), authority("Proxy").pem());
        let broken = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        let bundle = file(&format!("{other}{broken}{amazon}"));
        let path = bundle.path().to_str().unwrap();
        let trust = find(&[(AWS_CA_BUNDLE, path), (SSL_CERT_FILE, "/nowhere")]).unwrap();
        assert_eq!(trust.narrow().as_ref().map(counted), Some((1, false)));
        assert_eq!(counted(&trust.whole()), (2, false));
        let trust = find(&[(SSL_CERT_FILE, path)]).unwrap();
        assert_eq!(trust.narrow().as_ref().map(counted), Some((1, false)));
        assert_eq!(counted(&trust.whole()), (0, true), "the TLS library reads the variable by itself");
        let without = file(&other);
        assert!(find(&[(SSL_CERT_FILE, without.path().to_str().unwrap())]).unwrap().narrow().is_none());
    }

    #[test]
    fn folders_that_are_asked_for_are_left_to_the_tls_library() {
        for variables in
            [&[(SSL_CERT_DIR, "/etc/ssl/certs"), (SSL_CERT_FILE, "")][..], &[(SSL_CERT_DIR, "/nowhere")]]
        {
            let trust = find(variables).unwrap();
            assert!(trust.narrow().is_none());
            assert_eq!(counted(&trust.whole()), (0, true));
        }
        assert_eq!(find(&[]).unwrap(), Trust::default());
    }
}
