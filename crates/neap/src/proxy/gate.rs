//! Who is let in: a page in a browser must not speak through us to a provider, nor read what we tell.
//!
//! A page can have its own name point at this machine (DNS rebinding), but it cannot make the browser send another Host than
//! that name; and what it sends elsewhere carries its Origin.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

/// Names by which we may be called.
pub(crate) struct Gate {
    hosts: Vec<String>,
}

impl Gate {
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        Self { hosts: hosts.into_iter().map(|host| host.trim().to_ascii_lowercase()).collect() }
    }

    /// Why a request is not let in; none if it is.
    pub(crate) fn refuses(&self, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name: &header::HeaderName| match headers.get(name) {
            Some(value) => value.to_str().ok().map(Some),
            None => Some(None),
        };
        match text(&header::HOST) {
            // Without one it does not come from a browser: HTTP/1.0, or a program.
            Some(None) => {}
            Some(Some(host)) if self.knows(host) => {}
            Some(Some(_)) | None => return Some("it is not known by this name here (Host)"),
        }
        match text(&header::ORIGIN) {
            Some(None) => {}
            Some(Some(origin)) if self.is_own(origin) => {}
            Some(Some(_)) | None => return Some("it comes from a page elsewhere (Origin)"),
        }
        let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
        match site {
            None | Some(b"same-origin" | b"none") => None,
            Some(_) => Some("it comes from a page elsewhere (Sec-Fetch-Site)"),
        }
    }

    /// Whether a request calls us by a name that only this machine has.
    pub(crate) fn is_called_locally(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).map(|host| host.to_str().unwrap_or("?"));
        host.is_none_or(|host| Self { hosts: Vec::new() }.knows_name(name_of(host), IpAddr::is_loopback))
    }

    fn is_own(&self, origin: &str) -> bool {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|host| self.knows_name(name_of(host), IpAddr::is_loopback))
    }

    fn knows(&self, host: &str) -> bool {
        // An address cannot be made to point elsewhere.
        self.knows_name(name_of(host), |_| true)
    }

    fn knows_name(&self, name: &str, is_right: fn(&IpAddr) -> bool) -> bool {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(address) => is_right(&address) || self.is_named(bare),
            Err(_) => name.eq_ignore_ascii_case("localhost") || self.is_named(name),
        }
    }

    fn is_named(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }
}

/// The name in `name:port`.
fn name_of(host: &str) -> &str {
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_let_in(gate: &Gate, given: &[(&'static str, &str)]) -> bool {
        let headers =
            given.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        gate.refuses(&headers.collect()).is_none()
    }

    #[test]
    fn only_known_names_are_let_in() {
        let gate = Gate::new(vec!["Neap.example".into()]);
        let table = [
            ("localhost", true),
            ("LOCALHOST:6327", true),
            ("127.0.0.1:6327", true),
            ("[::1]:6327", true),
            ("192.168.0.7", true),
            ("neap.example:80", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ];
        for (host, want) in table {
            assert_eq!(is_let_in(&gate, &[("host", host)]), want, "{host}");
        }
        assert!(is_let_in(&gate, &[]));
    }

    #[test]
    fn pages_elsewhere_are_not_let_in() {
        let gate = Gate::new(Vec::new());
        let table = [
            ("http://localhost:3000", true),
            ("http://127.0.0.1", true),
            ("https://[::1]:8", true),
            ("https://evil.example", false),
            ("http://192.168.0.7", false),
            ("http://localhost.evil.example", false),
            ("null", false),
            ("file://", false),
        ];
        for (origin, want) in table {
            assert_eq!(is_let_in(&gate, &[("host", "localhost"), ("origin", origin)]), want, "{origin}");
        }
        for (site, want) in [("none", true), ("same-origin", true), ("same-site", false), ("cross-site", false)] {
            assert_eq!(is_let_in(&gate, &[("host", "localhost"), ("sec-fetch-site", site)]), want, "{site}");
        }
    }
}
