//! Who may ask: every route, and every way not to be let in.

use super::{Api, calls};
use crate::rig::Neap;
use crate::wire::{Answer, Proxy, answer};

fn refuse(api: &Api, headers: &[(&str, &str)], want: u16, why: &str) {
    for (method, path, call, body) in calls::all("x", "y") {
        if why == "read only" && method == "GET" {
            continue;
        }
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        let all = [&[("content-type", "application/json")], headers].concat();
        let answer = api.server.ask(method, &format!("/api/v1{call}"), &all, text.as_bytes());
        // A read token may ask.
        if why == "read only" && is_question(path) {
            assert!(![401, 403].contains(&answer.status), "{why}: {method} {call}: {}", answer.text());
            continue;
        }
        let want = if path == "/health" && want == 401 { 200 } else { want };
        assert_eq!(answer.status, want, "{why}: {method} {call}: {}", answer.text());
    }
}

/// Asked with a body, but changes nothing.
fn is_question(path: &str) -> bool {
    path.ends_with("/context")
        || path.ends_with("/expect")
        || ["/search", "/memories/recall", "/memories/try"].contains(&path)
}

#[test]
fn nobody_else_is_let_in_anywhere() {
    let api = Api::with_data();
    let bearer = format!("Bearer {}", api.token);
    let before = api.get("/sessions");
    refuse(&api, &[], 401, "no token");
    refuse(&api, &[("authorization", "Bearer 0123456789abcdef0123456789abcdef")], 401, "a wrong token");
    refuse(&api, &[("authorization", ""), ("cookie", "neap_session_1=x")], 401, "a wrong cookie");
    refuse(&api, &[("authorization", &bearer), ("origin", "https://evil.example")], 403, "a foreign origin");
    refuse(&api, &[("authorization", &bearer), ("host", "evil.example")], 403, "a wrong host");
    refuse(&api, &[("authorization", &bearer), ("sec-fetch-site", "cross-site")], 403, "another site");
    let read = std::fs::read_to_string(api.server.neap.data().join("keys/api-read.token")).expect("a token");
    let read = format!("Bearer {}", read.trim());
    refuse(&api, &[("authorization", &read)], 403, "read only");
    assert_eq!(api.get("/sessions"), before, "nothing was changed");
    assert_eq!(api.server.ask("GET", "/api/v1/memories", &[("authorization", &read)], b"").status, 200);
}

#[cfg(unix)]
#[test]
fn the_tokens_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let api = Api::over(Neap::new());
    for name in ["api.token", "api-read.token"] {
        let file = std::fs::metadata(api.server.neap.data().join("keys").join(name)).expect("a file");
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
    let log = api.server.log();
    assert!(!log.contains(&api.token), "it is never printed: {log}");
}

