//! A client whose calls are recorded, and some of whose responses are replaced.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextRef,
    FinalizerInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use keyfold_dynamo::Client;
use serde_json::{Value, json};

/// The response that replaces DynamoDB's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// DynamoDB's own response.
    None,
    Throttled,
    /// All keys of a BatchGetItem are left unprocessed.
    Unprocessed,
}

/// The requests so far, and the faults to come.
#[derive(Debug, Default, Clone)]
pub(crate) struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    sent: Vec<Value>,
    faults: VecDeque<Fault>,
    holds_items: bool,
    /// Was the newest request sent while BatchGetItem was held? A response that is on its way when that ends may still be an old one.
    is_held: bool,
    under_way: usize,
    most_under_way: usize,
}

impl Watch {
    /// A client like this one that is watched.
    pub(crate) fn over(client: &Client) -> (Client, Watch) {
        let watch = Watch::default();
        let config = client.config().to_builder().interceptor(watch.clone()).build();
        (Client::from_conf(config), watch)
    }

    /// The next answers are replaced.
    pub(crate) fn break_next(&self, faults: impl IntoIterator<Item = Fault>) {
        self.seen().faults.extend(faults);
    }

    /// Until further notice, keys of every BatchGetItem that is sent are left unprocessed.
    pub(crate) fn hold_items(&self, holds: bool) {
        self.seen().holds_items = holds;
    }

    /// The bodies of all calls.
    pub(crate) fn sent(&self) -> Vec<Value> {
        self.seen().sent.clone()
    }

    pub(crate) fn most_under_way(&self) -> usize {
        self.seen().most_under_way
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap()
    }
}

impl Intercept for Watch {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let mut seen = self.seen();
        let request: Value = serde_json::from_slice(context.request().body().bytes().unwrap())?;
        seen.is_held = seen.holds_items && request.get("RequestItems").is_some();
        seen.sent.push(request);
        seen.under_way += 1;
        seen.most_under_way = seen.most_under_way.max(seen.under_way);
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // The request of this response, as long as at most one read is in flight.
        let asked = self.seen().sent.last().cloned().unwrap_or_default();
        let fault =
            if self.seen().is_held { Some(Fault::Unprocessed) } else { self.seen().faults.pop_front() };
        let (status, body) = match fault {
            None | Some(Fault::None) => return Ok(()),
            Some(Fault::Throttled) => (400, json!({"__type": "ThrottlingException", "message": "too much"})),
            Some(Fault::Unprocessed) => {
                (200, json!({"Responses": {}, "UnprocessedKeys": asked["RequestItems"]}))
            }
        };
        let response = context.response_mut();
        *response.status_mut() = u16::try_into(status)?;
        // The checksum is of the answer that was replaced.
        response.headers_mut().remove("x-amz-crc32");
        *response.body_mut() = body.to_string().into();
        Ok(())
    }

    fn read_after_execution(
        &self,
        _: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.seen().under_way -= 1;
        Ok(())
    }
}
