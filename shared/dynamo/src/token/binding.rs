//! What a token is bound to: request, caller, model.

use keyfold_core::query::QueryRequest;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::envelope::VERSION;

const DIGEST_BYTES: usize = 32;

/// Keeps what is authenticated here apart from anything else that a key could ever be used for.
const PURPOSE: &[u8] = b"keyfold page token";

/// What a token is bound to.
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

/// A digest of what is asked, however its members were ordered.
fn request_digest(request: &QueryRequest) -> [u8; DIGEST_BYTES] {
    let asked = QueryRequest { page: None, explain: false, ..request.clone() };
    let mut text = String::new();
    match serde_json::to_value(asked) {
        Ok(asked) => write_canonical(&asked, &mut text),
        Err(_) => unreachable!("a request has only texts for keys, so JSON can say it"),
    }
    Sha256::digest(text).into()
}

/// JSON with the members of every object in one order.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (name, member) in members {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_canonical(member, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(members) => {
            text.push('[');
            for member in members {
                write_canonical(member, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}
