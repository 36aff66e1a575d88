//! Secrets are masked before anything is stored: keys and tokens by their form, passwords by what stands before them.
//!
//! What only looks like a secret stays: hashes of commits, ids, the word "password" in prose, types in code, counts
//! of tokens. Masking a masked text changes nothing.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What stands in the place of a secret.
const MASK: &str = "[masked]";

/// A text without its secrets, and how many there were.
pub fn mask(text: &str) -> (String, u32) {
    let (mut out, mut all) = once(text);
    // What was masked may have stood between another secret and the word that tells it.
    for _ in 0..AGAIN_MAX {
        let (text, masked) = once(&out);
        if masked == 0 {
            break;
        }
        (out, all) = (text, all + masked);
    }
    (out, all)
}

/// Times that a text is looked through anew, at most.
const AGAIN_MAX: usize = 64;

fn once(text: &str) -> (String, u32) {
    let lower = lower(text);
    let may_hold = RULES.iter().filter(|rule| rule.may_be_in(&lower));
    let mut found: Vec<Range<usize>> = may_hold.flat_map(|rule| rule.secrets(text)).collect();
    found.sort_by_key(|range| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let (mut masked, mut end) = (0, 0);
    for range in found {
        if range.start < end {
            end = end.max(range.end);
            continue;
        }
        out.push_str(&text[end..range.start]);
        out.push_str(MASK);
        end = range.end;
        masked += 1;
    }
    out.push_str(&text[end..]);
    (out, masked)
}

/// In small letters, as the forms see them: a long s and the sign of the kelvin are letters, too.
fn lower(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if lower.contains(['\u{17f}', '\u{212a}']) {
        lower.replace('\u{17f}', "s").replace('\u{212a}', "k")
    } else {
        lower
    }
}

/// Whether a text holds a key or token by its form alone, whatever stands before it.
pub(super) fn holds_key(text: &str) -> bool {
    let lower = lower(text);
    RULES.iter().take(2).any(|rule| rule.may_be_in(&lower) && rule.secrets(text).next().is_some())
}

/// A form, and what tells a secret in it from what only looks like one. The secret is the first of the groups that
/// took part, or all of it.
struct Rule {
    /// In small letters, what every text has one of that the form is in: most texts need not be looked at more closely.
    signs: &'static [&'static str],
    form: LazyLock<Regex>,
    is_secret: fn(&Seen<'_>) -> bool,
}

/// What may be a secret, with the words that led to it and what comes after it.
struct Seen<'a> {
    before: &'a str,
    value: &'a str,
    after: &'a str,
}

impl Rule {
    const fn new(signs: &'static [&'static str], form: fn() -> Regex, is_secret: fn(&Seen<'_>) -> bool) -> Self {
        Self { signs, form: LazyLock::new(form), is_secret }
    }

    fn may_be_in(&self, lower: &str) -> bool {
        self.signs.iter().any(|sign| lower.contains(sign))
    }

    fn secrets<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.form.captures_iter(text).filter_map(move |found| {
            let whole = found.get(0)?;
            let range = found.iter().skip(1).flatten().next().unwrap_or(whole).range();
            let (before, value) = (&text[whole.start()..range.start], &text[range.clone()]);
            let seen = Seen { before, value, after: &text[range.end..] };
            (!MASK.contains(value) && (self.is_secret)(&seen)).then_some(range)
        })
    }
}

fn form(text: &str) -> Regex {
    Regex::new(text).expect("a form of ours is valid")
}

static RULES: [Rule; 8] = [
    Rule::new(&["-----begin"], || form(PRIVATE_KEY), |_| true),
    Rule::new(KEY_SIGNS, || form(KEY), |seen| is_mixed(seen.value)),
    Rule::new(&["bearer", "basic"], || form(BEARER), |seen| is_mixed(seen.value)),
    Rule::new(&["://"], || form(ADDRESS), |seen| !is_stand_in(seen.value)),
    Rule::new(SECRET_SIGNS, || form(ASSIGNED), is_assigned),
    Rule::new(&["--"], || form(FLAG), |seen| looks_secret(seen.value) && !is_stand_in(seen.value)),
    Rule::new(SECRET_SIGNS, || form(TOLD), is_told),
    Rule::new(SECRET_SIGNS, || form(AFTER_WORD), |seen| is_random(seen.value) && !is_hash_talk(seen.before)),
];

