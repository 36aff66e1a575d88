//! Classifies names by whether secrets are assigned to them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameClass {
    /// Any value is secret, even a plain word.
    Password,
    /// A secret, a token, or a key that grants access.
    Strong,
    /// Only a random value is secret.
    Weak,
}

const PASSWORD_WORDS: &[&str] =
    &["password", "passwd", "passphrase", "passwort", "kennwort", "passcode", "pwd", "psk", "passw"];
const SECRET_WORDS: &[&str] = &["secret", "token", "credential", "credentials", "creds", "apikey", "secrets"];
/// Before `key`: a key that grants access.
const SECRET_KEY_WORDS: &[&str] = &[
    "access", "account", "admin", "api", "app", "application", "auth", "client", "crypto", "decryption", "deploy",
    "encrypt", "encryption", "hmac", "jwt", "licence", "license", "master", "openai", "private", "root", "secret",
    "server", "service", "session", "shared", "sign", "signing", "ssh", "ssl", "storage", "subscription", "tls",
    "webhook", "write",
];
/// Before `key`: a lookup key or a public key.
const LOOKUP_KEY_WORDS: &[&str] = &[
    "any", "arrow", "bucket", "cache", "composite", "config", "dedupe", "foreign", "group", "hash", "hot", "i18n",
    "idempotency", "idx", "index", "json", "lookup", "map", "meta", "natural", "object", "partition", "primary",
    "pub", "public", "query", "registry", "routing", "row", "schema", "sequence", "shortcut", "sort",
    "translation", "unique",
];
/// Before `token`: a unit of text, a list cursor or a colour.
const PLAIN_TOKEN_WORDS: &[&str] = &[
    "bos", "budget", "cached", "cancel", "cancellation", "color", "completion", "continuation", "count", "css",
    "csrf", "design", "eos", "estimated", "input", "lex", "lexer", "max", "min", "next", "num", "output", "pad",
    "page", "per", "prompt", "public", "reasoning", "sep", "spacing", "special", "stop", "syntax", "theme",
    "total", "unk", "used", "xsrf",
];
/// After the name: the value describes a secret. Sorted for binary search.
const METADATA_WORDS: &[&str] = &[
    "age", "algo", "algorithm", "alias", "arn", "at", "attempts", "attribute", "budget", "builder", "button",
    "changed", "checker", "class", "column", "count", "counts", "date", "dir", "display", "enabled", "end",
    "endpoint", "env", "error", "errors", "exists", "expiration", "expired", "expires", "expiry", "factory",
    "field", "fields", "file", "files", "form", "format", "func", "generator", "handler", "hash", "hashed",
    "hashes", "header", "headers", "help", "helper", "hint", "icon", "id", "ids", "idx", "index", "input",
    "invalid", "kind", "label", "len", "length", "limit", "limits", "list", "location", "manager", "max",
    "message", "min", "mode", "model", "msg", "name", "names", "needed", "option", "options", "page", "param",
    "params", "path", "paths", "pattern", "placeholder", "policy", "pos", "position", "prefix", "prompt",
    "provider", "rate", "ref", "refs", "regex", "region", "required", "reset", "retries", "rotation", "schema",
    "screen", "separator", "service", "set", "setting", "settings", "size", "source", "start", "state", "status",
    "store", "strategy", "strength", "suffix", "table", "test", "tests", "time", "timestamp", "title", "ttl",
    "type", "types", "updated", "uri", "url", "urls", "usage", "util", "valid", "validator", "var", "variable",
    "version", "view",
];
/// First word: the name is a question.
const QUESTION_WORDS: &[&str] = &["has", "hide", "is", "no", "require", "requires", "show", "forgot"];
const COMPOUND_NAMES: &[(&str, NameClass)] = &[
    ("dbpass", NameClass::Password),
    ("userpass", NameClass::Password),
    ("rootpass", NameClass::Password),
    ("adminpass", NameClass::Password),
    ("smtppass", NameClass::Password),
    ("mailpass", NameClass::Password),
    ("accesskey", NameClass::Strong),
    ("accountkey", NameClass::Strong),
    ("authkey", NameClass::Strong),
    ("encryptionkey", NameClass::Strong),
    ("licensekey", NameClass::Strong),
    ("masterkey", NameClass::Strong),
    ("privatekey", NameClass::Strong),
    ("secretkey", NameClass::Strong),
    ("signingkey", NameClass::Strong),
    ("servicekey", NameClass::Strong),
];
const WORDS_MAX: usize = 16;

