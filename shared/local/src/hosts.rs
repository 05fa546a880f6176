//! The allowed callers of a port of this machine. A web page of any site can make its reader's browser send requests to
//! 127.0.0.1, and a site's name can resolve to it. `Host`, `Origin` and `Sec-Fetch-Site` reveal this: a page cannot
//! forge them.

use axum::http::{HeaderMap, HeaderName, header};

/// The origin of a browser's request, relative to this site; `none` if the user typed the address.
/// <https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header>
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names that a request may use for this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    more: Vec<String>,
}

impl AllowedHosts {
    /// `127.0.0.1`, `localhost`, `[::1]` and these names.
    ///
    /// ```
    /// use keyfold_local::AllowedHosts;
    /// let hosts = AllowedHosts::with(["keyfold.test"]);
    /// assert!(hosts.has("keyfold.test:8000") && hosts.has("localhost"));
    /// assert!(!hosts.has("keyfold.test.evil.example"));
    /// ```
    pub fn with<S: Into<String>>(more: impl IntoIterator<Item = S>) -> AllowedHosts {
        AllowedHosts { more: more.into_iter().map(Into::into).collect() }
    }

    /// Is this a name of this machine, with or without a port?
    pub fn has(&self, authority: &str) -> bool {
        let name = name(authority);
        is_here(name) || self.is_added(name)
    }

    /// Is a request addressed to this machine, and not sent by a page of another site? Clients other than browsers send
    /// no `Origin` and no `Sec-Fetch-Site`. A browser sends no `Origin` with most GET requests, so both are checked.
    pub(crate) fn allow(&self, headers: &HeaderMap) -> bool {
        // A header that is not text cannot be a name.
        let all = |name: HeaderName, test: &dyn Fn(&str) -> bool| {
            headers.get_all(name).iter().all(|value| value.to_str().is_ok_and(test))
        };
        all(header::HOST, &|host| self.has(host))
            && all(header::ORIGIN, &|origin| self.is_origin(origin))
            && all(FETCH_SITE, &|site| matches!(site, "same-origin" | "none"))
    }

    /// No port of this machine has a certificate, but a proxy for an added name may have one.
    fn is_origin(&self, origin: &str) -> bool {
        match origin.split_once("://") {
            Some(("http", host)) => self.has(host),
            Some(("https", host)) => self.is_added(name(host)),
            _ => false,
        }
    }

    fn is_added(&self, name: &str) -> bool {
        self.more.iter().any(|more| more.eq_ignore_ascii_case(name))
    }
}

fn is_here(name: &str) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|here| here.eq_ignore_ascii_case(name))
}

/// The authority without its port.
fn name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(hosts: &AllowedHosts, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().unwrap()));
        hosts.allow(&headers)
    }

    #[test]
    fn a_page_of_another_site_is_not_answered() {
        let hosts = AllowedHosts::default();
        for host in ["127.0.0.1:3000", "localhost:3000", "LocalHost", "[::1]:3000"] {
            assert!(asked(&hosts, host, None), "{host}");
            assert!(asked(&hosts, host, Some("http://localhost:3000")), "{host}");
        }
        for host in ["evil.example:3000", "127.0.0.1.evil.example", "", "localhost:", "127.0.0.1:80:90"] {
            assert!(!asked(&hosts, host, None), "{host}");
        }
        for origin in
            ["http://evil.example", "https://localhost", "null", "http://localhost.evil.example:3000"]
        {
            assert!(!asked(&hosts, "localhost:3000", Some(origin)), "{origin}");
        }
        assert!(hosts.allow(&HeaderMap::new()));
    }

    #[test]
    fn a_browser_says_where_the_page_is_that_sends_a_request() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost:3000".parse().unwrap());
        for (site, is_allowed) in
            [("same-origin", true), ("none", true), ("cross-site", false), ("same-site", false), ("", false)]
        {
            headers.insert(FETCH_SITE, site.parse().unwrap());
            assert_eq!(AllowedHosts::default().allow(&headers), is_allowed, "{site}");
        }
    }

    #[test]
    fn every_header_of_a_name_counts() {
        let mut headers = HeaderMap::new();
        headers.append(header::HOST, "localhost".parse().unwrap());
        headers.append(header::HOST, "evil.example".parse().unwrap());
        assert!(!AllowedHosts::default().allow(&headers));
    }

    #[test]
    fn a_name_can_be_added() {
        let hosts = AllowedHosts::with(["keyfold.test"]);
        assert!(asked(&hosts, "keyfold.test:8000", Some("https://keyfold.test")));
        assert!(asked(&hosts, "Keyfold.Test", Some("http://localhost:3000")));
        assert!(!asked(&hosts, "keyfold.test:8000", Some("https://localhost")));
        assert!(!asked(&hosts, "other.test", None));
    }
}
