//! An HTTP request as the event of an HTTP API, and a function's result as a response.
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, Response, StatusCode, request::Parts};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The event of a request.
pub(super) fn of_request(parts: &Parts, body: &[u8], id: &str) -> Value {
    let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
    let (body, encoded) = match std::str::from_utf8(body) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (STANDARD.encode(body), true),
    };
    let method = parts.method.as_str();
    let milliseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers(&parts.headers),
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": "localhost",
            "domainPrefix": "localhost",
            "http": { "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "" },
            "requestId": id,
            "routeKey": "$default",
            "stage": "$default",
            "time": "",
            "timeEpoch": u64::try_from(milliseconds).unwrap_or(u64::MAX),
        },
        "body": body,
        "isBase64Encoded": encoded,
    })
}

fn headers(map: &HeaderMap) -> BTreeMap<String, String> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in map {
        let value = String::from_utf8_lossy(value.as_bytes());
        let joined = headers.entry(name.as_str().to_owned()).or_default();
        if !joined.is_empty() {
            joined.push(',');
        }
        joined.push_str(&value);
    }
    headers
}

/// A function's result as a response. An invalid one is a 502.
pub(super) fn response(result: &Value) -> Response<String> {
    let bad = || {
        let mut response = Response::new(String::new());
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        response
    };
    let Some(status) = result["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok()) else {
        return bad();
    };
    let mut builder = Response::builder().status(status);
    for (name, value) in result["headers"].as_object().into_iter().flatten() {
        builder = builder.header(name, value.as_str().unwrap_or_default());
    }
    let body = result["body"].as_str().unwrap_or_default();
    let body = match result["isBase64Encoded"].as_bool() {
        Some(true) => STANDARD.decode(body).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        _ => Some(body.to_owned()),
    };
    body.and_then(|body| builder.body(body).ok()).unwrap_or_else(bad)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn a_request_and_a_result_keep_what_they_say() {
        let request = Request::post("/audit?a=1").header("x-one", "1").header("x-one", "2").body(()).unwrap();
        let (parts, ()) = request.into_parts();
        let event = of_request(&parts, b"{}", "id-1");
        assert_eq!(event["rawPath"], "/audit");
        assert_eq!(event["rawQueryString"], "a=1");
        assert_eq!(event["headers"]["x-one"], "1,2");
        assert_eq!((&event["body"], &event["isBase64Encoded"]), (&json!("{}"), &json!(false)));
        assert_eq!(of_request(&parts, &[0xff], "id-2")["body"], "/w==");

        let got = response(&json!({ "statusCode": 201, "headers": { "x-two": "2" }, "body": "b" }));
        assert_eq!((got.status().as_u16(), got.headers()["x-two"].as_bytes()), (201, b"2".as_slice()));
        assert_eq!(got.body(), "b");
        assert_eq!(response(&json!("nothing")).status(), StatusCode::BAD_GATEWAY);
    }
}
