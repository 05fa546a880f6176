//! What is signed here is signed as the SDK signs it, and what is not certain is left to the SDK.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use aws_runtime::auth::sigv4::SigV4Signer;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::endpoint::{Endpoint, EndpointFuture, Params, ResolveEndpoint};
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_async::time::StaticTimeSource;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::date_time::Format;
use aws_smithy_types::{DateTime, Document};
use futures_util::stream;
use http_body_util::StreamBody;
use keyfold_testkit::generate::Random;

use super::*;
use crate::client::tests::server::{Server, answer};

/// A time of our clocks, in seconds.
const HERE: u64 = 1_790_000_000;

/// A client at this time.
fn config(server: Server, at: u64, by: Credentials) -> Builder {
    Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(by)
        .time_source(StaticTimeSource::new(UNIX_EPOCH + Duration::from_secs(at)))
        .http_client(server)
        .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(1)))
}

/// Signs each request in both ways, and compares.
#[derive(Debug, Clone, Default)]
struct Both {
    signing: Signing,
    /// How many were signed here, and how many were left to the SDK.
    signed: Arc<[AtomicUsize; 2]>,
}

impl AuthScheme for Both {
    fn scheme_id(&self) -> AuthSchemeId {
        self.signing.scheme_id()
    }

    fn identity_resolver(&self, resolvers: &dyn GetIdentityResolver) -> Option<SharedIdentityResolver> {
        self.signing.identity_resolver(resolvers)
    }

    fn signer(&self) -> &dyn Sign {
        self
    }
}

impl Sign for Both {
    fn sign_http_request(
        &self,
        request: &mut HttpRequest,
        identity: &Identity,
        endpoint: AuthSchemeEndpointConfig<'_>,
        components: &RuntimeComponents,
        cfg: &ConfigBag,
    ) -> Result<(), BoxError> {
        let signer = &self.signing.0;
        let signature = || {
            let second = signer.second(identity, &endpoint, components, cfg)?;
            text::signature(request, &second, &signer.excluded)
        };
        let is_ours = !signer.clock.is_off() && signature().is_some();
        self.signed[usize::from(!is_ours)].fetch_add(1, Ordering::Relaxed);

        // A body that is not in memory is there once.
        let Some(mut theirs) = request.try_clone() else {
            return signer.sign_http_request(request, identity, endpoint, components, cfg);
        };
        let by_sdk =
            SigV4Signer::new().sign_http_request(&mut theirs, identity, endpoint.clone(), components, cfg);
        let by_us = signer.sign_http_request(request, identity, endpoint, components, cfg);
        assert_eq!(
            by_us.as_ref().err().map(ToString::to_string),
            by_sdk.err().map(|error| error.to_string())
        );
        assert_eq!(all(request), all(&theirs));
        by_us
    }
}

fn all(request: &HttpRequest) -> Vec<(&str, &str)> {
    let mut all: Vec<_> = request.headers().iter().collect();
    all.sort_unstable();
    all
}

impl Both {
    /// How many were signed here, and how many by the SDK, since this was asked.
    fn signed(&self) -> [usize; 2] {
        self.signed.each_ref().map(|count| count.swap(0, Ordering::Relaxed))
    }
}

