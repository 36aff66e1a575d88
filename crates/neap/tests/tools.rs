//! Tools of ours through the proxy: the model calls them, and the client sees nothing of it.

use crate::mock::{self, Mock, Reply, Request, Speaks};
use crate::wire::{Answer, Proxy};
use serde_json::{Value, json};

/// Embedding is slow where it is not optimised, as in tests.
const BY_WORDS: [(&str, &str); 1] = [("NEAP_EMBEDDER", "none")];
const BOTH: [Speaks; 2] = [Speaks::Chat, Speaks::Messages];

fn path(speaks: Speaks) -> &'static str {
    if speaks == Speaks::Chat { "/v1/chat/completions" } else { "/v1/messages" }
}

/// A client's request, with a tool of its own.
fn ask(proxy: &Proxy, speaks: Speaks, history: &[Value], is_stream: bool) -> Answer {
    let tools = match speaks {
        Speaks::Chat => json!([{"type": "function", "function": {"name": "look", "parameters": {}}}]),
        Speaks::Messages | Speaks::Responses => json!([{"name": "look", "input_schema": {"type": "object"}}]),
    };
    let mut body = json!({"model": "m-unknown", "max_tokens": 500, "tools": tools, "messages": history});
    if is_stream {
        body["stream"] = json!(true);
    }
    let answer = proxy.post(path(speaks), &body.to_string());
    assert_eq!((answer.status, answer.is_whole), (200, true), "{}", answer.text());
    answer
}

