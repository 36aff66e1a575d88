//! Several callers behind one proxy (I11): whoever differs in a single credential shares nothing, as the provider and the store see it; and
//! what says nothing of who asks parts nobody.

use std::collections::{BTreeMap, BTreeSet};

use crate::mock::{Mock, Reply, Request, Speaks};
use crate::wire::{Answer, Proxy};
use rusqlite::Connection;
use serde_json::{Value, json};

/// Embedding is slow where it is not optimised, as in tests; words alone find what is looked for here.
const BY_WORDS: [(&str, &str); 1] = [("NEAP_EMBEDDER", "none")];
const QUESTION: &str = "What is the vault code of the heron project?";

/// What a request shows of who sends it: what stands before its path, its query, and headers.
#[derive(Debug, Clone, Default)]
struct Shown {
    user: String,
    query: Vec<String>,
    headers: Vec<(String, String)>,
}

impl Shown {
    fn header(name: &str, value: String) -> Self {
        Self { headers: vec![(name.to_owned(), value)], ..Self::default() }
    }

    fn query(query: String) -> Self {
        Self { query: vec![query], ..Self::default() }
    }

    /// With what another shows.
    fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.user.push_str(&other.user);
        both.query.extend(other.query.iter().cloned());
        both.headers.extend(other.headers.iter().cloned());
        both
    }

    fn target(&self, proxy: &Proxy, path: &str) -> String {
        let address =
            if self.user.is_empty() { String::new() } else { format!("http://{}@{}", self.user, proxy.address) };
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", self.query.join("&")) };
        format!("{address}{path}{query}")
    }
}

/// Every place in which two callers may differ.
const PLACES: [fn(&str) -> Shown; 32] = [
    |v| Shown::header("authorization", format!("Bearer {v}")),
    |v| Shown::header("authorization", format!("Basic {v}")),
    |v| Shown::header("authorization", format!("Token {v}")),
    |v| Shown::header("proxy-authorization", format!("Bearer {v}")),
    |v| Shown::header("x-api-key", v.to_owned()),
    |v| Shown::header("api-key", v.to_owned()),
    |v| Shown::header("x-goog-api-key", v.to_owned()),
    |v| Shown::header("Ocp-Apim-Subscription-Key", v.to_owned()),
    |v| Shown::header("x-amz-security-token", v.to_owned()),
    |v| Shown::header("x-gateway-secret", v.to_owned()),
    |v| Shown::header("x-auth-user", v.to_owned()),
    |v| Shown::header("cf-access-jwt-assertion", v.to_owned()),
    |v| Shown::header("cookie", format!("theme=dark; sessionid={v}")),
    |v| Shown::header("cookie", format!("theme={v}")),
    |v| Shown::header("x-forwarded-user", v.to_owned()),
    |v| {
        let value = format!("AWS4-HMAC-SHA256 Credential={v}/20260101/eu/bedrock/aws4_request, Signature=f00");
        Shown::header("authorization", value)
    },
    |v| Shown::query(format!("key={v}")),
    |v| Shown::query(format!("api_key={v}")),
    |v| Shown::query(format!("access_token={v}")),
    |v| Shown::query(format!("subscription-key={v}")),
    |v| Shown::query(format!("sig={v}&sv=2024")),
    |v| Shown::query(format!("code={v}")),
    |v| Shown { user: format!("user:{v}"), ..Shown::default() },
    |v| Shown { user: v.to_owned(), ..Shown::default() },
    |v| Shown::header("x-functions-key", v.to_owned()),
    |v| Shown::header("x-credential", format!("\u{e9}{v}")),
    |v| Shown::query(format!("X-Amz-Security-Token={v}")),
    |v| Shown::header("x-passphrase", v.to_owned()),
    |v| Shown::header("x-session", v.to_owned()),
    |v| Shown::header("x-sid", v.to_owned()),
    |v| Shown::header("x-otp", v.to_owned()),
    |v| Shown::header("x-access-code", v.to_owned()),
];

/// What changes from request to request.
fn noise(seed: u64) -> Shown {
    let of = |name: &str| (name.to_owned(), format!("n{seed}"));
    let names = [
        "date", "x-request-id", "traceparent", "idempotency-key", "user-agent", "x-stainless-retry-count",
        "x-amz-date",
    ];
    Shown { headers: names.map(of).to_vec(), query: vec![format!("beta=n{seed}")], ..Shown::default() }
}

/// A seeded die.
struct Die(u64);

