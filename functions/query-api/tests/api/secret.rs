//! Page tokens with the keys of a secret: from a Secrets Manager of our own, over the real protocol, to the real binary.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::RuntimeApi;
use serde_json::{Value, json};

use crate::answers::filled;
use crate::events::{Function, Response, manifest_file};
use crate::request::someone;

const NAME: &str = "page-token-key";
/// Longer than the least time between two reads of the secret.
const A_MOMENT: Duration = Duration::from_millis(1_200);

/// The versions by their label, and how often they were read.
#[derive(Default)]
struct Versions {
    by_label: HashMap<&'static str, (String, String)>,
    reads: usize,
    away: bool,
}

#[derive(Clone, Default)]
struct Manager(Arc<Mutex<Versions>>);

impl Manager {
    async fn start() -> (Manager, String) {
        let manager = Manager::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let routes = Router::new().route("/", post(answer)).with_state(manager.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (manager, url)
    }

    /// A new version, as PutSecretValue creates it: the labels move.
    fn rotate(&self, id: &str, text: &str) {
        let mut versions = self.0.lock().unwrap();
        if let Some(current) = versions.by_label.remove("AWSCURRENT") {
            versions.by_label.insert("AWSPREVIOUS", current);
        }
        versions.by_label.insert("AWSCURRENT", (id.to_owned(), text.to_owned()));
    }

    fn reads(&self) -> usize {
        self.0.lock().unwrap().reads
    }
}

/// GetSecretValue, for a request that is signed for this service with these credentials.
async fn answer(State(manager): State<Manager>, headers: HeaderMap, body: String) -> (StatusCode, String) {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    assert_eq!(header("x-amz-target"), "secretsmanager.GetSecretValue");
    assert_eq!(header("content-type"), "application/x-amz-json-1.1");
    let signature = header("authorization");
    assert!(signature.starts_with("AWS4-HMAC-SHA256 Credential=local/"), "{signature}");
    assert!(signature.contains("/us-east-1/secretsmanager/aws4_request"), "{signature}");
    assert!(signature.contains("SignedHeaders=") && signature.contains("x-amz-target"), "{signature}");
    assert!(!header("x-amz-date").is_empty());
    let asked: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(asked["SecretId"], NAME);
    let mut versions = manager.0.lock().unwrap();
    versions.reads += 1;
    if versions.away {
        return (StatusCode::INTERNAL_SERVER_ERROR, json!({ "__type": "InternalServiceError" }).to_string());
    }
    match versions.by_label.get(asked["VersionStage"].as_str().unwrap()) {
        Some((id, text)) => {
            let answer = json!({ "Name": NAME, "VersionId": id, "SecretString": text, "VersionStages": [] });
            (StatusCode::OK, answer.to_string())
        }
        None => {
            let refusal = json!({ "__type": "ResourceNotFoundException", "Message": "not here" });
            (StatusCode::BAD_REQUEST, refusal.to_string())
        }
    }
}

/// An instance of the query API.
struct Instance {
    runtime: RuntimeApi,
    function: Function,
    _manifest: tempfile::NamedTempFile,
}

impl Instance {
    async fn start(dynamo: &EmbeddedDynamo, url: &str) -> Instance {
        let (runtime, manifest) = (RuntimeApi::start().await.unwrap(), manifest_file());
        let function = Function::start(
            &runtime,
            &[
                ("KEYFOLD_MANIFEST", manifest.path().to_str().unwrap()),
                ("KEYFOLD_ENDPOINT", dynamo.endpoint()),
                ("KEYFOLD_TOKEN_SECRET", NAME),
                ("AWS_ENDPOINT_URL_SECRETS_MANAGER", url),
            ],
        );
        Instance { runtime, function, _manifest: manifest }
    }

    /// The status and the body of one page.
    async fn page(&self, token: Option<&str>) -> (u64, Value) {
        let request = json!({ "table": "audit", "where": { "resourceId": "123bbb", "action": "viewed",
            "accessedBy": "joe1" }, "order": "timestamp", "limit": 2, "page": token });
        let event = json!({
            "version": "2.0", "rawPath": "/query",
            "requestContext": { "http": { "method": "POST" }, "authorizer": { "jwt": { "claims": someone() } } },
            "body": request.to_string(),
        });
        let response = Response::of(&self.runtime.invoke(event.to_string()).await);
        (response.status, response.body)
    }

    async fn token(&self) -> String {
        let (status, body) = self.page(None).await;
        assert_eq!(status, 200, "{body}");
        body["page"].as_str().unwrap().to_owned()
    }

    async fn opens(&self, token: &str) -> u64 {
        self.page(Some(token)).await.0
    }
}

fn generated(letter: &str) -> String {
    json!({ "key": letter.repeat(42) }).to_string()
}

#[tokio::test]
async fn a_key_is_changed_without_a_deployment_and_two_are_good_at_once() {
    let (dynamo, (manager, url)) = (filled().await, Manager::start().await);
    manager.rotate("version-1", &generated("a"));
    let old = Instance::start(&dynamo, &url).await;
    let first = old.token().await;
    assert_eq!(
        (old.opens(&first).await, manager.reads()),
        (200, 2),
        "one read of each label, then the cache"
    );

    manager.rotate("version-2", &generated("b"));
    let new = Instance::start(&dynamo, &url).await;
    let second = new.token().await;
    assert_eq!(new.opens(&first).await, 200, "the previous version opens");
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(
        old.opens(&second).await,
        200,
        "an instance reads the secret again for a key that it does not know"
    );

    manager.rotate("version-3", &generated("c"));
    let newest = Instance::start(&dynamo, &url).await;
    assert_eq!((newest.opens(&first).await, newest.opens(&second).await), (400, 200));
}

#[tokio::test]
async fn tokens_of_nobody_do_not_ask_for_the_secret_each_time() {
    let (dynamo, (manager, url)) = (filled().await, Manager::start().await);
    manager.rotate("version-1", &generated("a"));
    let instance = Instance::start(&dynamo, &url).await;
    for _ in 0..20 {
        assert_eq!(instance.opens("AQNhYmMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").await, 400);
    }
    assert!(manager.reads() < 20, "{} reads", manager.reads());
}

#[tokio::test]
async fn while_the_service_is_away_known_keys_go_on_and_without_any_the_refusal_says_so() {
    let (dynamo, (manager, url)) = (filled().await, Manager::start().await);
    manager.rotate("version-1", &generated("a"));
    let known = Instance::start(&dynamo, &url).await;
    let token = known.token().await;
    manager.0.lock().unwrap().away = true;
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(known.opens("AQNhYmMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").await, 400);
    assert_eq!(known.opens(&token).await, 200);

    let without = Instance::start(&dynamo, &url).await;
    let (status, body) = without.page(None).await;
    assert_eq!((status, &body["code"]), (503, &json!("token-keys-unavailable")), "{body}");
    let log = without.function.end();
    assert!(log.iter().any(|line| line.to_string().contains("InternalServiceError")), "{log:?}");
    assert!(!log.iter().any(|line| line.to_string().contains("aaaa")));
}
