//! What of a request looks like a credential: headers, cookies, parameters of the query, and user information in an address.
//!
//! Taking too much for one splits a caller in two, which costs a memory; taking too little joins two callers, which is a leak (I11). So
//! names decide, by the words in them, and a few that are known to change with every request are left out. To be known at all takes a value
//! that nobody else has by chance: strangers who show the same flag or plain word stay strangers.

use std::borrow::Cow;

use super::credential_names::{is_conversation_or_request, is_sign_in_cookie, is_telling};
use super::credential_values::{is_strong, is_strong_pair, is_strong_sign_in};

/// Who a gateway says that its user is. It tells callers apart; it proves nothing, since anybody can write it.
const IDENTITIES: [&str; 18] = [
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
/// Schemes whose value is made anew for each request; what stays the same in it is one of these parameters.
const SIGNED_SCHEMES: [&str; 6] = ["digest", "hawk", "mac", "ntlm", "oauth", "signature"];
const SIGNED_IDS: [&str; 6] = ["credential", "id", "keyid", "oauth_consumer_key", "oauth_token", "username"];
/// Cookies that change by themselves: balancers, bot checks, counters of visits.
const VOLATILE_COOKIES: [&str; 9] =
    ["__cf_bm", "__utm", "_cfuvid", "_ga", "_gid", "ai_session", "awsalb", "cf_clearance", "datadome"];

/// Something by which a caller is told from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Credential {
    /// Where it stands.
    place: &'static str,
    name: String,
    value: String,
    /// Whether only its owner has it: one is needed to be known at all.
    pub(super) is_secret: bool,
}

impl Credential {
    fn new(place: &'static str, name: &str, value: &str, is_secret: bool) -> Self {
        Self { place, name: name.to_owned(), value: value.to_owned(), is_secret }
    }

    /// What counts of it.
    pub(super) fn parts(&self) -> [&str; 3] {
        [self.place, &self.name, &self.value]
    }
}

/// All credentials of a request. Its target is a path with its query, or a whole address.
pub(super) fn credentials(target: &str, headers: &[(String, String)]) -> Vec<Credential> {
    let mut found = Vec::new();
    for (name, value) in headers {
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        if value.is_empty() {
            continue;
        }
        match name.as_str() {
            "cookie" => found.extend(value.split(';').filter_map(cookie)),
            "authorization" | "proxy-authorization" => found.extend(authorization(&name, value)),
            other if IDENTITIES.contains(&other) => found.push(Credential::new("header", other, value, false)),
            other if is_named(other) => found.push(Credential::new("header", other, value, is_strong(value))),
            _ => {}
        }
    }
    let (rest, query) = target.split_once('?').unwrap_or((target, ""));
    let query = query.split('#').next().unwrap_or_default();
    found.extend(query.split('&').filter_map(parameter));
    let authority = rest.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    if let Some((user, _)) = authority.and_then(|authority| authority.rsplit_once('@')) {
        let user = percent_decoded(user);
        found.push(Credential::new("address", "user", &user, is_strong_pair(&user)));
    }
    found
}

/// The path in a target.
pub fn path_of(target: &str) -> &str {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    match path.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => path,
    }
}

/// The key by which callers were told apart before: the first of four headers that has one.
pub(super) fn earlier_key(headers: &[(String, String)]) -> Option<&str> {
    ["x-api-key", "authorization", "api-key", "x-goog-api-key"].iter().find_map(|name| {
        let value =
            headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())?;
        let value = value.strip_prefix("Bearer ").unwrap_or(value).trim();
        (!value.is_empty()).then_some(value)
    })
}

/// Whether a name, in small letters, is that of a credential.
fn is_named(name: &str) -> bool {
    !is_conversation_or_request(name) && is_telling(name)
}

/// What an authorization shows. Signatures are made anew for each request: of them only whom they name counts, which is no secret.
fn authorization(header: &str, value: &str) -> Vec<Credential> {
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
            let value = if name == "credential" { scope_owner(value) } else { value };
            let is_id = SIGNED_IDS.contains(&name.as_str());
            is_id.then(|| Credential::new("header", &format!("{header} {scheme} {name}"), value, false))
        });
        return ids.collect();
    }
    let is_secret = if scheme == "basic" { is_strong_sign_in(rest) } else { is_strong(rest) };
    vec![Credential::new("header", &format!("{header} {scheme}"), rest, is_secret)]
}

/// A cookie of a list. All of them tell callers apart; only those of a sign-in prove who it is.
fn cookie(pair: &str) -> Option<Credential> {
    let (name, value) = pair.trim().split_once('=')?;
    let lower = name.trim().to_ascii_lowercase();
    if VOLATILE_COOKIES.iter().any(|volatile| lower.starts_with(volatile)) {
        return None;
    }
    let is_secret = is_sign_in_cookie(&lower) && is_strong(value);
    Some(Credential::new("cookie", name.trim(), value.trim(), is_secret))
}

/// A parameter of a query, if it is a credential.
fn parameter(pair: &str) -> Option<Credential> {
    let (name, value) = pair.split_once('=')?;
    let (name, value) = (percent_decoded(name).to_ascii_lowercase(), percent_decoded(value));
    if value.trim().is_empty() || !is_named(&name) {
        return None;
    }
    // Of an address that was signed beforehand, the owner's id with the scope of the signature.
    let is_scope =
        name.split(|c: char| !c.is_alphanumeric()).any(|word| word == "credential") && value.contains('/');
    let shown = if is_scope { scope_owner(&value) } else { &value };
    Some(Credential::new("query", &name, shown, !is_scope && is_strong(shown)))
}

/// Whose a credential with a scope is (`id/20260101/region/service/aws4_request`): the scope has the date in it.
fn scope_owner(value: &str) -> &str {
    value.split('/').next().unwrap_or_default()
}

/// A text with percent signs and two digits taken as what they stand for; as it is, where that is no text: two texts never become one.
pub fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    String::from_utf8(percent_decoded_bytes(text)).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The bytes that a text with percent signs stands for.
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