impl Die {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    /// As long as keys are: what is shorter may be shown by others by chance.
    fn word(&mut self) -> String {
        (0..24).map(|_| char::from(b"abcdefghijkmnpqrstuvwxyz23456789"[self.roll(32)])).collect()
    }
}

/// A provider that answers whatever is asked, and calls a tool of ours where the newest message says so.
fn provider() -> Mock {
    Mock::start(|request: &Request, _| {
        let speaks = match request.path.split('?').next().unwrap_or_default() {
            "/v1/responses" => Speaks::Responses,
            "/v1/messages" => Speaks::Messages,
            _ => Speaks::Chat,
        };
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let last = body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let said = last["content"].as_str().unwrap_or_default();
        let call = |name: &str, arguments: Value| Reply::stream(speaks.call("call_1", name, &arguments));
        match said.split_once(": ") {
            Some(("REMEMBER", text)) => call("remember", json!({"kind": "fact", "text": text})),
            Some(("RECALL", text)) => call("recall", json!({"query": text})),
            Some(("WRITE", text)) => {
                call("memory", json!({"command": "create", "path": "/memories/code.txt", "file_text": text}))
            }
            Some(("READ", _)) => call("memory", json!({"command": "view", "path": "/memories/code.txt"})),
            Some(_) | None => Reply::stream(speaks.words(&["Noted."])),
        }
    })
}

/// Two callers who say the same under the same name, but for one code each.
struct Pair<'a> {
    proxy: &'a Proxy,
    mock: &'a Mock,
    /// What the client calls its session, if it does.
    name: Option<String>,
}

