//! The page's files, compiled into the binary, and the headers that block all other content.

use axum::http::{HeaderValue, Response, header};

const PAGE: &str = include_str!("../../console/index.html");
const SCRIPT: &str = include_str!("../../console/console.js");
const STYLE: &str = include_str!("../../console/console.css");

/// Scripts and styles come only from this port, none is inline, nothing is sent elsewhere, and no other page can frame
/// it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
pub(super) struct File {
    media_type: &'static str,
    text: &'static str,
}

impl File {
    /// The file at a path without the slashes at its ends.
    pub(super) fn of(path: &str) -> Option<File> {
        let (media_type, text) = match path {
            "" => ("text/html; charset=utf-8", PAGE),
            "console.js" => ("text/javascript; charset=utf-8", SCRIPT),
            "console.css" => ("text/css; charset=utf-8", STYLE),
            _ => return None,
        };
        Some(File { media_type, text })
    }

    /// The file as a response.
    pub(super) fn response(&self) -> Response<String> {
        let mut response = Response::new(self.text.to_owned());
        for (name, value) in [
            (header::CONTENT_TYPE, self.media_type),
            (header::CACHE_CONTROL, "no-store"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_has_nothing_inline_and_nothing_from_elsewhere() {
        assert!(PAGE.len() + SCRIPT.len() + STYLE.len() < 60_000);
        for forbidden in ["http://", "https://", " onclick", "<style", " style="] {
            assert!(!PAGE.contains(forbidden), "{forbidden}");
        }
        assert_eq!(PAGE.matches("<script").count(), 1);
        assert!(PAGE.contains(r#"<script src="console.js" defer></script>"#));
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    #[test]
    fn the_script_writes_text_and_never_markup() {
        let forbidden = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            ".style",
        ];
        for forbidden in forbidden {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
    }
}
