//! Requests as an HTTP API sends them, and responses in the form that tests compare.

use keyfold_edge::Invocation;
use keyfold_query_api::{Api, Grants, Limits, handle};
use serde_json::{Value, json};

use crate::{MANIFEST, TOKEN_KEYS};

/// One request of an HTTP API.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) body: String,
    pub(crate) claims: Value,
}

impl Sent {
    pub(crate) fn get(path: &str, query: &str) -> Sent {
        Sent {
            method: "GET",
            path: path.to_owned(),
            query: query.to_owned(),
            body: String::new(),
            claims: someone(),
        }
    }

    pub(crate) fn post(path: &str, body: impl Into<String>) -> Sent {
        Sent { method: "POST", body: body.into(), ..Sent::get(path, "") }
    }

    pub(crate) fn query(body: &Value) -> Sent {
        Sent::post("/query", body.to_string())
    }

    pub(crate) fn by(self, claims: Value) -> Sent {
        Sent { claims, ..self }
    }

    /// The event as Lambda gives it to the function.
    pub(crate) fn event(&self) -> String {
        let authorizer = if self.claims.is_null() {
            Value::Null
        } else {
            json!({ "jwt": { "claims": self.claims, "scopes": null } })
        };
        json!({
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": self.path,
            "rawQueryString": self.query,
            "headers": { "content-type": "application/json", "host": "api.example.com" },
            "requestContext": {
                "accountId": "123456789012", "apiId": "api", "domainName": "api.example.com", "stage": "$default",
                "requestId": "request-1", "time": "01/Mar/2017:08:00:00 +0000", "timeEpoch": 1_488_355_200_000_u64,
                "authorizer": authorizer,
                "http": { "method": self.method, "path": self.path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "test" },
            },
            "body": self.body,
            "isBase64Encoded": false,
        })
        .to_string()
    }
}

/// The OAuth scope that a token needs for writes.
pub(crate) const WRITE_SCOPE: &str = "records/write";

/// A caller with claims, but not those of a scope.
pub(crate) fn someone() -> Value {
    json!({ "sub": "joe1", "iss": "https://issuer.example.com", "scope": WRITE_SCOPE })
}

/// A caller of an organisation.
pub(crate) fn member(subject: &str, organisation: &str) -> Value {
    json!({ "sub": subject, "iss": "https://issuer.example.com", "org": organisation, "iat": "1488355200", "scope": WRITE_SCOPE })
}

/// The API of the tests' manifest at an endpoint, without retries.
pub(crate) fn api_at(endpoint: &str, limits: Limits) -> Api {
    api_of(MANIFEST, endpoint, limits)
}

/// The API of another manifest.
pub(crate) fn api_of(manifest: &str, endpoint: &str, limits: Limits) -> Api {
    let settings = keyfold_dynamo::Settings { attempts_max: 1, ..keyfold_dynamo::Settings::default() };
    let client = keyfold_dynamo::plain_client(endpoint, &settings);
    let keys = keyfold_dynamo::TokenKeys::parse(TOKEN_KEYS).unwrap();
    let grants = Grants { read: None, write: Some(WRITE_SCOPE.to_owned()) };
    Api::new("keyfold.toml", manifest, client, keys, limits).unwrap().with_grants(grants)
}

/// The response to an event, and its log.
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: Value,
    pub(crate) text: String,
    pub(crate) body: Value,
    pub(crate) record: keyfold_query_api::Record,
}

pub(crate) async fn send(api: &Api, sent: &Sent) -> Got {
    send_event(api, &sent.event()).await
}

pub(crate) async fn send_event(api: &Api, event: &str) -> Got {
    let handled = handle(api, Invocation { event, request_id: "invocation-1", deadline: None }).await;
    let response = handled.answer.unwrap();
    let text = response["body"].as_str().unwrap().to_owned();
    Got {
        status: u16::try_from(response["statusCode"].as_u64().unwrap()).unwrap(),
        headers: response["headers"].clone(),
        body: serde_json::from_str(&text).unwrap_or(Value::Null),
        text,
        record: handled.record,
    }
}
