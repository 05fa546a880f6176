//! Root certificates: the authorities that servers' certificates may come from.
//!
//! Nothing is chosen here. The system's certificates and Mozilla's list come from maintained crates; a bundle named by
//! a variable is used as a whole. It is read with the settings, because its path may be wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_smithy_http_client::tls::TrustStore;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// A file of certificates that the AWS command line uses too.
const AWS_CA_BUNDLE: &str = "AWS_CA_BUNDLE";
/// A file of certificates, as OpenSSL names it.
const SSL_CERT_FILE: &str = "SSL_CERT_FILE";

/// The root certificates that a client trusts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Roots {
    /// The system's, and those in `SSL_CERT_DIR`. They are read with the first request.
    #[default]
    System,
    /// Mozilla's list, compiled into the binary: a function reads no file for it at start-up.
    Mozilla,
    /// The certificates of one file and no others.
    Bundle(Arc<[CertificateDer<'static>]>),
}

/// An unusable bundle named by a variable.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum RootsError {
    /// The file cannot be read.
    #[error("`{variable}` names `{}`, which cannot be read: {source}", path.display())]
    Unreadable { variable: &'static str, path: PathBuf, source: std::io::Error },
    /// The file has no certificate.
    #[error("`{variable}` names `{}`, which has no readable certificate (PEM)", path.display())]
    NoCertificate { variable: &'static str, path: PathBuf },
}

impl Roots {
    /// The bundle in `AWS_CA_BUNDLE`, otherwise the one in `SSL_CERT_FILE`, if one of them is set.
    pub fn named(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Roots>, RootsError> {
        for name in [AWS_CA_BUNDLE, SSL_CERT_FILE] {
            if let Some(path) = variable(name).filter(|path| !path.is_empty()) {
                return bundle(name, Path::new(&path)).map(Some);
            }
        }
        Ok(None)
    }

    /// The roots in the HTTP client's form.
    pub(super) fn store(&self) -> TrustStore {
        match self {
            Roots::System => TrustStore::default(),
            Roots::Mozilla => store(webpki_root_certs::TLS_SERVER_ROOT_CERTS),
            Roots::Bundle(certificates) => store(certificates),
        }
    }
}

/// The certificates of a file. Unusable ones are skipped, as in OpenSSL, because the HTTP client would panic.
fn bundle(variable: &'static str, path: &Path) -> Result<Roots, RootsError> {
    let unreadable = |source| RootsError::Unreadable { variable, path: path.to_owned(), source };
    let text = std::fs::read(path).map_err(unreadable)?;
    let certificates: Arc<[_]> =
        CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).filter(is_usable).collect();
    match certificates.is_empty() {
        true => Err(RootsError::NoCertificate { variable, path: path.to_owned() }),
        false => Ok(Roots::Bundle(certificates)),
    }
}

fn is_usable(certificate: &CertificateDer<'static>) -> bool {
    RootCertStore::empty().add(certificate.clone()).is_ok()
}

/// The HTTP client accepts certificates only as text.
fn store(certificates: &[CertificateDer<'_>]) -> TrustStore {
    let pem = |certificate| {
        let text = STANDARD.encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    };
    certificates.iter().map(pem).fold(TrustStore::empty(), TrustStore::with_pem_certificate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::tests::authority;

    const BROKEN: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

    fn named(variables: &[(&str, &str)]) -> Result<Option<Roots>, RootsError> {
        Roots::named(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn file(content: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    #[test]
    fn a_bundle_that_a_variable_names_must_exist_and_hold_a_certificate() {
        for variable in [AWS_CA_BUNDLE, SSL_CERT_FILE] {
            let error = named(&[(variable, "/nowhere/at/all.pem")]).unwrap_err().to_string();
            let wanted = format!("`{variable}` names `/nowhere/at/all.pem`, which cannot be read: ");
            assert!(error.starts_with(&wanted), "{error}");
            for content in ["", "not a certificate", BROKEN] {
                let empty = file(content);
                let error = named(&[(variable, empty.path().to_str().unwrap())]).unwrap_err().to_string();
                let wanted = "which has no readable certificate (PEM)";
                assert!(error.contains(variable) && error.ends_with(wanted), "{error}");
            }
        }
    }

    #[test]
    fn a_bundle_is_taken_without_the_certificates_that_cannot_be_used() {
        let (one, other) = (authority("One"), authority("Other"));
        let bundle = file(&format!("# first\n{}\n{BROKEN}# second\n{}", one.pem(), other.pem()));
        let path = bundle.path().to_str().unwrap();
        let wanted = Roots::Bundle([one.der().clone(), other.der().clone()].into());
        assert_eq!(
            named(&[(AWS_CA_BUNDLE, path), (SSL_CERT_FILE, "/nowhere")]).unwrap(),
            Some(wanted.clone())
        );
        assert_eq!(named(&[(AWS_CA_BUNDLE, ""), (SSL_CERT_FILE, path)]).unwrap(), Some(wanted));
        assert_eq!(named(&[]).unwrap(), None);
    }

    /// The HTTP client would panic on the first request otherwise.
    #[test]
    fn every_certificate_of_mozillas_list_can_be_used() {
        let certificates = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
        assert!(certificates.len() > 100 && certificates.iter().all(is_usable));
        let amazon: &[u8] = b"Amazon Root CA 1";
        let has_amazon = |one: &CertificateDer<'_>| one.windows(amazon.len()).any(|bytes| bytes == amazon);
        assert!(certificates.iter().any(has_amazon));
    }
}
