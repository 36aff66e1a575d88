//! Names under which credentials are sent: one word list for headers, cookies and query parameters.

/// A word that contains one of these marks a credential.
const CREDENTIAL_STEMS: [&str; 16] = [
    "auth", "certificate", "cookie", "credential", "jwt", "key", "passcode", "passphrase", "passw", "pwd",
    "secret", "sessid", "session", "signature", "ticket", "token",
];
/// Too short to match inside other words: `sid` is in `sidebar`.
const CREDENTIAL_WORDS: [&str; 17] = [
    "assertion", "bearer", "cert", "code", "cred", "creds", "login", "mfa", "otp", "pass", "pin", "pw", "saml",
    "sess", "sid", "sig", "totp",
];
/// Words that contain a stem but mean something else.
const HARMLESS_WORDS: [&str; 12] = [
    "author", "authoring", "authority", "authors", "keyboard", "keypoint", "keyword", "keywords", "monkey",
    "tokenize", "tokenizer", "tokens",
];
/// Names of values that change with every request, or describe it and not its sender.
const REQUEST_NAMES: [&str; 8] = [
    "cache-key", "idempotency-key", "prompt-cache-key", "sec-websocket-key", "surrogate-key", "x-cache-key",
    "x-idempotency-key", "x-surrogate-key",
];
/// Names of conversations: one caller has many, and they share a memory.
const CONVERSATION_NAMES: [&str; 9] = [
    "helicone-session-id", "helicone-session-name", "helicone-session-path", "mcp-session-id", "session-id",
    "thread-id", "x-opencode-session", "x-session-affinity", "x-session-id",
];
/// Prefixes of headers in which such a word is part of a program's own name.
const CLIENT_PREFIXES: [&str; 2] = ["x-claude-code-", "x-neap-"];
/// Browsers send these cookies only back to where they were set, over TLS; only sign-ins need that.
const GUARDED_COOKIES: [&str; 2] = ["__host-", "__secure-"];

/// Whether a name, in lower case like all names here, describes a request or conversation and not its sender.
pub(super) fn is_conversation_or_request(name: &str) -> bool {
    let dashed = name.replace('_', "-");
    REQUEST_NAMES.contains(&dashed.as_str())
        || CONVERSATION_NAMES.contains(&dashed.as_str())
        || CLIENT_PREFIXES.iter().any(|prefix| dashed.starts_with(prefix))
}

pub(super) fn has_credential_word(name: &str) -> bool {
    name.split(|c: char| !c.is_alphanumeric()).any(|word| {
        // Session ids have many names: `hsid`, `apisid`.
        let is_short = CREDENTIAL_WORDS.contains(&word) || word.ends_with("sid");
        let has_stem =
            || CREDENTIAL_STEMS.iter().any(|stem| word.contains(stem)) && !HARMLESS_WORDS.contains(&word);
        is_short || has_stem()
    })
}

pub(super) fn is_auth_cookie(name: &str) -> bool {
    GUARDED_COOKIES.iter().any(|prefix| name.starts_with(prefix)) || has_credential_word(name)
}