/// Classifies a name, with the label for its value; `None` if it names no secret. `before` is the word in front of
/// it, one space away.
pub(super) fn classify_name(name: &str, before: Option<&str>) -> Option<(NameClass, &'static str)> {
    let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or(name);
    let mut words = split_words(last);
    // `api key`; but in `users pass`, "pass" is a verb.
    if let Some(before) = before.filter(|_| words.len() == 1 && words[0] != "pass") {
        words.insert(0, before.to_ascii_lowercase());
    }
    let (at, core) = words.iter().enumerate().rev().find_map(|(at, word)| Some((at, name_core(word)?)))?;
    let (earlier, later) = (&words[..at], &words[at + 1..]);
    if later.iter().any(|word| METADATA_WORDS.binary_search(&word.as_str()).is_ok()) {
        return None;
    }
    let has = |list: &[&str]| earlier.iter().any(|word| list.contains(&word.as_str()));
    if earlier.first().is_some_and(|first| QUESTION_WORDS.contains(&first.as_str())) || has(&["allow"]) {
        return None;
    }
    let is_uppercase =
        last.bytes().any(|b| b.is_ascii_uppercase()) && !last.bytes().any(|b| b.is_ascii_lowercase());
    match core {
        NameCore::Password => Some((NameClass::Password, "password")),
        NameCore::Pass if later.iter().any(|word| !word.bytes().all(|byte| byte.is_ascii_digit())) => None,
        NameCore::Pass if !earlier.is_empty() || is_uppercase => Some((NameClass::Password, "password")),
        NameCore::Pass => Some((NameClass::Weak, "password")),
        NameCore::Token if has(PLAIN_TOKEN_WORDS) || words[at] == "tokens" => None,
        NameCore::Token => Some((NameClass::Strong, "token")),
        NameCore::Secret => Some((NameClass::Strong, "secret")),
        NameCore::Key if has(LOOKUP_KEY_WORDS) => None,
        NameCore::Key if has(SECRET_KEY_WORDS) => Some((NameClass::Strong, "key")),
        NameCore::Key => Some((NameClass::Weak, "key")),
        NameCore::Auth => Some((NameClass::Weak, "credential")),
        NameCore::Compound(class) => Some((class, if class == NameClass::Password { "password" } else { "key" })),
    }
}

enum NameCore {
    Password,
    Pass,
    Token,
    Secret,
    Key,
    Auth,
    Compound(NameClass),
}

fn name_core(word: &str) -> Option<NameCore> {
    let ends = |list: &[&str]| list.iter().any(|end| word.ends_with(end));
    Some(match word {
        "pass" => NameCore::Pass,
        "key" => NameCore::Key,
        "auth" | "pat" => NameCore::Auth,
        "token" | "tokens" => NameCore::Token,
        word if COMPOUND_NAMES.iter().any(|(joined, _)| *joined == word) => {
            let class = COMPOUND_NAMES
                .iter()
                .find(|(joined, _)| *joined == word)
                .map_or(NameClass::Weak, |(_, class)| *class);
            NameCore::Compound(class)
        }
        _ if ends(PASSWORD_WORDS) => NameCore::Password,
        _ if ends(SECRET_WORDS) => {
            if word.ends_with("token") {
                NameCore::Token
            } else {
                NameCore::Secret
            }
        }
        _ => return None,
    })
}

/// Lower-case words of a name, split at punctuation and where a capital follows a small letter.
fn split_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_small = false;
    let mut is_inside = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            is_inside = false;
            was_small = false;
            continue;
        }
        if !is_inside || (was_small && c.is_uppercase()) {
            if words.len() == WORDS_MAX {
                break;
            }
            words.push(String::new());
        }
        is_inside = true;
        was_small = c.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_given_to_them() {
        let class = |name: &str| classify_name(name, None).map(|(class, _)| class);
        for name in ["DB_PASS", "PGPASSWORD", "dbPassword", "spring.datasource.password", "wifi_psk", "PASS"] {
            assert_eq!(class(name), Some(NameClass::Password), "{name}");
        }
        for name in
            ["SECRET_KEY_BASE", "apiKey", "AWS_SECRET_ACCESS_KEY", "authtoken", "client-key-data", "AccountKey"]
        {
            assert_eq!(class(name), Some(NameClass::Strong), "{name}");
        }
        for name in ["KEY", "_auth", "pass", "AZURE_PAT"] {
            assert_eq!(class(name), Some(NameClass::Weak), "{name}");
        }
        for name in [
            "max_tokens", "password_length", "token_type", "primary_key", "secretName", "has_password",
            "next_token",
        ] {
            assert_eq!(class(name), None, "{name}");
        }
    }

    #[test]
    fn lists_that_are_searched_are_sorted() {
        assert!(METADATA_WORDS.is_sorted());
    }
}
