//! Our request, which replaces the SDK's.
//!
//! The SDK's input then contains only the table's name, on which the endpoint depends. The SDK still does everything
//! else, as for responses.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use keyfold_core::json::write;
#[cfg(test)]
use {
    aws_smithy_runtime_api::client::interceptors::context::Input,
    aws_smithy_runtime_api::client::ser_de::{SerializeRequest, SharedRequestSerializer},
    aws_smithy_types::config_bag::{ConfigBag, FrozenLayer},
};

/// The text of one request, for one call.
pub(crate) struct Body {
    target: &'static str,
    text: Mutex<Option<String>>,
}

/// A request that is being written, member by member.
pub(crate) struct BodyText {
    target: &'static str,
    text: String,
}

impl BodyText {
    /// A request of this operation, with an initial capacity.
    pub(crate) fn of(operation: &Operation, bytes: usize) -> BodyText {
        BodyText { target: operation.0, ..BodyText::object(bytes) }
    }

    /// An object that becomes a part of a request.
    pub(crate) fn object(bytes: usize) -> BodyText {
        let mut text = String::with_capacity(bytes);
        text.push('{');
        BodyText { target: "", text }
    }

    /// Adds a member.
    pub(crate) fn member(mut self, name: &str, write: impl FnOnce(&mut String)) -> BodyText {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.extend(["\"", name, "\":"]);
        write(&mut self.text);
        self
    }

    /// Adds a member that is a text, if there is one.
    pub(crate) fn text(self, name: &str, text: Option<&str>) -> BodyText {
        match text {
            Some(text) => self.member(name, |out| write::string(out, text)),
            None => self,
        }
    }

    /// Adds a member that is a number, or true or false, if there is one.
    pub(crate) fn plain(self, name: &str, value: Option<impl Display>) -> BodyText {
        match value {
            Some(value) => self.member(name, |out| out.push_str(&value.to_string())),
            None => self,
        }
    }

    /// Adds a member that is a map, unless it is empty: DynamoDB refuses an empty one.
    pub(crate) fn map<T>(
        self,
        name: &str,
        map: &BTreeMap<String, T>,
        write: impl Fn(&mut String, &T),
    ) -> BodyText {
        match map.is_empty() {
            true => self,
            false => self.member(name, |out| write::members(out, map.iter(), write)),
        }
    }

    /// The request, for the call.
    pub(crate) fn done(self) -> Body {
        Body { target: self.target, text: Mutex::new(Some(self.closed())) }
    }

    /// The object, with all its members.
    pub(crate) fn closed(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// An operation, in the form of the request header.
pub(crate) struct Operation(&'static str);

pub(crate) const PUT_ITEM: Operation = Operation("DynamoDB_20120810.PutItem");
pub(crate) const UPDATE_ITEM: Operation = Operation("DynamoDB_20120810.UpdateItem");
pub(crate) const DELETE_ITEM: Operation = Operation("DynamoDB_20120810.DeleteItem");
pub(crate) const QUERY_ITEMS: Operation = Operation("DynamoDB_20120810.Query");
pub(crate) const SCAN_ITEMS: Operation = Operation("DynamoDB_20120810.Scan");
pub(crate) const BATCH_GET_ITEM: Operation = Operation("DynamoDB_20120810.BatchGetItem");
pub(crate) const BATCH_EXECUTE_STATEMENT: Operation = Operation("DynamoDB_20120810.BatchExecuteStatement");

#[cfg(test)]
impl Body {
    /// The request that it sends.
    pub(crate) fn sent_request(&self) -> SentRequest {
        read(&self.request().unwrap())
    }
}

/// The headers of a request, and its body.
#[cfg(test)]
pub(crate) type SentRequest = (Vec<(String, String)>, serde_json::Value);

/// The request that the SDK sends for this input, by the configuration of its operation.
#[cfg(test)]
pub(crate) fn sent_request(config: Option<FrozenLayer>, input: Input) -> SentRequest {
    let config = config.unwrap();
    let serializer = config.load::<SharedRequestSerializer>().unwrap();
    read(&serializer.serialize_input(input, &mut ConfigBag::base()).unwrap())
}

#[cfg(test)]
fn read(request: &HttpRequest) -> SentRequest {
    assert_eq!((request.method(), request.uri()), ("POST", "/"));
    let body = request.body().bytes().unwrap();
    let mut headers: Vec<_> =
        request.headers().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    headers.sort();
    let length = headers.iter().position(|(name, _)| name == "content-length").unwrap();
    assert_eq!(headers.remove(length).1, body.len().to_string());
    (headers, serde_json::from_slice(body).unwrap())
}

impl Body {
    /// The request. It is built once for a call; attempts send copies of it.
    pub(super) fn request(&self) -> Result<HttpRequest, BoxError> {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner).take();
        let text = text.ok_or("the request was written already")?;
        let length = text.len().to_string();
        let mut request = HttpRequest::new(SdkBody::from(text));
        request.set_method("POST")?;
        let headers = request.headers_mut();
        headers.insert("content-type", "application/x-amz-json-1.0");
        headers.insert("x-amz-target", self.target);
        headers.insert("content-length", length);
        Ok(request)
    }
}
