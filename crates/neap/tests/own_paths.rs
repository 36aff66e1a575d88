//! What is for Neap itself goes to no provider, however its path is written; and the token for it goes nowhere at all.

use crate::mock::{Mock, Reply, Request};
use crate::wire::{Answer, Proxy};
use serde_json::json;

const TOKEN: &str = "c0ffee12-mcp-token-77e1b24d58";

/// A seeded die.
struct Die(u64);

impl Die {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.roll(of.len())]
    }
}

/// Paths that are answered here.
const OWN: [&str; 6] =
    ["/mcp", "/.well-known/oauth-protected-resource/mcp", "/neap/recent", "/metrics", "/healthz", "/readyz"];
const BEFORE: [&str; 9] = ["", "/", "//", "/.", "/v1/..", "/%2e%2e", "/s/mine", "/x/%2E%2E", "/a/b/../.."];
const AFTER: [&str; 15] = [
    "", "/", "//", ";x", ";x=1/", "%2f", "%2F..%2f", ".", "%00", "%20", "/.", "%3bx", "%5c", "/v1/messages",
    "/Chat/Completions",
];

/// One of them, written in another way.
fn mutated(die: &mut Die) -> String {
    let own = die.one(&OWN);
    let mut path = String::new();
    for c in own.chars() {
        let c = if die.roll(4) == 0 { c.to_ascii_uppercase() } else { c };
        match die.roll(8) {
            0 => path.push_str(&format!("%{:02x}", c as u32)),
            1 if die.roll(3) == 0 => path.push_str(&format!("%25{:02X}", c as u32)),
            2 if c == '/' && !path.is_empty() => path.push_str("//"),
            3 if c == '/' && !path.is_empty() => path.push_str("/./"),
            _ => path.push(c),
        }
    }
    let (before, after) = (die.one(&BEFORE), die.one(&AFTER));
    let whole = format!("{before}{path}{after}");
    // What no client can send is no path.
    if whole.starts_with('/') { whole } else { format!("/{whole}") }
}

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.as_ref().chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            out.push(if at > group.len() {
                '='
            } else {
                char::from(SIGNS[(bits >> (18 - 6 * at) & 63) as usize])
            });
        }
    }
    out
}

/// Asks with the token somewhere.
fn ask_with_token(die: &mut Die, proxy: &Proxy, method: &str, path: &str) -> Answer {
    let encoded: String = TOKEN.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let query =
        |value: &str| if path.contains('?') { format!("{path}&k={value}") } else { format!("{path}?k={value}") };
    let (mut headers, mut target, mut body) = (Vec::new(), path.to_owned(), "{}".to_owned());
    match die.roll(9) {
        0 => headers.push(("authorization", format!("Bearer {TOKEN}"))),
        1 => headers
            .push(("authorization", format!("Basic {}", base64(format!("{}:{TOKEN}", "u".repeat(die.roll(4))))))),
        2 => headers.push(("x-api-key", TOKEN.to_owned())),
        3 => headers.push(("cookie", format!("a=1; token={TOKEN}; b=2"))),
        4 => headers.push(("x-anything", format!("before{TOKEN}after"))),
        5 => target = query(TOKEN),
        6 => target = query(&encoded),
        7 => headers.push(("x-anything", encoded)),
        _ => body = json!({"messages": [{"role": "user", "content": format!("my token is {TOKEN}")}]}).to_string(),
    }
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    proxy.ask(method, &target, &headers, body.as_bytes())
}

/// Whether a request that reached the provider has the token in it, looked at by itself.
fn has_token(request: &Request) -> bool {
    let decoded = |text: &str| {
        let mut out = Vec::new();
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let byte = text
                .get(at + 1..at + 3)
                .filter(|_| bytes[at] == b'%')
                .and_then(|hex| u8::from_str_radix(hex, 16).ok());
            out.push(byte.unwrap_or(bytes[at]));
            at += if byte.is_some() { 3 } else { 1 };
        }
        String::from_utf8_lossy(&out).into_owned()
    };
    let texts = request.headers.iter().map(|(_, value)| value).chain([&request.path, &request.body]);
    let forms: Vec<String> = (0..6).map(|before| base64(format!("{}:{TOKEN}", "u".repeat(before)))).collect();
    texts.into_iter().any(|text| {
        decoded(text).contains(TOKEN) || forms.iter().any(|form| text.contains(&form[12..form.len() - 4]))
    })
}

fn provider() -> Mock {
    Mock::start(|_, _| Reply::new(200, "application/json", "{\"from\":\"the provider\"}"))
}

/// Issue: `//mcp`, `/MCP`, `/mcp;x`, `/v1/../mcp`, `/mcp%2f`.
#[test]
fn nothing_like_ours_is_relayed() {
    let mock = provider();
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &[("NEAP_MCP_TOKEN", TOKEN)]);
    let bearer = format!("Bearer {TOKEN}");
    for path in
        ["//mcp", "/MCP", "/mcp;x", "/v1/../mcp", "/mcp%2f", "/mcp/", "/%6dcp", "/mcp.", "\\mcp", "/s/a/mcp"]
    {
        let answer = proxy.ask("POST", path, &[("authorization", &bearer)], b"{}");
        assert!(answer.status >= 400, "{path}: {}", answer.status);
        assert_eq!(mock.requests().len(), 0, "{path}");
    }
    let mut die = Die(3);
    for _ in 0..400 {
        let path = mutated(&mut die);
        let method = die.one(&["GET", "POST", "DELETE"]);
        match die.roll(3) {
            0 => ask_with_token(&mut die, &proxy, method, &path),
            _ => proxy.ask(method, &path, &[], b""),
        };
        let reached = mock.requests();
        assert!(reached.is_empty(), "{path} became {:?}", reached.last());
    }
    // What is not ours goes on.
    for path in ["/v1/models", "/v1/mcp", "/mcps", "/"] {
        assert_eq!(proxy.ask("GET", path, &[], b"").text(), "{\"from\":\"the provider\"}", "{path}");
    }
}

/// A header, a cookie, a parameter or a body with our token never leaves.
#[test]
fn the_token_goes_to_no_provider() {
    let mock = provider();
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &[("NEAP_MCP_TOKEN", TOKEN)]);
    let mut die = Die(4);
    let paths = [
        "/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/models", "/v1/files/x?y=1", "/any/thing",
        "/s/a/v1/messages",
    ];
    for nth in 0..200 {
        let path = die.one(&paths);
        let answer = ask_with_token(&mut die, &proxy, "POST", path);
        assert_eq!(answer.status, 403, "{nth} {path}: {}", answer.text());
        assert!(answer.text().contains("neap's own token") && !answer.text().contains(TOKEN), "{}", answer.text());
    }
    let packed = {
        use std::io::Write;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(format!("{{\"note\": \"{TOKEN}\"}}").as_bytes()).expect("memory");
        gzip.finish().expect("memory")
    };
    assert_eq!(proxy.ask("POST", "/v1/files", &[("content-encoding", "gzip")], &packed).status, 403);
    let reached = mock.requests();
    assert!(!reached.iter().any(has_token) && reached.is_empty(), "{reached:?}");
    assert_eq!(proxy.ask("POST", "/v1/messages", &[("x-api-key", "sk-other")], b"{}").status, 200);
    // The check itself sees it.
    let seen = Request {
        path: "/".into(),
        headers: vec![("a".into(), format!("Basic {}", base64(format!("uu:{TOKEN}"))))],
        body: String::new(),
    };
    assert!(has_token(&seen));
}
