//! `/mcp` on `neap serve`: who is let in, and what a client of each revision gets over HTTP.

use crate::wire::{Answer, Proxy};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};

/// Nothing is asked of a provider here.
const NOWHERE: &str = "http://127.0.0.1:9";
const TYPES: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

/// With the token that the proxy made.
fn post(proxy: &Proxy, more: &[(&str, &str)], body: &Value) -> Answer {
    ask(proxy, "POST", &[&TYPES, more].concat(), body.to_string().as_bytes())
}

fn ask(proxy: &Proxy, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let bearer = proxy.bearer("mcp");
    proxy.ask(method, "/mcp", &[&[("authorization", bearer.as_str())], headers].concat(), body)
}

/// With these headers alone.
fn post_without(proxy: &Proxy, more: &[(&str, &str)], body: &Value) -> Answer {
    proxy.ask("POST", "/mcp", &[&TYPES, more].concat(), body.to_string().as_bytes())
}

fn hello(version: &str) -> Value {
    let params =
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

/// A request of the revision without a handshake, with the headers that it takes.
fn stateless(proxy: &Proxy, method: &str, name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)];
    said(&post(proxy, &headers[..if name.is_empty() { 2 } else { 3 }], &body))
}

/// The last message of an answer, which may be a stream of events.
fn said(answer: &Answer) -> Value {
    let text = answer.text();
    let last =
        text.lines().rev().find_map(|line| line.strip_prefix("data:").filter(|data| !data.trim().is_empty()));
    serde_json::from_str(last.unwrap_or(&text)).unwrap_or_else(|error| panic!("{error}: {} {text}", answer.status))
}

/// Issue, bad input: a rebound Host, a cross-site POST.
#[test]
fn pages_in_browsers_are_kept_out() {
    let proxy = Proxy::start(NOWHERE);
    let table: [(&[(&str, &str)], u16); 8] = [
        (&[], 200),
        (&[("host", "localhost")], 200),
        (&[("origin", "http://localhost:5173")], 200),
        (&[("host", "evil.example")], 403),
        (&[("host", "127.0.0.1.evil.example:6327")], 403),
        (&[("origin", "https://evil.example")], 403),
        (&[("origin", "null")], 403),
        (&[("sec-fetch-site", "cross-site")], 403),
    ];
    for (headers, status) in table {
        assert_eq!(post(&proxy, headers, &hello("2025-11-25")).status, status, "{headers:?}");
    }
    // What a form in a page can send without asking first is not taken.
    let plain = [("content-type", "text/plain"), ("accept", TYPES[1].1)];
    assert_eq!(ask(&proxy, "POST", &plain, hello("2025-11-25").to_string().as_bytes()).status, 415);
}

