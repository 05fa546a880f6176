//! The binding of a token to request, caller and model.

use keyfold_core::query::QueryRequest;
use sha2::{Digest, Sha256};

use super::envelope::VERSION;

const DIGEST_BYTES: usize = 32;

/// Domain separation from any other use of the key.
const PURPOSE: &[u8] = b"keyfold page token";

/// The binding of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    request: [u8; DIGEST_BYTES],
    caller: String,
    model: [u8; DIGEST_BYTES],
}

impl Binding {
    /// Binds to a request (its `page` and `explain` aside), to the caller, and to a model by its [`model_version`].
    pub fn new(request: &QueryRequest, caller: &str, model_version: &[u8; DIGEST_BYTES]) -> Binding {
        Binding { request: request_digest(request), caller: caller.to_owned(), model: *model_version }
    }

    /// Everything that is authenticated with a token. Parts whose length varies have their length before them, so that
    /// no two bindings are written alike.
    pub(super) fn associated_data(&self, key_id: &str) -> Vec<u8> {
        let mut data = PURPOSE.to_vec();
        data.push(VERSION);
        for part in [key_id.as_bytes(), self.caller.as_bytes()] {
            data.extend((part.len() as u64).to_be_bytes());
            data.extend(part);
        }
        data.extend(self.request);
        data.extend(self.model);
        data
    }
}

/// The version of a model: a digest of its manifest's text.
pub fn model_version(manifest_text: &str) -> [u8; DIGEST_BYTES] {
    Sha256::digest(manifest_text).into()
}

/// A digest of the request, with exact numbers, independent of the order of its members.
fn request_digest(request: &QueryRequest) -> [u8; DIGEST_BYTES] {
    let asked = QueryRequest { page: None, explain: false, ..request.clone() };
    match serde_json::to_string(&asked) {
        Ok(text) => Sha256::digest(text).into(),
        Err(_) => unreachable!("a request has only texts for keys and valid numbers, so JSON can say it"),
    }
}
