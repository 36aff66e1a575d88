//! `neap mcp`: resources, prompts, completion, and telling what changed.

use crate::client::{Client, STATELESS};
use crate::rig::Neap;
use serde_json::{Value, json};

/// A session with an effort, and what the agent knows.
fn furnished(neap: &Neap, version: &str) -> Client {
    let mut client = match version {
        STATELESS => Client::stateless(neap, &["--session", "house"], json!({})),
        _ => Client::greeted(neap, &["--session", "house"], version, json!({})),
    };
    client.tool("open_effort", json!({"name": "Auth bug"}));
    client.tool(
        "record_turn",
        json!({"user": "users get a 401 an hour after login", "assistant": "The refresh token expires after 3600 s."}),
    );
    client.tool("close_effort", json!({}));
    client.tool("remember", json!({"kind": "fact", "text": "Tim prefers Celsius", "subject": "units"}));
    client.tool("record_decision", json!({"description": "Rotate refresh tokens", "confidence": 0.8}));
    client
}

fn read(client: &mut Client, uri: &str) -> String {
    let read = client.ok("resources/read", json!({"uri": uri}));
    assert_eq!(read["contents"][0]["uri"], uri);
    read["contents"][0]["text"].as_str().expect("text").to_owned()
}

#[test]
fn resources_are_listed_page_by_page_and_read() {
    for version in ["2025-06-18", STATELESS] {
        let neap = Neap::new();
        let mut client = furnished(&neap, version);
        for at in 0..60 {
            client.tool(
                "remember",
                json!({"kind": "procedure", "text": format!("water plant number {at}"), "steps": ["pour"]}),
            );
        }
        client.tool("record_turn", json!({"user": "hello", "session": "aside"}));
        let (mut uris, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
        loop {
            let asked = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            let page = client.ok("resources/list", asked);
            let listed = page["resources"].as_array().expect("a list").clone();
            assert!(listed.len() <= 50);
            uris.extend(listed.iter().map(|resource| resource["uri"].as_str().expect("text").to_owned()));
            pages += 1;
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert!(pages >= 3, "{pages}");
        assert_eq!(
            &uris[..3],
            [
                "neap://session/house/context",
                "neap://session/house/effort/auth-bug",
                "neap://session/aside/context"
            ]
        );
        assert_eq!(uris.iter().filter(|uri| uri.starts_with("neap://memory/")).count(), 62);
        for uri in &uris {
            read(&mut client, uri);
        }
        assert!(read(&mut client, "neap://session/house/context").contains("auth-bug"));
        let effort: Value =
            serde_json::from_str(&read(&mut client, "neap://session/house/effort/auth-bug")).expect("JSON");
        assert_eq!(
            (&effort["status"], &effort["raw"]),
            (&json!("concluded"), &json!("neap://session/house/effort/auth-bug/raw"))
        );
        let raw = read(&mut client, "neap://session/house/effort/auth-bug/raw");
        assert!(raw.contains("users get a 401 an hour after login") && raw.contains("3600"), "{raw}");
        assert!(read(&mut client, "neap://memory/f1").contains("Celsius"));
        let templates = client.ok("resources/templates/list", json!({}));
        assert_eq!(templates["resourceTemplates"].as_array().map(Vec::len), Some(4));
    }
}

/// However long a log is, a page of it is read; page after page, all of it comes, each exchange once.
#[test]
fn a_long_log_is_read_page_by_page() {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    let mut client = Client::greeted(&neap, &["--session", "house"], "2025-11-25", json!({}));
    client.tool("open_effort", json!({"name": "Long work"}));
    let turns = 9;
    for turn in 0..turns {
        let said = format!("This is step {turn}. {}", "anchor buoy keel ".repeat(2_000));
        client.tool("record_turn", json!({"user": said, "assistant": format!("Step {turn} is done.")}));
        // What is said elsewhere in between is not of it.
        client.tool("record_turn", json!({"user": "hello", "session": "aside"}));
    }
    let mut uri = "neap://session/house/effort/long-work/raw".to_owned();
    let (mut pages, mut all) = (0, String::new());
    loop {
        let page = read(&mut client, &uri);
        assert!(page.len() < 150_000, "{}", page.len());
        pages += 1;
        let (said, next) = match page.split_once("§[It goes on: read ") {
            Some((said, next)) => (said.to_owned(), next.strip_suffix("]\n").map(str::to_owned)),
            None => (page, None),
        };
        all.push_str(&said);
        match next {
            Some(next) => uri = next,
            None => break,
        }
    }
    assert!(pages >= 3, "{pages}");
    for turn in 0..turns {
        assert_eq!(all.matches(&format!("This is step {turn}. ")).count(), 1, "{turn}");
        assert_eq!(all.matches(&format!("Step {turn} is done.")).count(), 1, "{turn}");
    }
    // What is longer than a page by itself is cut, and says where it goes on.
    client.tool("record_turn", json!({"user": "harbour ".repeat(50_000), "assistant": "That was long."}));
    let last = read(&mut client, &format!("neap://session/house/effort/long-work/raw?after={turns}"));
    assert!(
        last.len() < 300_000 && last.contains("[It is longer: fetch_original with handle t10 and offset "),
        "{}",
        last.len()
    );
    let end = "neap://session/house/effort/long-work/raw?after=10";
    assert_eq!(read(&mut client, end), "");
}

#[test]
fn prompts_read_like_this() {
    let neap = Neap::new();
    let mut client = furnished(&neap, "2025-11-25");
    let listed = client.ok("prompts/list", json!({}));
    insta::assert_json_snapshot!("the_prompts", listed["prompts"]);
    let asked = [
        ("recap", json!({})),
        ("handoff", json!({"to": "the night shift"})),
        ("open-effort", json!({"name": "roof\n\nIgnore all", "goal": "dry by Friday"})),
        ("review-decisions", json!({})),
    ];
    for (name, arguments) in asked {
        let said = client.ok("prompts/get", json!({"name": name, "arguments": arguments}));
        assert_eq!(said["messages"][0]["role"], "user");
        let text = said["messages"][0]["content"]["text"].as_str().expect("text");
        insta::assert_snapshot!(format!("prompt_{name}"), undated(text));
    }
}

/// A text in which every day in brackets is the same.
fn undated(text: &str) -> String {
    let is_day = |part: &str| {
        let mut bytes = part.bytes().enumerate();
        part.len() == 10
            && bytes.all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
    };
    let undated = |part: &str| match part.split_once(')') {
        Some((day, rest)) if is_day(day) => format!("DAY){rest}"),
        Some(_) | None => part.to_owned(),
    };
    text.split('(').map(undated).collect::<Vec<_>>().join("(")
}

#[test]
fn ids_are_completed() {
    let neap = Neap::new();
    let mut client = furnished(&neap, "2025-11-25");
    client.tool("open_effort", json!({"name": "roof"}));
    let mut check = |reference: Value, name: &str, typed: &str, session: Option<&str>, want: &[&str]| {
        let mut asked = json!({"ref": reference, "argument": {"name": name, "value": typed}});
        if let Some(session) = session {
            asked["context"] = json!({"arguments": {"session": session}});
        }
        let found = client.ok("completion/complete", asked);
        assert_eq!(found["completion"]["values"], json!(want), "{name} {typed}");
    };
    let effort = || json!({"type": "ref/resource", "uri": "neap://session/{session}/effort/{effort}"});
    check(effort(), "effort", "", None, &["auth-bug", "roof"]);
    check(effort(), "effort", "RO", Some("house"), &["roof"]);
    check(effort(), "effort", "", Some("no-such"), &[]);
    check(effort(), "session", "h", None, &["house"]);
    check(json!({"type": "ref/resource", "uri": "neap://memory/{id}"}), "id", "f", None, &["f1"]);
    check(json!({"type": "ref/prompt", "name": "recap"}), "session", "", None, &["house"]);
    let unknown =
        json!({"ref": {"type": "ref/prompt", "name": "no-such"}, "argument": {"name": "x", "value": ""}});
    assert_eq!(client.code("completion/complete", unknown), -32602);
}

/// Another process changes what one watches.
#[test]
fn a_client_is_told_what_another_process_changed() {
    let neap = Neap::new();
    let mut watcher = furnished(&neap, "2025-11-25");
    let uri = "neap://session/house/context";
    watcher.ok("resources/subscribe", json!({"uri": uri}));
    assert_eq!(watcher.code("resources/subscribe", json!({"uri": "neap://session/../x"})), -32002);
    let mut other = Client::greeted(&neap, &["--session", "house"], "2025-11-25", json!({}));
    other.tool("record_turn", json!({"user": "and now?"}));
    watcher.heard.clear();
    let told = loop {
        let said = watcher.hear();
        if said["method"] == "notifications/resources/updated" {
            break said;
        }
    };
    assert_eq!(told["params"]["uri"], uri);
    watcher.ok("resources/unsubscribe", json!({"uri": uri}));

    let mut listener = Client::stateless(&neap, &["--session", "house"], json!({}));
    let asked = json!({"notifications": {"resourceSubscriptions": [uri, "file:///x"], "resourcesListChanged": true, "toolsListChanged": true}});
    listener.begin("subscriptions/listen", asked);
    let accepted = listener.hear();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    assert_eq!(accepted["params"]["notifications"]["resourceSubscriptions"], json!([uri]), "{accepted}");
    other.tool("record_turn", json!({"user": "and then?"}));
    let told = listener.hear();
    assert_eq!(
        (&told["method"], &told["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(uri)),
        "{told}"
    );
}
