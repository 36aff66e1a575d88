//! What of a request looks like a credential: headers, cookies, parameters of the query, and user information in an address.
//!
//! Taking too much for one splits a caller in two, which costs a memory; taking too little joins two callers, which is a leak (I11). So
//! names decide, by the words in them, and a few that are known to change with every request are left out.

use std::borrow::Cow;

/// Words in whose names credentials are: any word that has one of these in it.
const STEMS: [&str; 10] =
    ["key", "token", "auth", "secret", "credential", "passw", "pwd", "jwt", "cookie", "certificate"];
/// Words that have one of those in them and mean something else.
const HARMLESS: [&str; 12] = [
    "author", "authoring", "authority", "authors", "keyboard", "keypoint", "keyword", "keywords", "monkey", "tokenize",
    "tokenizer", "tokens",
];
/// Headers that change with every request, or are about it and not about who sends it.
const VOLATILE: [&str; 8] = [
    "cache-key",
    "idempotency-key",
    "prompt-cache-key",
    "sec-websocket-key",
    "surrogate-key",
    "x-cache-key",
    "x-idempotency-key",
    "x-surrogate-key",
];
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
/// Parameters of a query that are credentials, though their names have none of the words.
const PARAMETERS: [&str; 6] = ["code", "pass", "pw", "sid", "sig", "ticket"];
/// Schemes whose value is made anew for each request; what stays the same in it is one of these parameters.
const SIGNED_SCHEMES: [&str; 6] = ["digest", "hawk", "mac", "ntlm", "oauth", "signature"];
const SIGNED_IDS: [&str; 6] = ["credential", "id", "keyid", "oauth_consumer_key", "oauth_token", "username"];
/// Cookies that change by themselves: balancers, bot checks, counters of visits.
const VOLATILE_COOKIES: [&str; 9] =
    ["__cf_bm", "__utm", "_cfuvid", "_ga", "_gid", "ai_session", "awsalb", "cf_clearance", "datadome"];
/// Words in the names of cookies by which a sign-in is kept.
const SIGN_IN_COOKIES: [&str; 12] =
    ["__host-", "__secure-", "aspnet", "auth", "cred", "jwt", "key", "login", "secret", "sess", "sid", "token"];
/// What people write where a key is asked for and none is needed: it tells nobody from anybody.
const PLACEHOLDERS: [&str; 36] = [
    "anything",
    "api-key",
    "apikey",
    "basic",
    "bearer",
    "changeme",
    "dummy",
    "dummy-key",
    "empty",
    "fake",
    "fake-key",
    "key",
    "lm-studio",
    "lmstudio",
    "local",
    "localhost",
    "n/a",
    "na",
    "nil",
    "no-key",
    "no-key-required",
    "none",
    "not-needed",
    "null",
    "ollama",
    "placeholder",
    "secret",
    "sk-1234",
    "sk-dummy",
    "sk-no-key-required",
    "test",
    "token",
    "undefined",
    "unused",
    "your-api-key",
    "your_api_key",
];

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
        let is_secret = is_secret && !is_placeholder(value);
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
            other if is_named(other) => found.push(Credential::new("header", other, value, true)),
            _ => {}
        }
    }
    let (rest, query) = target.split_once('?').unwrap_or((target, ""));
    let query = query.split('#').next().unwrap_or_default();
    found.extend(query.split('&').filter_map(parameter));
    let authority = rest.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    if let Some((user, _)) = authority.and_then(|authority| authority.rsplit_once('@')) {
        let secret = user.split_once(':').map_or(user, |(_, password)| password);
        found.push(Credential::new("address", "user", &percent_decoded(user), !is_placeholder(secret)));
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
    let is_telling = |word: &str| STEMS.iter().any(|stem| word.contains(stem)) && !HARMLESS.contains(&word);
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let dashed = name.replace('_', "-");
    !VOLATILE.contains(&dashed.as_str()) && !name.starts_with("x-neap-") && words.any(is_telling)
}

fn is_placeholder(value: &str) -> bool {
    let bare = value.rsplit(' ').next().unwrap_or_default().trim_matches(['<', '>', '"', '\'', '$', '{', '}']);
    let lower = bare.to_ascii_lowercase();
    let mut chars = lower.trim_start_matches("sk-").chars();
    let first = chars.next();
    let is_one_sign = lower.len() > 1 && first.is_none_or(|first| chars.all(|c| c == first));
    lower.is_empty() || is_one_sign || PLACEHOLDERS.contains(&lower.as_str())
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
    vec![Credential::new("header", &format!("{header} {scheme}"), rest, true)]
}

/// A cookie of a list. All of them tell callers apart; only those of a sign-in prove who it is.
fn cookie(pair: &str) -> Option<Credential> {
    let (name, value) = pair.trim().split_once('=')?;
    let lower = name.trim().to_ascii_lowercase();
    if VOLATILE_COOKIES.iter().any(|volatile| lower.starts_with(volatile)) {
        return None;
    }
    let is_sign_in = SIGN_IN_COOKIES.iter().any(|word| lower.contains(word));
    Some(Credential::new("cookie", name.trim(), value.trim(), is_sign_in))
}

/// A parameter of a query, if it is a credential.
fn parameter(pair: &str) -> Option<Credential> {
    let (name, value) = pair.split_once('=')?;
    let (name, value) = (percent_decoded(name).to_ascii_lowercase(), percent_decoded(value));
    if value.trim().is_empty() || !(PARAMETERS.contains(&name.as_str()) || is_named(&name)) {
        return None;
    }
    // Of an address that was signed beforehand, the owner's id with the scope of the signature.
    let is_scope = name.split(|c: char| !c.is_alphanumeric()).any(|word| word == "credential") && value.contains('/');
    let shown = if is_scope { scope_owner(&value) } else { &value };
    Some(Credential::new("query", &name, shown, !is_scope))
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