#[test]
fn the_token_reaches_no_provider() {
    let api = Api::over(Neap::new());
    let bearer = format!("Bearer {}", api.token);
    for path in ["/v1/models", "/api/v1/models", "/api/v1/chat/completions", "/api/tags"] {
        let answer = api.server.ask("POST", path, &[("authorization", &bearer)], b"{}");
        assert!([400, 401, 403].contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
    }
}

/// `neap ui`, and what it printed.
struct Page {
    child: std::process::Child,
    address: String,
    code: String,
    _neap: Neap,
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Page {
    fn start() -> Self {
        use std::io::BufRead;
        let neap = Neap::new();
        let mut command = neap.command(&["ui", "--listen", "127.0.0.1:0", "--no-open"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().expect("the binary runs");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        std::io::BufReader::new(out).read_line(&mut line).expect("a link");
        let link = line.trim().strip_prefix("http://").expect("a link");
        let (address, path) = link.split_once('/').expect("a path");
        let code = path.strip_prefix("ui/enter?code=").expect("a code").to_owned();
        Self { child, address: address.to_owned(), code, _neap: neap }
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        use std::io::Write;
        let mut connection = std::net::TcpStream::connect(&self.address).expect("a server");
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        connection.write_all(format!("{head}content-length: 0\r\n\r\n").as_bytes()).expect("it listens");
        answer(connection)
    }
}

#[test]
fn a_link_lets_one_browser_in_once() {
    let page = Page::start();
    let path = format!("/ui/enter?code={}", page.code);
    assert_eq!(page.ask("GET", &path, &[("host", "evil.example")]).status, 403, "not under another name");
    assert_eq!(page.ask("GET", &path, &[("sec-fetch-site", "cross-site")]).status, 403, "not from another site");
    assert_eq!(page.ask("HEAD", &path, &[]).status, 403, "a look at it does not use it up");
    let entered = page.ask("GET", &path, &[]);
    assert_eq!((entered.status, entered.header("location")), (303, Some("/ui/")));
    let cookie = entered.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!(page.ask("GET", &path, &[]).status, 403, "an old link");
    let cookie = cookie.split(';').next().expect("a pair");
    let index = page.ask("GET", "/ui/", &[("cookie", cookie)]);
    assert_eq!((index.status, index.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(
        index.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src 'self';"))
    );
    assert_eq!(
        (index.header("x-content-type-options"), index.header("referrer-policy")),
        (Some("nosniff"), Some("no-referrer"))
    );
    let tag = index.header("etag").expect("a tag");
    assert_eq!(page.ask("GET", "/ui/", &[("cookie", cookie), ("if-none-match", tag)]).status, 304);
    assert_eq!(page.ask("GET", "/ui/", &[]).status, 401, "without the cookie");
    assert_eq!(page.ask("GET", "/ui/../../Cargo.toml", &[("cookie", cookie)]).status, 404);
    let origin = format!("http://{}", page.address);
    let api =
        |method, headers: &[(&str, &str)]| page.ask(method, "/api/v1/memories/f1?confirm=f1", headers).status;
    assert_eq!(api("GET", &[("cookie", cookie)]), 400, "it may read; this route has no such parameter");
    assert_eq!(api("DELETE", &[("cookie", cookie)]), 403, "a change needs an origin");
    assert_eq!(api("DELETE", &[("cookie", cookie), ("origin", "http://127.0.0.1:1")]), 403, "and its own");
    assert_eq!(api("DELETE", &[("cookie", cookie), ("origin", &origin)]), 404, "there is no such memory");
}

#[test]
fn a_page_for_others_is_not_made_by_mistake() {
    let ran = Neap::new().run(&["ui", "--listen", "0.0.0.0:0"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("this machine only"), "{}", ran.err);
}

#[test]
fn nothing_but_its_health_is_answered_without_a_token() {
    for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
        let server = Proxy::at(listen, &["--without-keys"], &[]);
        let port = server.address.rsplit(':').next().expect("a port").to_owned();
        let host = format!("127.0.0.1:{port}");
        let ask = |method: &str, path: &str, more: &[(&str, &str)]| {
            server.ask(method, path, &[&[("host", host.as_str())], more].concat(), b"")
        };
        for path in ["/api/v1/sessions", "/api/v1/events", "/ui/", "/metrics", "/neap/recent", "/mcp"] {
            for method in ["GET", "HEAD", "POST"] {
                let answer = ask(method, path, &[]);
                let wanted: &[u16] = if method == "POST" { &[401, 405] } else { &[401] };
                assert!(wanted.contains(&answer.status), "{listen}: {method} {path}: {}", answer.status);
                assert!(!answer.text().contains("neap_"), "{listen}: {method} {path}: {}", answer.text());
            }
        }
        for path in ["/healthz", "/readyz", "/api/v1/health"] {
            assert_eq!(ask("GET", path, &[]).status, 200, "{listen}: {path}");
        }
        for (name, path, status) in [
            ("api-read", "/metrics", 200),
            ("api", "/metrics", 200),
            ("api-read", "/neap/recent", 200),
            ("api-read", "/mcp", 401),
            ("mcp", "/metrics", 401),
            ("mcp", "/neap/recent", 401),
        ] {
            let bearer = server.bearer(name);
            let answer = ask("GET", path, &[("authorization", &bearer)]);
            assert_eq!(answer.status, status, "{listen}: {name} {path}: {}", answer.text());
        }
    }
}
