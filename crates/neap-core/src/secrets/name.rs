//! Names: which of them are given to secrets.

/// What a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Whatever is given to it is secret, a plain word as well.
    Password,
    /// A secret, a token, a key that opens something.
    Strong,
    /// Only what is random is secret.
    Weak,
}

/// Passwords.
const PASSWORDS: &[&str] =
    &["password", "passwd", "passphrase", "passwort", "kennwort", "passcode", "pwd", "psk", "passw"];
/// What else is always secret.
const SECRETS: &[&str] = &["secret", "token", "credential", "credentials", "creds", "apikey", "secrets"];
/// Words before `key` that make it one that opens something.
const OPENS: &[&str] = &[
    "access",
    "account",
    "admin",
    "api",
    "app",
    "application",
    "auth",
    "client",
    "crypto",
    "decryption",
    "deploy",
    "encrypt",
    "encryption",
    "hmac",
    "jwt",
    "licence",
    "license",
    "master",
    "openai",
    "private",
    "root",
    "secret",
    "server",
    "service",
    "session",
    "shared",
    "sign",
    "signing",
    "ssh",
    "ssl",
    "storage",
    "subscription",
    "tls",
    "webhook",
    "write",
];
/// Words before `key` that make it one that finds something, or is for everybody.
const FINDS: &[&str] = &[
    "any",
    "arrow",
    "bucket",
    "cache",
    "composite",
    "config",
    "dedupe",
    "foreign",
    "group",
    "hash",
    "hot",
    "i18n",
    "idempotency",
    "idx",
    "index",
    "json",
    "lookup",
    "map",
    "meta",
    "natural",
    "object",
    "partition",
    "primary",
    "pub",
    "public",
    "query",
    "registry",
    "routing",
    "row",
    "schema",
    "sequence",
    "shortcut",
    "sort",
    "translation",
    "unique",
];
/// Words before `token` that make it a unit of text, a place in a list or a colour.
const COUNTS: &[&str] = &[
    "bos",
    "budget",
    "cached",
    "cancel",
    "cancellation",
    "color",
    "completion",
    "continuation",
    "count",
    "css",
    "csrf",
    "design",
    "eos",
    "estimated",
    "input",
    "lex",
    "lexer",
    "max",
    "min",
    "next",
    "num",
    "output",
    "pad",
    "page",
    "per",
    "prompt",
    "public",
    "reasoning",
    "sep",
    "spacing",
    "special",
    "stop",
    "syntax",
    "theme",
    "total",
    "unk",
    "used",
    "xsrf",
];
/// Words after it that make the value something about a secret. Sorted.
const ABOUT: &[&str] = &[
    "age",
    "algo",
    "algorithm",
    "alias",
    "arn",
    "at",
    "attempts",
    "attribute",
    "budget",
    "builder",
    "button",
    "changed",
    "checker",
    "class",
    "column",
    "count",
    "counts",
    "date",
    "dir",
    "display",
    "enabled",
    "end",
    "endpoint",
    "env",
    "error",
    "errors",
    "exists",
    "expiration",
    "expired",
    "expires",
    "expiry",
    "factory",
    "field",
    "fields",
    "file",
    "files",
    "form",
    "format",
    "func",
    "generator",
    "handler",
    "hash",
    "hashed",
    "hashes",
    "header",
    "headers",
    "help",
    "helper",
    "hint",
    "icon",
    "id",
    "ids",
    "idx",
    "index",
    "input",
    "invalid",
    "kind",
    "label",
    "len",
    "length",
    "limit",
    "limits",
    "list",
    "location",
    "manager",
    "max",
    "message",
    "min",
    "mode",
    "model",
    "msg",
    "name",
    "names",
    "needed",
    "option",
    "options",
    "page",
    "param",
    "params",
    "path",
    "paths",
    "pattern",
    "placeholder",
    "policy",
    "pos",
    "position",
    "prefix",
    "prompt",
    "provider",
    "rate",
    "ref",
    "refs",
    "regex",
    "region",
    "required",
    "reset",
    "retries",
    "rotation",
    "schema",
    "screen",
    "separator",
    "service",
    "set",
    "setting",
    "settings",
    "size",
    "source",
    "start",
    "state",
    "status",
    "store",
    "strategy",
    "strength",
    "suffix",
    "table",
    "test",
    "tests",
    "time",
    "timestamp",
    "title",
    "ttl",
    "type",
    "types",
    "updated",
    "uri",
    "url",
    "urls",
    "usage",
    "util",
    "valid",
    "validator",
    "var",
    "variable",
    "version",
    "view",
];
/// Words before it that make it a question.
const ASKS: &[&str] = &["has", "hide", "is", "no", "require", "requires", "show", "forgot"];
/// Lower-case words that are two.
const JOINED: &[(&str, Class)] = &[
    ("dbpass", Class::Password),
    ("userpass", Class::Password),
    ("rootpass", Class::Password),
    ("adminpass", Class::Password),
    ("smtppass", Class::Password),
    ("mailpass", Class::Password),
    ("accesskey", Class::Strong),
    ("accountkey", Class::Strong),
    ("authkey", Class::Strong),
    ("encryptionkey", Class::Strong),
    ("licensekey", Class::Strong),
    ("masterkey", Class::Strong),
    ("privatekey", Class::Strong),
    ("secretkey", Class::Strong),
    ("signingkey", Class::Strong),
    ("servicekey", Class::Strong),
];
/// Longest name that is looked at, in words.
const WORDS_MAX: usize = 16;

