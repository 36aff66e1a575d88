//! Normalises request paths, so that no spelling of one of Neap's own paths reaches a provider.
//!
//! A server or HTTP library may read `//mcp`, `/MCP`, `/mcp;x`, `/v1/../mcp` and `/mcp%2f` as `/mcp`. Paths are
//! therefore compared as the most lenient of them would read them.

use std::borrow::Cow;

use neap_model::caller::{percent_decoded, percent_decoded_bytes};
use neap_model::wire::request::parse_endpoint;

/// How many times a path is percent-decoded at most, counting the original.
const DECODED_MAX: usize = 5;
/// First segments of the paths served here. `/s/<name>` names a session.
const OWN_PREFIXES: [&str; 6] = ["healthz", "mcp", "metrics", "neap", "readyz", "ui"];
const SESSION: &str = "s";
const VERSION: &str = "v1";
/// OAuth metadata (RFC 9728).
const WELL_KNOWN: &str = "well-known";
const OAUTH: &str = "oauth";

/// The canonical spelling of an endpoint's path; any other path unchanged. A provider's prefix is kept as written,
/// since a model's name in it may have upper-case letters and encoded slashes.
pub(super) fn normalized(path: &str) -> Cow<'_, str> {
    match decodings(path).iter().find_map(|reading| endpoint_path(path, reading)) {
        Some(whole) if whole != path => Cow::Owned(whole),
        Some(_) | None => Cow::Borrowed(path),
    }
}

/// All readings of a path, in lower case and with `..` resolved.
pub(super) fn normalized_readings(path: &str) -> Vec<String> {
    decodings(path).iter().map(|reading| join_segments(&lowercase(&resolve_parents(&segments(reading))))).collect()
}

pub(super) fn is_bare_endpoint(path: &str) -> bool {
    let parts = segments(path);
    endpoint_len(&parts) == Some(parts.len())
}

/// The canonical endpoint path, if this reading of `path` is one.
fn endpoint_path(path: &str, reading: &str) -> Option<String> {
    let segments = resolve_parents(&segments(reading));
    let (name, rest) = match &segments[..] {
        [session, name, rest @ ..] if session.eq_ignore_ascii_case(SESSION) && !rest.is_empty() => {
            (Some(name), rest)
        }
        all => (None, all),
    };
    let (before, end) = rest.split_at(rest.len() - endpoint_len(&lowercase(rest))?);
    let version =
        |part: &String| if part.eq_ignore_ascii_case(VERSION) { VERSION.to_owned() } else { part.clone() };
    let before: Vec<String> = before.iter().map(version).collect();
    // The session name is the caller's and stays as written.
    let name = name.map(|name| format!("/{SESSION}/{}", session_name(path).unwrap_or(name))).unwrap_or_default();
    // An endpoint that is known as it is written stays so: at Vertex AI it contains the model's name.
    let written = join_segments(end);
    let end = if parse_endpoint(&written).is_some() { written } else { join_segments(&lowercase(end)) };
    Some(format!("{name}{}{end}", join_segments(&before)))
}

/// How many trailing segments form the endpoint, if any.
fn endpoint_len(parts: &[String]) -> Option<usize> {
    parse_endpoint(&join_segments(parts))?;
    (1..=parts.len()).find(|count| parse_endpoint(&join_segments(&parts[parts.len() - count..])).is_some())
}

fn lowercase(parts: &[String]) -> Vec<String> {
    parts.iter().map(|part| part.to_ascii_lowercase()).collect()
}

fn join_segments(parts: &[String]) -> String {
    parts.iter().map(|part| format!("/{part}")).collect()
}

/// Whether a path is Neap's own, or could be read as such after decoding it any number of times.
pub(super) fn is_own_path(path: &str) -> bool {
    decodings(path).iter().any(|reading| {
        let parts = segments(reading);
        let steps_back = parts.iter().any(|part| is_parent_segment(part));
        // A path with `..` that mentions an own path anywhere is treated as one.
        steps_back && parts.iter().any(|part| OWN_PREFIXES.contains(&bare_name(part).as_str()))
            || has_own_prefix(&resolve_parents(&parts))
    })
}

fn has_own_prefix(parts: &[String]) -> bool {
    let mut parts: Vec<String> = parts.iter().map(|part| bare_name(part)).collect();
    while parts.first().is_some_and(|first| first == SESSION) {
        parts.drain(..parts.len().min(2));
        if parts.is_empty() {
            // A session without an endpoint.
            return true;
        }
    }
    match &parts[..] {
        [first, second, ..] if first == WELL_KNOWN => second.starts_with(OAUTH),
        [first, ..] => OWN_PREFIXES.contains(&first.as_str()),
        [] => false,
    }
}

/// The path as it is and after each further percent-decoding.
fn decodings(path: &str) -> Vec<String> {
    let mut readings = vec![path.to_owned()];
    while readings.len() < DECODED_MAX {
        let last = readings.last().map_or("", String::as_str);
        let decoded = String::from_utf8_lossy(&percent_decoded_bytes(last)).into_owned();
        if decoded == last {
            break;
        }
        readings.push(decoded);
    }
    readings
}