#[test]
fn what_cannot_be_read_is_told() {
    let proxy = Proxy::start(NOWHERE);
    for (body, code) in [("{", -32700), ("", -32600), ("[]", -32600), ("{\"jsonrpc\":\"2.0\"}", -32600)] {
        let answer = ask(&proxy, "POST", &TYPES, body.as_bytes());
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(code)), "{body}");
    }
    assert_eq!(ask(&proxy, "PUT", &TYPES, b"{}").status, 405);
    assert_eq!(
        post(
            &proxy,
            &[("mcp-session-id", "no-such")],
            &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        )
        .status,
        404
    );
    assert_eq!(
        post(
            &proxy,
            &[("mcp-protocol-version", "1999-01-01")],
            &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        )
        .status,
        400
    );
    let long = json!({"jsonrpc": "2.0", "id": 2, "method": "x", "params": {"x": "y".repeat(21 << 20)}});
    assert_eq!(post(&proxy, &[], &long).status, 413);
    let unknown = stateless(&proxy, "tools/call", "rm", json!({"name": "rm", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn the_token_that_is_set_is_asked_for() {
    let proxy = Proxy::with(&["--upstream", NOWHERE], &[("NEAP_MCP_TOKEN", "s3cret-s3cret-s3cret")]);
    for (given, status) in [
        ("", 401),
        ("Bearer wrong", 401),
        ("Basic s3cret-s3cret-s3cret", 401),
        ("Bearer s3cret-s3cret-s3cret", 200),
        ("bearer s3cret-s3cret-s3cret", 200),
    ] {
        let headers: &[(&str, &str)] = if given.is_empty() { &[] } else { &[("authorization", given)] };
        let answer = post_without(&proxy, headers, &hello("2025-11-25"));
        assert_eq!(answer.status, status, "{given}");
        assert_eq!(answer.header("www-authenticate").is_some(), status == 401);
    }
    // It is the MCP server's alone.
    assert_eq!(proxy.ask("GET", "/healthz", &[], b"").status, 200);
}

/// RFC 9728: who comes without the token is told where it stands what to bring, and that is true of this server.
#[test]
fn a_client_without_the_token_is_told_what_to_bring() {
    let proxy = Proxy::with(&["--upstream", NOWHERE], &[("NEAP_MCP_TOKEN", "s3cret-s3cret-s3cret")]);
    for (more, origin) in [
        (&[][..], format!("http://{}", proxy.address)),
        (&[("host", "localhost:6327")], "http://localhost:6327".to_owned()),
        (&[("host", "localhost"), ("x-forwarded-proto", "https")], "https://localhost".to_owned()),
    ] {
        let refused = post_without(&proxy, more, &hello("2025-11-25"));
        let path = "/.well-known/oauth-protected-resource/mcp";
        let want = format!("Bearer realm=\"neap\", resource_metadata=\"{origin}{path}\"");
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some(want.as_str())), "{more:?}");
        let told = proxy.ask("GET", path, more, b"");
        let want = json!({"resource": format!("{origin}/mcp"), "bearer_methods_supported": ["header"], "resource_name": "Neap"});
        assert_eq!((told.status, told.json(), told.header("content-type")), (200, want, Some("application/json")));
    }
    // A name that is not ours is not said back, nor what is no name.
    for host in ["evil.example", "localhost:\"x"] {
        let told = proxy.ask("GET", "/.well-known/oauth-protected-resource/mcp", &[("host", host)], b"");
        assert!(told.status >= 400 && !told.text().contains("http://"), "{host}: {} {}", told.status, told.text());
    }
}

/// I11: what holds of `/mcp`. It is the owner's: who has the token reads the sessions of this data folder; who has not reads nothing, whatever else
/// they bring.
#[test]
fn who_has_the_token_reads_the_folder_and_nobody_else_reads_anything() {
    let proxy = Proxy::with(&["--upstream", NOWHERE], &[("NEAP_MCP_TOKEN", "s3cret-s3cret-s3cret")]);
    let token = ("authorization", "Bearer s3cret-s3cret-s3cret");
    let greeted = post_without(&proxy, &[token], &hello("2025-11-25"));
    let session = greeted.header("mcp-session-id").expect("a session").to_owned();
    let known = ("mcp-session-id", session.as_str());
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post_without(&proxy, &[token, known], &ready).status, 202);
    let call = |id: u64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let kept = call(2, "record_turn", json!({"user": "the heron nests at pier 9", "session": "house"}));
    assert_eq!(said(&post_without(&proxy, &[token, known], &kept))["result"]["structuredContent"]["turn"], 1);
    let asks = [
        call(3, "get_context", json!({"query": "where does the heron nest", "session": "house"})),
        json!({"jsonrpc": "2.0", "id": 4, "method": "resources/list"}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "neap://session/house/context"}}),
    ];
    for ask in &asks {
        let told = said(&post_without(&proxy, &[token, known], ask)).to_string();
        assert!(told.contains("pier 9") || told.contains("neap://session/house/context"), "{told}");
        // A session of the protocol's that somebody else began is no key.
        for other in [&[known][..], &[known, ("authorization", "Bearer wrong")], &[("x-neap-session", "house")]] {
            let refused = post_without(&proxy, other, ask);
            assert_eq!(refused.status, 401, "{other:?}");
            assert!(!refused.text().contains("pier") && !refused.text().contains("house"), "{}", refused.text());
        }
    }
    for method in ["GET", "DELETE"] {
        assert_eq!(proxy.ask(method, "/mcp", &[TYPES[1], known], b"").status, 401, "{method}");
    }
}

