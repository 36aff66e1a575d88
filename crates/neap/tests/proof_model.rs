//! `neap lab proof model`: a model that does as the rules say passes every row, one that only talks fails those that ask for more.

use crate::mock::{Mock, Reply, Request, Speaks};
use crate::rig::Neap;
use serde_json::{Value, json};

const SPEAKS: Speaks = Speaks::Chat;

/// Who was asked for a summary.
fn is_summary(request: &Value) -> bool {
    request["tools"].is_null()
}

/// What the rules ask for: for these words, these calls, one after the other.
const SHOULD: [(&str, &[(&str, &str)]); 8] = [
    ("error 500", &[("open_effort", r#"{"name":"checkout"}"#)]),
    ("nightly backup", &[("open_effort", r#"{"name":"backup"}"#)]),
    ("set up replication", &[("open_effort", r#"{"name":"replication"}"#)]),
    ("that is resolved", &[("close_effort", "{}")]),
    ("how many milliseconds", &[("expand_effort", r#"{"id":"login-401"}"#)]),
    ("What did we settle", &[("search_efforts", r#"{"query":"billing database"}"#)]),
    (
        "zero dates, and",
        &[("search_efforts", r#"{"query":"billing"}"#), ("expand_effort", r#"{"id":"billing-migration"}"#)],
    ),
    ("Reopen login-401", &[("reopen_effort", r#"{"id":"login-401"}"#)]),
];

fn as_the_rules_say(request: &Request) -> Reply {
    let body = request.json();
    if is_summary(&body) {
        let summary =
            "Two tabs sent one refresh token, hence invalid_grant; the lock auth-refresh in 4.2.1 fixes it.";
        return Reply::stream(SPEAKS.words(&[summary]));
    }
    let messages = body["messages"].as_array().expect("messages");
    let said = messages.iter().rposition(|message| message["role"] == "user").expect("a user");
    let text = messages[said]["content"].as_str().expect("words");
    let rounds = messages[said..].iter().filter(|message| message["role"] == "tool").count();
    let calls = SHOULD.iter().find(|(words, _)| text.contains(words)).map_or(&[][..], |(_, calls)| calls);
    match calls.get(rounds) {
        Some((name, arguments)) => {
            let arguments: Value = serde_json::from_str(arguments).expect("JSON");
            Reply::stream(SPEAKS.call(&format!("call-{rounds}"), name, &arguments))
        }
        None => Reply::stream(SPEAKS.words(&["As you ", "say."])),
    }
}

/// Runs the proof; gives the exit code, and how often each row passed.
fn prove(mock: &Mock, tries: &str) -> (i32, Vec<(String, u64)>) {
    let (neap, url) = (Neap::new(), mock.url("/v1"));
    let ran =
        neap.run(&["lab", "proof", "model", "--base-url", &url, "--model", "m-1", "--tries", tries, "--json"]);
    let rates: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let rows = rates["rows"].as_array().expect("rows");
    let passed =
        |row: &Value| (row["row"].as_str().expect("a name").to_owned(), row["passed"].as_u64().expect("a number"));
    assert!(!neap.database().exists(), "nothing is kept");
    (ran.code, rows.iter().map(passed).collect())
}

#[test]
fn a_model_that_heeds_the_rules_passes_every_row() {
    let mock = Mock::start(|request, _| as_the_rules_say(request));
    let (code, rows) = prove(&mock, "2");
    let failed: Vec<_> = rows.iter().filter(|(_, passed)| *passed != 2).collect();
    assert_eq!((code, failed), (0, Vec::new()));
    assert_eq!(rows.len(), 18);
}

#[test]
fn a_model_that_only_talks_fails_what_asks_for_more() {
    let mock = Mock::start(|_, _| Reply::stream(SPEAKS.words(&["Fine."])));
    let (code, rows) = prove(&mock, "1");
    let failed: Vec<&str> = rows.iter().filter(|(_, passed)| *passed == 0).map(|(row, _)| row.as_str()).collect();
    let want = [
        "problem", "implied complaint", "how do I", "explicit sign", "detail", "evicted topic",
        "detail of an evicted topic", "reopening", "summary",
    ];
    assert_eq!((code, failed), (1, want.to_vec()));
}

#[test]
fn rows_that_talk_alone_passes_are_marked() {
    let mock = Mock::start(|request, _| as_the_rules_say(request));
    let (neap, url) = (Neap::new(), mock.url("/v1"));
    let args = ["lab", "proof", "model", "--base-url", &url, "--model", "m-1", "--tries", "1"];
    let rows = neap.json(&args)["rows"].clone();
    let marked = |row: &&Value| row["passed_mute"] == true;
    assert_eq!(rows.as_array().expect("rows").iter().filter(marked).count(), 9, "{rows}");
    let told = neap.ok(&args);
    assert!(told.contains("18 of 18 rows") && told.contains("9 of the 9 that a model which only talks"), "{told}");
    assert_eq!(told.matches("passes, too").count(), 9, "{told}");
}

#[test]
fn a_model_that_acts_on_everything_fails_what_asks_for_nothing() {
    let mock = Mock::start(|request, _| {
        let body = request.json();
        let messages = body["messages"].as_array().expect("messages");
        let is_answered = messages.last().is_some_and(|message| message["role"] == "tool");
        if is_summary(&body) || is_answered {
            return Reply::stream(SPEAKS.words(&["Done."]));
        }
        let has_open = body.to_string().contains("invalid_grant");
        let name = if has_open { "close_effort" } else { "open_effort" };
        Reply::stream(SPEAKS.call("call-1", name, &json!({"name": "eager"})))
    });
    let (code, rows) = prove(&mock, "1");
    let failed: Vec<&str> = rows.iter().filter(|(_, passed)| *passed == 0).map(|(row, _)| row.as_str()).collect();
    for row in [
        "greeting", "one-shot question", "sub-topic", "answer to a question", "later", "on hold",
        "something else instead",
    ] {
        assert!(failed.contains(&row), "{row} passed; failed: {failed:?}");
    }
    assert_eq!(code, 1);
}

#[test]
fn without_a_model_it_says_what_to_do() {
    let ran = Neap::new().run(&["lab", "proof", "model"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no model to ask") && ran.err.contains("hint:"), "{}", ran.err);
}
