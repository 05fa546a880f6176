//! What is signed of a request, and the header that says so.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use std::borrow::Cow;
use std::ops::Range;

use aws_sigv4::http_request::SigningSettings;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use sha2::{Digest, Sha256};

use super::second::{AUTHORIZATION, DATE, Second, TOKEN};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const HOST: &str = "host";

/// The headers that the SDK does not sign, because what is on the way may change them.
#[derive(Debug)]
pub(super) struct Excluded(Vec<Cow<'static, str>>);

impl Default for Excluded {
    fn default() -> Excluded {
        Excluded(SigningSettings::default().excluded_headers.unwrap_or_default())
    }
}

/// The header that has the signature, if it is certain what is signed.
pub(super) fn signature(request: &HttpRequest, second: &Second, excluded: &Excluded) -> Option<String> {
    let headers = headers(request, second, excluded)?;
    let (text, names) = canonical(&headers, request.body().bytes()?);

    let mut signed = String::with_capacity(192);
    signed.extend([ALGORITHM, "\n", &second.date_time, "\n", &second.scope, "\n"]);
    push_hash(&mut signed, text.as_bytes());

    let mut header = String::with_capacity(512);
    header.extend([ALGORITHM, " Credential=", second.by.access_key_id(), "/", &second.scope]);
    header.extend([", SignedHeaders=", &text[names], ", Signature=", &second.signature(&signed)]);
    Some(header)
}

/// The headers that are signed, in order, if this is a POST to `/` and each of them is signed as it is.
fn headers<'r>(
    request: &'r HttpRequest,
    second: &'r Second,
    excluded: &Excluded,
) -> Option<Vec<(&'r str, &'r str)>> {
    let token = second.by.session_token();
    if request.method() != "POST" || !token.is_none_or(is_plain) {
        return None;
    }
    let mut headers = Vec::with_capacity(request.headers().len() + 3);
    headers.extend([(HOST, host(request.uri())?), (DATE, &second.date_time)]);
    headers.extend(token.map(|token| (TOKEN, token)));
    for (name, value) in request.headers().iter() {
        if [HOST, DATE, TOKEN, AUTHORIZATION].contains(&name) {
            return None;
        }
        if !excluded.0.iter().any(|excluded| excluded == name) {
            headers.push(is_plain(value).then_some((name, value))?);
        }
    }
    headers.sort_unstable();
    let comes_once = headers.windows(2).all(|two| two[0].0 != two[1].0);
    comes_once.then_some(headers)
}

/// The request as it is signed, and where in it the headers' names are.
fn canonical(headers: &[(&str, &str)], body: &[u8]) -> (String, Range<usize>) {
    let mut text = String::with_capacity(1024);
    text.push_str("POST\n/\n\n");
    for (name, value) in headers {
        text.extend([name, ":", value, "\n"]);
    }
    text.push('\n');
    let names = text.len();
    for (name, _) in headers {
        text.extend([name, ";"]);
    }
    text.pop();
    let names = names..text.len();
    text.push('\n');
    push_hash(&mut text, body);
    (text, names)
}

/// The host of a URL that has no path, and not the port that its scheme implies.
fn host(uri: &str) -> Option<&str> {
    let host = uri.split_once("://")?.1.strip_suffix('/')?;
    let is_certain = !host.is_empty()
        && !host.contains(['/', '?', '#', '@'])
        && ![":80", ":443"].iter().any(|port| host.ends_with(port));
    is_certain.then_some(host)
}

/// Is a value signed as it is? Blanks at its ends are not, and of several together only one is.
fn is_plain(value: &str) -> bool {
    let mut last = b' ';
    for byte in value.bytes() {
        if !matches!(byte, b' '..=b'~') || (byte == b' ' && last == b' ') {
            return false;
        }
        last = byte;
    }
    last != b' ' || value.is_empty()
}

fn push_hash(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in Sha256::digest(bytes) {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}
