//! `neap chat --model`: the real binary against a provider on this machine, in each of the three protocols.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::disk::skip;
use crate::mock::{ALL, End, Mock, Reply, Request, Speaks};
use crate::rig::{Neap, Ran, holding};
use serde_json::{Value, json};

const KEY: &str = "key-that-nobody-may-see";

/// Says lines to a model, with variables of the environment.
fn chat(neap: &Neap, args: &[&str], variables: &[(&str, &str)], lines: &[&str]) -> Ran {
    let mut command = neap.command(&[&["chat"], args].concat());
    command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // It may end without reading everything.
    let _ = stdin.write_all(lines.join("\n").as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

fn key_of(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::Chat | Speaks::Responses => "OPENAI_API_KEY",
        Speaks::Messages => "ANTHROPIC_API_KEY",
    }
}

/// Whether tools have answered in this request already.
fn has_results(request: &Request) -> bool {
    ["\"role\":\"tool\"", "function_call_output", "tool_result"].iter().any(|mark| request.body.contains(mark))
}

/// A server on this machine with one model that embeds, and one that answers.
fn local_server(window: u64) -> Mock {
    let json = |body: &Value| Reply::new(200, "application/json", body.to_string());
    Mock::start(move |request, _| match request.path.as_str() {
        "/v1/models" => json(&json!({"data": [{"id": "nomic-embed-text"}, {"id": "tiny-chat"}]})),
        "/props" => json(&json!({"default_generation_settings": {"n_ctx": window}})),
        _ => Reply::stream(Speaks::Chat.words(&["Hello."])),
    })
}

#[test]
fn a_model_on_this_machine_is_found() {
    let mock = local_server(4_096);
    let host = mock.url("").trim_start_matches("http://").to_owned();
    let (named, base) = (mock.url("/v1"), [("OLLAMA_HOST", host.as_str())]);
    for (args, variables) in [(&["--base-url", named.as_str()][..], &[][..]), (&[], &base)] {
        let neap = Neap::new();
        let ran = chat(&neap, &[&["--model", "auto"], args].concat(), variables, &["Hi there"]);
        assert_eq!((ran.code, ran.out.contains("Hello.")), (0, true), "{ran:?}");
        assert!(ran.err.contains("tiny-chat, 4,096 tokens"), "{}", ran.err);
        assert!(ran.err.contains("context_tokens_max"), "its window is the limit: {}", ran.err);
        let asked = mock.requests().into_iter().rfind(|request| !request.body.is_empty()).expect("a request");
        assert_eq!(asked.json()["model"], "tiny-chat");
    }
}

#[test]
fn where_no_model_is_the_places_that_were_tried_are_named() {
    let neap = Neap::new();
    let nobody = "http://127.0.0.1:9/v1";
    let ran = chat(&neap, &["--model", "auto", "--base-url", nobody], &[], &["Hi"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains(nobody) && ran.err.contains("--base-url"), "{}", ran.err);
}

#[test]
fn a_model_answers_and_calls_tools_in_every_protocol() {
    for speaks in ALL {
        let neap = Neap::new();
        let mock = Mock::start(move |request, _| match has_results(request) {
            false => Reply::stream(speaks.call("call-1", "open_effort", &json!({"name": "login"}))),
            true => Reply::stream(speaks.words(&["I ", "look into ", "it."])),
        });
        let args = ["--model", "m-1", "--base-url", &mock.url("/v1"), "--api", speaks.name()];
        let ran = chat(&neap, &args, &[(key_of(speaks), KEY)], &["login fails"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{speaks:?}: {}", ran.out);
        assert!(ran.out.contains("--- Started effort: login ---"), "{speaks:?}: {}", ran.out);
        assert!(ran.out.trim_end().ends_with("I look into it."), "{speaks:?}: {}", ran.out);
        let requests = mock.requests();
        assert_eq!(requests.len(), 2, "{speaks:?}");
        assert!(requests.iter().all(|request| Speaks::of(&request.path) == speaks));
        assert!(requests[1].body.contains("thought"), "{speaks:?}: thinking goes back: {}", requests[1].body);
        let key = if speaks == Speaks::Messages { "x-api-key" } else { "authorization" };
        assert!(requests[0].header(key).is_some_and(|value| value.ends_with(KEY)), "{speaks:?}");
        assert_eq!(holding(&neap.data(), KEY), Vec::<std::path::PathBuf>::new(), "{speaks:?}: no key is stored");
        assert_eq!(neap.json(&["session", "efforts"])[0]["id"], "login", "{speaks:?}");
    }
}

/// What could not be answered is told and kept, and the chat goes on.
#[test]
fn faults_are_told_and_the_chat_goes_on() {
    let full = r#"{"error":{"message":"too long for me","code":"context_length_exceeded"}}"#;
    let refused = format!(r#"{{"error":{{"message":"no such key: {KEY}"}}}}"#);
    let table = [
        (Reply::error(400, full), "the request exceeds the model's context: too long for me"),
        (Reply::error(401, &refused), "the model refused: no such key: … (status 401)"),
        (Reply::error(429, "{}").header("retry-after", "7200"), "the provider asks to wait 7200 s"),
        (Reply::stream("data: ???\n\n"), "the provider's answer is invalid"),
        (Reply::stream("").ending(End::Clean), "the stream ended before the answer did"),
    ];
    for (fault, want) in table {
        let neap = Neap::new();
        let mock = Mock::start(move |_, number| match number {
            0 => fault.clone(),
            _ => Reply::stream(Speaks::Chat.words(&["Here I am."])),
        });
        let base = mock.url("");
        let args = ["--model", "m-1", "--base-url", base.as_str()];
        let ran = chat(&neap, &args, &[("NEAP_API_KEY", KEY)], &["are you there?", "and now?"]);
        assert!(ran.err.contains(want), "{want}: {}", ran.err);
        assert!(!ran.err.contains(KEY) && !ran.out.contains(KEY), "{}{}", ran.err, ran.out);
        assert_eq!((ran.code, ran.out.trim()), (2, "Here I am."), "{want}");
        assert_eq!(neap.json(&["session", "show"])["turns"], 2, "{want}: both messages are kept");
        assert!(mock.requests()[1].body.contains("are you there?"), "{want}");
    }
}

#[test]
fn a_key_is_not_sent_where_others_can_read_it() {
    let mock = Mock::start(|_, _| Reply::stream(Speaks::Chat.words(&["hi"])));
    // This machine, by an address that is not one of its own alone.
    let open = mock.url("/v1").replace("127.0.0.1", "0.0.0.0");
    let args = ["--model", "m-1", "--base-url", open.as_str()];
    for (name, is_sent) in [("OPENAI_API_KEY", false), ("NEAP_API_KEY", true)] {
        let before = mock.requests().len();
        let ran = chat(&Neap::new(), &args, &[(name, KEY), ("NEAP_LOG", "trace")], &["hello"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("TRACE") && !ran.err.contains(KEY), "{}", ran.err);
        assert_eq!(mock.requests()[before].header("authorization").is_some(), is_sent, "{name}");
    }
}

#[test]
fn what_cannot_be_asked_is_told_before_anything_is_stored() {
    let table: [(&[&str], &str); 5] = [
        (&["--model", "gpt-4o"], "api.openai.com requires a key"),
        (&["--model", "claude-opus-4-5"], "api.anthropic.com requires a key"),
        (&["--model", "m", "--base-url", "localhost:8080"], "begins with neither http:// nor https://"),
        (&["--model", "m", "--base-url", "http://me:word@localhost"], "must not hold a password"),
        (&["--base-url", "http://localhost:1"], "need a model"),
    ];
    for (args, want) in table {
        let neap = Neap::new();
        let ran = chat(&neap, args, &[], &["hello"]);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains(want) && ran.err.contains("hint:"), "{args:?}: {}", ran.err);
        assert!(!neap.database().exists(), "{args:?}");
    }
}

/// A table of the user's: a small window makes a session's budget fit, prices become its settings.
#[test]
fn profiles_of_the_users_are_heeded() {
    let neap = Neap::new();
    neap.ok(&["remember", "the data directory is here"]);
    let table = "[[model]]\nname = \"tiny*\"\napi = \"anthropic\"\nwindow_tokens = 9000\nreply_tokens = 1000\nencoding = \"cl100k_base\"\nprice_input = 0.5\nprice_output = 2.0\n";
    neap.file("data/models.toml", table);
    let mock = Mock::start(|_, _| Reply::stream(Speaks::Messages.words(&["small"])));
    let base = mock.url("");
    let args = ["--model", "tiny-1b", "--base-url", base.as_str()];
    let ran = chat(&neap, &args, &[], &["hello"]);
    assert_eq!((ran.code, ran.out.trim()), (0, "small"), "{}", ran.err);
    assert!(ran.err.contains("accepts 8,000 tokens besides its reply"), "{}", ran.err);
    let sent = mock.requests()[0].json();
    assert_eq!((&sent["max_tokens"], mock.requests()[0].header("x-api-key")), (&json!(1000), None));
    let events = neap.ok(&["session", "export", "default"]);
    assert!(events.contains("cl100k_base") && events.contains("\"price_output_cents\":200"), "{events}");
    let again = chat(&neap, &args, &[], &["hello again"]);
    assert_eq!((again.code, again.err.as_str()), (0, ""), "it fits now");

    neap.file("data/models.toml", "[[model]]\nname = 7\n");
    let ran = chat(&neap, &args, &[], &["hello"]);
    assert!(ran.code == 2 && ran.err.contains("models.toml"), "{}", ran.err);
}

/// RELIABILITY: a provider counts more than we do: alarm once, the margin adapts, and no request is over any more.
#[test]
fn a_provider_that_counts_more_is_heeded() {
    let neap = Neap::new();
    neap.ok(&["remember", "the data directory is here"]);
    let table =
        "[[model]]\nname = \"tiny\"\nwindow_tokens = 9000\nreply_tokens = 1000\nencoding = \"o200k_base\"\n";
    neap.file("data/models.toml", table);
    // A token for every two bytes of the body: more than anyone counts.
    let mock = Mock::start(|request, _| {
        let words = Speaks::Chat.words(&["noted"]);
        Reply::stream(
            words.replace("\"prompt_tokens\":100", &format!("\"prompt_tokens\":{}", request.body.len() / 2)),
        )
    });
    let base = mock.url("");
    let args = ["--model", "tiny", "--base-url", base.as_str()];
    let long = "a long line about nothing in particular, ".repeat(40);
    let lines: Vec<&str> = (0..20).map(|_| long.as_str()).collect();
    let ran = chat(&neap, &args, &[], &lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.err.matches("the real cost is higher than shown").count(), 1, "told once: {}", ran.err);
    // What the tools' JSON costs is no measure for what is said.
    let lowered = ran.err.matches("so that prompts fit by the provider's count").count();
    assert!((1..=2).contains(&lowered), "soon for all: {}", ran.err);
    let counts: Vec<usize> = mock.requests().iter().map(|request| request.body.len() / 2).collect();
    assert!(
        counts.len() >= 20 && counts.iter().all(|count| *count <= 8_000),
        "none is over the window: {counts:?}"
    );
    assert!(counts.iter().any(|count| *count > 5_000), "and the window is used: {counts:?}");
}

/// RELIABILITY, upstream faults: what was said before a stream broke is kept and marked, and nobody takes it for an answer.
#[test]
fn half_an_answer_is_kept_and_marked() {
    for (speaks, end) in ALL.into_iter().flat_map(|speaks| [(speaks, End::Clean), (speaks, End::Broken)]) {
        let neap = Neap::new();
        let words = speaks.words(&["The port", " is 8080."]);
        let at = words.find(" is 8080.").expect("words");
        let at = words[..at].rfind("data: ").expect("an event");
        let half = Reply::stream(words).cut(at, end);
        let mock = Mock::start(move |_, _| half.clone());
        let args = ["--model", "m-1", "--base-url", &mock.url("/v1"), "--api", speaks.name()];
        let ran = chat(&neap, &args, &[], &["which port?"]);
        assert_eq!(ran.code, 2, "{speaks:?} {end:?}: {}", ran.out);
        assert!(ran.out.starts_with("The port [broken off: "), "{speaks:?} {end:?}: {}", ran.out);
        assert_eq!(mock.requests().len(), 1, "{speaks:?} {end:?}: nothing is asked again");
        assert!(neap.ok(&["session", "show", "--turn", "1"]).contains("The port [broken off: "), "{speaks:?}");
    }
}

/// On a terminal: Ctrl-C hangs up and keeps what was said; the line under a reply has the provider's own figures.
#[cfg(unix)]
#[test]
fn a_chat_on_a_terminal_can_be_interrupted_and_shows_what_it_costs() {
    let works = Command::new("python3").args(["-c", "import pty"]).output().is_ok_and(|ran| ran.status.success());
    if !works {
        skip("chat with a model on a terminal", "python3 with its pty module is not here");
        return;
    }
    let neap = Neap::new();
    let story = Speaks::Chat.words(&["Once upon", " a time"]);
    let at = story.find("\n\n").expect("an event") + 2;
    let half = Reply::stream(story).cut(at, End::Silent);
    let mock = Mock::start(move |_, number| match number {
        0 => half.clone(),
        _ => Reply::stream(Speaks::Chat.words(&["The ", "end."])),
    });
    let chat = neap.command(&["chat", "--model", "gpt-4o-mini", "--base-url", &mock.url("/v1")]);
    let mut command = Command::new("python3");
    command
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model.py"))
        .arg(chat.get_program())
        .args(chat.get_args());
    for (name, value) in chat.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let told: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text} {}", String::from_utf8_lossy(&output.stderr)));
    let seen = told["seen"].as_str().expect("text");
    for step in ["prompt", "half", "interrupted", "whole"] {
        assert_eq!(told[step], true, "{step} did not come: {seen}");
    }
    assert_eq!(told["exit"], 0, "{seen}");
    assert!(seen.contains("gpt-4o-mini at 127.0.0.1 (openai)"), "{seen}");
    // By the provider's count. One turn saves nothing, and nothing is claimed.
    assert!(seen.contains(" · 80 % cached") && !seen.contains("saved"), "{seen}");
    assert!(neap.ok(&["session", "show", "--turn", "1"]).contains("Once upon [interrupted]"));
    let body = &mock.requests()[1].body;
    assert!(body.contains("Once upon\"") && !body.contains("[interrupted]"), "its words are its own: {body}");
    assert!(body.contains("§[The user interrupted the reply above]"), "the model is told, too: {body}");
}

/// A cheaper model makes the summaries, after the reply is given; the reply is the other's.
#[test]
fn a_cheaper_model_summarises_off_the_replys_path() {
    let neap = Neap::new();
    let summary = "Two workers used one port, 8080; the second now uses 8081.";
    let mock = Mock::start(move |request, _| {
        let body = request.json();
        let is_answered =
            body["messages"].as_array().and_then(|all| all.last()).is_some_and(|last| last["role"] == "tool");
        match body["model"].as_str() {
            Some("small-1") => Reply::stream(Speaks::Chat.words(&[summary])),
            _ if is_answered => Reply::stream(Speaks::Chat.words(&["Noted."])),
            _ if request.body.contains("8081") => {
                Reply::stream(Speaks::Chat.call("call-2", "close_effort", &json!({})))
            }
            _ => Reply::stream(Speaks::Chat.call("call-1", "open_effort", &json!({"name": "port"}))),
        }
    });
    let base = mock.url("/v1");
    let args = ["--model", "big-1", "--summary-model", "small-1", "--base-url", base.as_str()];
    let lines =
        ["Two workers use port 8080 and one fails, why?", "The second uses 8081 now, so that is resolved."];
    let ran = chat(&neap, &args, &[], &lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let models: Vec<String> = mock
        .requests()
        .iter()
        .map(|request| request.json()["model"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(models, ["big-1", "big-1", "big-1", "big-1", "small-1"]);
    assert!(mock.requests()[4].json()["tools"].is_null());
    assert!(neap.json(&["session", "efforts"])[0]["summary"].to_string().contains(summary));
}
