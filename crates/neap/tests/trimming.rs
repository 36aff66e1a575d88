//! `neap serve --trim-tools`: a long tool result is short at the provider, and the whole comes back by its handle.

use crate::mock::{Mock, Reply, Request, Speaks};
use crate::wire::Proxy;
use serde_json::{Value, json};

const ERROR: &str = "error[E0308]: mismatched types in src/ledger.rs:212";

/// The output of a build, of which one line matters.
fn output() -> String {
    let line = |number: usize| match number {
        170 => ERROR.to_owned(),
        other => format!("   Compiling part-{} v0.{other}.{}", other * 7919 % 1_000, other * 31),
    };
    (0..320).map(|number| line(number) + "\n").collect()
}

/// A client's conversation that ends with the output.
fn history(speaks: Speaks) -> Value {
    let arguments = json!({"command": "cargo build"});
    match speaks {
        Speaks::Messages => json!([
            {"role": "user", "content": "build it"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "shell", "input": arguments}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": output()}]}]),
        Speaks::Chat | Speaks::Responses => json!([
            {"role": "user", "content": "build it"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": arguments.to_string()}}]},
            {"role": "tool", "tool_call_id": "c1", "content": output()}]),
    }
}

/// The texts of a request's tool results.
fn results(request: &Request) -> Vec<String> {
    let body = request.json();
    let mut found = Vec::new();
    for message in body["messages"].as_array().expect("a history") {
        if message["role"] == "tool" {
            found.push(message["content"].clone());
        }
        let blocks = message["content"].as_array().into_iter().flatten();
        found.extend(blocks.filter(|block| block["type"] == "tool_result").map(|block| block["content"].clone()));
    }
    found.iter().map(|content| content.as_str().map_or_else(|| content.to_string(), str::to_owned)).collect()
}

/// The handle that a result in short names.
fn handle(result: &str) -> String {
    let after = result.split("fetch_original ").nth(1).unwrap_or_else(|| panic!("no handle: {result}"));
    after.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// What `fetch_original` answered.
fn page_of(result: &str) -> Value {
    serde_json::from_str(result).unwrap_or_else(|error| panic!("{error}: {result}"))
}

fn ask(proxy: &Proxy, speaks: Speaks) -> crate::wire::Answer {
    let path = if speaks == Speaks::Chat { "/v1/chat/completions" } else { "/v1/messages" };
    let body = json!({"model": "m", "max_tokens": 500, "stream": true, "messages": history(speaks)});
    let headers =
        [("authorization", "Bearer k"), ("content-type", "application/json"), ("x-neap-session", "build")];
    let answer = proxy.ask("POST", path, &headers, body.to_string().as_bytes());
    assert_eq!((answer.status, answer.is_whole), (200, true), "{}", answer.text());
    answer
}

#[test]
fn a_long_result_is_short_at_the_provider_and_comes_back_whole_by_its_handle() {
    for speaks in [Speaks::Chat, Speaks::Messages] {
        // The model asks for the whole of what it was shown in short, page by page.
        let mock = Mock::start(move |request, number| {
            let results = results(request);
            let offset = match results.last().filter(|_| number > 0) {
                None => json!(0),
                Some(page) => page_of(page)["next_offset"].clone(),
            };
            if offset.is_null() {
                return Reply::stream(speaks.words(&["It is a type error."]));
            }
            let asked = json!({"handle": handle(&results[0]), "offset": offset});
            Reply::stream(speaks.call(&format!("own{number}"), "fetch_original", &asked))
        });
        let args = ["--upstream", &mock.url(""), "--trim-tools", "--tools"];
        let proxy = Proxy::with(&args, &[("NEAP_EMBEDDER", "none")]);
        let answer = ask(&proxy, speaks);
        assert!(answer.text().contains("It is a type error.") && !answer.text().contains("fetch_original"));
        let requests = mock.requests();
        let [shown] = &results(&requests[0])[..] else { panic!("{speaks:?}: {}", requests[0].body) };
        assert!(shown.contains(ERROR) && shown.len() * 4 < output().len(), "{speaks:?}: {shown}");
        let pages = &results(requests.last().expect("a request"))[1..];
        let fetched = pages.iter().map(|page| page_of(page)["text"].as_str().expect("text").to_owned());
        assert_eq!(fetched.collect::<String>(), output(), "{speaks:?}");
        let session = answer.header("x-neap-session").expect("a session").to_owned();
        let printed = proxy.neap.ok(&["session", "original", &handle(shown), "--session", &session]);
        assert!(printed.contains(&output()), "{speaks:?}: {printed}");
    }
}

#[test]
fn without_the_option_a_result_stays_as_it_came() {
    let mock = Mock::start(|_, _| Reply::stream(Speaks::Chat.words(&["ok"])));
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &[("NEAP_EMBEDDER", "none")]);
    assert_eq!(ask(&proxy, Speaks::Chat).header("x-neap-changes"), Some("0"));
    assert_eq!(results(&mock.requests()[0]), [output()]);
}