const KEY_SIGNS: &[&str] = &[
    "sk-",
    "k_live_",
    "k_test_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "akia",
    "asia",
    "xox",
    "aiza",
    "hf_",
    "npm_",
    "sg.",
    "ya29.",
    "age-secret-key-",
    "eyj",
];
const SECRET_SIGNS: &[&str] = &["passw", "passphrase", "pwd", "secret", "token", "key", "credential"];
const PRIVATE_KEY: &str =
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\z)";
const KEY: &str = concat!(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}",
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}\b|xox[a-z]-[A-Za-z0-9-]{10,}",
    r"|AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"|ya29\.[A-Za-z0-9_-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)",
);
const BEARER: &str = r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{16,})";
const ADDRESS: &str = r"://[^\s/:@]*:([^\s/@]+)@";
const ASSIGNED: &str = concat!(
    r#"(?i)\b[a-z0-9_.-]*?(?:password|passwd|passphrase|pwd|secret|token|(?:api|access|secret|private|auth)[ _-]?key"#,
    r#"|credentials?)["'`]?\s*(?::=|=>|=|:)\s*(?:"([^"\n]+)"|'([^'\n]+)'|`([^`\n]+)`|([^\s,;&)}\]"'`]+))"#,
);
const FLAG: &str = r"(?i)--[a-z-]*(?:password|passwd|secret|token|api-key)\s+([^\s,;)]+)";
const TOLD: &str = concat!(
    r#"(?i)\b(?:password|passwd|passphrase|secret|token|(?:api|access|secret|private|auth)[ _-]key)\s+"#,
    r#"(?:is|was|ist|lautet)\s*:?\s+(?:"([^"\n]+)"|'([^'\n]+)'|`([^`\n]+)`|([^\s,;)"'`]+))"#,
);
const AFTER_WORD: &str = concat!(
    r"(?i)\b(?:(?:api|access|secret|private|auth|signing|encryption|license)[ _-]?keys?|tokens?|secrets?|passwords?",
    r"|credentials?)\b[^\n]{0,24}?\b([A-Za-z0-9+/_-]{20,}={0,2})",
);

/// Words that follow `password:` or `token is` in prose and code, sorted.
const PROSE: &[&str] = &[
    "a",
    "an",
    "any",
    "argon2",
    "argon2id",
    "bcrypt",
    "bool",
    "bytes",
    "char",
    "correct",
    "empty",
    "false",
    "for",
    "from",
    "hash",
    "hashes",
    "in",
    "incorrect",
    "int",
    "invalid",
    "it",
    "long",
    "missing",
    "must",
    "never",
    "new",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "number",
    "ok",
    "old",
    "on",
    "only",
    "optional",
    "pbkdf2",
    "safe",
    "same",
    "scrypt",
    "secret",
    "see",
    "sha256",
    "sha512",
    "short",
    "should",
    "still",
    "str",
    "string",
    "strong",
    "stale",
    "text",
    "that",
    "the",
    "to",
    "too",
    "true",
    "unknown",
    "use",
    "valid",
    "varchar",
    "via",
    "weak",
    "when",
    "wrong",
    "your",
];

/// Whether a value is a variable, a type, a call or a word of prose and not a secret.
fn is_stand_in(value: &str) -> bool {
    let lower = value.trim_end_matches(['.', '!', '?', ':']).to_lowercase();
    let begins =
        ["<", "$", "{", "%", "*", "[", "=", "&", "...", "xxx", "os.", "process.", "env.", "self.", "config."];
    PROSE.contains(&lower.as_str())
        || lower.is_empty()
        || begins.iter().any(|sign| lower.starts_with(sign))
        || value.contains(['(', '<'])
        || (lower.len() > 4
            && lower.chars().all(char::is_alphabetic)
            && (lower.ends_with("ed") || lower.ends_with("ing")))
}

/// Letters with digits or signs, or letters of both cases, as no word of prose has them.
fn looks_secret(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let inner = value.trim_end_matches(['.', '!', '?', ':', ',']);
    let sign = inner.chars().any(|c| "!@#$%^*+~".contains(c));
    let cases = inner.chars().skip(1).any(char::is_uppercase) && has(char::is_lowercase);
    inner.chars().count() >= 6 && has(char::is_alphabetic) && (has(|c| c.is_ascii_digit()) || sign || cases)
}

fn is_mixed(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|b| is(&b));
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
        || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && value.len() >= 24)
}