/// The segments between slashes or backslashes, without parameters, empty segments and `.`.
fn segments(path: &str) -> Vec<String> {
    let name = |part: &str| part.split([';', '?', '#']).next().unwrap_or_default().trim().to_owned();
    let is_significant = |part: &String| !part.is_empty() && percent_decoded(part) != ".";
    path.split(['/', '\\']).map(name).filter(is_significant).collect()
}

fn is_parent_segment(part: &str) -> bool {
    percent_decoded(part) == ".."
}

fn resolve_parents(parts: &[String]) -> Vec<String> {
    let mut resolved: Vec<String> = Vec::with_capacity(parts.len());
    for part in parts {
        if is_parent_segment(part) {
            resolved.pop();
        } else {
            resolved.push(part.clone());
        }
    }
    resolved
}

/// The leading name of a segment, in lower case and without surrounding punctuation.
fn bare_name(part: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let start = part.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word: String = start.chars().take_while(|c| is_name(*c)).collect();
    word.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// The session name as written, where a path starts with one.
fn session_name(path: &str) -> Option<&str> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let begins = parts.next().is_some_and(|first| first.eq_ignore_ascii_case(SESSION));
    parts.next().filter(|name| begins && !is_parent_segment(name) && percent_decoded(name) != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_known_however_its_path_is_written() {
        for (path, want) in [
            ("/v1/messages", "/v1/messages"),
            ("/v1/messages/", "/v1/messages"),
            ("//v1//messages", "/v1/messages"),
            ("/V1/Messages", "/v1/messages"),
            ("/v1/./x/../messages", "/v1/messages"),
            ("/v1/%6Dessages", "/v1/messages"),
            ("/v1%2Fmessages;x=1", "/v1/messages"),
            ("\\v1\\chat\\completions", "/v1/chat/completions"),
            ("/s/My%20Work/v1//responses", "/s/My%20Work/v1/responses"),
            ("/v1/files/a%2Fb", "/v1/files/a%2Fb"),
            ("/v1//files", "/v1//files"),
            ("/", "/"),
            ("/openai/deployments/My-GPT/chat/completions", "/openai/deployments/My-GPT/chat/completions"),
            ("/openai//deployments/My-GPT/Chat/Completions/", "/openai/deployments/My-GPT/chat/completions"),
            ("/models/a%2FB/v1/messages", "/models/a%2FB/v1/messages"),
            (
                "/V1/p//publishers/anthropic/models/Opus%404:streamRawPredict",
                "/v1/p/publishers/anthropic/models/Opus%404:streamRawPredict",
            ),
            (
                "/v1/publishers/anthropic/models/opus%3ArawPredict",
                "/v1/publishers/anthropic/models/opus:rawPredict",
            ),
            ("/s/a;b/v1/messages", "/s/a;b/v1/messages"),
            ("/x/../s/Mine/v1/messages", "/s/Mine/v1/messages"),
            ("/s/../s/Mine/v1/messages", "/s/Mine/v1/messages"),
        ] {
            assert_eq!(normalized(path), want, "{path}");
        }
    }

    #[test]
    fn what_is_like_ours_is_ours() {
        for path in [
            "/mcp",
            "/mcp/",
            "//mcp",
            "/MCP",
            "/mcp;x",
            "/v1/../mcp",
            "/mcp%2f",
            "/mcp%2Fx",
            "/%6d%63%70",
            "/mcp.",
            "/mcp%00",
            "/mcp%20",
            "/./mcp",
            "/%2e%2e/mcp",
            "/v1/%2E%2e/mcp",
            "\\mcp",
            "/v1\\..\\mcp",
            "/mcp%3Fx",
            "/mcp%253bx",
            "/mcp%25252f",
            "/s/mine/mcp",
            "/S/mine//MCP",
            "/s/a/s/b/mcp",
            "/mcp/../v1/models",
            "/s/mine",
            "/s",
            "/s/",
            "/metrics/",
            "//healthz",
            "/Readyz",
            "/neap/recent/",
            "/neap",
            "/.well-known/oauth-protected-resource",
            "/.WELL-KNOWN/OAuth-x",
            "/mcp,x",
            "/mcp:",
            "/mcp/chat/completions",
            "/MCP//v1/messages",
            "/s/mine/mcp/responses",
            "/neap/v1/responses",
            "/ui/",
            "/UI/enter",
            "/mcp/../v1/messages",
            "/v1/../mcp%2F..%2f",
            "/v1/%2e%2e/mcp%2F..%2f",
            "/a/..;/mcp/..",
            "/v1/..%2fmcp",
            "/%6dcp%FF",
        ] {
            assert!(is_own_path(path), "{path}");
        }
        for path in [
            "/", "/v1/models", "/v1/mcp", "/mcps", "/mcp-servers", "/v1/metrics", "/.well-known/x", "/sessions",
            "/neapolis",
        ] {
            assert!(!is_own_path(path), "{path}");
        }
    }
}
