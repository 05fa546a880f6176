//! A request in a form independent of Lambda and web frameworks.

use std::time::SystemTime;

use http::Method;
use keyfold_core::query::QueryRequest;
use keyfold_core::query::check::Caller;
use keyfold_core::query::question::Params;
use keyfold_edge::Problem;

use crate::settings::{BODY_BYTES_MAX, QUERY_STRING_BYTES_MAX};

/// Maximum parameters of one query string.
const PARAMS_MAX: usize = 200;

/// One HTTP request to the API.
///
/// It has no headers: clients can forge them, so no decision of the API may depend on one.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    /// The method.
    pub method: Method,
    /// The path, without the stage of an API: `/query`.
    pub path: String,
    /// The query string, without `?`, unchanged.
    pub query: String,
    /// The body.
    pub body: Vec<u8>,
    /// The caller. [`Caller::Trusted`] reads every item, even in a table with a scope; claims come from an authorizer.
    pub caller: Caller,
    /// The id of this request in the log and in a problem document.
    pub id: String,
    /// The deadline of the answer, if there is one.
    pub deadline: Option<SystemTime>,
}

impl ApiRequest {
    /// The request of a local server.
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

    /// The parameters of the query string.
    pub(crate) fn params(&self) -> Result<Params, Problem> {
        if self.query.len() > QUERY_STRING_BYTES_MAX {
            return Err(Problem::body_too_large(QUERY_STRING_BYTES_MAX));
        }
        read_params(&self.query)
            .ok_or_else(|| Problem::malformed(format!("more than {PARAMS_MAX} parameters")))
    }

    /// The body as a query, its numbers exact.
    pub(crate) fn query_request(&self) -> Result<QueryRequest, Problem> {
        if self.body.len() > BODY_BYTES_MAX {
            return Err(Problem::body_too_large(BODY_BYTES_MAX));
        }
        let text = str::from_utf8(&self.body).map_err(|_| Problem::malformed("the body is not UTF-8"))?;
        serde_json::from_str(text)
            .map_err(|error| Problem::malformed(format!("the body is not a request: {error}")))
    }
}

/// `None` if there are more than [`PARAMS_MAX`] parameters.
fn read_params(query: &str) -> Option<Params> {
    let pairs = || form_urlencoded::parse(query.as_bytes());
    (pairs().take(PARAMS_MAX + 1).count() <= PARAMS_MAX)
        .then(|| pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
}

/// For fuzz targets: reads a query string as the parameters of every question.
#[cfg(fuzzing)]
pub fn read_questions(api: &crate::Api, query: &str) {
    use keyfold_core::query::question;
    for table in &api.model().tables {
        for asked in api.model().questions_of(table) {
            let Some(params) = read_params(query) else { return };
            let _ = question::request(table, asked, params);
        }
    }
}
