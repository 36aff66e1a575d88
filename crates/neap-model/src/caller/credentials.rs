//! Finds the credentials in a request: headers, cookies, query parameters and user information in a URL. Taking
//! too much for a credential splits a caller in two, which costs a memory; taking too little joins two callers,
//! which is a leak (I11). So the words in a name decide, except for a few names that change with every request. A
//! caller is known only by a value that nobody else has by chance: strangers who send the same flag or plain word
//! stay strangers.

use std::borrow::Cow;

use super::credential_names::{has_credential_word, is_auth_cookie, is_conversation_or_request};
use super::credential_values::{is_strong_basic_auth, is_strong_secret, is_strong_userinfo};

/// Set by gateways to name their user. They tell callers apart but prove nothing: anybody can write them.
const IDENTITY_HEADERS: [&str; 18] = [
    "chatgpt-account-id",
    "from",
    "remote-user",
    "tailscale-user-login",
    "x-client-cert",
    "x-consumer-custom-id",
    "x-consumer-id",
    "x-consumer-username",
    "x-forwarded-client-cert",
    "x-forwarded-email",
    "x-forwarded-preferred-username",
    "x-forwarded-user",
    "x-ms-client-principal",
    "x-ms-client-principal-id",
    "x-ms-client-principal-name",
    "x-remote-user",
    "x-user-email",
    "x-user-id",
];
/// Schemes with a new value for each request; only these parameters of it stay the same.
const SIGNED_SCHEMES: [&str; 6] = ["digest", "hawk", "mac", "ntlm", "oauth", "signature"];
const SIGNED_ID_PARAMETERS: [&str; 6] =
    ["credential", "id", "keyid", "oauth_consumer_key", "oauth_token", "username"];
/// Cookies that change on their own: load balancers, bot checks, visit counters.
const VOLATILE_COOKIES: [&str; 9] =
    ["__cf_bm", "__utm", "_cfuvid", "_ga", "_gid", "ai_session", "awsalb", "cf_clearance", "datadome"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Credential {
    /// `header`, `cookie`, `query` or `address`.
    location: &'static str,
    name: String,
    value: String,
    /// Whether only its owner can have it. A caller without such a credential stays unknown.
    pub(super) is_secret: bool,
}

impl Credential {
    fn new(location: &'static str, name: &str, value: &str, is_secret: bool) -> Self {
        Self { location, name: name.to_owned(), value: value.to_owned(), is_secret }
    }

    pub(super) fn digest_parts(&self) -> [&str; 3] {
        [self.location, &self.name, &self.value]
    }
}

/// `target` is a path with query, or a whole URL.
pub(super) fn find_credentials(target: &str, headers: &[(String, String)]) -> Vec<Credential> {
    let mut found = Vec::new();
    for (name, value) in headers {
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        if value.is_empty() {
            continue;
        }
        match name.as_str() {
            "cookie" => found.extend(value.split(';').filter_map(parse_cookie)),
            "authorization" | "proxy-authorization" => found.extend(parse_authorization(&name, value)),
            other if IDENTITY_HEADERS.contains(&other) => {
                found.push(Credential::new("header", other, value, false))
            }
            other if is_credential_name(other) => {
                found.push(Credential::new("header", other, value, is_strong_secret(value)))
            }
            _ => {}
        }
    }
    let (rest, query) = target.split_once('?').unwrap_or((target, ""));
    let query = query.split('#').next().unwrap_or_default();
    found.extend(query.split('&').filter_map(parse_query_parameter));
    let authority = rest.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    if let Some((user, _)) = authority.and_then(|authority| authority.rsplit_once('@')) {
        let user = percent_decoded(user);
        found.push(Credential::new("address", "user", &user, is_strong_userinfo(&user)));
    }
    found
}

pub fn target_path(target: &str) -> &str {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    match path.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => path,
    }
}

/// The key by the old rule: the first of four headers that has one.
pub(super) fn legacy_key(headers: &[(String, String)]) -> Option<&str> {
    ["x-api-key", "authorization", "api-key", "x-goog-api-key"].iter().find_map(|name| {
        let value =
            headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())?;
        let value = value.strip_prefix("Bearer ").unwrap_or(value).trim();
        (!value.is_empty()).then_some(value)
    })
}

fn is_credential_name(name: &str) -> bool {
    !is_conversation_or_request(name) && has_credential_word(name)
}

/// Signatures are new for each request: only the id that they name counts, and that is no secret.
fn parse_authorization(header: &str, value: &str) -> Vec<Credential> {
    let (scheme, rest) = value.split_once(char::is_whitespace).unwrap_or(("", value));
    let (scheme, rest) = (scheme.to_ascii_lowercase(), rest.trim());
    if scheme == "aws" {
        let id = rest.split(':').next().unwrap_or_default();
        return vec![Credential::new("header", &format!("{header} {scheme}"), id, false)];
    }
    if scheme.starts_with("aws4-") || SIGNED_SCHEMES.contains(&scheme.as_str()) {
        let ids = rest.split(',').filter_map(|part| part.split_once('=')).filter_map(|(name, value)| {
            let name = name.trim().to_ascii_lowercase();
            let value = value.trim().trim_matches('"');
            let value = if name == "credential" { access_key_id(value) } else { value };
            let is_id = SIGNED_ID_PARAMETERS.contains(&name.as_str());
            is_id.then(|| Credential::new("header", &format!("{header} {scheme} {name}"), value, false))
        });
        return ids.collect();
    }
    let is_secret = if scheme == "basic" { is_strong_basic_auth(rest) } else { is_strong_secret(rest) };
    vec![Credential::new("header", &format!("{header} {scheme}"), rest, is_secret)]
}

/// Every cookie tells callers apart; only a sign-in cookie proves who it is.
fn parse_cookie(pair: &str) -> Option<Credential> {
    let (name, value) = pair.trim().split_once('=')?;
    let lower = name.trim().to_ascii_lowercase();
    if VOLATILE_COOKIES.iter().any(|volatile| lower.starts_with(volatile)) {
        return None;
    }
    let is_secret = is_auth_cookie(&lower) && is_strong_secret(value);
    Some(Credential::new("cookie", name.trim(), value.trim(), is_secret))
}

fn parse_query_parameter(pair: &str) -> Option<Credential> {
    let (name, value) = pair.split_once('=')?;
    let (name, value) = (percent_decoded(name).to_ascii_lowercase(), percent_decoded(value));
    if value.trim().is_empty() || !is_credential_name(&name) {
        return None;
    }
    // A presigned URL carries the owner's id followed by the signature's scope.
    let is_scope =
        name.split(|c: char| !c.is_alphanumeric()).any(|word| word == "credential") && value.contains('/');
    let credential = if is_scope { access_key_id(&value) } else { &value };
    Some(Credential::new("query", &name, credential, !is_scope && is_strong_secret(credential)))
}

/// The owner of a scoped credential (`id/20260101/region/service/aws4_request`): the scope contains the date.
fn access_key_id(value: &str) -> &str {
    value.split('/').next().unwrap_or_default()
}

/// Text that does not decode to UTF-8 stays as it is, so that two texts never become one.
pub fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    String::from_utf8(percent_decoded_bytes(text)).map_or(Cow::Borrowed(text), Cow::Owned)
}

pub fn percent_decoded_bytes(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}
