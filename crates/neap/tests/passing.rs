//! What the proxy answers itself, what it makes of answers that break off, and the account that it keeps.

use crate::mock::{ALL, End, Mock, Reply, Speaks};
use crate::rig;
use crate::wait::wait_until;
use crate::wire::Proxy;
use serde_json::{Value, json};

/// Embedding is slow where it is not optimised, as in tests; words alone find what is looked for here.
const BY_WORDS: [(&str, &str); 1] = [("NEAP_EMBEDDER", "none")];

fn path(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::Chat => "/v1/chat/completions",
        Speaks::Responses => "/v1/responses",
        Speaks::Messages => "/v1/messages",
    }
}

fn body(speaks: Speaks, history: &Value) -> String {
    let list = if speaks == Speaks::Responses { "input" } else { "messages" };
    let mut body = json!({"model": "m-unknown", "stream": true, "max_tokens": 500});
    body[list] = history.clone();
    body.to_string()
}

/// PROTOCOLS: to a trigger exactly one item comes back; nobody else is asked, and a forged one goes nowhere.
#[test]
fn a_history_is_put_in_short_here() {
    let mock = Mock::start(|_, _| Reply::stream(Speaks::Responses.words(&["Noted."])));
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &BY_WORDS);
    let said = json!({"role": "user", "content": "The staging database is heron-7."});
    let mut history = vec![said, json!({"role": "assistant", "content": "Noted."})];
    history.push(json!({"type": "compaction_trigger"}));
    let answer = proxy.post("/v1/responses", &body(Speaks::Responses, &json!(history)));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(answer.header("x-neap-class"), Some("client_compaction"));
    assert_eq!(mock.requests().len(), 0, "nobody else is asked");
    let text = answer.text();
    let done: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<Value>(data).expect("JSON"))
        .filter(|event| event["type"] == "response.output_item.done")
        .collect();
    let [done] = &done[..] else { panic!("{text}") };
    let mut next = vec![done["item"].clone(), json!({"role": "user", "content": "Which database?"})];
    let answer = proxy.post("/v1/responses", &body(Speaks::Responses, &json!(next)));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let sent = mock.requests()[0].body.clone();
    assert!(sent.contains("heron-7") && !sent.contains("encrypted_content"), "{sent}");
    let content = next[0]["encrypted_content"].as_str().expect("content").replace("heron-7", "eagle-9");
    next[0]["encrypted_content"] = json!(content);
    let answer = proxy.post("/v1/responses", &body(Speaks::Responses, &json!(next)));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!("invalid_encrypted_content")));
    assert_eq!(mock.requests().len(), 1);
}

/// Every piece of a stream as it is cut: what comes through is what came, and an end only where there was one.
#[test]
fn streams_cut_at_every_byte_stay_what_they_are() {
    for speaks in ALL {
        let stream = speaks.words(&["Hé", "llo"]);
        let whole = stream.clone();
        let mock = Mock::start(move |request, _| {
            let at: usize = request.header("x-cut").and_then(|at| at.parse().ok()).expect("a place");
            let end = if request.header("x-end") == Some("clean") { End::Clean } else { End::Broken };
            Reply::stream(whole.clone()).cut(at, end)
        });
        let proxy = Proxy::with(&["--upstream", &mock.url("")], &BY_WORDS);
        let bytes = stream.len();
        std::thread::scope(|scope| {
            for part in 0..4 {
                let (proxy, stream) = (&proxy, &stream);
                scope.spawn(move || {
                    for at in (part..=bytes).step_by(4) {
                        let end = if at % 2 == 0 { "clean" } else { "broken" };
                        let cut = at.to_string();
                        let headers = [("x-cut", cut.as_str()), ("x-end", end)];
                        let answer = proxy.ask("POST", path(speaks), &headers, b"{}");
                        assert_eq!(answer.status, 200, "{speaks:?} cut at {at}");
                        assert_eq!(answer.body, &stream.as_bytes()[..at], "{speaks:?} cut at {at}");
                        assert_eq!(answer.is_whole, end == "clean", "{speaks:?} cut at {at}");
                    }
                });
            }
        });
        let ends = |at: usize| matches!(&stream[at..], "" | "\n");
        let broken =
            (0..=bytes).filter(|at| !stream.is_char_boundary(*at) || !ends(*at) || &stream[*at..] == "\n").count();
        proxy.wait_for("neap_answers_broken_off_total", broken as u64);
        assert!(!proxy.log().contains("panicked"), "{}", proxy.log());
    }
}