#[test]
fn tools_are_called_without_a_handshake() {
    let proxy = Proxy::start(NOWHERE);
    let listed = stateless(&proxy, "tools/list", "", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(20), "{listed}");
    let call = json!({"name": "record_turn", "arguments": {"user": "the roof leaks", "session": "house"}});
    let turn = stateless(&proxy, "tools/call", "record_turn", call);
    assert_eq!(turn["result"]["structuredContent"]["turn"], 1, "{turn}");
    let uri = "neap://session/house/context";
    let read = stateless(&proxy, "resources/read", uri, json!({"uri": uri}));
    assert!(
        read["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("the roof leaks")),
        "{read}"
    );
}

/// A client of somebody else's, with a handshake and a session of its own.
#[tokio::test]
async fn a_client_library_calls_the_tools() {
    let proxy = Proxy::start(NOWHERE);
    // The client library encrypts as the program does.
    let _ = neap_model::client::http_client();
    let token = proxy.bearer("mcp").replace("Bearer ", "");
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", proxy.address));
    let transport = StreamableHttpClientTransport::from_config(config.auth_header(token));
    let client = ().serve(transport).await.expect("it connects");
    let tools = client.list_all_tools().await.expect("a list");
    assert_eq!(tools.len(), 20);
    let Value::Object(arguments) = json!({"name": "Auth bug", "session": "house"}) else { panic!("an object") };
    let opened = client
        .call_tool(CallToolRequestParams::new("open_effort").with_arguments(arguments))
        .await
        .expect("an answer");
    assert_eq!(opened.structured_content, Some(json!({"status": "opened", "effort_id": "auth-bug"})));
    let read = client.read_resource(ReadResourceRequestParams::new("neap://session/house/effort/auth-bug")).await;
    assert!(format!("{:?}", read.expect("a resource")).contains("auth-bug"));
    client.cancel().await.expect("it ends");
}

/// Section 8: so many sessions, and no more; one that ends makes room.
#[test]
fn only_so_many_sessions_are_open() {
    let proxy = Proxy::with(&["--upstream", NOWHERE, "--max-mcp-sessions", "3"], &[]);
    let begin = || post(&proxy, &[], &hello("2025-11-25"));
    let open: Vec<Answer> = (0..3).map(|_| begin()).collect();
    assert!(open.iter().all(|answer| answer.status == 200));
    let refused = begin();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("60")), "{}", refused.text());
    assert!(refused.text().contains("3 sessions are open here"), "{}", refused.text());
    // Those that are open go on, and what needs none is answered.
    let session = open[0].header("mcp-session-id").expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(post(&proxy, &[("mcp-session-id", session)], &list).status, 200);
    assert_eq!(
        stateless(&proxy, "tools/list", "", json!({}))["result"]["tools"].as_array().map(Vec::len),
        Some(20)
    );
    assert_eq!(ask(&proxy, "DELETE", &[("mcp-session-id", session), TYPES[1]], b"").status / 100, 2);
    assert_eq!(begin().status, 200);
    assert_eq!(begin().status, 503);
}

/// Streamable HTTP, session management: whoever needs a session no longer ends it, and it is gone.
#[test]
fn a_session_is_ended_once() {
    let proxy = Proxy::start(NOWHERE);
    let end = |headers: &[(&str, &str)]| ask(&proxy, "DELETE", headers, b"");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    for version in ["2025-06-18", "2025-11-25"] {
        let greeted = post(&proxy, &[], &hello(version));
        let session = ("mcp-session-id", greeted.header("mcp-session-id").expect("a session"));
        let headers = [session, ("mcp-protocol-version", version)];
        assert_eq!(post(&proxy, &headers, &list).status, 200);
        let ended = end(&headers);
        // The protocol's Python library warns of any other status than these two.
        assert!(
            [200, 204].contains(&ended.status) && ended.text().is_empty(),
            "{} {}",
            ended.status,
            ended.text()
        );
        assert_eq!(post(&proxy, &headers, &list).status, 404, "the client must begin anew");
        let again = end(&headers);
        assert_eq!((again.status, &again.json()["error"]["code"]), (404, &json!(-32600)), "{}", again.text());
    }
    assert_eq!(end(&[("mcp-session-id", "no-such")]).status, 404);
    assert_eq!(end(&[]).status, 400, "no session is named");
    // The revision without sessions has nothing to end.
    let ended = end(&[("mcp-protocol-version", "2026-07-28")]);
    assert_eq!(ended.status, 405);
}

