//! The clients against a provider on this machine: what they send, what they hear, and every fault of RELIABILITY's row on
//! upstreams.

mod mock;

use std::sync::Arc;
use std::time::Duration;

use mock::{ALL, End, Mock, Reply, Speaks};
use neap_core::base::message::{Message, ToolCall};
use neap_core::base::tokens::Tokens;
use neap_core::context::tools::ToolSpec;
use neap_core::turn::{ModelReply, ModelRequest};
use neap_model::client::{ApiKey, BaseUrl, Client, ClientOptions, RetryPolicy, Timeouts, parse_api};
use neap_model::{ChatModel, ModelError};
use serde_json::json;

const KEY: &str = "key-that-nobody-may-see";

fn request() -> ModelRequest {
    let tool =
        ToolSpec { name: "look".into(), description: "Looks.".into(), parameters: json!({"type": "object"}) };
    ModelRequest {
        messages: vec![Message::system("rules"), Message::user("hi")],
        tools: Arc::new([tool]),
        may_call_tools: true,
        offers_tools: true,
        buffer_output: false,
    }
}

fn options(mock: &Mock, speaks: Speaks) -> ClientOptions {
    let base = BaseUrl::parse(&mock.url("/v1")).expect("an address");
    let api = parse_api(speaks.name()).expect("a protocol");
    let mut options = ClientOptions::new(api, base, "m-1");
    options.key = Some(ApiKey::new(KEY));
    options.retry = RetryPolicy {
        first_wait: Duration::from_millis(1),
        wait_max: Duration::from_millis(1),
        ..RetryPolicy::default()
    };
    options
}

/// Asks once; gives what was heard with what came of it.
async fn ask(client: &Client, request: &ModelRequest) -> (String, Result<ModelReply, ModelError>) {
    let mut heard = String::new();
    let reply = client.reply(request, &mut |words| heard.push_str(words)).await;
    (heard, reply)
}

async fn ask_mock(mock: &Mock, speaks: Speaks) -> (String, Result<ModelReply, ModelError>) {
    ask(&Client::new(options(mock, speaks)).expect("a client"), &request()).await
}

#[tokio::test]
async fn words_come_as_they_are_said_and_are_counted() {
    for speaks in ALL {
        let mock = Mock::script(vec![Reply::stream(speaks.words(&["Grüße", ", ✓", " 🌊"]))]);
        let client = Client::new(options(&mock, speaks)).expect("a client");
        let mut pieces = Vec::new();
        let reply = client.reply(&request(), &mut |words| pieces.push(words.to_owned())).await.expect("a reply");
        assert_eq!(pieces, ["Grüße", ", ✓", " 🌊"], "{speaks:?}");
        assert_eq!((reply.text.as_str(), reply.calls.len()), ("Grüße, ✓ 🌊", 0));
        let used = client.meter().take();
        assert_eq!((used.calls, used.input, used.cached, used.output), (1, Tokens(100), Tokens(80), Tokens(5)));
        assert_eq!(client.meter().take().calls, 0, "what was looked at is not counted twice");
        let sent = &mock.requests()[0];
        assert_eq!(Speaks::of(&sent.path), speaks);
        assert_eq!((&sent.json()["model"], &sent.json()["stream"]), (&json!("m-1"), &json!(true)));
        let (header, value) = match speaks {
            Speaks::Chat | Speaks::Responses => ("authorization", format!("Bearer {KEY}")),
            Speaks::Messages => ("x-api-key", KEY.to_owned()),
        };
        assert_eq!(sent.header(header), Some(value.as_str()), "{speaks:?}");
        assert_eq!(sent.header("anthropic-version").is_some(), speaks == Speaks::Messages);
    }
}