/// A part of an answer: words, or a call.
#[derive(Clone)]
enum Part {
    Words(&'static str),
    Call(&'static str, &'static str, Value),
}

/// An answer of these, as a provider gives it.
fn reply(speaks: Speaks, is_stream: bool, parts: &[Part]) -> Reply {
    let calls = parts.iter().any(|part| matches!(part, Part::Call(..)));
    match (speaks, is_stream) {
        (Speaks::Messages, true) => {
            let mut events = vec![
                json!({"type": "message_start", "message": {"id": "msg", "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}}),
            ];
            for (at, part) in parts.iter().enumerate() {
                let (block, delta) = match part {
                    Part::Words(text) => {
                        (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
                    }
                    Part::Call(id, name, input) => (
                        json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                        json!({"type": "input_json_delta", "partial_json": input.to_string()}),
                    ),
                };
                events.push(json!({"type": "content_block_start", "index": at, "content_block": block}));
                events.push(json!({"type": "ping"}));
                events.push(json!({"type": "content_block_delta", "index": at, "delta": delta}));
                events.push(json!({"type": "content_block_stop", "index": at}));
            }
            let reason = if calls { "tool_use" } else { "end_turn" };
            events.push(
                json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
            );
            events.push(json!({"type": "message_stop"}));
            let name = |event: &Value| event["type"].as_str().expect("a kind").to_owned();
            Reply::stream(
                events
                    .iter()
                    .map(|event| format!("event: {}\ndata: {event}\n\n", name(event)))
                    .collect::<String>(),
            )
        }
        (Speaks::Messages, false) => {
            let block = |part: &Part| match part {
                Part::Words(text) => json!({"type": "text", "text": text}),
                Part::Call(id, name, input) => json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            };
            let reason = if calls { "tool_use" } else { "end_turn" };
            let content: Vec<Value> = parts.iter().map(block).collect();
            let whole = json!({"id": "msg", "type": "message", "role": "assistant", "content": content,
                "stop_reason": reason, "usage": {"input_tokens": 9, "output_tokens": 5}});
            Reply::new(200, "application/json", whole.to_string())
        }
        (Speaks::Chat | Speaks::Responses, true) => {
            let mut at = 0;
            let mut deltas = vec![json!({"role": "assistant", "content": ""})];
            for part in parts {
                match part {
                    Part::Words(text) => deltas.push(json!({"content": text})),
                    Part::Call(id, name, input) => {
                        let text = input.to_string();
                        let (one, two) = text.split_at(text.len() / 2);
                        deltas.push(json!({"tool_calls": [{"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": one}}]}));
                        deltas.push(json!({"tool_calls": [{"index": at, "function": {"arguments": two}}]}));
                        at += 1;
                    }
                }
            }
            let chunk = |delta: &Value, finish: Value| json!({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
            let mut chunks: Vec<Value> = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
            chunks.push(chunk(&json!({}), json!(if calls { "tool_calls" } else { "stop" })));
            chunks.push(json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}));
            let mut text: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
            text.push_str("data: [DONE]\n\n");
            Reply::stream(text)
        }
        (Speaks::Chat | Speaks::Responses, false) => {
            let words: String =
                parts.iter().map(|part| if let Part::Words(text) = part { text } else { "" }).collect();
            let call = |part: &Part| match part {
                Part::Words(_) => None,
                Part::Call(id, name, input) => Some(json!({"id": id, "type": "function",
                    "function": {"name": name, "arguments": input.to_string()}})),
            };
            let made: Vec<Value> = parts.iter().filter_map(call).collect();
            let mut message = json!({"role": "assistant", "content": words});
            if calls {
                message["tool_calls"] = json!(made);
            }
            let choice = json!({"index": 0, "message": message, "finish_reason": if calls { "tool_calls" } else { "stop" }});
            let whole =
                json!({"id": "c1", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 5}});
            Reply::new(200, "application/json", whole.to_string())
        }
    }
}

/// What a client reads of an answer: its words, its calls by name, and whether its end came.
fn read(speaks: Speaks, is_stream: bool, text: &str) -> (String, Vec<String>, bool) {
    let (mut words, mut calls, mut is_over) = (String::new(), Vec::new(), !is_stream);
    let values: Vec<Value> = match is_stream {
        true => text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| {
                is_over = is_over || data == "[DONE]";
                serde_json::from_str(data).ok()
            })
            .collect(),
        false => vec![serde_json::from_str(text).expect("JSON")],
    };
    for value in &values {
        let name_of = |call: &Value| call["function"]["name"].as_str().map(str::to_owned);
        match (speaks, is_stream) {
            (Speaks::Messages, true) => {
                words.push_str(value["delta"]["text"].as_str().unwrap_or_default());
                calls.extend(value["content_block"]["name"].as_str().map(str::to_owned));
                is_over = is_over || value["type"] == "message_stop";
            }
            (Speaks::Messages, false) => {
                for block in value["content"].as_array().expect("content") {
                    words.push_str(block["text"].as_str().unwrap_or_default());
                    calls.extend(block["name"].as_str().map(str::to_owned));
                }
            }
            (Speaks::Chat | Speaks::Responses, _) => {
                let message =
                    if is_stream { &value["choices"][0]["delta"] } else { &value["choices"][0]["message"] };
                words.push_str(message["content"].as_str().unwrap_or_default());
                calls.extend(message["tool_calls"].as_array().into_iter().flatten().filter_map(name_of));
            }
        }
    }
    (words, calls, is_over)
}

fn said(speaks: Speaks, parts: &[Part]) -> Value {
    let body = reply_body(speaks, parts);
    match speaks {
        Speaks::Chat | Speaks::Responses => body["choices"][0]["message"].clone(),
        Speaks::Messages => json!({"role": "assistant", "content": body["content"]}),
    }
}

/// The same answer in one piece, as JSON.
fn reply_body(speaks: Speaks, parts: &[Part]) -> Value {
    let words: String = parts.iter().map(|part| if let Part::Words(text) = part { text } else { "" }).collect();
    let calls: Vec<Value> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Words(_) => None,
            Part::Call(id, name, input) if speaks == Speaks::Chat => Some(
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": input.to_string()}}),
            ),
            Part::Call(id, name, input) => {
                Some(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
            }
        })
        .collect();
    match speaks {
        Speaks::Chat | Speaks::Responses => {
            let mut message = json!({"role": "assistant", "content": words});
            if !calls.is_empty() {
                message["tool_calls"] = json!(calls);
            }
            json!({"choices": [{"message": message}]})
        }
        Speaks::Messages => {
            let text = json!({"type": "text", "text": words});
            let blocks: Vec<Value> = Some(text).filter(|_| !words.is_empty()).into_iter().chain(calls).collect();
            json!({"content": blocks})
        }
    }
}

fn items(request: &Request) -> Vec<Value> {
    request.json()["messages"].as_array().expect("a history").clone()
}

fn open_effort() -> Part {
    Part::Call("ours_1", "open_effort", json!({"name": "auth bug"}))
}

/// Ours alone: carried out, and asked again; the client sees words and one end. Later the model sees its calls where they were.
#[test]
fn calls_of_ours_are_carried_out_and_hidden() {
    for speaks in BOTH {
        for is_stream in [true, false] {
            let mock = Mock::start(move |_, number| match number {
                0 => reply(speaks, is_stream, &[Part::Words("Let me see."), open_effort()]),
                1 => reply(speaks, is_stream, &[Part::Words("It is open.")]),
                _ => reply(speaks, is_stream, &[Part::Words("Yes.")]),
            });
            let proxy = Proxy::with(&["--upstream", &mock.url(""), "--tools"], &BY_WORDS);
            let mut history =
                vec![json!({"role": "user", "content": "The login fails with a 401, help me fix that."})];
            let answer = ask(&proxy, speaks, &history, is_stream);
            let (words, calls, is_over) = read(speaks, is_stream, &answer.text());
            let case = format!("{speaks:?}, stream: {is_stream}");
            assert_eq!(words.replace("\n\n", ""), "Let me see.It is open.", "{case}");
            assert_eq!((calls.len(), is_over), (0, true), "{case}: {}", answer.text());
            assert!(!answer.text().contains("open_effort"), "{case}: {}", answer.text());
            let requests = mock.requests();
            assert_eq!(requests.len(), 2, "{case}");
            let tools = requests[0].json()["tools"].as_array().expect("tools").clone();
            assert!(
                tools.len() == 10 && tools[0].to_string().contains("look"),
                "{case}: ours come after the client's"
            );
            assert!(items(&requests[1]).starts_with(&items(&requests[0])), "{case}");
            assert!(requests[1].body.contains("auth-bug") && requests[1].body.contains("opened"), "{case}");
            let session = answer.header("x-neap-session").expect("a session").to_owned();
            let efforts = proxy.neap.ok(&["session", "efforts", "--session", &session]);
            assert!(efforts.contains("auth-bug"), "{case}: {efforts}");
            history.push(said(speaks, &[Part::Words("Let me see."), Part::Words("It is open.")]));
            if speaks == Speaks::Chat {
                history[1]["content"] = json!("Let me see.\n\nIt is open.");
            }
            history.push(json!({"role": "user", "content": "Go on."}));
            ask(&proxy, speaks, &history, is_stream);
            let (before, after) = (items(&mock.requests()[1]), items(&mock.requests()[2]));
            assert!(after.starts_with(&before), "{case}: what was sent stays\n{before:#?}\n{after:#?}");
            assert_eq!(after.len(), before.len() + 2, "{case}");
        }
    }
}

/// PROTOCOLS: "ours and theirs in parallel: hold ours, merge into the next user message".
#[test]
fn calls_of_ours_beside_the_clients_wait_for_its_answer() {
    for speaks in BOTH {
        for is_stream in [true, false] {
            let look = Part::Call("theirs_1", "look", json!({"at": "x"}));
            let first = [open_effort(), look.clone()];
            let mock = Mock::start(move |_, number| match number {
                0 => reply(speaks, is_stream, &first),
                _ => reply(speaks, is_stream, &[Part::Words("Done.")]),
            });
            let proxy = Proxy::with(&["--upstream", &mock.url(""), "--tools"], &BY_WORDS);
            let mut history =
                vec![json!({"role": "user", "content": "Please look at the login page and fix it."})];
            let answer = ask(&proxy, speaks, &history, is_stream);
            let case = format!("{speaks:?}, stream: {is_stream}");
            let (words, calls, is_over) = read(speaks, is_stream, &answer.text());
            assert_eq!((words.as_str(), calls, is_over), ("", vec!["look".to_owned()], true), "{case}");
            if speaks == Speaks::Messages && is_stream {
                assert!(
                    answer.text().contains(r#""index":0"#) && !answer.text().contains(r#""index":1"#),
                    "{case}"
                );
            }
            history.push(said(speaks, &[look]));
            history.push(match speaks {
                Speaks::Chat | Speaks::Responses => json!({"role": "tool", "tool_call_id": "theirs_1", "content": "seen"}),
                Speaks::Messages => json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "theirs_1", "content": "seen"}]}),
            });
            let answer = ask(&proxy, speaks, &history, is_stream);
            assert_eq!(read(speaks, is_stream, &answer.text()).0, "Done.", "{case}");
            let sent = mock.requests()[1].body.clone();
            for id in ["ours_1", "theirs_1"] {
                assert_eq!(sent.matches(id).count(), 2, "{case}: a call and its answer: {sent}");
            }
            if speaks == Speaks::Messages {
                assert_eq!(items(&mock.requests()[1]).len(), 3, "{case}: both answers are in one message");
            }
        }
    }
}

