//! What was masked, and what was not, before rules were data stays so.

use super::super::mask;

#[track_caller]
fn hidden(text: &str, want: &str) {
    let (masked, places) = mask(text);
    assert_eq!((super::without_labels(&masked), places), (want.to_owned(), 1), "{text}");
    assert_eq!(mask(&masked), (masked.clone(), 0), "once is enough: {masked}");
    assert_eq!(mask(want), (want.to_owned(), 0), "older masks stay: {want}");
}

#[track_caller]
fn stays(text: &str) {
    assert_eq!(mask(text), (text.to_owned(), 0));
}

/// Fake keys, assembled here so that no scanner reports them.
fn key(prefix: &str, letters: usize) -> String {
    prefix.chars().chain("aB3dE6gH9jK2mN5pQ8sT1vW4".chars().cycle().take(letters)).collect()
}

#[test]
fn keys_are_known_by_their_form() {
    for prefix in [
        "sk-", "sk-ant-api03-", "sk-proj-", "sk_live_", "rk_live_", "sk_test_", "ghp_", "gho_", "ghu_", "ghs_",
        "ghr_", "github_pat_", "xoxb-", "glpat-", "hf_", "npm_", "ya29.",
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
    assert_eq!(
        (super::without_labels(&text).as_str(), masked),
        ("password=[masked] token=[masked] and https://u:[masked]@h/", 3)
    );
    let twice = format!("token={}", key("ghp_", 36));
    hidden(&twice, "token=[masked]");
}
