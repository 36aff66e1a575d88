//! A path as it is meant, whichever way it is written: nothing of ours goes to a provider because of a slash too many.
//!
//! A provider, or whatever stands before it, may take `//mcp`, `/MCP`, `/mcp;x`, `/v1/../mcp` and `/mcp%2f` for `/mcp`, and so do the
//! libraries that pass a request on. So paths are compared as the most lenient of them would read them.

use std::borrow::Cow;

use neap_core::ingest::{percent_decoded, percent_decoded_bytes};
use neap_model::wire::heard::endpoint;

/// How often a path may be encoded over again.
const DECODED_MAX: usize = 5;
/// What the paths begin with that are answered here. Sessions are named under `s`.
const OURS: [&str; 5] = ["healthz", "mcp", "metrics", "neap", "readyz"];
const SESSION: &str = "s";
/// What comes before the path of a history, usually.
const VERSION: &str = "v1";
/// Where a client asks what to bring (RFC 9728).
const WELL_KNOWN: &str = "well-known";
const OAUTH: &str = "oauth";

/// A path with another spelling taken away, if it is one of a history's; any other as it came. What a provider has before the path of a
/// history stays as it is written: a model's name there may have letters of both kinds, and slashes that are encoded.
pub(super) fn normal(path: &str) -> Cow<'_, str> {
    match readings(path).iter().find_map(|reading| history_path(path, reading)) {
        Some(whole) if whole != path => Cow::Owned(whole),
        Some(_) | None => Cow::Borrowed(path),
    }
}

/// All ways in which a path may be read, in small letters and without steps back.
pub(super) fn spellings(path: &str) -> Vec<String> {
    readings(path).iter().map(|reading| joined(&small(&resolved(&parts(reading))))).collect()
}

/// Whether nothing stands before the path of a history.
pub(super) fn is_bare(path: &str) -> bool {
    let parts = parts(path);
    endpoint_parts(&parts) == Some(parts.len())
}

/// The path of a history, as a reading of it has it.
fn history_path(path: &str, reading: &str) -> Option<String> {
    let segments = resolved(&parts(reading));
    let (name, rest) = match &segments[..] {
        [session, name, rest @ ..] if session.eq_ignore_ascii_case(SESSION) && !rest.is_empty() => {
            (Some(name), rest)
        }
        all => (None, all),
    };
    let (before, end) = rest.split_at(rest.len() - endpoint_parts(&small(rest))?);
    let version =
        |part: &String| if part.eq_ignore_ascii_case(VERSION) { VERSION.to_owned() } else { part.clone() };
    let before: Vec<String> = before.iter().map(version).collect();
    // What a session is called is the caller's, letter by letter.
    let name = name.map(|name| format!("/{SESSION}/{}", named(path).unwrap_or(name))).unwrap_or_default();
    Some(format!("{name}{}{}", joined(&before), joined(&small(end))))
}

/// How many parts at the end of a path are those of a history, if they are.
fn endpoint_parts(parts: &[String]) -> Option<usize> {
    endpoint(&joined(parts))?;
    (1..=parts.len()).find(|count| endpoint(&joined(&parts[parts.len() - count..])).is_some())
}

fn small(parts: &[String]) -> Vec<String> {
    parts.iter().map(|part| part.to_ascii_lowercase()).collect()
}

fn joined(parts: &[String]) -> String {
    parts.iter().map(|part| format!("/{part}")).collect()
}

/// Whether a path is one of ours, or could be taken for one by whoever decodes it once, twice or not at all.
pub(super) fn is_ours(path: &str) -> bool {
    readings(path).iter().any(|reading| {
        let parts = parts(reading);
        let steps_back = parts.iter().any(|part| is_back(part));
        // Who steps back in a path has something to hide.
        steps_back && parts.iter().any(|part| OURS.contains(&bare(part).as_str()))
            || begins_as_ours(&resolved(&parts))
    })
}

fn begins_as_ours(parts: &[String]) -> bool {
    let mut parts: Vec<String> = parts.iter().map(|part| bare(part)).collect();
    while parts.first().is_some_and(|first| first == SESSION) {
        parts.drain(..parts.len().min(2));
        if parts.is_empty() {
            // A session, and nothing that is asked in it.
            return true;
        }
    }
    match &parts[..] {
        [first, second, ..] if first == WELL_KNOWN => second.starts_with(OAUTH),
        [first, ..] => OURS.contains(&first.as_str()),
        [] => false,
    }
}

/// A path as it is, and as it is once it is decoded, and over again.
fn readings(path: &str) -> Vec<String> {
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

/// What is between slashes, of either kind; parameters, empty parts and `.` are left out.
fn parts(path: &str) -> Vec<String> {
    let meant = |part: &str| part.split([';', '?', '#']).next().unwrap_or_default().trim().to_owned();
    let is_meant = |part: &String| !part.is_empty() && percent_decoded(part) != ".";
    path.split(['/', '\\']).map(meant).filter(is_meant).collect()
}

fn is_back(part: &str) -> bool {
    percent_decoded(part) == ".."
}

/// Steps back are taken.
fn resolved(parts: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(parts.len());
    for part in parts {
        if is_back(part) {
            out.pop();
        } else {
            out.push(part.clone());
        }
    }
    out
}

/// A part in small letters, up to the first sign that no name of ours has, without signs around it.
fn bare(part: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let start = part.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word: String = start.chars().take_while(|c| is_name(*c)).collect();
    word.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// A session's name as it is written, where a path begins with it.
fn named(path: &str) -> Option<&str> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let begins = parts.next().is_some_and(|first| first.eq_ignore_ascii_case(SESSION));
    parts.next().filter(|name| begins && !is_back(name) && percent_decoded(name) != ".")
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
            ("/s/a;b/v1/messages", "/s/a;b/v1/messages"),
            ("/x/../s/Mine/v1/messages", "/s/Mine/v1/messages"),
            ("/s/../s/Mine/v1/messages", "/s/Mine/v1/messages"),
        ] {
            assert_eq!(normal(path), want, "{path}");
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
            "/mcp/../v1/messages",
            "/v1/../mcp%2F..%2f",
            "/v1/%2e%2e/mcp%2F..%2f",
            "/a/..;/mcp/..",
            "/v1/..%2fmcp",
            "/%6dcp%FF",
        ] {
            assert!(is_ours(path), "{path}");
        }
        for path in [
            "/",
            "/v1/models",
            "/v1/mcp",
            "/mcps",
            "/mcp-servers",
            "/v1/metrics",
            "/.well-known/x",
            "/sessions",
            "/neapolis",
        ] {
            assert!(!is_ours(path), "{path}");
        }
    }
}
