//! `neap mcp`: what a client of each revision gets of it.

use crate::client::{Client, STATELESS, WITH_HANDSHAKE};
use crate::rig::{self, Neap};
use serde_json::{Value, json};

const TOOLS: [&str; 20] = [
    "open_effort", "close_effort", "effort_status", "expand_effort", "collapse_effort", "switch_effort",
    "search_efforts", "reopen_effort", "fetch_original", "remember", "recall", "expand_detail", "record_decision",
    "review_decision", "confirm_fact", "forget", "memory_status", "summarize_text", "record_turn", "get_context",
];

fn versions() -> impl Iterator<Item = &'static str> {
    WITH_HANDSHAKE.into_iter().chain([STATELESS])
}

#[test]
fn every_revision_lists_the_same_tools_in_the_same_order() {
    let neap = Neap::new();
    let mut lists = Vec::new();
    for version in versions() {
        let mut client = Client::of(&neap, version);
        let listed = client.ok("tools/list", json!({}));
        let tools = listed["tools"].as_array().expect("a list").clone();
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, TOOLS, "{version}");
        lists.push(tools);
        assert_eq!(client.hang_up(), 0);
    }
    assert!(lists.windows(2).all(|two| two[0] == two[1]));
}

/// Every tool once, as an agent would use them, in every revision.
#[test]
fn every_tool_does_what_it_says() {
    for version in versions() {
        let neap = Neap::new();
        let mut client = Client::of(&neap, version);
        let opened = client.tool("open_effort", json!({"name": "Auth bug"}));
        assert_eq!(opened, json!({"status": "opened", "effort_id": "auth-bug"}));
        let turn = client.tool(
            "record_turn",
            json!({"user": "users get a 401 an hour after login", "assistant": "The refresh token expires after 3600 s; rotate it."}),
        );
        assert_eq!(
            (&turn["status"], &turn["turn"], &turn["effort"]),
            (&json!("recorded"), &json!(1), &json!("auth-bug"))
        );
        let page = client.tool("fetch_original", json!({"handle": "t1.0"}));
        assert_eq!(page["text"], "users get a 401 an hour after login");
        let closed = client.tool("close_effort", json!({}));
        assert_eq!(closed["status"], "concluded");
        client.tool("open_effort", json!({"name": "docs"}));
        assert_eq!(client.tool("reopen_effort", json!({"id": "auth-bug"}))["status"], "reopened");
        assert_eq!(client.tool("switch_effort", json!({"id": "docs"}))["status"], "switched");
        client.tool("close_effort", json!({"id": "auth-bug"}));
        let expanded = client.tool("expand_effort", json!({"id": "auth-bug"}));
        assert!(expanded["tokens_loaded"].as_u64().is_some_and(|tokens| tokens > 0), "{expanded}");
        assert_eq!(client.tool("effort_status", json!({}))["expanded"], json!(["auth-bug"]));
        assert_eq!(client.tool("collapse_effort", json!({"id": "auth-bug"}))["status"], "collapsed");
        let found = client.tool("search_efforts", json!({"query": "refresh token", "logs": true}));
        assert_eq!(found["results"][0]["id"], "auth-bug", "{found}");

        let fact =
            client.tool("remember", json!({"kind": "fact", "text": "Tim prefers Celsius", "subject": "units"}));
        assert_eq!((&fact["status"], &fact["id"]), (&json!("remembered"), &json!("f1")));
        assert!(
            client.tool("recall", json!({"query": "celsius"}))["found"][0]
                .as_str()
                .expect("text")
                .contains("Celsius")
        );
        assert!(
            client.tool("expand_detail", json!({"id": "f1"}))["record"]
                .as_str()
                .expect("text")
                .contains("Celsius")
        );
        let guessed = client.tool("remember", json!({"content": "Tim prefers Celsius", "subject": "units"}));
        assert_eq!((&guessed["status"], &guessed["id"]), (&json!("confirmed"), &json!("f1")));
        let found = client.tool("recall", json!({"query": "celsius", "limit": 1, "project": "units"}));
        let record = &found["results"][0];
        assert_eq!((&record["id"], &record["kind"]), (&json!("f1"), &json!("fact")), "{found}");
        assert_eq!(record["content"], "Tim prefers Celsius");
        assert!(
            record["score"].is_number() && record["when"].is_string() && record["source"].is_string(),
            "{found}"
        );
        assert_eq!(found["results"].as_array().map(Vec::len), Some(1));
        assert_eq!(client.tool("confirm_fact", json!({"id": "f1"}))["status"], "confirmed");
        let decided = client.tool("record_decision", json!({"description": "Use Postgres", "confidence": 0.8}));
        assert_eq!(decided["id"], "d1");
        assert_eq!(
            client.tool("review_decision", json!({"id": "d1", "outcome": "success"}))["status"],
            "reviewed"
        );
        assert_eq!(client.tool("memory_status", json!({}))["known"]["fact"], 1);
        // This client can ask nobody: the wish is kept for a person.
        assert_eq!(client.tool("forget", json!({"id": "f1"}))["id"], "f1");
        assert!(neap.json(&["memory", "forget", "--asked"]).to_string().contains("Celsius"));

        let long = "The pump in hall 3 failed at 14:05. ".repeat(40);
        let made = client.tool("summarize_text", json!({"text": long, "max_tokens": 32}));
        assert_eq!(made["envelope"]["tool"], "summarize_text");
        assert!(
            made["envelope"]["payload"].as_str().expect("text").contains(made["summary"].as_str().expect("text"))
        );

        let context =
            client.tool("get_context", json!({"query": "what is the matter with the token?", "budget": 2000}));
        let text = context["text"].as_str().expect("text");
        assert!(text.contains("auth-bug") && text.contains("refresh token expires"), "{text}");
        assert!(context["tokens"].as_u64() <= context["budget"].as_u64(), "{context}");
        assert_eq!(client.hang_up(), 0);
    }
}

