//! By which names credentials go: one list of words for headers, cookies and queries alike.

/// Words in whose names credentials are: any word that has one of these in it.
const STEMS: [&str; 16] = [
    "auth",
    "certificate",
    "cookie",
    "credential",
    "jwt",
    "key",
    "passcode",
    "passphrase",
    "passw",
    "pwd",
    "secret",
    "sessid",
    "session",
    "signature",
    "ticket",
    "token",
];
/// Words that are too short to be looked for inside others: `sid` is in `sidebar`.
const WORDS: [&str; 17] = [
    "assertion",
    "bearer",
    "cert",
    "code",
    "cred",
    "creds",
    "login",
    "mfa",
    "otp",
    "pass",
    "pin",
    "pw",
    "saml",
    "sess",
    "sid",
    "sig",
    "totp",
];
/// Words that have one of those in them and mean something else.
const HARMLESS: [&str; 12] = [
    "author",
    "authoring",
    "authority",
    "authors",
    "keyboard",
    "keypoint",
    "keyword",
    "keywords",
    "monkey",
    "tokenize",
    "tokenizer",
    "tokens",
];
/// What changes with every request, or is about it and not about who sends it.
const OF_REQUESTS: [&str; 8] = [
    "cache-key",
    "idempotency-key",
    "prompt-cache-key",
    "sec-websocket-key",
    "surrogate-key",
    "x-cache-key",
    "x-idempotency-key",
    "x-surrogate-key",
];
/// What clients call a conversation: one caller has many of them, and a memory that they share.
const OF_CONVERSATIONS: [&str; 9] = [
    "helicone-session-id",
    "helicone-session-name",
    "helicone-session-path",
    "mcp-session-id",
    "session-id",
    "thread-id",
    "x-opencode-session",
    "x-session-affinity",
    "x-session-id",
];
/// Programs whose own name has one of the words in it, and who say nothing of credentials in headers of theirs.
const PROGRAMS: [&str; 2] = ["x-claude-code-", "x-neap-"];
/// A browser sends these cookies back only where they were set, over a safe line: nothing but sign-ins needs that.
const GUARDED_COOKIES: [&str; 2] = ["__host-", "__secure-"];

/// Whether a name, in small letters, is about a request or a conversation, and says nothing of who sends it.
pub(super) fn is_conversation_or_request(name: &str) -> bool {
    let dashed = name.replace('_', "-");
    OF_REQUESTS.contains(&dashed.as_str())
        || OF_CONVERSATIONS.contains(&dashed.as_str())
        || PROGRAMS.iter().any(|program| dashed.starts_with(program))
}

/// Whether a name, in small letters, has a word in it by which credentials go.
pub(super) fn is_telling(name: &str) -> bool {
    name.split(|c: char| !c.is_alphanumeric()).any(|word| {
        // Ids of sessions go by many names: `hsid`, `apisid`.
        let is_short = WORDS.contains(&word) || word.ends_with("sid");
        let has_stem = || STEMS.iter().any(|stem| word.contains(stem)) && !HARMLESS.contains(&word);
        is_short || has_stem()
    })
}

/// Whether a cookie of this name, in small letters, keeps a sign-in.
pub(super) fn is_sign_in_cookie(name: &str) -> bool {
    GUARDED_COOKIES.iter().any(|guarded| name.starts_with(guarded)) || is_telling(name)
}
