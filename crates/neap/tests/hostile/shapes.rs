//! The shapes of requests.

use serde_json::{Value, json};

use super::text::text;
use super::{History, Hostile, Rng};
use crate::mock::{ALL, Speaks};

type Make = fn(&mut Rng, &mut History) -> Kind;

/// What a shape is like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All but a little can be left out or shortened.
    Reducible,
    /// It holds what cannot be; it may be refused.
    Fixed,
    /// It is not a history as its protocol writes it, or its calls are not paired.
    Odd,
}

/// Every shape, by name.
pub(crate) const SHAPES: &[(&str, Make)] = &[
    ("turns", turns),
    ("one long message", |rng, history| {
        let long = any_text(rng);
        history.say("user", &long);
        Kind::Reducible
    }),
    ("long question after turns", |rng, history| {
        turns(rng, history);
        let long = any_text(rng);
        history.items.pop();
        history.say("user", &long);
        Kind::Reducible
    }),
    ("calls at once", |rng, history| {
        history.say("user", "look at all of it");
        let (count, size) = storm(rng);
        let calls: Vec<_> =
            (0..count).map(|n| (json!({"path": format!("src/{n}.rs")}), text(rng, size))).collect();
        history.round("", &calls);
        Kind::Reducible
    }),
    ("rounds of calls", rounds),
    ("rounds, then a question", |rng, history| {
        rounds(rng, history);
        history.say("assistant", "that is all.");
        history.say("user", "and now?");
        Kind::Reducible
    }),
    ("long arguments", |rng, history| {
        history.say("user", "write it");
        let (count, size) = storm(rng);
        for _ in 0..count.min(200) {
            let input = arguments(rng, size);
            history.round("", &[(input, "written".to_owned())]);
        }
        Kind::Reducible
    }),
    ("long arguments at once", |rng, history| {
        history.say("user", "write it");
        let (count, size) = storm(rng);
        let calls: Vec<_> = (0..count).map(|_| (arguments(rng, size), "ok".to_owned())).collect();
        history.round("I write them.", &calls);
        Kind::Reducible
    }),
    ("many parts", |rng, history| {
        let (count, size) = storm(rng);
        let parts: Vec<Value> = (0..count).map(|_| history.part("user", &text(rng, size.max(1)))).collect();
        history.items.push(json!({"role": "user", "content": parts}));
        Kind::Reducible
    }),
    ("many parts of the assistant", |rng, history| {
        history.say("user", "go on");
        let (count, size) = storm(rng);
        let parts: Vec<Value> = (0..count).map(|_| history.part("assistant", &text(rng, size.max(1)))).collect();
        history.items.push(json!({"role": "assistant", "content": parts}));
        history.say("user", "and?");
        Kind::Reducible
    }),
    ("many short messages in one turn", |rng, history| {
        for _ in 0..rng.between(50, 2_000) {
            let said = *rng.pick(&["yes", "no", "go on", "why?"]);
            history.say("user", said);
        }
        Kind::Reducible
    }),
    ("long system prompt", |rng, history| {
        let long = any_text(rng);
        history.system(&long);
        history.say("user", "hello");
        Kind::Fixed
    }),
    ("instructions in the middle", |rng, history| {
        turns(rng, history);
        let role = if history.speaks == Speaks::Messages { "user" } else { "developer" };
        let at = rng.between(0, history.items.len());
        let long = any_text(rng);
        history.items.insert(at, json!({"role": role, "content": long}));
        Kind::Fixed
    }),
    ("many tools", |rng, history| {
        for n in 0..rng.between(1, 150) {
            let about = text_between(rng, 0, 600);
            let schema =
                json!({"type": "object", "properties": {"path": {"type": "string", "description": about}}});
            history.tool(&format!("tool_{n}"), &about, &schema);
        }
        history.say("user", "hello");
        Kind::Fixed
    }),
    ("unknown field of the request", |rng, history| {
        let long = any_text(rng);
        history.body.insert("x_unknown".to_owned(), json!({"deep": [long]}));
        history.say("user", "hello");
        Kind::Fixed
    }),
    ("unknown field of a message", |rng, history| {
        turns(rng, history);
        let long = any_text(rng);
        let at = rng.between(0, history.items.len() - 1);
        history.items[at]["x_unknown"] = json!(long);
        Kind::Fixed
    }),
    ("unknown block", |rng, history| {
        turns(rng, history);
        let long = any_text(rng);
        let at = rng.between(0, history.items.len() - 1);
        history.items[at]["content"] = json!([{"type": "hologram", "data": long}, history.part("user", "look")]);
        Kind::Fixed
    }),
    ("unknown item", |rng, history| {
        turns(rng, history);
        let long = any_text(rng);
        let at = rng.between(0, history.items.len());
        history.items.insert(at, json!({"type": "hologram_call", "id": "h1", "data": long}));
        Kind::Odd
    }),
    ("a document of text", |rng, history| {
        let long = any_text(rng);
        let part = match history.speaks {
            Speaks::Messages => {
                json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": long}})
            }
            Speaks::Chat => json!({"type": "file", "file": {"filename": "a.txt", "file_data": long}}),
            Speaks::Responses => json!({"type": "input_file", "filename": "a.txt", "file_data": long}),
        };
        history.items.push(json!({"role": "user", "content": [part, history.part("user", "what is it?")]}));
        Kind::Fixed
    }),
    ("unpaired calls", |rng, history| {
        rounds(rng, history);
        let gone = rng.between(1, history.items.len() - 1);
        history.items.remove(gone);
        Kind::Odd
    }),
    ("one call over everything", |rng, history| {
        history.say("user", "begin");
        let spare = history.items.len();
        history.round("", &[(json!({}), "at last".to_owned())]);
        let result = history.items.pop().expect("a result");
        let call = history.items.split_off(spare);
        history.items.extend(call);
        turns(rng, history);
        history.items.push(result);
        Kind::Odd
    }),
    ("results of several parts", |rng, history| {
        history.say("user", "look");
        let (count, size) = storm(rng);
        let size = size.max(1);
        history.round("", &[(json!({}), String::new())]);
        let parts: Vec<Value> = (0..count).map(|_| history.part("user", &text(rng, size))).collect();
        let last = history.items.last_mut().expect("a result");
        match history.speaks {
            Speaks::Chat => last["content"] = json!(parts),
            Speaks::Responses => last["output"] = json!(parts),
            Speaks::Messages => last["content"][0]["content"] = json!(parts),
        }
        Kind::Reducible
    }),
    ("thoughts", |rng, history| {
        history.say("user", "think");
        for _ in 0..rng.between(1, 30) {
            let long = text_between(rng, 10, 3_000);
            match history.speaks {
                Speaks::Chat => {
                    history.items.push(json!({"role": "assistant", "content": "so", "reasoning_content": long}))
                }
                Speaks::Responses => history
                    .items
                    .push(json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": long})),
                Speaks::Messages => history.items.push(json!({"role": "assistant", "content": [
                    {"type": "thinking", "thinking": long, "signature": "s"}, {"type": "text", "text": "so"}]})),
            }
            history.say("user", "go on");
        }
        Kind::Reducible
    }),
    ("the assistant speaks last", |rng, history| {
        turns(rng, history);
        let long = any_text(rng);
        history.say("assistant", &long);
        Kind::Reducible
    }),
    ("a title is asked for", |rng, history| {
        history.system("Generate a short title for this conversation.");
        let long = any_text(rng);
        history.say("user", &long);
        Kind::Reducible
    }),
    ("a summary is asked for", |rng, history| {
        turns(rng, history);
        history.items.pop();
        let asked = format!("Please create a summary of the conversation so far. {}", "Be thorough. ".repeat(30));
        history.say("user", &asked);
        Kind::Reducible
    }),
    ("deep JSON", |rng, history| {
        let mut deep = json!(text(rng, 200));
        for _ in 0..rng.between(10, 100) {
            deep = if rng.chance(50) { json!([deep, 1]) } else { json!({"a": deep}) };
        }
        history.say("user", "look");
        let wide: Vec<Value> = (0..rng.between(1, 200)).map(|_| deep.clone()).collect();
        history.round("", &[(json!({"tree": wide}), "ok".to_owned())]);
        Kind::Reducible
    }),
    ("the history is no list", |rng, history| {
        let long = any_text(rng);
        let odd = match rng.between(0, 3) {
            0 => json!({"role": "user", "content": long}),
            1 => json!({"0": {"role": "user", "content": [long]}}),
            2 => json!([[{"role": "user", "content": long}]]),
            _ => json!([long, 7, null, [long]]),
        };
        let list = history.list();
        history.items.clear();
        history.body.insert(list.to_owned(), odd);
        Kind::Odd
    }),
    ("the history is a text", |rng, history| {
        let long = any_text(rng);
        history.body.insert(history.list().to_owned(), json!(long));
        if history.speaks == Speaks::Responses { Kind::Reducible } else { Kind::Odd }
    }),
    ("odd content", |rng, history| {
        for _ in 0..rng.between(1, 40) {
            let long = text_between(rng, 0, 2_000);
            let content = match rng.between(0, 5) {
                0 => Value::Null,
                1 => json!({"text": long}),
                2 => json!([long]),
                3 => json!(7),
                4 => json!([{"type": "text"}, {"text": long}, {"type": "text", "text": {"value": long}}]),
                _ => json!([{"type": "tool_result", "content": long}]),
            };
            history
                .items
                .push(json!({"role": rng.pick(&["user", "assistant", "tool", "critic"]), "content": content}));
        }
        Kind::Odd
    }),
];

/// A text that may be small or far over.
fn any_text(rng: &mut Rng) -> String {
    let size = rng_size(rng);
    text(rng, size)
}

fn text_between(rng: &mut Rng, low: usize, high: usize) -> String {
    let size = rng.between(low, high);
    text(rng, size)
}

/// A size that may be small or far over.
fn rng_size(rng: &mut Rng) -> usize {
    match rng.between(0, 9) {
        0..=2 => rng.between(1, 4_000),
        3..=7 => rng.between(4_000, 40_000),
        _ => rng.between(40_000, 90_000),
    }
}

/// How many of what size: many small ones, or few long ones.
fn storm(rng: &mut Rng) -> (usize, usize) {
    let size = *rng.pick(&[0, 5, 40, 300, 2_500, 9_000]);
    let count = rng.between(2, (60_000 / (size + 60)).clamp(3, 500));
    (count, size)
}

fn turns(rng: &mut Rng, history: &mut History) -> Kind {
    if rng.chance(50) {
        history.system("You are a careful helper.");
    }
    for _ in 0..rng.between(1, 40) {
        let (asked, answered) = (text_between(rng, 1, 2_500), text_between(rng, 1, 2_500));
        history.say("user", &asked);
        history.say("assistant", &answered);
    }
    history.say("user", "and what follows?");
    Kind::Reducible
}

fn rounds(rng: &mut Rng, history: &mut History) -> Kind {
    history.say("user", "do all of it");
    let (count, size) = storm(rng);
    for n in 0..count.min(150) {
        let calls: Vec<_> = (0..rng.between(1, 3))
            .map(|_| (json!({"command": format!("run {n}"), "why": text(rng, size / 8)}), text(rng, size)))
            .collect();
        let said = if rng.chance(30) { "Next." } else { "" };
        history.round(said, &calls);
    }
    Kind::Reducible
}

fn arguments(rng: &mut Rng, size: usize) -> Value {
    match rng.between(0, 3) {
        0 => json!({"content": text(rng, size)}),
        1 => json!({"edits": [{"old": text(rng, size / 2), "new": text(rng, size / 2)}], "path": "src/a.rs"}),
        2 => {
            let fields: serde_json::Map<String, Value> =
                (0..rng.between(1, 30)).map(|n| (format!("field_{n}"), json!(text(rng, size / 20)))).collect();
            Value::Object(fields)
        }
        _ => json!({"numbers": (0..size / 8).map(|_| rng.draw() % 10_000).collect::<Vec<_>>()}),
    }
}

impl Hostile {
    /// The request of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (shape, make) = *rng.pick(SHAPES);
        let mut history = History::new(*rng.pick(&ALL));
        let kind = make(&mut rng, &mut history);
        let mut path = history.path().to_owned();
        let has_list = history.body.contains_key(history.list());
        let value = if has_list { Value::Object(history.body.clone()) } else { history.value() };
        let mut body = value.to_string().into_bytes();
        let mut must_pass = kind == Kind::Reducible;
        let is_paired = kind != Kind::Odd;
        // Ways that a proxy may overlook, and that some providers understand.
        match rng.between(0, 29) {
            0 if history.speaks == Speaks::Chat => {
                path = "/openai/deployments/some-model/chat/completions?api-version=2024-10-21".to_owned();
            }
            1 => {
                let prompt = any_text(&mut rng);
                path = "/v1/completions".to_owned();
                body = json!({"model": "some-model", "prompt": prompt}).to_string().into_bytes();
                must_pass = false;
            }
            2 => {
                // Not UTF-8, somewhere in a text.
                if let Some(at) = body.iter().rposition(|byte| *byte == b'e') {
                    body[at] = 0xff;
                }
                must_pass = false;
            }
            3 => {
                body.insert(body.len() - 1, b',');
                must_pass = false;
            }
            4 => {
                // The history twice: which one counts is up to the reader.
                let list = history.list();
                let first = json!([{"role": "user", "content": text(&mut rng, 30_000)}]).to_string();
                let rest = String::from_utf8_lossy(&body[1..]).into_owned();
                body = format!("{{\"{list}\":{first},{rest}").into_bytes();
                must_pass = false;
            }
            5 => {
                path = format!("/v1/something/new{}", history.path().trim_start_matches("/v1"));
                must_pass = false;
            }
            6 => {
                body.splice(0..0, *b"\xef\xbb\xbf");
                must_pass = false;
            }
            _ => {}
        }
        Self { shape, path, body, must_pass, is_paired }
    }
}