/// With tools, too, a stream that is cut gives the client what came, and an end only where there was one.
#[test]
fn streams_with_calls_of_ours_cut_at_every_byte() {
    for speaks in BOTH {
        let bytes_of = |parts: &[Part]| {
            let mock = Mock::script(vec![reply(speaks, true, parts)]);
            let proxy = Proxy::start(&mock.url(""));
            proxy.post(path(speaks), "{}").body
        };
        let first = [Part::Words("Let me see."), open_effort()];
        let last = [Part::Words("It is"), Part::Words(" open.")];
        let lengths = [bytes_of(&first).len(), bytes_of(&last).len()];
        for (cut_hop, length) in lengths.into_iter().enumerate() {
            let (one, two) = (first.clone(), last.clone());
            let mock = Mock::start(move |request, _| {
                let at: usize = request.header("x-cut").and_then(|at| at.parse().ok()).expect("a place");
                let hop = usize::from(request.body.contains("ours_1"));
                let whole = reply(speaks, true, if hop == 0 { &one } else { &two });
                if hop == cut_hop { whole.cut(at, mock::End::Broken) } else { whole }
            });
            let proxy = Proxy::with(&["--upstream", &mock.url(""), "--tools"], &BY_WORDS);
            for at in (0..length).step_by(7).chain([length - 1]) {
                let history = json!([{"role": "user", "content": format!("Fix the login, please, case {at}.")}]);
                let body = json!({"model": "m", "stream": true, "messages": history}).to_string();
                let answer = proxy.ask("POST", path(speaks), &[("x-cut", &at.to_string())], body.as_bytes());
                let (words, calls, is_over) = read(speaks, true, &answer.text());
                let case = format!("{speaks:?} hop {cut_hop} cut at {at}: {}", answer.text());
                assert!("Let me see.It is open.".starts_with(&words.replace("\n\n", "")), "{case}");
                assert_eq!((calls.len(), is_over && at < length - 1), (0, false), "{case}");
                assert!(!answer.is_whole || is_over, "{case}");
            }
            assert!(!proxy.log().contains("panicked"), "{}", proxy.log());
        }
    }
}

