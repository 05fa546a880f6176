//! How our request and our decoder come in place of the SDK's: by one interceptor for each call, which is public in the SDK.
//!
//! The SDK keeps everything else: endpoint, credentials, signing, retries, time-outs, connections, errors.

use std::env;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aws_sdk_dynamodb::config::interceptors::BeforeSerializationInterceptorContextRef;
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
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_smithy_runtime_api::client::ser_de::{
    DeserializeResponse, SerializeRequest, SharedRequestSerializer, SharedResponseDeserializer,
};
use aws_smithy_types::config_bag::FrozenLayer;
use keyfold_core::execute::{Consumed, Page};

use super::answer::{self, BatchAnswer, StatementsAnswer};
use super::body::Body;

/// Set to anything: every answer is decoded by the SDK. It is the way back if our decoder is ever found to be wrong.
pub(crate) const SDK_DECODER: &str = "KEYFOLD_SDK_DECODER";

/// How the answers of one operation are decoded.
pub(crate) struct Wire<T> {
    /// `None`: the SDK's decoder is asked.
    pub(super) decode: fn(&[u8]) -> Option<T>,
    /// What the SDK gets in place of what we took.
    pub(super) nothing: fn() -> Output,
    /// The SDK's own decoder, as its operation configures it.
    pub(super) sdk: fn() -> Option<&'static SharedResponseDeserializer>,
}

/// How the answers of an operation are decoded: its name in the SDK, its output there, what we make of it, and how.
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

/// One call: sends our request, decodes the answer, and keeps it until it is taken.
pub(crate) struct Exchange<T: 'static> {
    wire: &'static Wire<T>,
    body: Arc<Body>,
    decoded: Arc<Mutex<Option<T>>>,
}

impl<T> Exchange<T> {
    pub(crate) fn of(wire: &'static Wire<T>, body: Body) -> Exchange<T> {
        Exchange { wire, body: Arc::new(body), decoded: Arc::default() }
    }

    /// What was decoded. `None` after a call that succeeded: the SDK has decoded it, and its output has the answer.
    pub(crate) fn take(&self) -> Option<T> {
        self.decoded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, decoded: T) {
        *self.decoded.lock().unwrap_or_else(PoisonError::into_inner) = Some(decoded);
    }
}

impl<T> Clone for Exchange<T> {
    fn clone(&self) -> Exchange<T> {
        Exchange { wire: self.wire, body: Arc::clone(&self.body), decoded: Arc::clone(&self.decoded) }
    }
}

impl<T> fmt::Debug for Exchange<T> {
    /// What it holds are items.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exchange")
    }
}

#[dyn_dispatch_hint]
impl<T: Send> Intercept for Exchange<T> {
    fn name(&self) -> &'static str {
        "keyfold exchange"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        cfg.interceptor_state().store_put(SharedRequestSerializer::new(self.clone()));
        if !wants_sdk() && (self.wire.sdk)().is_some() {
            cfg.interceptor_state().store_put(SharedResponseDeserializer::new(self.clone()));
        }
        Ok(())
    }
}

impl<T: Send> SerializeRequest for Exchange<T> {
    fn serialize_input(&self, _: Input, _: &mut ConfigBag) -> Result<HttpRequest, BoxError> {
        self.body.request()
    }
}

impl<T: Send> DeserializeResponse for Exchange<T> {
    /// One exchange serves all attempts of a call, and each attempt by itself: an error, and every body that we do not know, is
    /// the SDK's to decode.
    fn deserialize_nonstreaming_with_config(
        &self,
        response: &HttpResponse,
        cfg: &ConfigBag,
    ) -> Result<Output, OrchestratorError<Error>> {
        // What an earlier attempt returned is not the answer.
        drop(self.take());
        if response.status().is_success()
            && let Some(decoded) = response.body().bytes().and_then(self.wire.decode)
        {
            self.keep(decoded);
            return Ok((self.wire.nothing)());
        }
        match (self.wire.sdk)() {
            Some(sdk) => sdk.deserialize_nonstreaming_with_config(response, cfg),
            None => unreachable!("`read_before_execution` checks it"),
        }
    }
}

fn wants_sdk() -> bool {
    static WANTS_SDK: OnceLock<bool> = OnceLock::new();
    *WANTS_SDK.get_or_init(|| env::var_os(SDK_DECODER).is_some_and(|value| !value.is_empty()))
}