/// What is assigned with `=` is a secret unless it stands for one; after `:` it may be prose.
fn is_assigned(seen: &Seen<'_>) -> bool {
    let (before, value) = (seen.before.to_lowercase(), seen.value);
    let is_password = before.contains("pass") || before.contains("pwd");
    let is_count = value.len() <= 6 && value.chars().all(|c| c.is_ascii_digit()) && !is_password;
    let is_folder = before.contains("pwd") && value.starts_with(['/', '~', '.']);
    if is_stand_in(value) || is_count || is_folder {
        return false;
    }
    let sign = before.trim_end_matches(QUOTES).trim_end();
    let is_code = sign.ends_with(['=', '>']) || before.ends_with(QUOTES);
    is_code || looks_secret(value) || (ends(seen) && (is_password || value.chars().count() >= 6))
}

/// `the password is …`: what is quoted or looks like one; a plain word only where it ends the sentence.
fn is_told(seen: &Seen<'_>) -> bool {
    let is_password = seen.before.to_lowercase().contains("pass");
    let quoted = seen.before.ends_with(QUOTES);
    !is_stand_in(seen.value) && (quoted || looks_secret(seen.value) || (is_password && ends(seen)))
}

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// Whether a value is the last word of its sentence, and a word at all.
fn ends(seen: &Seen<'_>) -> bool {
    let last = seen.value.ends_with(['.', '!', '?'])
        || seen.after.chars().next().is_none_or(|c| c == '\n' || ".,;!?)&".contains(c));
    last && seen.value.chars().any(char::is_alphanumeric)
}

/// Long, of letters and digits in disorder, and no id of the usual form.
fn is_random(value: &str) -> bool {
    let body = value.trim_end_matches('=');
    let has = |is: fn(&u8) -> bool| body.bytes().any(|b| is(&b));
    let groups: Vec<usize> = body.split('-').map(str::len).collect();
    if groups == [8, 4, 4, 4, 12] || !has(u8::is_ascii_digit) || !has(u8::is_ascii_alphabetic) {
        return false;
    }
    let is_hex = body.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && disorder(body) > 3.5)
}

/// Bits that each character tells.
fn disorder(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::<u8, u32>::new();
    text.bytes().for_each(|b| *counts.entry(b).or_default() += 1);
    let all = text.len() as f64;
    counts.values().map(|n| f64::from(*n) / all).map(|share| -share * share.log2()).sum()
}

