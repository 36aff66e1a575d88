//! Rejects requests of web pages: a page must not use the proxy to reach a provider, nor read what it serves.
//!
//! A page can point its own host name at this machine (DNS rebinding), but it cannot change the `Host` that the
//! browser sends; a cross-origin request carries its `Origin`.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

/// Longest name in DNS.
const HOST_NAME_BYTES_MAX: usize = 253;

/// The host names under which this proxy may be addressed.
pub(crate) struct OriginCheck {
    hosts: Vec<String>,
}

impl OriginCheck {
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        Self { hosts: hosts.into_iter().map(|host| host.trim().to_ascii_lowercase()).collect() }
    }

    /// Why a request is rejected; `None` if it is allowed.
    pub(crate) fn refusal_reason(&self, headers: &HeaderMap) -> Option<String> {
        let text = |name: &header::HeaderName| match headers.get(name) {
            Some(value) => value.to_str().ok().map(Some),
            None => Some(None),
        };
        match text(&header::HOST) {
            // Browsers always send Host; HTTP/1.0 clients and programs may not.
            Some(None) => {}
            Some(Some(host)) if self.is_allowed_host(host) => {}
            Some(Some(host)) => return Some(unknown_host(host_name(host))),
            None => return Some(unknown_host("")),
        }
        match text(&header::ORIGIN) {
            Some(None) => {}
            Some(Some(origin)) if self.is_own_origin(origin) => {}
            Some(Some(_)) | None => return Some(other_site("Origin")),
        }
        let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
        match site {
            None | Some(b"same-origin" | b"none") => None,
            Some(_) => Some(other_site("Sec-Fetch-Site")),
        }
    }

    /// Whether `Host` is a loopback address, `localhost`, or absent.
    pub(crate) fn is_local_host(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).map(|host| host.to_str().unwrap_or("?"));
        host.is_none_or(|host| Self { hosts: Vec::new() }.is_allowed_name(host_name(host), IpAddr::is_loopback))
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|host| self.is_allowed_name(host_name(host), IpAddr::is_loopback))
    }

    fn is_allowed_host(&self, host: &str) -> bool {
        // An address, unlike a name, cannot be rebound.
        self.is_allowed_name(host_name(host), |_| true)
    }

    fn is_allowed_name(&self, name: &str, is_allowed: fn(&IpAddr) -> bool) -> bool {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(address) => is_allowed(&address) || self.is_configured_host(bare),
            Err(_) => name.eq_ignore_ascii_case("localhost") || self.is_configured_host(name),
        }
    }

    fn is_configured_host(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }
}

/// Whether the `Origin` is that of the server under the `Host` that was asked, port included: other pages of this machine
/// are of the same site, so a browser sends them its cookies.
pub(super) fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin: Option<&str> = text(header::ORIGIN);
    let authority = origin.and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    authority.zip(text(header::HOST)).is_some_and(|(authority, host)| authority.eq_ignore_ascii_case(host))
}

/// Names a host that was sent, and the option that lets it in. What cannot be a host name is not repeated.
fn unknown_host(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if name.is_empty() || name.len() > HOST_NAME_BYTES_MAX || !name.bytes().all(is_plain) {
        return "its Host header is not a host name".to_owned();
    }
    format!("neap is not served under the host name '{name}' (Host). hint: start neap with --allow-host {name}")
}

fn other_site(header: &str) -> String {
    format!("it comes from a web page of another site ({header})")
}

fn host_name(host: &str) -> &str {
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_let_in(gate: &OriginCheck, given: &[(&'static str, &str)]) -> bool {
        let headers =
            given.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        gate.refusal_reason(&headers.collect()).is_none()
    }

    #[test]
    fn only_known_names_are_let_in() {
        let gate = OriginCheck::new(vec!["Neap.example".into()]);
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
    fn a_host_that_is_not_let_in_is_told_by_its_name_with_the_option() {
        let gate = OriginCheck::new(Vec::new());
        let reason = |host: &[u8]| {
            let value = axum::http::HeaderValue::from_bytes(host).expect("a value");
            gate.refusal_reason(&HeaderMap::from_iter([(header::HOST, value)]))
        };
        let told = reason(b"Box.local:6327").expect("refused");
        assert!(
            told.contains("'Box.local'") && told.ends_with("hint: start neap with --allow-host Box.local"),
            "{told}"
        );
        for odd in [&b""[..], b"a b", b"<script>", b"a\xffb", &[b'a'; 300]] {
            assert_eq!(reason(odd).as_deref(), Some("its Host header is not a host name"));
        }
        let allowed = OriginCheck::new(vec!["Box.local".into()]);
        assert!(is_let_in(&allowed, &[("host", "box.local:6327")]), "the option does what the hint says");
    }

    #[test]
    fn pages_elsewhere_are_not_let_in() {
        let gate = OriginCheck::new(Vec::new());
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
