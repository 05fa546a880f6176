//! A request as any server has it: nothing of Lambda, nothing of a framework.

use std::time::SystemTime;

use http::Method;
use keyfold_core::query::check::Caller;

/// One HTTP request to the API.
///
/// Headers are no part of it: a client writes them as it likes, so nothing that the API decides depends on one.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    /// The method.
    pub method: Method,
    /// The path, without the stage of an API: `/query`.
    pub path: String,
    /// The query string, without `?`, as it came.
    pub query: String,
    /// The body.
    pub body: Vec<u8>,
    /// Who asks. [`Caller::Trusted`] sees every item, whatever scope its table has; claims are what somebody vouches for.
    pub caller: Caller,
    /// What the log and a problem document call this request.
    pub id: String,
    /// When there must be an answer, if it matters.
    pub deadline: Option<SystemTime>,
}

impl ApiRequest {
    /// The request of a server on this machine.
    ///
    /// ```
    /// use keyfold_query_api::{ApiRequest, Caller};
    /// let request = http::Request::get("/tables/audit/questions/getEvent?id=1").body(Vec::new())?;
    /// let asked = ApiRequest::of_http(request, Caller::Trusted, "request-1");
    /// assert_eq!((asked.path.as_str(), asked.query.as_str()), ("/tables/audit/questions/getEvent", "id=1"));
    /// # Ok::<(), http::Error>(())
    /// ```
    pub fn of_http(request: http::Request<Vec<u8>>, caller: Caller, id: impl Into<String>) -> ApiRequest {
        let (parts, body) = request.into_parts();
        ApiRequest {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            body,
            caller,
            id: id.into(),
            deadline: None,
        }
    }
}