impl Pair<'_> {
    /// Asks, and gives the answer and what reached the provider by it.
    fn ask(&self, shown: &Shown, path: &str, body: &Value) -> (Answer, String) {
        let before = self.mock.requests().len();
        let name = self.name.iter().map(|name| ("x-neap-session", name.as_str()));
        let shown_headers = shown.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<(&str, &str)> = shown_headers.chain(name).collect();
        let answer =
            self.proxy.ask("POST", &shown.target(self.proxy, path), &headers, body.to_string().as_bytes());
        let reached: String = self.mock.requests()[before..].iter().map(|request| request.body.clone()).collect();
        (answer, reached)
    }

    fn chat(&self, shown: &Shown, history: &[Value]) -> (Answer, String) {
        let body = json!({"model": "m-unknown", "stream": true, "messages": history});
        let (answer, reached) = self.ask(shown, "/v1/chat/completions", &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        (answer, reached)
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A history that does not fit, with a code near its beginning.
fn history(code: &str) -> Vec<Value> {
    let mut all = vec![
        user("Let us begin."),
        assistant("Yes."),
        user(&format!("The vault code of the heron project is {code}.")),
        assistant("Noted."),
    ];
    for turn in 0..16 {
        all.push(user(&format!(
            "Step {turn}: I changed src/part_{turn}.rs as the notes say. {}",
            "And more of it. ".repeat(10)
        )));
        all.push(assistant(&format!("Noted {turn}.")));
    }
    all.push(user("Go on."));
    all
}

/// Issue: callers that differ in exactly one credential-like place never share a session, a link or anything recalled.
#[test]
fn callers_that_differ_in_one_place_share_nothing() {
    let mock = provider();
    let proxy = Proxy::with(&["--upstream", &mock.url(""), "--callers", "many", "--budget", "1500"], &BY_WORDS);
    let mut die = Die(20_261_117);
    let (mut recalled, mut owned) = (0, BTreeMap::new());
    for (nth, place) in PLACES.iter().enumerate() {
        let [one, two] = [die.word(), die.word()];
        // Both have a key in common, which alone would make them one.
        let common = Shown::header("x-common-key", format!("both-{nth}-{}", die.word()));
        let [one, two] = [&one, &two].map(|value| common.and(&place(value)));
        let name = (nth % 2 == 0).then(|| "desk".to_owned());
        let pair = Pair { proxy: &proxy, mock: &mock, name };
        let [mine, theirs] = ["A", "B"].map(|whose| format!("QX-{nth}-{whose}"));
        let mut sessions = [BTreeSet::new(), BTreeSet::new()];
        for (whose, shown, own, other) in [(0, &one, &mine, &theirs), (1, &two, &theirs, &mine)] {
            let mut said = history(own);
            for turn in 0..3 {
                let noisy = shown.and(&noise(die.roll(1_000) as u64));
                let (answer, reached) = pair.chat(if turn == 0 { shown } else { &noisy }, &said);
                assert!(!reached.contains(other.as_str()), "{place_of}: {reached}", place_of = show(place));
                recalled += usize::from(turn > 0 && reached.contains(own.as_str()));
                sessions[whose].insert(answer.header("x-neap-session").expect("a session").to_owned());
                said.push(assistant("Noted."));
                said.push(user(QUESTION));
            }
            // With the first words alone, and by the name alone.
            let (_, reached) = pair.chat(shown, &[user(QUESTION)]);
            assert!(!reached.contains(other.as_str()), "{}", show(place));
        }
        // In turns: what the second said must not have reached the first.
        let (_, reached) = pair.chat(&one, &[history(&mine), vec![assistant("Noted."), user(QUESTION)]].concat());
        assert!(!reached.contains(theirs.as_str()), "{}", show(place));
        let [first, second] = sessions;
        assert_eq!(first.intersection(&second).count(), 0, "{}: {first:?}", show(place));
        assert_eq!(
            (first.len(), second.len()),
            (1, 1),
            "noise parts nobody: {}: {first:?} {second:?}",
            show(place)
        );
        owned.insert(mine, first);
        owned.insert(theirs, second);
    }
    assert!(recalled > PLACES.len(), "recall was at work: {recalled}");
    in_the_store(&proxy, &owned);
}

fn show(place: &fn(&str) -> Shown) -> String {
    format!("{:?}", place("…"))
}

/// The store's own rows: no link is two callers', each session has one owner, and no code is in a session of somebody else's.
fn in_the_store(proxy: &Proxy, owned: &BTreeMap<String, BTreeSet<String>>) {
    let db = Connection::open(proxy.neap.database()).expect("a store");
    let mut statement = db.prepare("SELECT name, head FROM sessions").expect("a table");
    let rows =
        statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).expect("rows");
    let heads: BTreeMap<String, Value> = rows
        .map(|row| row.expect("a row"))
        .map(|(name, head)| (name, serde_json::from_str(&head).expect("JSON")))
        .collect();
    assert!(
        heads.values().all(|head| head["tenant"].as_str().is_some_and(|tenant| tenant.len() == 32)),
        "{heads:?}"
    );
    // One caller may have several sessions that begin alike.
    let mut statement =
        db.prepare("SELECT digest, name FROM links JOIN sessions USING (stream)").expect("a table");
    let links =
        statement.query_map([], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?))).expect("rows");
    let mut owners: BTreeMap<Vec<u8>, &str> = BTreeMap::new();
    for (digest, session) in links.map(|row| row.expect("a row")) {
        let tenant = heads[&session]["tenant"].as_str().expect("an owner");
        assert_eq!(*owners.entry(digest).or_insert(tenant), tenant, "a link is one caller's");
    }
    assert!(owners.len() > 100);
    let tenants: BTreeSet<&str> =
        owned.values().flatten().filter_map(|session| heads[session]["tenant"].as_str()).collect();
    assert_eq!(tenants.len(), owned.len(), "each caller is one, and its own");
    // Only some: each is a process.
    for (code, sessions) in owned.iter().step_by(6) {
        let own: String = sessions
            .iter()
            .flat_map(|session| proxy.neap.events(session))
            .map(|event| event.to_string())
            .collect();
        assert!(own.contains(code.as_str()));
        assert!(owned.keys().all(|other| other == code || !own.contains(&format!("{other}."))), "{code}");
    }
}