/// Hashes of commits and files are no secrets.
fn is_hash_talk(before: &str) -> bool {
    let lower = before.to_lowercase();
    ["commit", "sha", "hash", "digest", "revision", "checksum", "uuid"].iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn hidden(text: &str, want: &str) {
        assert_eq!(mask(text), (want.to_owned(), 1), "{text}");
        assert_eq!(mask(want), (want.to_owned(), 0), "once is enough: {want}");
    }

    #[track_caller]
    fn stays(text: &str) {
        assert_eq!(mask(text), (text.to_owned(), 0));
    }

    /// Made up, and put together here so that no scanner takes them for real.
    fn key(prefix: &str, letters: usize) -> String {
        prefix.chars().chain("aB3dE6gH9jK2mN5pQ8sT1vW4".chars().cycle().take(letters)).collect()
    }

    #[test]
    fn keys_are_known_by_their_form() {
        for prefix in [
            "sk-",
            "sk-ant-api03-",
            "sk-proj-",
            "sk_live_",
            "rk_live_",
            "sk_test_",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "xoxb-",
            "glpat-",
            "hf_",
            "npm_",
            "ya29.",
        ] {
            hidden(&format!("Deploys with {} from CI.", key(prefix, 32)), "Deploys with [masked] from CI.");
        }
        hidden(&format!("maps: {}", key("AIza", 35)), "maps: [masked]");
        for prefix in ["AKIA", "ASIA"] {
            hidden(&format!("aws {prefix}{} here", "IOSFODNN7EXAMPL2"), "aws [masked] here");
        }
        hidden(&format!("mail {}", key("SG.", 22) + &key(".", 30)), "mail [masked]");
        hidden(&format!("age {}", key("AGE-SECRET-KEY-1", 30).to_uppercase()), "age [masked]");
        let token = format!("{}.{}.{}", key("eyJ", 20), key("eyJ", 30), key("s", 30));
        hidden(&format!("cookie {token}; path=/"), "cookie [masked]; path=/");
        hidden(&format!("Authorization: Bearer {}", key("", 40)), "Authorization: Bearer [masked]");
        hidden(
            &format!("curl -H 'authorization: basic {}=='", key("", 22)),
            "curl -H 'authorization: basic [masked]'",
        );
    }

    #[test]
    fn private_keys_go_whole() {
        let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc=\n-----END RSA PRIVATE KEY-----";
        hidden(&format!("key:\n{block}\nend"), "key:\n[masked]\nend");
        hidden(&format!("cut off {}", &block[..45]), "cut off [masked]");
        stays("-----BEGIN PUBLIC KEY-----\nMIIEow\n-----END PUBLIC KEY-----");
    }

    #[test]
    fn passwords_are_known_by_what_stands_before_them() {
        hidden("password: x", "password: [masked]");
        hidden("Password: hunter2", "Password: [masked]");
        hidden("passwd=swordfish and more", "passwd=[masked] and more");
        hidden("PWD=hunter2", "PWD=[masked]");
        hidden("pa\u{17f}\u{17f}word=hunter2", "pa\u{17f}\u{17f}word=[masked]");
        hidden("TO\u{212a}EN=hunter2", "TO\u{212a}EN=[masked]");
        hidden("secret=abc", "secret=[masked]");
        hidden("url?token=abcdef&page=2", "url?token=[masked]&page=2");
        hidden("DB_PASSWORD = 'p w d'", "DB_PASSWORD = '[masked]'");
        hidden("{\"api_key\": \"12ab\"}", "{\"api_key\": \"[masked]\"}");
        hidden("client_secret => \"s3\"", "client_secret => \"[masked]\"");
        hidden("mysql --password hunter2! -u root", "mysql --password [masked] -u root");
        hidden("The admin password is swordfish.", "The admin password is [masked]");
        hidden("the passphrase is \"correct horse\"", "the passphrase is \"[masked]\"");
        hidden("credentials: hunter2x9", "credentials: [masked]");
        hidden("my token is a1b2c3d4 for now", "my token is [masked] for now");
        hidden("postgres://app:s3cr3t@db.local/app", "postgres://app:[masked]@db.local/app");
        hidden("the api key 9e107d9d372bb6826bd81d3542a419d6 works", "the api key [masked] works");
    }

    #[test]
    fn what_only_looks_like_a_secret_stays() {
        for text in [
            "commit 9e107d9d372bb6826bd81d3542a419d6e4d909c2 fixed it",
            "token refresh was fixed in commit 9e107d9d372bb6826bd81d3542a419d6e4d909c2",
            "the request id is 550e8400-e29b-41d4-a716-446655440000",
            "token 550e8400-e29b-41d4-a716-446655440000 is an id",
            "the password policy asks for 12 characters",
            "The password is wrong.",
            "the password is stored hashed",
            "password: must have 12 characters",
            "password: rotated monthly",
            "a password: string, token: String",
            "max_tokens=4096, token: 128, tokens: 900",
            "token counts are exact: 30,000 tokens",
            "the secret of good soup is time",
            "secret: see the vault",
            "export TOKEN=$GITHUB_TOKEN",
            "password = os.environ['PW']",
            "token=next_token()",
            "PWD=/home/tim/src",
            "if password == other",
            "sk-learn-style-estimators-are-fine",
            "http://localhost:8080/a@b",
            "https://user:$PASS@host/",
            "the bearer of this long-winded-message-here",
            "basic understanding is enough",
            "primary key 9e107d9d372bb6826bd81d3542a419d6",
            "Tim prefers Celsius",
        ] {
            stays(text);
        }
    }

    #[test]
    fn several_are_counted_once_each() {
        let (text, masked) = mask("password=a1 token=b2 and https://u:p4@h/");
        assert_eq!((text.as_str(), masked), ("password=[masked] token=[masked] and https://u:[masked]@h/", 3));
        let twice = format!("token={}", key("ghp_", 36));
        hidden(&twice, "token=[masked]");
    }

    proptest::proptest! {
        #[test]
        fn masking_again_changes_nothing(
            text in "(password|token|secret|api key|bearer|is|=|:|://u:|@|\"| |\n|[a-zA-Z0-9]{1,24}|\\PC){0,24}"
        ) {
            let once = mask(&text).0;
            proptest::prop_assert_eq!(mask(&once), (once.clone(), 0));
        }
    }
}
