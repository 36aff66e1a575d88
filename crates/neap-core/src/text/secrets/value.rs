//! Tells secrets from words, variables, types, numbers and placeholders.

/// Words that follow `password:` or `token is` in prose and code; sorted for binary search.
const PROSE_WORDS: &[&str] = &[
    "a", "an", "any", "argon2", "argon2id", "as", "bcrypt", "bearer", "bool", "boolean", "bytes", "char",
    "correct", "default", "disabled", "empty", "enabled", "expired", "falsch", "false", "for", "from", "hash",
    "hashes", "in", "incorrect", "int", "integer", "invalid", "is", "ist", "it", "long", "missing", "must",
    "never", "new", "nil", "no", "none", "not", "null", "number", "object", "off", "ok", "old", "on", "only",
    "optional", "pbkdf2", "plain", "public", "required", "safe", "same", "scrypt", "secret", "see", "sha256",
    "sha512", "short", "should", "stale", "still", "str", "string", "strong", "text", "that", "the", "their",
    "this", "to", "too", "true", "undefined", "unknown", "unset", "use", "uuid", "valid", "varchar", "via",
    "weak", "when", "with", "wrong", "yes", "your",
];

const PLACEHOLDERS: &[&str] = &[
    "changeit", "changeme", "dummy", "empty", "example", "fake", "fixme", "foo", "foobar", "hidden", "insert",
    "letmeknow", "masked", "placeholder", "redacted", "removed", "replaceme", "sample", "somesecret", "tbd",
    "todo", "xxx",
];

/// Common in variable names and placeholders; rare in a secret without a digit.
const SECRET_NOUNS: &[&str] =
    &["password", "passwd", "passwort", "secret", "token", "apikey", "api_key", "api-key", "credential"];

const REFERENCE_PREFIXES: &[&str] = &[
    "<", "$", "{", "%", "*", "[", "=", "&", "(", "...", "…", "xxx", "os.", "process.", "env.", "self.", "this.",
    "config.", "settings.", "var.", "vars.", "local.", "data.", "args.", "options.", "params.", "props.", "req.",
    "request.", "ctx.", "std::", "!", "@{", "#{", "\\", "vault:", "ssm:", "arn:", "op://", "file:", "env:",
];

/// Whether a value is a variable, type, call, word of prose or placeholder.
pub(super) fn is_non_secret(value: &str) -> bool {
    let trimmed = value.trim_end_matches(['.', '!', '?', ':', ',', ';']);
    let lower = trimmed.to_lowercase();
    if lower.is_empty() || PROSE_WORDS.binary_search(&lower.as_str()).is_ok() || is_repeated_char(trimmed) {
        return true;
    }
    let is_format = value.contains("%s") || value.contains("%d") || value.contains("{}");
    if is_format
        || REFERENCE_PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) && !is_symbol_password(trimmed)
    {
        return true;
    }
    let plain: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let is_placeholder = PLACEHOLDERS.iter().any(|word| plain == *word)
        || plain.starts_with("your")
        || plain.starts_with("insert")
        || plain.ends_with("here")
        || plain.starts_with("example")
        || (plain.contains("xxxx") && entropy(&plain) < 2.8);
    let has_digit = lower.bytes().any(|byte| byte.is_ascii_digit());
    let is_name = !has_digit && !has_symbol(trimmed) && SECRET_NOUNS.iter().any(|name| lower.contains(name));
    is_placeholder || is_name || value.contains("...") || value.contains('…') || is_call(trimmed)
}

/// Whether a value continues prose: `password: rotated monthly`.
pub(super) fn is_participle(value: &str) -> bool {
    let lower = value.trim_end_matches(['.', '!', '?', ':', ',', ';']).to_lowercase();
    let is_word = lower.len() > 4 && lower.chars().all(char::is_alphabetic);
    is_word && (lower.ends_with("ed") || lower.ends_with("ing"))
}

/// A symbol, then what only a secret has.
fn is_symbol_password(value: &str) -> bool {
    let rest = value.trim_start_matches(['*', '%', '!', '&', '$', '=']);
    value.starts_with(['*', '%', '!', '&', '=']) && rest.len() >= 6 && is_secret_like(rest) && !rest.ends_with('%')
}

/// `next_token()`, `Vec<u8>`, `tokens[0]`, `a::b`.
fn is_call(value: &str) -> bool {
    let Some(at) = value.find(['(', '<', '[']).or_else(|| value.find("::")) else { return false };
    let name = &value[..at];
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.&:!?".contains(&byte))
        && name.bytes().any(|byte| byte.is_ascii_alphabetic())
        && (value.contains(['(', '[']) || !name.bytes().any(|byte| byte.is_ascii_digit()))
}

pub(super) fn is_repeated_char(value: &str) -> bool {
    let mut chars = value.trim_matches(['"', '\'']).chars();
    let first = chars.next();
    chars.all(|c| Some(c) == first) && !value.bytes().all(|byte| byte.is_ascii_alphanumeric() && value.len() < 3)
}