/// What was done by one process is there for the next, under the same default session, and for the commands.
#[test]
fn a_client_finds_its_session_again() {
    let neap = Neap::new();
    let mut first = Client::of(&neap, "2025-11-25");
    first.tool("open_effort", json!({"name": "roof"}));
    let session = first.tool("record_turn", json!({"user": "the roof leaks"}))["session"].clone();
    first.kill();
    let mut second = Client::of(&neap, STATELESS);
    assert_eq!(second.tool("effort_status", json!({}))["active"], "roof");
    let turn = second.tool("record_turn", json!({"user": "still leaking", "assistant": "Look at the flashing."}));
    assert_eq!((&turn["session"], &turn["turn"]), (&session, &json!(2)));
    assert!(session.as_str().is_some_and(|name| name.starts_with("tester-")), "{session}");
    let other = second.tool("record_turn", json!({"user": "hello", "session": "Other Work"}));
    assert_eq!((&other["session"], &other["turn"]), (&json!("other-work"), &json!(1)));
    let sessions = neap.json(&["session", "list"]).to_string();
    assert!(sessions.contains("other-work"), "{sessions}");
}

#[test]
fn a_turn_that_is_sent_twice_is_recorded_once() {
    let neap = Neap::new();
    let mut client = Client::of(&neap, "2025-11-25");
    let said = json!({"user": "one", "assistant": "two", "turn_id": "a"});
    let first = client.tool("record_turn", said.clone());
    assert_eq!(client.tool("record_turn", said), first);
    assert_eq!(client.tool("record_turn", json!({"user": "one", "assistant": "two"}))["turn"], 2);
}