#[tokio::test]
async fn a_round_of_tools_goes_back_with_its_thinking() {
    for speaks in ALL {
        let call = speaks.call("call-7", "look", &json!({"at": 1}));
        let mock = Mock::script(vec![Reply::stream(call), Reply::stream(speaks.words(&["done"]))]);
        let client = Client::new(options(&mock, speaks)).expect("a client");
        let mut request = request();
        let reply = ask(&client, &request).await.1.expect("a call");
        let want = ToolCall { id: "call-7".into(), name: "look".into(), arguments: r#"{"at":1}"#.into() };
        assert_eq!(reply.calls, [want], "{speaks:?}");
        request.messages.push(Message { tool_calls: reply.calls, ..Message::assistant(reply.text) });
        request.messages.push(Message::tool("call-7", "seen"));
        assert_eq!(ask(&client, &request).await.1.expect("words").text, "done");
        let sent = mock.requests()[1].json();
        let thought = match speaks {
            Speaks::Chat => sent["messages"][2]["reasoning_content"].clone(),
            Speaks::Responses => sent["input"][1]["encrypted_content"].clone(),
            Speaks::Messages => sent["messages"][1]["content"][0]["thinking"].clone(),
        };
        assert_eq!(thought, "thought", "{speaks:?}: {sent}");
    }
}

#[tokio::test]
async fn what_may_pass_is_asked_again() {
    for speaks in ALL {
        let words = speaks.words(&["there"]);
        let mock = Mock::script(vec![
            Reply::error(500, "oops"),
            Reply::error(429, "{}").header("retry-after", "0"),
            Reply::stream(words.clone()).cut(0, End::Broken),
            Reply::stream(words),
        ]);
        let (heard, reply) = ask_mock(&mock, speaks).await;
        assert_eq!((heard.as_str(), reply.expect("a reply").text.as_str()), ("there", "there"), "{speaks:?}");
        assert_eq!(mock.requests().len(), 4);
    }
}

#[tokio::test]
async fn asking_again_has_an_end() {
    let mock = Mock::start(|_, _| Reply::error(503, ""));
    let (_, reply) = ask_mock(&mock, Speaks::Chat).await;
    assert!(matches!(reply, Err(ModelError::Transport(_))), "{reply:?}");
    assert_eq!(mock.requests().len(), RetryPolicy::default().attempts_max as usize);
}

/// Retry-After is honoured: a wait that is too long is told, not shortened.
#[tokio::test]
async fn a_long_wait_is_for_the_caller() {
    let mock = Mock::start(|_, _| {
        Reply::error(429, r#"{"error":{"message":"tomorrow"}}"#).header("retry-after", "86400")
    });
    let (_, reply) = ask_mock(&mock, Speaks::Messages).await;
    let Err(ModelError::RateLimited { retry_after, message }) = reply else { panic!("{reply:?}") };
    assert_eq!((retry_after, message.as_str()), (Some(Duration::from_secs(86_400)), "tomorrow (status 429)"));
    assert_eq!(mock.requests().len(), 1);
}

/// Once a word was handed over, nothing is asked again: it would be said twice.
#[tokio::test]
async fn nothing_is_asked_again_after_a_word() {
    for speaks in ALL {
        let words = speaks.words(&["half", " an answer"]);
        let at = words.find(" an answer").expect("words");
        let at = words[..at].rfind("data: ").expect("an event");
        for end in [End::Clean, End::Broken] {
            let mock = Mock::script(vec![Reply::stream(words.clone()).cut(at, end), Reply::stream(words.clone())]);
            let (heard, reply) = ask_mock(&mock, speaks).await;
            assert_eq!(heard, "half", "{speaks:?} {end:?}");
            let is_told = matches!(reply, Err(ModelError::Protocol(_) | ModelError::Transport(_)));
            assert!(is_told, "{speaks:?} {end:?}: {reply:?}");
            assert_eq!(mock.requests().len(), 1, "{speaks:?} {end:?}");
        }
    }
}

#[tokio::test]
async fn silence_has_limits() {
    let short = Duration::from_millis(80);
    let long = Duration::from_secs(600);
    for speaks in ALL {
        let words = speaks.words(&["half"]);
        let at = words.find("\n\n").expect("an event") + 2;
        let table = [
            (
                Reply::stream("").ending(End::Silent),
                Timeouts { first_byte: short, idle: long, ..Timeouts::default() },
            ),
            (
                Reply::stream(words.clone()).cut(at, End::Silent),
                Timeouts { first_byte: long, idle: short, ..Timeouts::default() },
            ),
            (
                Reply::stream(words).cut(at, End::Silent),
                Timeouts { first_byte: long, idle: long, total: short, ..Timeouts::default() },
            ),
        ];
        for (reply, timeouts) in table {
            let mock = Mock::start(move |_, _| reply.clone());
            let options = ClientOptions { timeouts, ..options(&mock, speaks) };
            let (_, reply) = ask(&Client::new(options).expect("a client"), &request()).await;
            assert_eq!(reply, Err(ModelError::TimedOut(short)), "{speaks:?} {timeouts:?}");
            assert_eq!(mock.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let full = r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#;
    let too_long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
    type IsRight = fn(&ModelError) -> bool;
    let table: [(Reply, IsRight); 8] = [
        (Reply::error(400, full), |error| matches!(error, ModelError::ContextFull(_))),
        (Reply::error(400, too_long), |error| matches!(error, ModelError::ContextFull(_))),
        (Reply::error(401, r#"{"error":{"message":"who?"}}"#), |error| matches!(error, ModelError::Refused(_))),
        (Reply::error(404, "<html>"), |error| matches!(error, ModelError::Refused(_))),
        (Reply::new(200, "text/html", "<html>\n\n</html>"), |error| matches!(error, ModelError::Protocol(_))),
        (Reply::stream("data: {{{\n\n"), |error| matches!(error, ModelError::Protocol(_))),
        (Reply::error(200, r#"{"choices":[]}"#), |error| matches!(error, ModelError::Protocol(_))),
        (Reply::error(302, "").header("location", "http://127.0.0.1:1/"), |error| {
            matches!(error, ModelError::Protocol(_))
        }),
    ];
    for (reply, is_right) in table {
        for speaks in ALL {
            let mock = Mock::script(vec![reply.clone()]);
            let (heard, got) = ask_mock(&mock, speaks).await;
            let error = got.expect_err("no answer");
            assert!(is_right(&error) && heard.is_empty(), "{speaks:?} {reply:?}: {error:?}");
            assert_eq!(mock.requests().len(), 1, "{speaks:?} {reply:?}");
        }
    }
}

#[tokio::test]
async fn nobody_there_is_told() {
    let mock = Mock::script(Vec::new());
    let mut options = options(&mock, Speaks::Chat);
    options.base_url = BaseUrl::parse("http://127.0.0.1:1/v1").expect("an address");
    options.retry = RetryPolicy::never();
    let (_, reply) = ask(&Client::new(options).expect("a client"), &request()).await;
    let Err(ModelError::Transport(message)) = reply else { panic!("{reply:?}") };
    assert!(message.contains("127.0.0.1"), "{message}");
}

#[tokio::test]
async fn the_key_is_shown_to_nobody() {
    for speaks in ALL {
        let quoting = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
        let mock = Mock::start(move |_, _| Reply::error(401, &quoting));
        let client = Client::new(options(&mock, speaks)).expect("a client");
        let (_, reply) = ask(&client, &request()).await;
        let error = reply.expect_err("refused");
        assert_eq!(error, ModelError::Refused("bad key … (status 401)".into()));
        assert!(!format!("{client:?}").contains(KEY), "{client:?}");
    }
    let mock = Mock::script(Vec::new());
    let options = ClientOptions { key: Some(ApiKey::new("a\nb")), ..options(&mock, Speaks::Chat) };
    assert!(matches!(Client::new(options), Err(ModelError::Refused(_))));
}

/// Dropping the future hangs up.
#[tokio::test]
async fn a_reply_that_nobody_waits_for_is_hung_up() {
    let words = Speaks::Chat.words(&["half"]);
    let at = words.find("\n\n").expect("an event") + 2;
    let reply = Reply::stream(words).cut(at, End::Silent);
    let mock = Mock::start(move |_, _| reply.clone());
    let client = Client::new(options(&mock, Speaks::Chat)).expect("a client");
    let request = request();
    let (heard_tx, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let mut on_text = |words: &str| {
        let _ = heard_tx.send(words.to_owned());
    };
    tokio::select! {
        reply = client.reply(&request, &mut on_text) => panic!("{reply:?}"),
        words = heard.recv() => assert_eq!(words.as_deref(), Some("half")),
    }
}
