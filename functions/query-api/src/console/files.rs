//! The page's files, part of the binary, and the headers that keep anything else out of the page.

use http::{HeaderValue, Response, header};

const PAGE: &str = include_str!("../../console/index.html");
const SCRIPT: &str = include_str!("../../console/console.js");
const STYLE: &str = include_str!("../../console/console.css");

/// Scripts and styles come from this API alone, nothing is inline, nothing is sent elsewhere, and no other page frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    /// `/`
    Page,
    /// `/console.js`
    Script,
    /// `/console.css`
    Style,
}

impl File {
    fn content(self) -> (&'static str, &'static str) {
        match self {
            File::Page => ("text/html; charset=utf-8", PAGE),
            File::Script => ("text/javascript; charset=utf-8", SCRIPT),
            File::Style => ("text/css; charset=utf-8", STYLE),
        }
    }

    /// The file as a response.
    pub(crate) fn response(self) -> Response<String> {
        let (kind, text) = self.content();
        let mut response = Response::new(text.to_owned());
        for (name, value) in [
            (header::CONTENT_TYPE, kind),
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
