//! Replaces the SDK's request and decoder by ours, with an interceptor, which is a public API of the SDK.
//!
//! The SDK still handles endpoint, credentials, retries, time-outs, connections and errors.
//!
//! Our clients have the interceptor from the start: adding it to one call makes the SDK compute a configuration for
//! that call. The request and decoder of a call wait in a task-local value until the interceptor takes them.

use std::cell::Cell;
use std::env;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeSerializationInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::batch_execute_statement::{
    BatchExecuteStatement, BatchExecuteStatementOutput,
};
use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItem, BatchGetItemOutput};
use aws_sdk_dynamodb::operation::delete_item::{DeleteItem, DeleteItemOutput};
use aws_sdk_dynamodb::operation::put_item::{PutItem, PutItemOutput};
use aws_sdk_dynamodb::operation::query::{Query, QueryOutput};
use aws_sdk_dynamodb::operation::scan::{Scan, ScanOutput};
use aws_sdk_dynamodb::operation::update_item::{UpdateItem, UpdateItemOutput};
use aws_smithy_runtime_api::client::interceptors::context::{Error, Input, Output};
use aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_smithy_runtime_api::client::ser_de::{
    DeserializeResponse, SerializeRequest, SharedRequestSerializer, SharedResponseDeserializer,
};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::FrozenLayer;
use futures_util::future::BoxFuture;
use http_body_util::Limited;
use keyfold_core::execute::{Consumed, Page};
use tokio::task::futures::TaskLocalFuture;

use super::answer::{self, BatchAnswer, StatementsAnswer};
use super::body::Body;

/// If set, the SDK decodes every response: a way out if our decoder is ever wrong.
pub(crate) const SDK_DECODER: &str = "KEYFOLD_SDK_DECODER";

/// How the answers of one operation are decoded.
pub(crate) struct Wire<T> {
    /// `None`: the SDK's decoder is used.
    pub(super) decode: fn(&[u8]) -> Option<T>,
    /// The empty output that the SDK gets after our decoder took the answer.
    pub(super) nothing: fn() -> Output,
    /// The SDK's own decoder, as its operation configures it.
    pub(super) sdk: fn() -> Option<&'static SharedResponseDeserializer>,
}

/// Declares how the responses of an operation are decoded: its name in the SDK, the SDK's output, our type, and our
/// decoder.
macro_rules! wires {
    ($($wire:ident = $operation:ident, $output:ident, $decoded:ty, $decode:path;)*) => {$(
        pub(crate) static $wire: Wire<$decoded> = Wire {
            decode: $decode,
            nothing: || Output::erase($output::builder().build()),
            sdk: || {
                static LAYER: OnceLock<Option<FrozenLayer>> = OnceLock::new();
                LAYER.get_or_init(|| $operation::new().config()).as_ref()?.load::<SharedResponseDeserializer>()
            },
        };
    )*};
}

wires! {
    QUERY = Query, QueryOutput, Page, answer::page;
    SCAN = Scan, ScanOutput, Page, answer::page;
    BATCH_GET = BatchGetItem, BatchGetItemOutput, BatchAnswer, answer::batch;
    STATEMENTS = BatchExecuteStatement, BatchExecuteStatementOutput, StatementsAnswer, answer::statements;
    PUT = PutItem, PutItemOutput, Consumed, answer::written;
    UPDATE = UpdateItem, UpdateItemOutput, Consumed, answer::written;
    DELETE = DeleteItem, DeleteItemOutput, Consumed, answer::written;
}

tokio::task_local! {
    /// The exchange of the call that is starting.
    static WAITING: Cell<Option<Exchanged>>;
}

/// Our request and decoder, which replace the SDK's in one call.
pub(crate) struct Exchanged {
    request: SharedRequestSerializer,
    /// `None`: the SDK decodes the answer.
    answer: Option<SharedResponseDeserializer>,
}

/// The interceptor: makes the exchange of a call that has one, and leaves all others as they are.
#[derive(Debug)]
pub(crate) struct Interceptor;

const NAME: &str = "keyfold exchange";

/// The largest answer that is read: a BatchGetItem returns at most 16 MB of items, and their JSON is longer.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Maximum values in a response: each takes far more memory than its text.
const ANSWER_VALUES_MAX: usize = 1 << 20;

/// The body, which ends with an error where it becomes too large.
pub(crate) fn bounded(body: SdkBody) -> SdkBody {
    SdkBody::from_body_1_x(Limited::new(body, ANSWER_BYTES_MAX))
}

/// Does a response contain too many values? Each is a separate object.
fn has_too_many_values(body: &[u8]) -> bool {
    body.len() > ANSWER_VALUES_MAX && body.iter().filter(|byte| **byte == b'{').count() > ANSWER_VALUES_MAX
}

