//! Method and path: what is asked for.

use http::Method;

use crate::console;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route<'p> {
    /// `POST /query`
    Query,
    /// `POST /explain`
    Explain,
    /// `GET /tables/{table}/questions/{question}`
    Question {
        /// The table, as the path has it.
        table: &'p str,
        /// The question, as the path has it.
        question: &'p str,
    },
    /// `GET /openapi.json`
    OpenApi,
    /// `GET /health`
    Health,
    /// `GET /` and what is behind it, where the console is on.
    Console(console::Route<'p>),
}

/// Why nothing is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RouteError {
    /// No such path.
    #[error("no such path")]
    Unknown,
    /// The path takes another method.
    #[error("this path accepts {allowed}, not {given}")]
    Method {
        /// The method that it takes.
        allowed: &'static str,
        /// The method of the request.
        given: String,
    },
}

impl Route<'_> {
    /// Its name in logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Route::Query => "query",
            Route::Explain => "explain",
            Route::Question { .. } => "question",
            Route::OpenApi => "openapi",
            Route::Health => "health",
            Route::Console(_) => "console",
        }
    }

    fn method(&self) -> Method {
        match self {
            Route::Query | Route::Explain => Method::POST,
            Route::Question { .. } | Route::OpenApi | Route::Health | Route::Console(_) => Method::GET,
        }
    }
}

/// Finds the route of a path without its stage. Without the console, its paths are unknown ones.
pub(crate) fn route<'p>(method: &Method, path: &'p str, with_console: bool) -> Result<Route<'p>, RouteError> {
    let segments: Vec<&str> = path.trim_matches('/').splitn(5, '/').collect();
    let route = match segments.as_slice() {
        ["query"] => Route::Query,
        ["explain"] => Route::Explain,
        ["tables", table, "questions", question] => Route::Question { table, question },
        ["openapi.json"] => Route::OpenApi,
        ["health"] => Route::Health,
        other => match console::Route::of(other).filter(|_| with_console) {
            Some(route) => Route::Console(route),
            None => return Err(RouteError::Unknown),
        },
    };
    match route.method() {
        allowed if allowed == *method => Ok(route),
        Method::POST => Err(RouteError::Method { allowed: "POST", given: method.to_string() }),
        _ => Err(RouteError::Method { allowed: "GET", given: method.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_and_nothing_else_is() {
        let get = |path| route(&Method::GET, path, false);
        let post = |path| route(&Method::POST, path, false);
        assert_eq!(post("/query"), Ok(Route::Query));
        assert_eq!(post("/explain/"), Ok(Route::Explain));
        assert_eq!(
            get("/tables/audit/questions/who"),
            Ok(Route::Question { table: "audit", question: "who" })
        );
        assert_eq!(get("/openapi.json"), Ok(Route::OpenApi));
        assert_eq!(get("/health"), Ok(Route::Health));
        for path in
            ["", "/", "/Query", "/tables", "/tables/audit/questions", "/tables/a/questions/b/c", "/query/x"]
        {
            assert_eq!(get(path), Err(RouteError::Unknown), "{path}");
        }
    }

    #[test]
    fn the_console_has_paths_only_where_it_is_on() {
        for path in [
            "",
            "/",
            "/console.js",
            "/console.css",
            "/console/model",
            "/console/tables/audit/entries",
            "/console/retrofits/auditV2",
        ] {
            assert_eq!(route(&Method::GET, path, false), Err(RouteError::Unknown), "{path}");
            let found = route(&Method::GET, path, true);
            assert!(matches!(found, Ok(Route::Console(_))), "{path}: {found:?}");
        }
        for path in ["/console", "/index.html", "/console/tables/audit", "/console/../query"] {
            assert_eq!(route(&Method::GET, path, true), Err(RouteError::Unknown), "{path}");
        }
    }

    #[test]
    fn a_path_says_which_method_it_takes() {
        let wrong = |allowed, given: &str| Err(RouteError::Method { allowed, given: given.to_owned() });
        assert_eq!(route(&Method::GET, "/query", false), wrong("POST", "GET"));
        assert_eq!(route(&Method::DELETE, "/health", false), wrong("GET", "DELETE"));
    }
}
