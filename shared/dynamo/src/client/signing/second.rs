//! What the signatures of one second have in common.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sdk_dynamodb::error::BoxError;
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

pub(super) const DATE: &str = "x-amz-date";
pub(super) const TOKEN: &str = "x-amz-security-token";
pub(super) const AUTHORIZATION: &str = "authorization";

/// A second, and who signs in it for what.
pub(super) struct Second {
    at: u64,
    pub(super) by: Credentials,
    region: String,
    service: String,
    /// As signatures write it.
    pub(super) date_time: String,
    /// The day, the region and the service.
    pub(super) scope: String,
    key: Vec<u8>,
}

impl fmt::Debug for Second {
    /// The key is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Second").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Second {
    /// A second, with the key of the last one if that was of the same day, secret, region and service.
    pub(super) fn new(
        at: u64,
        by: &Credentials,
        region: &str,
        service: &str,
        last: Option<&Second>,
    ) -> Option<Second> {
        let date_time = DateTime::from_secs(i64::try_from(at).ok()?).fmt(Format::DateTime).ok()?;
        let date_time = date_time.replace(['-', ':'], "");
        let (day, _) = date_time.split_once('T')?;
        let scope = format!("{day}/{region}/{service}/aws4_request");
        let secret = by.secret_access_key();
        let key = match last {
            Some(last) if last.scope == scope && last.by.secret_access_key() == secret => last.key.clone(),
            _ => {
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(at);
                v4::generate_signing_key(secret, time, region, service).as_ref().to_vec()
            }
        };
        let [region, service] = [region, service].map(str::to_owned);
        Some(Second { at, by: by.clone(), region, service, date_time, scope, key })
    }

    /// Is it this second, with the same signer?
    pub(super) fn is(&self, at: u64, by: &Credentials, region: &str, service: &str) -> bool {
        self.at == at
            && self.by.access_key_id() == by.access_key_id()
            && self.by.secret_access_key() == by.secret_access_key()
            && self.by.session_token() == by.session_token()
            && self.region == region
            && self.service == service
    }

    pub(super) fn signature(&self, text: &str) -> String {
        v4::calculate_signature(&self.key, text.as_bytes())
    }

    /// Puts a signature into a request, with what it was made of.
    pub(super) fn sign(&self, request: &mut HttpRequest, authorization: String) -> Result<(), BoxError> {
        let headers = request.headers_mut();
        headers.try_insert(DATE, self.date_time.clone())?;
        headers.try_insert(AUTHORIZATION, authorization)?;
        if let Some(token) = self.by.session_token() {
            headers.try_insert(TOKEN, token.to_owned())?;
        }
        Ok(())
    }
}
