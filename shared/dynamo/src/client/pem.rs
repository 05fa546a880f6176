//! Certificates in a text: where each begins and ends, whether it can be used, and whether it is one of Amazon's.
//!
//! It decides nothing about trust: it only chooses among what a bundle holds.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// How many characters of a certificate are looked at for the name of its issuer, which stands near its beginning.
const HEAD_CHARS: usize = 400;
/// The authorities below which the services of AWS have their certificates, as their names stand in the certificates.
/// <https://www.amazontrust.com/repository/>
const AMAZON: [&[u8]; 2] = [b"Amazon Root CA", b"Starfield Services Root Certificate Authority"];

/// The certificates of a text, each with its first and last line. Anything between them is left out.
pub(super) fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let begin = marked(rest, BEGIN)?;
        let end = begin + BEGIN.len() + marked(&rest[begin + BEGIN.len()..], END)? + END.len();
        let block = &rest[begin..end];
        rest = &rest[end..];
        Some(block)
    })
}

/// Where a line of dashes begins. Certificates themselves have no dash, so that this goes from one line to the next.
fn marked(text: &str, line: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('-')?;
        if text[at..].starts_with(line) {
            return Some(at);
        }
        at += 1;
    }
}

/// Does this look like a root of Amazon's? A root is its own issuer.
pub(super) fn is_amazons(block: &str) -> bool {
    let mut head = [0; HEAD_CHARS];
    let mut length = 0;
    for byte in block.as_bytes().iter().skip(BEGIN.len()) {
        match byte {
            b'-' => break,
            byte if byte.is_ascii_whitespace() => {}
            byte if length < HEAD_CHARS => {
                head[length] = *byte;
                length += 1;
            }
            _ => break,
        }
    }
    let mut decoded = [0; HEAD_CHARS];
    let Ok(length) = STANDARD.decode_slice(&head[..length / 4 * 4], &mut decoded) else { return false };
    let decoded = &decoded[..length];
    AMAZON.iter().any(|name| decoded.windows(name.len()).any(|window| window == *name))
}

/// Can a server be trusted by this certificate? The TLS client panics on one that it cannot read.
pub(super) fn is_usable(block: &str) -> bool {
    let certificate = CertificateDer::from_pem_slice(block.as_bytes());
    certificate.is_ok_and(|certificate| RootCertStore::empty().add(certificate).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::tests::authority;

    #[test]
    fn the_certificates_of_a_text_are_found_and_what_is_cut_off_is_none() {
        let one = authority("Somebody").pem();
        let text = format!("# first\n{one}\n# second\n{one}{BEGIN}\nMIIB\n");
        let found: Vec<&str> = blocks(&text).collect();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|block| block.starts_with(BEGIN) && block.ends_with(END)));
        assert_eq!(blocks("no certificate").count(), 0);
    }

    #[test]
    fn a_certificate_is_amazons_by_its_name_and_usable_if_it_can_be_read() {
        let amazons = authority("Amazon Root CA 9").pem();
        assert!(is_amazons(&amazons) && is_usable(&amazons));
        let other = authority("Nobody Root CA 9").pem();
        assert!(!is_amazons(&other) && is_usable(&other));
        for broken in ["", "MIIB", "***"] {
            let broken = format!("{BEGIN}\n{broken}\n{END}");
            assert!(!is_amazons(&broken) && !is_usable(&broken), "{broken}");
        }
    }
}