/// The same of what models remember and of what is put in short.
#[test]
fn callers_that_differ_in_one_place_share_no_memory() {
    let mock = provider();
    let args = ["--upstream", &mock.url(""), "--callers", "many", "--tools", "--memory-tool"];
    let proxy = Proxy::with(&args, &BY_WORDS);
    let mut die = Die(77);
    for (nth, place) in PLACES.iter().enumerate().step_by(3) {
        let [one, two] = [die.word(), die.word()];
        let common = Shown::header("x-common-key", format!("both-{nth}-{}", die.word()));
        let [one, two] = [&one, &two].map(|value| common.and(&place(value)));
        let pair = Pair { proxy: &proxy, mock: &mock, name: Some(format!("work {nth}")) };
        let code = format!("QX-{nth}-A");
        let ask = |shown: &Shown, text: String| {
            let tools = json!([{"name": "look", "input_schema": {"type": "object"}}]);
            let body = json!({"model": "m-unknown", "max_tokens": 500, "stream": true, "tools": tools, "messages": [user(&text)]});
            let (answer, reached) = pair.ask(shown, "/v1/messages", &body);
            assert_eq!(answer.status, 200, "{}", answer.text());
            reached
        };
        ask(&one, format!("REMEMBER: The vault code of the heron project is {code}."));
        ask(&one, format!("WRITE: The vault code is {code}."));
        for text in ["RECALL: vault code heron project", "READ: it"] {
            assert!(ask(&one, text.to_owned()).contains(&code), "one's own is there: {}", show(place));
            assert!(!ask(&two, text.to_owned()).contains(&code), "{}", show(place));
        }
        // What was put in short for one opens for nobody else, and says nothing of others.
        let message = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
        let compact = |shown: &Shown, text: &str| {
            let body = json!({"model": "m", "input": [message(text), message("go on")]});
            pair.ask(shown, "/v1/responses/compact", &body).0
        };
        let item = compact(&one, &format!("The vault code is {code}.")).json()["output"]
            .as_array()
            .and_then(|items| items.iter().find(|item| item["type"] == "compaction").cloned())
            .expect("a compaction");
        assert!(!compact(&two, "hello").text().contains(&code), "{}", show(place));
        let body = json!({"model": "m", "stream": true, "input": [item, message(QUESTION)]});
        let (answer, reached) = pair.ask(&two, "/v1/responses", &body);
        assert_eq!((answer.status, reached.as_str()), (400, ""), "{}", show(place));
        assert_eq!(pair.ask(&one, "/v1/responses", &body).0.status, 200, "{}", show(place));
    }
    let db = Connection::open(proxy.neap.database()).expect("a store");
    let mut statement = db.prepare("SELECT name FROM sessions").expect("a table");
    let names =
        statement.query_map([], |row| row.get::<_, String>(0)).expect("rows").map(|row| row.expect("a name"));
    for name in names {
        let digits = name.rsplit('-').next().unwrap_or_default();
        assert_eq!(digits.len(), 32, "{name}: an id carries the whole digest");
    }
}

/// On one's own machine, by default: a renewed token or a second key neither begins a new session nor loses anything.
#[test]
fn one_machine_is_one_caller() {
    let mock = provider();
    let proxy = Proxy::with(&["--upstream", &mock.url(""), "--budget", "2250"], &BY_WORDS);
    for name in [None, Some("desk".to_owned())] {
        let pair = Pair { proxy: &proxy, mock: &mock, name };
        let mut said = history("QX-ONE");
        let mut sessions = BTreeSet::new();
        for (nth, place) in PLACES.iter().enumerate() {
            let (answer, _) = pair.chat(&place("some-key-1"), &said);
            sessions.insert(answer.header("x-neap-session").expect("a session").to_owned());
            // Some ask again, some go on.
            if nth % 9 == 0 {
                said.extend([assistant("Noted."), user(&format!("And now to part {nth}."))]);
            }
        }
        said.push(assistant("Noted."));
        said.push(user(QUESTION));
        let (answer, reached) = pair.chat(&Shown::default(), &said);
        sessions.insert(answer.header("x-neap-session").expect("a session").to_owned());
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        assert!(reached.contains("QX-ONE"), "{reached}");
    }
}

/// Several callers by default where others can ask; and of who shows nothing, nothing is kept.
#[test]
fn beyond_this_machine_there_are_many() {
    let mock = provider();
    let proxy =
        Proxy::at("0.0.0.0:0", &["--without-keys", "--upstream", &mock.url(""), "--budget", "1500"], &BY_WORDS);
    let pair = Pair { proxy: &proxy, mock: &mock, name: Some("desk".to_owned()) };
    let session = |shown: &Shown| {
        let (answer, reached) = pair.chat(shown, &history("QX-STRANGER"));
        assert!(reached.len() < 8_000, "bounded all the same");
        answer.header("x-neap-session").map(str::to_owned)
    };
    let weak = [
        Shown::header("authorization", "Bearer EMPTY".to_owned()),
        Shown::header("cookie", "sidebar=open; keyboard=en; author=x; session=1".to_owned()),
        Shown::header("x-authenticated", "true".to_owned()),
        Shown::header("x-auth-type", "oauth".to_owned()),
        Shown::header("x-token-limit", "4096".to_owned()),
        Shown::query("code=en".to_owned()),
        Shown::query("pass=1".to_owned()),
    ];
    for shown in weak.into_iter().chain([Shown::default(), noise(1)]) {
        assert_eq!(session(&shown), None, "{shown:?}");
    }
    let [a, b] =
        ["one-4f9aT7bQ2mX8", "two-4f9aT7bQ2mX8"].map(|key| session(&Shown::header("api-key", key.to_owned())));
    assert!(a.is_some() && b.is_some() && a != b);
    let sessions = proxy.neap.json(&["session", "list"]);
    assert_eq!(sessions.as_array().map(Vec::len), Some(2), "{sessions}");
}