/// Anthropic's memory tool: files that outlive the conversation, each caller's its own, and no way out of them.
#[test]
fn the_memory_tool_is_served_from_the_store() {
    let calls = [
        json!({"command": "create", "path": "/memories/ports.md", "file_text": "gateway 8080"}),
        json!({"command": "view", "path": "/memories/../etc/passwd"}),
    ];
    let mock = Mock::start(move |request, number| {
        let body = request.body.clone();
        let command = match number {
            0 => Some(calls[0].clone()),
            1 => Some(calls[1].clone()),
            _ if body.contains("what do you know") && !body.contains("view_1") => {
                Some(json!({"command": "view", "path": "/memories"}))
            }
            _ => None,
        };
        let id = ["create_1", "escape_1", "view_1"][number.min(2)];
        match command {
            Some(command) => reply(Speaks::Messages, true, &[Part::Call(id, "memory", command)]),
            None => reply(Speaks::Messages, true, &[Part::Words("Noted.")]),
        }
    });
    let proxy = Proxy::with(&["--upstream", &mock.url(""), "--memory-tool", "--callers", "many"], &BY_WORDS);
    let ask = |key: &str, text: &str| {
        let body = json!({"model": "m", "stream": true, "max_tokens": 9, "messages": [{"role": "user", "content": text}]});
        proxy.ask(
            "POST",
            "/v1/messages",
            &[("x-api-key", &format!("{key}-4f9aT7bQ2mX8")), ("anthropic-beta", "a")],
            body.to_string().as_bytes(),
        )
    };
    let answer = ask("one", "remember the port");
    assert_eq!(read(Speaks::Messages, true, &answer.text()), ("Noted.".to_owned(), Vec::new(), true));
    let requests = mock.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].json()["tools"], json!([{"type": "memory_20250818", "name": "memory"}]));
    assert_eq!(requests[0].header("anthropic-beta"), Some("a,context-management-2025-06-27"));
    assert!(requests[1].body.contains("File created successfully at: /memories/ports.md"), "{}", requests[1].body);
    assert!(requests[2].body.contains("is not allowed"), "{}", requests[2].body);
    // Another conversation of the same caller, and one of another's.
    ask("one", "what do you know");
    assert!(mock.requests()[4].body.contains("/memories/ports.md"), "{}", mock.requests()[4].body);
    ask("two", "what do you know");
    assert!(!mock.requests()[6].body.contains("/memories/ports.md"), "{}", mock.requests()[6].body);
}