/// RELIABILITY: at the limit, and one byte over it.
#[test]
fn a_message_is_as_long_as_it_may_be() {
    let proxy = Proxy::start(NOWHERE);
    let of = |bytes: usize| {
        let begin = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{\"x\":\"";
        format!("{begin}{}\"}}}}", "y".repeat(bytes - begin.len() - 3))
    };
    let most = 20 << 20;
    assert_ne!(ask(&proxy, "POST", &TYPES, of(most).as_bytes()).status, 413);
    assert_eq!(ask(&proxy, "POST", &TYPES, of(most + 1).as_bytes()).status, 413);
}

/// A token is made, on every address, in a file that only its owner can read; on the command line none is taken.
#[cfg(unix)]
#[test]
fn the_token_is_in_a_file_or_in_the_environment() {
    use std::os::unix::fs::PermissionsExt;
    for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
        let proxy = Proxy::at(listen, &["--without-keys", "--upstream", NOWHERE], &[]);
        assert_eq!(post_without(&proxy, &[], &hello("2025-11-25")).status, 401, "{listen}");
        assert_eq!(post(&proxy, &[], &hello("2025-11-25")).status, 200, "{listen}");
    }
    let proxy = Proxy::at("0.0.0.0:0", &["--without-keys", "--upstream", NOWHERE], &[]);
    let file = proxy.neap.data().join("keys").join("mcp.token");
    let made = std::fs::metadata(&file).expect("a token was made");
    assert_eq!(made.permissions().mode() & 0o777, 0o600);
    let token = std::fs::read_to_string(&file).expect("a token").trim().to_owned();
    assert_eq!(token.len(), 64);
    let log = proxy.wait_for_log("/mcp requires the token in");
    assert!(!log.contains(&token), "{log}");
    let bearer = format!("Bearer {token}");
    // The next start has the same one.
    let again = proxy.neap.file("token", format!("{token}\n"));
    let neap = crate::rig::Neap::new();
    for (args, told) in [
        (&["serve", "--mcp-token", &token][..], "everybody on this machine could read it"),
        (&["serve", "--mcp-token"], "everybody on this machine could read it"),
        (&["serve", "--listen", "127.0.0.1:0", "--mcp-token-file", &again], "can be read by others"),
        (&["serve", "--listen", "127.0.0.1:0", "--mcp-token-file", "/no/such/file"], "there is no token file"),
    ] {
        let ran = neap.run(args);
        assert!(ran.code == 2 && ran.err.contains(told) && ran.err.contains("hint:"), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains(&token), "{}", ran.err);
    }
    let short = crate::rig::Neap::with(&[("NEAP_MCP_TOKEN", "s3cret")]);
    let ran = short.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(ran.code == 2 && ran.err.contains("fewer than 16 characters"), "{}", ran.err);
    // In a file that was named.
    std::fs::set_permissions(&again, PermissionsExt::from_mode(0o600)).expect("its mode");
    let named = Proxy::with(&["--upstream", NOWHERE, "--mcp-token-file", &again], &[]);
    assert_eq!(post_without(&named, &[], &hello("2025-11-25")).status, 401);
    assert_eq!(post_without(&named, &[("authorization", &bearer)], &hello("2025-11-25")).status, 200);
}

/// I11: where several callers use the proxy, none of their conversations is at the MCP server's door.
#[test]
fn conversations_of_callers_are_not_shown() {
    let mock =
        crate::mock::Mock::start(|_, _| crate::mock::Reply::stream(crate::mock::Speaks::Chat.words(&["Noted."])));
    for (callers, is_shown) in [("many", false), ("one", true)] {
        let args = ["--upstream", &mock.url(""), "--callers", callers];
        let proxy = Proxy::with(&args, &[("NEAP_EMBEDDER", "none")]);
        let mut history = vec![json!({"role": "user", "content": "the heron nests at pier 9"})];
        let headers = [("authorization", "Bearer sk-caller-4f9aT7bQ2mX8"), ("x-neap-session", "desk")];
        let say = |history: &[Value]| {
            let said = json!({"model": "m", "stream": true, "messages": history});
            proxy.ask("POST", "/v1/chat/completions", &headers, said.to_string().as_bytes())
        };
        say(&history);
        history.push(json!({"role": "assistant", "content": "Noted."}));
        history.push(json!({"role": "user", "content": "and the gulls?"}));
        let answer = say(&history);
        let session = answer.header("x-neap-session").expect("a session").to_owned();
        let turn = json!({"name": "record_turn", "arguments": {"user": "the roof leaks", "session": "house"}});
        stateless(&proxy, "tools/call", "record_turn", turn);
        let listed = stateless(&proxy, "resources/list", "", json!({})).to_string();
        assert_eq!(listed.contains(&session), is_shown, "{callers}: {listed}");
        let uri = format!("neap://session/{session}/context");
        let read = stateless(&proxy, "resources/read", &uri, json!({"uri": uri})).to_string();
        assert_eq!(read.contains("pier 9"), is_shown, "{callers}: {read}");
        let ask = |session: &str| {
            let arguments = json!({"query": "where does the heron nest", "session": session});
            stateless(&proxy, "tools/call", "get_context", json!({"name": "get_context", "arguments": arguments}))
                .to_string()
        };
        for session in ["house", &session] {
            assert_eq!(ask(session).contains("pier 9"), is_shown, "{callers} {session}");
        }
    }
}
