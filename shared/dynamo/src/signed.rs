//! Requests to other services of AWS, signed with the libraries that DynamoDB's client already links. The SDK crates of
//! these services are larger than DynamoDB's, for six calls (docs/adr/0029-step-functions-and-s3-without-their-sdks.md).

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_http_client::Connector;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::http::Request;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;

use crate::wire::bounded;

/// The service with its own way of signing paths.
pub(crate) const S3: &str = "s3";

/// The credentials and scope of a signature.
pub(crate) struct Signer<'s> {
    pub(crate) service: &'static str,
    pub(crate) region: &'s str,
    pub(crate) credentials: &'s Credentials,
}

impl Signer<'_> {
    /// A signed request; `None` if the URL is invalid.
    pub(crate) fn request(
        &self,
        method: &str,
        url: &str,
        headers: &[(&'static str, &str)],
        body: &str,
    ) -> Option<Request> {
        let mut request = http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(SdkBody::from(body)).ok()?;
        let mut settings = SigningSettings::default();
        if self.service == S3 {
            settings.percent_encoding_mode = PercentEncodingMode::Single;
            settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
            settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        }
        let identity = self.credentials.clone().into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(self.region)
            .name(self.service)
            .time(SystemTime::now())
            .settings(settings)
            .build()
            .ok()?;
        let body = SignableBody::Bytes(body.as_bytes());
        let signable = SignableRequest::new(method, url, headers.iter().copied(), body).ok()?;
        let (instructions, _) = sign(signable, &params.into()).ok()?.into_parts();
        instructions.apply_to_request_http1x(&mut request);
        request.try_into().ok()
    }
}

/// Sends a request: its success and body. `None` without a response.
pub(crate) async fn answer(connector: &Connector, request: Request) -> Option<(bool, Vec<u8>)> {
    let response = connector.call(request).await.ok()?;
    let ok = response.status().is_success();
    let body = ByteStream::new(bounded(response.into_body())).collect().await.ok()?;
    Some((ok, body.to_vec()))
}