/// Before 2026-07-28 the server asks in the middle of the call.
#[test]
fn a_person_is_asked_before_something_is_forgotten() {
    for version in WITH_HANDSHAKE {
        for (says, status, left) in [("accept", "forgotten", 0), ("decline", "kept", 1)] {
            let neap = Neap::new();
            let mut client = Client::greeted(&neap, &[], version, json!({"elicitation": {}}));
            client.tool("remember", json!({"kind": "fact", "text": "The code is quetzalcoatlus"}));
            let id = client.begin("tools/call", json!({"name": "forget", "arguments": {"id": "f1"}}));
            let asked = client.asked();
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            assert!(asked["params"]["message"].as_str().expect("text").contains("quetzalcoatlus"), "{asked}");
            let said = json!({"action": says, "content": {"confirm": true}});
            client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": said}));
            assert_eq!(client.answer(id)["result"]["structuredContent"]["status"], status);
            assert_eq!(client.tool("memory_status", json!({}))["known"]["fact"], left);
            drop(client);
            assert_eq!(rig::holding(&neap.data(), "quetzalcoatlus").is_empty(), left == 0);
        }
    }
}

/// Since then the call is answered with what must be asked, and comes again.
#[test]
fn without_a_handshake_the_call_comes_again_with_the_persons_answer() {
    let neap = Neap::new();
    let mut client = Client::stateless(&neap, &[], json!({"elicitation": {"form": {}}}));
    client.tool("remember", json!({"kind": "fact", "text": "The code is 4711"}));
    let ask = json!({"name": "forget", "arguments": {"id": "f1"}});
    let asked = client.ok("tools/call", ask.clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, question) =
        asked["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a question");
    assert_eq!(question["method"], "elicitation/create");
    let call = |key: &str, yes: bool| {
        let answers = json!({key: {"action": "accept", "content": {"confirm": yes}}});
        json!({"name": "forget", "arguments": {"id": "f1"}, "inputResponses": answers})
    };
    let no = client.ok("tools/call", call(key, false));
    assert_eq!(no["structuredContent"]["status"], "kept", "{no}");
    // A record that changed since is not the one that was shown.
    client.tool("confirm_fact", json!({"id": "f1"}));
    let again = client.ok("tools/call", call(key, true));
    assert_eq!(again["resultType"], "input_required", "{again}");
    let key = again["inputRequests"].as_object().and_then(|all| all.keys().next()).expect("a question");
    let yes = client.ok("tools/call", call(key, true));
    assert_eq!(yes["structuredContent"]["status"], "forgotten", "{yes}");
    assert_eq!(client.tool("memory_status", json!({}))["known"]["fact"], 0);
}

#[test]
fn progress_is_told_to_who_asks_for_it() {
    let neap = Neap::new();
    let mut client = Client::of(&neap, "2025-11-25");
    client.tool("open_effort", json!({"name": "roof"}));
    client.tool(
        "record_turn",
        json!({"user": "the roof leaks over the kitchen window", "assistant": "Look at the flashing."}),
    );
    assert!(client.heard.iter().all(|said| said["method"] != "notifications/progress"));
    let call = json!({"name": "close_effort", "arguments": {}, "_meta": {"progressToken": "p"}});
    client.ok("tools/call", call);
    let told: Vec<&Value> =
        client.heard.iter().filter(|said| said["method"] == "notifications/progress").collect();
    assert!(!told.is_empty() && told.iter().all(|said| said["params"]["progressToken"] == "p"), "{told:?}");
    let steps: Vec<f64> = told.iter().filter_map(|said| said["params"]["progress"].as_f64()).collect();
    assert!(steps.windows(2).all(|two| two[0] < two[1]), "{steps:?}");
}

/// Issue: the characters of a session's name all count. One that was cut by an earlier version goes on for the first name that asks for it.
#[test]
fn long_names_that_begin_alike_are_two_sessions() {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    let begin = "y".repeat(64);
    neap.replay(&["--session", &begin], &[json!({"user": "the roof leaks", "assistant": "Noted."})]);
    let mut client = Client::of(&neap, STATELESS);
    let mut tell = |end: &str| {
        let told = client.tool("record_turn", json!({"user": end, "session": format!("{begin}{end}")}));
        (told["session"].as_str().expect("a name").to_owned(), told["turn"].clone())
    };
    assert_eq!(tell("one"), (begin.clone(), json!(2)));
    let (other, turn) = tell("two");
    assert_eq!((other == begin, turn), (false, json!(1)));
    assert_eq!((tell("one"), tell("two")), ((begin, json!(3)), (other, json!(2))));
}