/// Half an answer is kept, and says that it is half; the account says so too.
#[test]
fn half_an_answer_is_recorded_and_marked() {
    let words = Speaks::Chat.words(&["The port is", " 8080."]);
    let at = words.find(" 8080").expect("words");
    let half = Reply::stream(words[..at].rsplit_once("data: ").expect("events").0.to_owned()).ending(End::Broken);
    let whole = Reply::stream(words);
    let mock = Mock::start(move |_, number| if number == 0 { half.clone() } else { whole.clone() });
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &BY_WORDS);
    let mut history = vec![json!({"role": "user", "content": "Which port does the gateway listen on?"})];
    let answer = proxy.post("/v1/chat/completions", &body(Speaks::Chat, &json!(history)));
    assert!(!answer.is_whole);
    let session = answer.header("x-neap-session").expect("a session").to_owned();
    proxy.wait_for("neap_answers_broken_off_total", 1);
    let search = || {
        let found = proxy.neap.command(&["search", "port"]).envs(BY_WORDS).output().expect("it runs");
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    wait_until("half an answer is found", || search().contains("The port is"));
    let kept =
        proxy.neap.command(&["session", "original", "t1", "--session", &session]).output().expect("it runs");
    let kept = String::from_utf8_lossy(&kept.stdout).into_owned();
    assert!(kept.contains("assistant: The port is [broken off]"), "{kept}");
    // The client keeps what it has, and goes on.
    history.extend([
        json!({"role": "assistant", "content": "The port is"}),
        json!({"role": "user", "content": "Yes?"}),
    ]);
    let answer = proxy.post("/v1/chat/completions", &body(Speaks::Chat, &json!(history)));
    assert_eq!(
        (answer.header("x-neap-session"), answer.header("x-neap-verdict")),
        (Some(&*session), Some("turn"))
    );
    proxy.wait_for("neap_tokens_input_total", 100);
    let report = || proxy.neap.json(&["report", "--session", &session])["passed"].clone();
    wait_until("both requests are reported", || report()["requests"] == 2);
    let passed = report();
    assert_eq!((&passed["broken_off"], &passed["changed"]), (&json!(1), &json!(0)), "{passed}");
    assert_eq!(passed["used"], json!({"input": 100, "cached": 80, "output": 5}), "{passed}");
    let explained = proxy.neap.ok(&["explain", "--session", &session, "--turn", "1"]);
    assert!(explained.contains(" (main_turn, new_session): ") && explained.contains("cut off"), "{explained}");
    let answer = proxy.post("/v1/chat/completions", &body(Speaks::Chat, &json!(history)));
    assert_eq!(answer.header("x-neap-cached-percent"), Some("80"), "so far");
}

/// `neap report --live`: each request in a line, for people and for programs; nobody elsewhere is told.
#[test]
fn a_proxy_can_be_watched() {
    let mock = Mock::start(|_, _| Reply::stream(Speaks::Chat.words(&["Hello."])));
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &BY_WORDS);
    for text in ["How are you today?", "And tomorrow?"] {
        proxy.post("/v1/chat/completions", &body(Speaks::Chat, &json!([{"role": "user", "content": text}])));
    }
    proxy.wait_for("neap_tokens_input_total", 200);
    let url = format!("http://{}/v1", proxy.address);
    let told = proxy.neap.ok(&["report", "--live", "--once", "--url", &url]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 4, "{told}");
    assert!(
        lines[0].contains("left out") && lines[1].contains("main_turn") && lines[2].contains("80 %"),
        "{told}"
    );
    assert!(lines[3].starts_with("2 requests: ") && lines[3].contains("80 % of them cached, 10 out"), "{told}");
    assert!(!told.contains("tomorrow") && !told.contains("Hello"), "what was said is not told: {told}");
    let out = proxy.neap.ok(&["report", "--live", "--once", "--url", &url, "--json"]);
    let seen = rig::objects(&out);
    assert_eq!((seen.len(), &seen[1]["number"], &seen[1]["used"]["cached"]), (2, &json!(2), &json!(80)), "{out}");
    let bearer = proxy.bearer("api-read");
    let answer = proxy.ask("GET", "/neap/recent?after=1", &[("authorization", &bearer)], b"");
    assert_eq!(answer.json()["requests"].as_array().map(Vec::len), Some(1));
    let page = [("origin", "https://evil.example"), ("authorization", &bearer)];
    assert_eq!(proxy.ask("GET", "/neap/recent", &page, b"").status, 403);
    let ran = rig::Neap::new().run(&["report", "--live", "--once", "--url", &url]);
    assert!(ran.code == 2 && ran.err.contains("--data-dir"), "another data directory: {}", ran.err);
    let ran = proxy.neap.run(&["report", "--live", "--once", "--url", "http://127.0.0.1:9"]);
    assert!(ran.code == 2 && ran.err.contains("neap serve"), "{}", ran.err);
}