/// Errands beside a conversation have no tools of ours.
#[test]
fn an_errand_is_passed_on_as_it_came() {
    let mock = Mock::start(|_, _| reply(Speaks::Chat, true, &[Part::Words("Hm.")]));
    let proxy = Proxy::with(&["--upstream", &mock.url(""), "--tools"], &BY_WORDS);
    let history = vec![json!({"role": "user", "content": "Hello there, how are you?"})];
    ask(&proxy, Speaks::Chat, &history, true);
    let title = json!({"model": "m", "stream": true, "messages": [
        {"role": "system", "content": "Generate a short title for this conversation."}, {"role": "user", "content": "Hello"}]});
    proxy.post("/v1/chat/completions", &title.to_string());
    let counts: Vec<Option<usize>> =
        mock.requests().iter().map(|request| request.json()["tools"].as_array().map(Vec::len)).collect();
    assert_eq!(counts, [Some(10), None]);
}

/// The same in the words of Responses, as Codex asks: each event has its number, and the last holds all that the client is to see.
#[test]
fn calls_of_ours_are_hidden_in_responses() {
    let message = |text: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let call = json!({"type": "function_call", "call_id": "ours_1", "name": "open_effort", "arguments": "{\"name\":\"auth bug\"}"});
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "thought"});
    let answer = |items: Vec<Value>| {
        let response = json!({"id": "resp_1", "status": "completed", "output": items, "usage": {"input_tokens": 9, "output_tokens": 5}});
        let mut events = vec![json!({"type": "response.created", "response": {"id": "resp_1", "output": []}})];
        for (at, item) in items.iter().enumerate() {
            events.push(json!({"type": "response.output_item.added", "output_index": at, "item": item}));
            events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
        }
        events.push(json!({"type": "response.completed", "response": response}));
        let numbered = events.into_iter().enumerate().map(|(number, mut event)| {
            event["sequence_number"] = json!(number);
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a kind"))
        });
        Reply::stream(numbered.collect::<String>())
    };
    let first = answer(vec![thought.clone(), message("Let me see."), call]);
    let second = answer(vec![message("It is open.")]);
    let mock = Mock::start(move |_, number| if number == 0 { first.clone() } else { second.clone() });
    let proxy = Proxy::with(&["--upstream", &mock.url(""), "--tools"], &BY_WORDS);
    let ask = |input: &[Value], store: bool| {
        let body = json!({"model": "m", "stream": true, "store": store, "prompt_cache_key": format!("talk {store}"), "input": input});
        let answer = proxy.post("/v1/responses", &body.to_string());
        assert_eq!((answer.status, answer.is_whole), (200, true), "{}", answer.text());
        answer
            .text()
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).expect("JSON"))
            .collect::<Vec<Value>>()
    };
    let mut input = vec![json!({"role": "user", "content": "The login fails with a 401, help me fix that."})];
    let events = ask(&input, false);
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let last = events.last().expect("an end");
    let output = last["response"]["output"].as_array().expect("items").clone();
    assert_eq!(output, [thought, message("Let me see."), message("It is open.")]);
    assert!(!json!(events).to_string().contains("open_effort"), "{events:?}");
    let places: Vec<u64> = events.iter().filter_map(|event| event["output_index"].as_u64()).collect();
    assert_eq!(places, [0, 0, 1, 1, 2, 2]);
    input.extend(output);
    input.push(json!({"role": "user", "content": "Go on."}));
    ask(&input, false);
    let sent = |at: usize| mock.requests()[at].json()["input"].as_array().expect("items").clone();
    assert_eq!(mock.requests().len(), 3);
    assert!(sent(2).starts_with(&sent(1)), "{:#?}\n{:#?}", sent(1), sent(2));
    assert_eq!(sent(2).len(), sent(1).len() + 2);
    ask(&input[..1], true);
    assert_eq!(
        mock.requests()[3].json().get("tools"),
        None,
        "what the provider keeps cannot be told from outside"
    );
}