/// A signer at some time: few times, keys and tokens, so that a second, a day and a key come again.
fn signer(random: &mut Random) -> (u64, Credentials) {
    let at = HERE + (random.below(2) * 86_400 + random.below(2)) as u64;
    let key = *random.pick(&["AKIDEXAMPLE", "AKIDOTHER"]);
    let secret = *random.pick(&["wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "another secret"]);
    let token = *random.pick(&[None, Some("a/token+of=a=session"), Some("another")]);
    (at, Credentials::new(key, secret, token.map(str::to_owned), None, "test"))
}

#[tokio::test]
async fn every_request_is_signed_as_the_sdk_signs_it() {
    let both = Both::default();
    let server = Server::new(|_| answer(200, "{}"));
    let endpoints = [
        "http://127.0.0.1:8000",
        "http://[::1]:8000",
        "https://DynamoDB.eu-central-1.amazonaws.com",
        "https://a.example/",
    ];
    for seed in 0..500 {
        let random = &mut Random::new(seed);
        let (at, by) = signer(random);
        let config = config(server.clone(), at, by).push_auth_scheme(both.clone());
        let config = match random.chance(70) {
            true => config.endpoint_url(*random.pick(&endpoints)),
            false => config.region(Region::new(*random.pick(&["us-east-1", "cn-north-1"]))),
        };
        let client = Client::from_conf(config.build());
        let text = "ü".repeat(random.between(1, 200));
        client.put_item().table_name("t").item("id", AttributeValue::S(text)).send().await.unwrap();
        client.query().table_name("t").key_condition_expression("id = id").send().await.unwrap();
        client.list_tables().send().await.unwrap();
        assert_eq!(both.signed(), [3, 0], "seed {seed}");
    }
}

#[tokio::test]
async fn what_is_not_certain_is_left_to_the_sdk() {
    let both = Both::default();
    let (at, by) = signer(&mut Random::new(0));
    let config = || config(Server::new(|_| answer(200, "{}")), at, by.clone()).push_auth_scheme(both.clone());
    for (name, values, is_certain) in [
        ("x-some", vec!["a b,c"], true),
        ("x-some", vec![""], true),
        ("x-amzn-trace-id", vec!["Root=1  2"], true),
        ("x-some", vec!["a  b"], false),
        ("x-some", vec![" a"], false),
        ("x-some", vec!["a "], false),
        ("x-some", vec!["ü"], false),
        ("x-some", vec!["a\tb"], false),
        ("x-some", vec!["a", "b"], false),
        ("host", vec!["a.example"], false),
        ("x-amz-date", vec!["20260101T000000Z"], false),
        ("x-amz-security-token", vec!["a"], false),
        ("authorization", vec!["a"], false),
    ] {
        let client = Client::from_conf(config().build());
        let given = values.clone();
        let call = client.list_tables().customize().mutate_request(move |request| {
            for value in &given {
                request.headers_mut().append(name, (*value).to_owned());
            }
        });
        let is_sent = call.send().await.is_ok();
        assert_eq!(both.signed(), if is_certain { [1, 0] } else { [0, 1] }, "{name}: {values:?}");
        assert!(is_sent || !is_certain, "{name}: {values:?}");
    }
    for url in ["http://h:80", "https://h:443", "http://h/a", "http://h/a%20b/", "http://a@h"] {
        let client = Client::from_conf(config().endpoint_url(url).build());
        client.list_tables().send().await.unwrap();
        assert_eq!(both.signed(), [0, 1], "{url}");
    }
    let changes: [fn(&mut HttpRequest); 3] = [
        |request| request.set_method("GET").unwrap(),
        |request| request.set_uri("http://h/?a=b").unwrap(),
        |request| {
            let body = StreamBody::new(stream::empty::<Result<_, Infallible>>());
            *request.body_mut() = SdkBody::from_body_1_x(body);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let client = Client::from_conf(config().build());
        client.list_tables().customize().mutate_request(change).send().await.unwrap();
        assert_eq!(both.signed(), [0, 1], "change {number}");
    }
    let odd = Credentials::new("key", "secret", Some("a  token".to_owned()), None, "test");
    let before_1970 = StaticTimeSource::new(UNIX_EPOCH - Duration::from_secs(1));
    for config in [config().credentials_provider(odd), config().time_source(before_1970)] {
        Client::from_conf(config.build()).list_tables().send().await.unwrap();
        assert_eq!(both.signed(), [0, 1]);
    }
}

/// Changes how a call is signed.
#[derive(Debug, Clone, Copy)]
struct Change(fn(&mut ConfigBag));

#[dyn_dispatch_hint]
impl Intercept for Change {
    fn name(&self) -> &'static str {
        "change"
    }

    fn modify_before_signing(
        &self,
        _: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        (self.0)(cfg);
        Ok(())
    }
}

/// An endpoint that says how its requests are signed.
#[derive(Debug)]
struct SaysHow(&'static str, Document);

impl ResolveEndpoint for SaysHow {
    fn resolve_endpoint(&self, _: &Params) -> EndpointFuture<'_> {
        let how = [("name", Document::from("sigv4")), (self.0, self.1.clone())];
        let how = Document::Object(how.map(|(name, value)| (name.to_owned(), value)).into());
        let endpoint = Endpoint::builder().url("http://127.0.0.1:8000").property("authSchemes", vec![how]);
        EndpointFuture::ready(Ok(endpoint.build()))
    }
}

#[tokio::test]
async fn what_is_signed_in_another_way_is_left_to_the_sdk() {
    let both = Both::default();
    let (at, by) = signer(&mut Random::new(0));
    let config = || config(Server::new(|_| answer(200, "{}")), at, by.clone()).push_auth_scheme(both.clone());
    let changes: [fn(&mut ConfigBag); 4] = [
        |cfg| {
            cfg.interceptor_state().store_put(PayloadSigningOverride::unsigned_payload());
        },
        |cfg| {
            let name = SigV4SessionTokenNameOverride::new(|_, _| Ok(Some("x-some-token")));
            cfg.interceptor_state().store_put(name);
        },
        |cfg| {
            let mut how = cfg.load::<SigV4OperationSigningConfig>().unwrap().clone();
            how.signing_options.content_sha256_header = true;
            cfg.interceptor_state().store_put(how);
        },
        |cfg| {
            let mut how = cfg.load::<SigV4OperationSigningConfig>().unwrap().clone();
            how.signing_options.omit_session_token = true;
            cfg.interceptor_state().store_put(how);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let client = Client::from_conf(config().build());
        client.list_tables().customize().interceptor(Change(change)).send().await.unwrap();
        assert_eq!(both.signed(), [0, 1], "change {number}");
    }
    for (what, says, signed) in [
        ("signingName", Document::from("other"), [0, 1]),
        ("signingRegion", Document::from("eu-north-1"), [0, 1]),
        ("disableDoubleEncoding", Document::from(true), [0, 1]),
        ("disableNormalizePath", Document::from(true), [0, 1]),
        ("somethingElse", Document::from("other"), [1, 0]),
    ] {
        let client = Client::from_conf(config().endpoint_resolver(SaysHow(what, says)).build());
        client.list_tables().send().await.unwrap();
        assert_eq!(both.signed(), signed, "{what}");
    }
}

#[test]
fn what_a_second_shows_is_no_secret() {
    let by = Credentials::new("key", "secret", Some("token".to_owned()), None, "test");
    let second = Second::new(HERE, &by, "eu-central-1", "dynamodb", None).unwrap();
    let shown = r#"Second { scope: "20260921/eu-central-1/dynamodb/aws4_request", .. }"#;
    assert_eq!(format!("{second:?}"), shown);
}

#[test]
fn a_second_is_of_one_service() {
    let by = Credentials::new("key", "secret", None, None, "test");
    let second = Second::new(HERE, &by, "eu-central-1", "dynamodb", None).unwrap();
    assert!(second.is(HERE, &by, "eu-central-1", "dynamodb"));
    assert!(!second.is(HERE, &by, "eu-central-1", "another"));
}

#[test]
fn a_variable_leaves_all_signatures_to_the_sdk() {
    for (value, is_here) in [(None, true), (Some("1"), false)] {
        let variable = |name: &str| value.filter(|_| name == "KEYFOLD_SDK_SIGNER").map(str::to_owned);
        let config = signed_here(Builder::default().behavior_version(BehaviorVersion::latest()), &variable);
        assert_eq!(config.build().auth_schemes().count(), usize::from(is_here), "{value:?}");
    }
}

/// AWS's own example of a POST, from its test suite for signatures.
#[test]
fn the_example_of_aws_is_signed_as_aws_says() {
    let mut request = HttpRequest::new(SdkBody::from(""));
    request.set_method("POST").unwrap();
    request.set_uri("https://example.amazonaws.com/").unwrap();
    let by = Credentials::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None, None, "test");
    let second = Second::new(1_440_938_160, &by, "us-east-1", "service", None).unwrap();
    assert_eq!(
        text::signature(&request, &second, &Excluded::default()).unwrap(),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
         SignedHeaders=host;x-amz-date, \
         Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
    );
}

/// A service whose clock is so many seconds ahead, and which refuses a signature that is five minutes off, as DynamoDB does; and
/// how often it was asked.
fn service(ahead: i64) -> (Server, Arc<AtomicUsize>) {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let server = move |request: &HttpRequest| {
        counted.fetch_add(1, Ordering::Relaxed);
        let now = DateTime::from_secs(HERE as i64 + ahead);
        let signed = request.headers().get("x-amz-date").unwrap();
        let (day, time) = signed.split_once('T').unwrap();
        let [month, date, minute, second] = [&day[4..6], &day[6..], &time[2..4], &time[4..]];
        let signed = format!("{}-{month}-{date}T{}:{minute}:{second}", &day[..4], &time[..2]);
        let signed = DateTime::from_str(&signed, Format::DateTime).unwrap();
        let mut answer = match now.secs().abs_diff(signed.secs()) {
            0..300 => answer(200, "{}"),
            _ => answer(400, r#"{"__type":"com.amazon.coral.service#InvalidSignatureException"}"#),
        };
        answer.headers_mut().insert("date", now.fmt(Format::HttpDate).unwrap());
        answer
    };
    (Server::new(server), attempts)
}

/// Only the first attempt of the first call is lost.
#[tokio::test]
async fn a_clock_that_is_off_is_corrected_by_the_sdk() {
    for (ahead, attempts) in [(0, 3), (250, 3), (-250, 3), (310, 4), (600, 4), (-600, 4)] {
        let (server, asked) = service(ahead);
        let (_, by) = signer(&mut Random::new(0));
        let client = Client::from_conf(signed_here(config(server, HERE, by), &|_| None).build());
        for _ in 0..3 {
            client.list_tables().send().await.unwrap();
        }
        assert_eq!(asked.load(Ordering::Relaxed), attempts, "{ahead} s");
    }
}

/// A condition that fails is no doubt of the clock.
#[tokio::test]
async fn an_error_of_another_kind_changes_nothing() {
    let both = Both::default();
    let refused = |_: &HttpRequest| {
        let mut answer = answer(400, r#"{"__type":"a#ConditionalCheckFailedException"}"#);
        let now = DateTime::from_secs(HERE as i64);
        answer.headers_mut().insert("date", now.fmt(Format::HttpDate).unwrap());
        answer
    };
    let by = Credentials::new("key", "secret", None, None, "test");
    let config = config(Server::new(refused), HERE, by).interceptor(both.signing.clone());
    let client = Client::from_conf(config.push_auth_scheme(both.clone()).build());
    for _ in 0..2 {
        client.list_tables().send().await.unwrap_err();
    }
    assert_eq!(both.signed(), [2, 0]);
}