/// Has the client our interceptor?
pub(crate) fn is_ours(client: &Client) -> bool {
    client.config().interceptors().any(|interceptor| interceptor.name() == NAME)
}

#[dyn_dispatch_hint]
impl Intercept for Interceptor {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Nothing reads an answer to its end that is larger than DynamoDB's largest.
    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let body = context.response_mut().body_mut();
        let whole = std::mem::replace(body, SdkBody::taken());
        *body = bounded(whole);
        Ok(())
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // The call takes them before it loads credentials, so that calls for those find nothing.
        if let Ok(Some(Exchanged { request, answer })) = WAITING.try_with(Cell::take) {
            cfg.interceptor_state().store_put(request);
            if let Some(answer) = answer {
                cfg.interceptor_state().store_put(answer);
            }
        }
        Ok(())
    }
}

/// Sends a call of this client with an exchange. Adds the interceptor to the call if the client was made elsewhere and lacks it.
macro_rules! send {
    ($exchange:expr, $client:expr, $call:expr) => {{
        let (call, is_ours) = ($call, $crate::wire::is_ours($client));
        $exchange
            .beside(async move {
                match is_ours {
                    true => call.send().await,
                    false => call.customize().interceptor($crate::wire::Interceptor).send().await,
                }
            })
            .await
    }};
}
pub(crate) use send;

/// One call: sends our request, decodes the answer, and keeps it until it is taken.
pub(crate) struct Exchange<T: 'static>(Arc<OneCall<T>>);

struct OneCall<T: 'static> {
    wire: &'static Wire<T>,
    body: Body,
    decoded: Mutex<Option<T>>,
}

impl<T: Send> Exchange<T> {
    pub(crate) fn of(wire: &'static Wire<T>, body: Body) -> Exchange<T> {
        Exchange(Arc::new(OneCall { wire, body, decoded: Mutex::default() }))
    }

    /// Runs the call that this is the exchange of. [`send`] is for that.
    ///
    /// The call is boxed: without that, the futures around it are nested deeper than the compiler follows.
    pub(crate) fn beside<'c, R>(
        &self,
        call: impl Future<Output = R> + Send + 'c,
    ) -> TaskLocalFuture<Cell<Option<Exchanged>>, BoxFuture<'c, R>> {
        let decodes = !wants_sdk() && (self.0.wire.sdk)().is_some();
        let exchanged = Exchanged {
            request: SharedRequestSerializer::new(self.clone()),
            answer: decodes.then(|| SharedResponseDeserializer::new(self.clone())),
        };
        WAITING.scope(Cell::new(Some(exchanged)), Box::pin(call))
    }

    /// The decoded answer. `None` after a call that succeeded: the SDK has decoded it, and its output has the answer.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.decoded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, decoded: T) {
        *self.0.decoded.lock().unwrap_or_else(PoisonError::into_inner) = Some(decoded);
    }
}

impl<T> Clone for Exchange<T> {
    fn clone(&self) -> Exchange<T> {
        Exchange(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Exchange<T> {
    /// Without its content, which is items.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exchange")
    }
}

impl<T: Send> SerializeRequest for Exchange<T> {
    fn serialize_input(&self, _: Input, _: &mut ConfigBag) -> Result<HttpRequest, BoxError> {
        self.0.body.request()
    }
}

impl<T: Send> DeserializeResponse for Exchange<T> {
    /// One exchange serves all attempts of a call, and each attempt separately: errors and unknown bodies are decoded
    /// by the SDK.
    fn deserialize_nonstreaming_with_config(
        &self,
        response: &HttpResponse,
        cfg: &ConfigBag,
    ) -> Result<Output, OrchestratorError<Error>> {
        // Drops the answer of an earlier attempt.
        drop(self.take());
        if response.body().bytes().is_some_and(has_too_many_values) {
            return Err(OrchestratorError::response("the answer has too many values".into()));
        }
        if response.status().is_success()
            && let Some(decoded) = response.body().bytes().and_then(self.0.wire.decode)
        {
            self.keep(decoded);
            return Ok((self.0.wire.nothing)());
        }
        match (self.0.wire.sdk)() {
            Some(sdk) => sdk.deserialize_nonstreaming_with_config(response, cfg),
            None => unreachable!("`beside` checks it"),
        }
    }
}

fn wants_sdk() -> bool {
    static WANTS_SDK: OnceLock<bool> = OnceLock::new();
    *WANTS_SDK.get_or_init(|| env::var_os(SDK_DECODER).is_some_and(|value| !value.is_empty()))
}
