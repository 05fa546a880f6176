//! Method and path of a request.

use http::Method;
use keyfold_edge::Problem;

use crate::write::Write;

/// The operation of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route<'p> {
    /// `POST /query`
    Query,
    /// `POST /explain`
    Explain,
    /// `POST /put`, `POST /update`, `POST /delete`
    Write(Write),
    /// `GET /tables/{table}/questions/{question}`
    Question {
        /// The table in the path.
        table: &'p str,
        /// The question in the path.
        question: &'p str,
    },
    /// `GET /openapi.json`
    OpenApi,
    /// `GET /health`
    Health,
}

impl Route<'_> {
    /// Its name in logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Route::Query => "query",
            Route::Explain => "explain",
            Route::Write(Write::Put) => "put",
            Route::Write(Write::Update) => "update",
            Route::Write(Write::Delete) => "delete",
            Route::Question { .. } => "question",
            Route::OpenApi => "openapi",
            Route::Health => "health",
        }
    }

    fn method(&self) -> Method {
        match self {
            Route::Query | Route::Explain | Route::Write(_) => Method::POST,
            Route::Question { .. } | Route::OpenApi | Route::Health => Method::GET,
        }
    }
}

/// Finds the route of a path without its stage.
pub(crate) fn route<'p>(method: &Method, path: &'p str) -> Result<Route<'p>, Problem> {
    let segments: Vec<&str> = path.trim_matches('/').splitn(5, '/').collect();
    let route = match segments.as_slice() {
        ["query"] => Route::Query,
        ["explain"] => Route::Explain,
        ["put"] => Route::Write(Write::Put),
        ["update"] => Route::Write(Write::Update),
        ["delete"] => Route::Write(Write::Delete),
        ["tables", table, "questions", question] => Route::Question { table, question },
        ["openapi.json"] => Route::OpenApi,
        ["health"] => Route::Health,
        _ => return Err(Problem::unknown_route().hint("GET /openapi.json lists every path")),
    };
    match route.method() {
        allowed if allowed == *method => Ok(route),
        Method::POST => Err(Problem::method_not_allowed("POST", method.as_str())),
        _ => Err(Problem::method_not_allowed("GET", method.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_and_nothing_else_is() {
        let get = |path| route(&Method::GET, path);
        let post = |path| route(&Method::POST, path);
        assert_eq!(post("/query"), Ok(Route::Query));
        assert_eq!(post("/explain/"), Ok(Route::Explain));
        for (path, write) in [("/put", Write::Put), ("/update", Write::Update), ("/delete", Write::Delete)] {
            assert_eq!(post(path), Ok(Route::Write(write)));
            assert_eq!(get(path).unwrap_err().code, "method-not-allowed");
        }
        assert_eq!(
            get("/tables/audit/questions/who"),
            Ok(Route::Question { table: "audit", question: "who" })
        );
        assert_eq!(get("/openapi.json"), Ok(Route::OpenApi));
        assert_eq!(get("/health"), Ok(Route::Health));
        for path in [
            "",
            "/",
            "/console.js",
            "/console/model",
            "/Query",
            "/tables",
            "/tables/audit/questions",
            "/tables/a/questions/b/c",
            "/query/x",
        ] {
            assert_eq!(get(path).unwrap_err().code, "unknown-route", "{path}");
        }
    }

    #[test]
    fn a_path_says_which_method_it_takes() {
        for (method, path, allowed) in [(Method::GET, "/query", "POST"), (Method::DELETE, "/health", "GET")] {
            let problem = route(&method, path).unwrap_err();
            assert_eq!((problem.status, problem.response_header()), (405, Some(("allow", allowed))));
        }
    }
}