/// Whether it has only the characters of a name in code, and no digit.
pub(super) fn is_identifier(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'.')
}

/// Letters with digits or symbols, or mixed case inside a word: not prose.
pub(super) fn is_secret_like(value: &str) -> bool {
    let inner = value.trim_end_matches(['.', '!', '?', ':', ',']);
    let has = |is: fn(char) -> bool| inner.chars().any(is);
    let cases = inner.chars().skip(1).any(char::is_uppercase) && has(char::is_lowercase);
    inner.chars().count() >= 6
        && has(char::is_alphabetic)
        && (has(|c| c.is_ascii_digit()) || has_symbol(inner) || cases)
}

fn has_symbol(value: &str) -> bool {
    value.chars().any(|c| "!@#$%^*+~?".contains(c))
}

/// Letters and digits, or mixed case from 24 bytes on.
pub(super) fn is_mixed(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|b| is(&b));
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
        || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && value.len() >= 24)
}

/// Long, high-entropy letters and digits; not a UUID or timestamp.
pub(super) fn is_random(value: &str) -> bool {
    let body = value.trim_end_matches('=');
    if body.len() < 16 || is_uuid(body) || !is_mixed(body) || is_code_name(body) || is_timestamp(body) {
        return false;
    }
    let has = |is: fn(&u8) -> bool| body.bytes().any(|b| is(&b));
    let is_hex = body.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_regular = entropy(body) < if is_hex { 2.5 } else { 3.2 };
    !is_regular
        && (is_hex || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) || digit_switches(body) >= 4)
}

/// Whether it reads as a name in code: pronounceable words joined by punctuation or capitals.
pub(super) fn is_code_name(value: &str) -> bool {
    let (mut readable, mut total, mut start) = (0, 0, 0);
    let bytes = value.as_bytes();
    let mut word = |range: std::ops::Range<usize>| {
        let word = &bytes[range];
        let letters = word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let numbered = word[letters..].iter().all(u8::is_ascii_digit) && word.len() - letters <= 4;
        let is_vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
        let has_vowel = word[..letters].iter().any(is_vowel);
        let is_pronounceable = has_vowel && word[..letters].split(is_vowel).all(|rest| rest.len() <= 4);
        let is_abbreviation = (2..=6).contains(&letters) && word[..letters].iter().all(u8::is_ascii_uppercase);
        total += word.len();
        if numbered && letters >= 3 && is_pronounceable || numbered && is_abbreviation {
            readable += word.len();
        }
    };
    for at in 0..bytes.len() {
        let byte = bytes[at];
        let is_sign = b"_-.:/".contains(&byte);
        let is_hump = at > start && byte.is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase();
        if is_sign || is_hump {
            word(start..at);
            start = if is_sign { at + 1 } else { at };
        }
    }
    word(start..bytes.len());
    // Capitals alone are not enough.
    total > 0
        && readable * 100 >= total * 55
        && bytes.iter().any(|byte| byte.is_ascii_lowercase() || b"_.".contains(byte))
}

fn is_timestamp(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit() || b"-:TZ.+".contains(&byte))
}

/// How often letters and digits alternate.
fn digit_switches(value: &str) -> usize {
    let is_digit: Vec<bool> = value.bytes().take(64).map(|byte| byte.is_ascii_digit()).collect();
    is_digit.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

pub(super) fn is_uuid(value: &str) -> bool {
    let mut groups = value.split('-').map(str::len);
    let is_shaped = [8, 4, 4, 4, 12].iter().all(|len| groups.next() == Some(*len)) && groups.next().is_none();
    is_shaped && value.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Shannon entropy in bits per byte.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let all = text.len() as f64;
    counts.iter().filter(|n| **n > 0).map(|n| f64::from(*n) / all).map(|share| -share * share.log2()).sum()
}

pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let edge = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let bytes = text.as_bytes();
        edge(at.checked_sub(1).and_then(|at| bytes.get(at))) && edge(bytes.get(at + word.len()))
    })
}

/// Whether the text before a value says that it is a hash, which is no secret.
pub(super) fn is_hash_context(before: &str) -> bool {
    let lower = before.to_lowercase();
    let words =
        ["commit", "sha", "hash", "digest", "revision", "checksum", "uuid", "fingerprint", "etag", "integrity"];
    words.iter().any(|word| lower.contains(word))
}

pub(super) fn is_prose(value: &str) -> bool {
    let words: Vec<String> = value.split_whitespace().map(str::to_lowercase).collect();
    let is_prose_word = |word: &String| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        PROSE_WORDS.binary_search(&word).is_ok()
            || SECRET_NOUNS.contains(&word)
            || ["enter", "please", "key", "and", "or", "of", "here", "confirm", "forgot", "reset", "at"]
                .contains(&word)
    };
    words.len() > 1 && words.iter().any(is_prose_word)
}