/// What a name says about its value, with what to call that; none of names that are given to other things. `before` is the
/// word in front of it, where a space parts them.
pub(super) fn class(name: &str, before: Option<&str>) -> Option<(Class, &'static str)> {
    let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or(name);
    let mut words = words(last);
    // `api key`; what somebody passes is no password.
    if let Some(before) = before.filter(|_| words.len() == 1 && words[0] != "pass") {
        words.insert(0, before.to_ascii_lowercase());
    }
    let (at, core) = words.iter().enumerate().rev().find_map(|(at, word)| Some((at, core(word)?)))?;
    let (earlier, later) = (&words[..at], &words[at + 1..]);
    if later.iter().any(|word| ABOUT.binary_search(&word.as_str()).is_ok()) {
        return None;
    }
    let has = |list: &[&str]| earlier.iter().any(|word| list.contains(&word.as_str()));
    if earlier.first().is_some_and(|first| ASKS.contains(&first.as_str())) || has(&["allow"]) {
        return None;
    }
    let is_shouted = last.bytes().any(|b| b.is_ascii_uppercase()) && !last.bytes().any(|b| b.is_ascii_lowercase());
    match core {
        Core::Password => Some((Class::Password, "password")),
        Core::Pass if later.iter().any(|word| !word.bytes().all(|byte| byte.is_ascii_digit())) => None,
        Core::Pass if !earlier.is_empty() || is_shouted => Some((Class::Password, "password")),
        Core::Pass => Some((Class::Weak, "password")),
        Core::Token if has(COUNTS) || words[at] == "tokens" => None,
        Core::Token => Some((Class::Strong, "token")),
        Core::Secret => Some((Class::Strong, "secret")),
        Core::Key if has(FINDS) => None,
        Core::Key if has(OPENS) => Some((Class::Strong, "key")),
        Core::Key => Some((Class::Weak, "key")),
        Core::Auth => Some((Class::Weak, "credential")),
        Core::Joined(class) => Some((class, if class == Class::Password { "password" } else { "key" })),
    }
}

enum Core {
    Password,
    Pass,
    Token,
    Secret,
    Key,
    Auth,
    Joined(Class),
}

fn core(word: &str) -> Option<Core> {
    let ends = |list: &[&str]| list.iter().any(|end| word.ends_with(end));
    Some(match word {
        "pass" => Core::Pass,
        "key" => Core::Key,
        "auth" | "pat" => Core::Auth,
        "token" | "tokens" => Core::Token,
        word if JOINED.iter().any(|(joined, _)| *joined == word) => {
            let class = JOINED.iter().find(|(joined, _)| *joined == word).map_or(Class::Weak, |(_, class)| *class);
            Core::Joined(class)
        }
        _ if ends(PASSWORDS) => Core::Password,
        _ if ends(SECRETS) => {
            if word.ends_with("token") {
                Core::Token
            } else {
                Core::Secret
            }
        }
        _ => return None,
    })
}

/// The words of a name in small letters: parted by signs, or where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
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
        let class = |name: &str| class(name, None).map(|(class, _)| class);
        for name in ["DB_PASS", "PGPASSWORD", "dbPassword", "spring.datasource.password", "wifi_psk", "PASS"] {
            assert_eq!(class(name), Some(Class::Password), "{name}");
        }
        for name in
            ["SECRET_KEY_BASE", "apiKey", "AWS_SECRET_ACCESS_KEY", "authtoken", "client-key-data", "AccountKey"]
        {
            assert_eq!(class(name), Some(Class::Strong), "{name}");
        }
        for name in ["KEY", "_auth", "pass", "AZURE_PAT"] {
            assert_eq!(class(name), Some(Class::Weak), "{name}");
        }
        for name in [
            "max_tokens",
            "password_length",
            "token_type",
            "primary_key",
            "secretName",
            "has_password",
            "next_token",
        ] {
            assert_eq!(class(name), None, "{name}");
        }
    }

    #[test]
    fn lists_that_are_searched_are_sorted() {
        assert!(ABOUT.is_sorted());
    }
}
