//! The console: one page with the model, the contents of each index, the questions and the progress of retrofits.
//!
//! It is read-only. Callers are trusted and see every item, so its port serves only this machine. Questions go through
//! the query API in this process. The paths under `/console/` belong to the page and may change.

mod collections;
mod entries;
mod files;
mod item;
mod model;
mod retrofit;
mod server;

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use keyfold_core::query::question::{Params, QuestionError};
use keyfold_edge::{PROBLEM_CONTENT_TYPE, Problem};
use keyfold_query_api::Api;
use serde_json::Value;

use files::File;

pub use server::{ConsoleError, ConsoleOptions, ConsoleServer};

/// How long one view may take to read.
const VIEW_TIME_MAX: Duration = Duration::from_secs(28);

/// Answers the page's requests.
pub(crate) struct Console {
    api: Arc<Api>,
    /// The location of the tables for the page: a URL, or AWS with its region.
    endpoint: String,
}

/// A view of the page.
enum Route<'p> {
    /// `GET /console/model`
    Model,
    /// `GET /console/tables/{table}/entries?index=...&from=...`
    Entries { table: &'p str },
    /// `GET /console/tables/{table}/item?key=...`
    Item { table: &'p str },
    /// `GET /console/retrofits/{retrofit}`
    Retrofit { retrofit: &'p str },
}

impl Route<'_> {
    /// The route of a path without the slashes at its ends.
    fn of(path: &str) -> Option<Route<'_>> {
        let segments: Vec<&str> = path.split('/').collect();
        Some(match segments.as_slice() {
            ["console", "model"] => Route::Model,
            ["console", "tables", table, "entries"] => Route::Entries { table },
            ["console", "tables", table, "item"] => Route::Item { table },
            ["console", "retrofits", retrofit] => Route::Retrofit { retrofit },
            _ => return None,
        })
    }
}

impl Console {
    pub(crate) fn new(api: Arc<Api>, endpoint: String) -> Console {
        Console { api, endpoint }
    }

    /// The response to a request; `None` if the path is not one of the console's.
    pub(crate) async fn answer(&self, parts: &Parts) -> Option<Response<String>> {
        let path = parts.uri.path().trim_matches('/');
        let (file, route) = (File::of(path), Route::of(path));
        if (file.is_some() || route.is_some()) && parts.method != Method::GET {
            return Some(refusal(&Problem::method_not_allowed("GET", parts.method.as_str())));
        }
        if let Some(file) = file {
            return Some(file.response());
        }
        let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let params = query.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        let view = tokio::time::timeout(VIEW_TIME_MAX, self.view(route?, params)).await;
        let timed_out = || Err(Problem::new(504, "timed-out", "DynamoDB did not answer in time"));
        Some(match view.unwrap_or_else(|_| timed_out()) {
            Ok(value) => response(StatusCode::OK, "application/json", value.to_string()),
            Err(problem) => refusal(&problem),
        })
    }

    async fn view(&self, route: Route<'_>, mut params: Params) -> Result<Value, Problem> {
        let api = &*self.api;
        match route {
            Route::Model => {
                nothing_left(&params, None)?;
                Ok(model::describe(api, &self.endpoint))
            }
            Route::Entries { table } => {
                let index = params.take("index").pop();
                let from = params.take("from").pop();
                nothing_left(&params, Some("index"))?;
                entries::read(api, table, index.as_deref(), from.as_deref()).await
            }
            Route::Item { table } => {
                let key = params.take("key").pop().unwrap_or_default();
                nothing_left(&params, Some("key"))?;
                item::read(api, table, &key).await
            }
            Route::Retrofit { retrofit } => {
                nothing_left(&params, None)?;
                retrofit::read(api, retrofit).await
            }
        }
    }
}

/// An unknown parameter is an error.
fn nothing_left(params: &Params, known: Option<&str>) -> Result<(), Problem> {
    let Some(left) = params.left() else { return Ok(()) };
    Err(QuestionError::UnknownParameter {
        question: "console".to_owned(),
        parameter: left.to_owned(),
        known: known.map(str::to_owned).into_iter().collect(),
    }
    .into())
}

fn refusal(problem: &Problem) -> Response<String> {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response(status, PROBLEM_CONTENT_TYPE, problem.document(None).to_string())
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
