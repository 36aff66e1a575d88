//! Embedders by choice: the real binary against a server of embeddings on this machine.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::mock::{End, Mock, Reply, Request};
use crate::rig::{Neap, Ran, holding, objects};
use crate::wait::{comes_true, wait_until};
use serde_json::{Value, json};

const KEY: &str = "key-that-nobody-may-see";
/// What is asked to learn how long an embedding is.
const A_WORD: &str = "neap";

/// Knows three things, and by which words they go; a number more for some.
fn embedding(text: &str, more: usize) -> Vec<f32> {
    let groups = [["car", "automobile", "vehicle"], ["cake", "baking", "dessert"], ["river", "boat", "water"]];
    let text = text.to_lowercase();
    let known = groups.map(|group| if group.iter().any(|word| text.contains(word)) { 1.0 } else { 0.05 });
    known.into_iter().chain(vec![0.0; more]).collect()
}

pub(crate) fn input(request: &Request) -> Vec<String> {
    serde_json::from_value(request.json()["input"].clone()).expect("texts")
}

pub(crate) fn answer(request: &Request, more: usize) -> Reply {
    let texts = input(request);
    let data: Vec<Value> = texts.iter().map(|text| json!({"embedding": embedding(text, more)})).collect();
    Reply::new(200, "application/json", json!({ "data": data }).to_string())
}

/// A server of embeddings.
pub(crate) fn server(more: usize) -> Mock {
    Mock::start(move |request, _| answer(request, more))
}

/// How many texts a server embedded that are not questions.
pub(crate) fn embedded(mock: &Mock, questions: &[&str]) -> usize {
    let asked = mock.requests().iter().flat_map(input).collect::<Vec<_>>();
    asked.iter().filter(|text| *text != A_WORD && !questions.contains(&text.as_str())).count()
}

/// The variables that choose a model at a server.
pub(crate) fn at(mock: &Mock, model: &str) -> [(&'static str, String); 3] {
    [
        ("NEAP_EMBEDDER", mock.url("/v1")),
        ("NEAP_EMBEDDER_MODEL", model.to_owned()),
        ("NEAP_EMBEDDER_KEY", KEY.to_owned()),
    ]
}

pub(crate) fn command(neap: &Neap, chosen: &[(&str, String)], args: &[&str]) -> Command {
    let mut command = neap.command(args);
    command.envs(chosen.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(neap: &Neap, chosen: &[(&str, String)], args: &[&str]) -> Ran {
    let output = command(neap, chosen, args).output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// The texts that are found, and what was said on standard error.
pub(crate) fn search(neap: &Neap, chosen: &[(&str, String)], query: &str) -> (Vec<String>, String) {
    let ran = run(neap, chosen, &["search", query, "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let hits: Vec<Value> = serde_json::from_str(&ran.out).expect("JSON");
    (hits.iter().map(|hit| hit["text"].as_str().unwrap_or_default().to_owned()).collect(), ran.err)
}

/// Searches until something is so.
#[track_caller]
pub(crate) fn search_until(
    neap: &Neap,
    chosen: &[(&str, String)],
    query: &str,
    is_so: impl Fn(&[String]) -> bool,
) {
    let (mut found, mut err) = (Vec::new(), String::new());
    let is_found = comes_true(|| {
        (found, err) = search(neap, chosen, query);
        assert_eq!(err, "", "{query}");
        is_so(&found)
    });
    assert!(is_found, "{query}: {found:?}");
}

/// A store with a few talks.
fn store() -> Neap {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    let said = |user: &str, reply: &str| json!({"user": user, "assistant": reply});
    let turns = [
        said("My automobile makes a noise.", "Have the brakes looked at."),
        said("The dessert was too sweet.", "Use less sugar next time."),
        said("We went along the shore.", "That sounds nice."),
    ];
    neap.replay(&["--session", "talk"], &turns);
    neap
}

const TEXTS: usize = 6;

#[test]
fn an_embedder_at_an_address_finds_by_meaning_and_its_key_is_nowhere() {
    let (neap, mock) = (store(), server(0));
    let chosen = at(&mock, "concepts");
    search_until(&neap, &chosen, "vehicle", |found| found.first().is_some_and(|text| text.contains("automobile")));
    assert_eq!(embedded(&mock, &["vehicle"]), TEXTS, "each text once");
    let told = run(&neap, &chosen, &["store", "doctor", "--json"]);
    let told: Value = serde_json::from_str(&told.out).expect("JSON");
    let name = format!("concepts at {}", mock.url("/v1"));
    let want = json!({"name": name, "answers": true, "identity": "concepts/3", "dimensions": 3});
    assert_eq!((&told["embedder"], &told["exit"]), (&want, &json!(0)), "{told}");
    assert!(
        mock.requests().iter().all(|request| request.header("authorization") == Some(&format!("Bearer {KEY}")))
    );
    let logged = [&chosen[..], &[("NEAP_LOG", "trace".to_owned())]].concat();
    for args in [&["store", "doctor"][..], &["search", "vehicle"], &["search", "vehicle", "--explain"]] {
        let ran = run(&neap, &logged, args);
        assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{}{}", ran.out, ran.err);
    }
    assert_eq!(holding(neap.place(), KEY), Vec::<std::path::PathBuf>::new());
}

/// The model's name and the length of its embeddings are kept with them: another takes over, the same elsewhere goes on.
#[test]
fn another_embedder_takes_over_and_the_same_elsewhere_goes_on() {
    let neap = store();
    let is_found = |found: &[String]| found.first().is_some_and(|text| text.contains("automobile"));
    let (first, elsewhere, longer, renamed) = (server(0), server(0), server(1), server(1));
    search_until(&neap, &at(&first, "one"), "vehicle", is_found);
    search_until(&neap, &at(&elsewhere, "one"), "vehicle", is_found);
    assert_eq!((embedded(&first, &["vehicle"]), embedded(&elsewhere, &["vehicle"])), (TEXTS, 0));
    for (mock, model) in [(&longer, "one"), (&renamed, "other")] {
        let (found, err) = search(&neap, &at(mock, model), "noise");
        assert!(err.is_empty() && is_found(&found), "words find all the while: {found:?} {err}");
        search_until(&neap, &at(mock, model), "vehicle", is_found);
        assert_eq!(embedded(mock, &["vehicle", "noise"]), TEXTS, "{model}");
    }
    assert_eq!(run(&neap, &at(&renamed, "other"), &["store", "doctor"]).code, 0);
}

#[test]
fn an_embedder_that_fails_leaves_the_words_and_is_told() {
    let refused =
        || Mock::start(|_, _| Reply::error(401, &format!(r#"{{"error":{{"message":"no such key {KEY}"}}}}"#)));
    let silent = || Mock::start(|request, _| answer(request, 0).cut(3, End::Silent));
    let mad = || Mock::start(|_, _| Reply::error(200, r#"{"data":[{"embedding":[]}]}"#));
    let repeats = || Mock::start(|_, _| Reply::error(200, &format!(r#"{{"data":"no such key {KEY}"}}"#)));
    for mock in [refused(), silent(), mad(), repeats()] {
        let (neap, chosen) = (store(), at(&mock, "concepts"));
        let (found, err) = search(&neap, &chosen, "noise");
        assert_eq!(found, ["My automobile makes a noise."]);
        let note: Value = serde_json::from_str(&err).expect("one note");
        let note = note["note"].as_str().expect("a sentence");
        assert!(note.starts_with("searched by words alone: ") && !note.contains(KEY), "{note}");
        let ran = run(&neap, &chosen, &["search", "vehicle"]);
        assert!(
            ran.code == 0 && ran.out.starts_with("Nothing found") && ran.err.contains("by words alone"),
            "{ran:?}"
        );
        let ran = run(&neap, &chosen, &["store", "doctor"]);
        assert!(ran.code == 0 && ran.out.contains("the embedder does not answer"), "{ran:?}");
        assert!(!ran.out.contains(KEY), "{ran:?}");
    }
}

/// Who hangs up, or asks it to end, does not wait for an answer that may never come.
#[test]
fn a_process_ends_while_its_embedder_is_silent() {
    let mock = Mock::start(|request, _| answer(request, 0).cut(3, End::Silent));
    let (neap, chosen) = (store(), at(&mock, "concepts"));
    let mut child =
        command(&neap, &chosen, &["chat", "--session", "other"]).stdin(Stdio::piped()).spawn().expect("it runs");
    wait_until("it embeds", || !mock.requests().is_empty());
    let asked = Instant::now();
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
    // An answer is waited for sixty seconds.
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
}

/// What is stored is masked before it is embedded, and so is what is only asked.
#[test]
fn secrets_in_a_question_do_not_leave_the_machine() {
    let (neap, mock) = (store(), server(0));
    search(&neap, &at(&mock, "concepts"), "which vehicle has the password: hunter2x9");
    let asked = mock.requests().iter().flat_map(input).collect::<Vec<_>>();
    assert!(asked.iter().any(|text| text == "which vehicle has the password: [masked: password]"), "{asked:?}");
    assert!(!asked.iter().any(|text| text.contains("hunter2x9")), "{asked:?}");
}

#[test]
fn what_cannot_be_an_embedder_is_refused_with_a_hint() {
    let neap = store();
    let table: [(&[(&str, &str)], &str); 5] = [
        (&[("NEAP_EMBEDDER", "nonsense")], "NEAP_EMBEDDER cannot be 'nonsense'"),
        (&[("NEAP_EMBEDDER", "http://127.0.0.1:1")], "needs the name of its model"),
        (
            &[("NEAP_EMBEDDER", "https://user:word@host/v1"), ("NEAP_EMBEDDER_MODEL", "m")],
            "must not hold a password",
        ),
        (&[("NEAP_EMBEDDER", "https://api.openai.com/v1"), ("NEAP_EMBEDDER_MODEL", "m")], "requires a key"),
        (&[("NEAP_EMBEDDER", "./weights")], "NEAP_EMBEDDER cannot be './weights'"),
    ];
    for (chosen, want) in table {
        let chosen: Vec<(&str, String)> =
            chosen.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let ran = run(&neap, &chosen, &["search", "noise"]);
        assert!(ran.code == 2 && ran.err.contains(want), "{chosen:?}: {ran:?}");
        let told = run(&neap, &chosen, &["store", "doctor"]);
        assert!(told.code == 0 && told.out.contains(want), "{chosen:?}: {told:?}");
    }
}

#[test]
fn a_search_can_be_narrowed_to_an_effort_and_to_who_spoke() {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    let call = |user: &str, name: &str, arguments: Value, reply: &str| json!({"user": user, "calls": [{"name": name, "arguments": arguments}], "assistant": reply});
    let turns = [
        call("The pump rattles.", "open_effort", json!({"name": "Cellar pump"}), "Is the pump loose?"),
        call("The pump is fixed.", "close_effort", json!({}), "Good."),
        json!({"user": "Is a pump a machine?", "assistant": "A pump is one."}),
    ];
    neap.replay(&["--session", "talk"], &turns);
    let found = |args: &[&str]| -> Vec<String> {
        let hits = neap.json(&[&["search", "pump"], args].concat());
        let text = |hit: &Value| {
            format!("{} {}", hit["kind"].as_str().unwrap_or_default(), hit["text"].as_str().unwrap_or_default())
        };
        let mut all: Vec<String> = hits.as_array().expect("hits").iter().map(text).collect();
        all.sort();
        all
    };
    assert!(found(&[]).len() >= 5, "{:?}", found(&[]));
    assert_eq!(found(&["--by", "assistant"]), ["assistant A pump is one.", "assistant Is the pump loose?"]);
    assert_eq!(found(&["--by", "Nobody"]), Vec::<String>::new());
    let within = found(&["--effort", "cellar-pump", "--in", "raw"]);
    assert_eq!(within, ["assistant Is the pump loose?", "user The pump is fixed.", "user The pump rattles."]);
    assert_eq!(
        found(&["--effort", "Cellar pump", "--by", "user"]),
        ["user The pump is fixed.", "user The pump rattles."]
    );
    assert_eq!(found(&["--effort", "cellar-pump", "--in", "efforts"]).len(), 1);
    assert_eq!(found(&["--by", "user", "--in", "efforts"]), Vec::<String>::new());
    assert_eq!(neap.run(&["search", "pump", "--in", "memories", "--by", "user"]).code, 2);
    assert_eq!(neap.run(&["search", "pump", "--effort", "!!"]).code, 2);
    let ran = neap.run(&["lab", "eval", "talks.jsonl", "--curve", "curve.png"]);
    assert!(ran.code == 2 && ran.err.contains("drawn as SVG"), "{ran:?}");
}

/// What is found, but for when it was said.
fn answers(neap: &Neap, chosen: &[(&str, String)]) -> Vec<Value> {
    let one = |query: &&str| {
        let ran = run(neap, chosen, &["search", query, "--json", "-n", "20"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{query}");
        let mut hits: Value = serde_json::from_str(&ran.out).expect("JSON");
        for hit in hits.as_array_mut().expect("hits") {
            hit.as_object_mut().expect("a hit").remove("at");
        }
        hits
    };
    ["vehicle", "baking a cake", "message 7", "boat trip on the water"].iter().map(one).collect()
}

/// Many turns about three things.
fn many(neap: &Neap) {
    let things = ["an automobile", "some dessert", "the river", "nothing much"];
    let turn = |n: usize| json!({"user": format!("message {n} is about {}", things[n % 4]), "assistant": format!("noted {n}")});
    neap.replay(&["--session", "talk"], &(0..60).map(turn).collect::<Vec<_>>());
}

/// Ends it as nothing can prevent.
fn kill(mut child: Child) {
    child.kill().expect("it is killed");
    child.wait().expect("it is dead");
}

#[test]
fn an_indexer_that_is_killed_leaves_a_store_that_is_made_up_for() {
    let none = [("NEAP_EMBEDDER", "none")];
    let (killed, undisturbed) = (Neap::with(&none), Neap::with(&none));
    let (hangs, batches) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let mock = {
        let (hangs, batches) = (hangs.clone(), batches.clone());
        Mock::start(move |request, _| {
            let is_batch = input(request).len() > 1;
            let nth = if is_batch { batches.fetch_add(1, Ordering::SeqCst) } else { 0 };
            // One batch is stored, the next never comes.
            let hangs = hangs.load(Ordering::SeqCst) && nth % 2 == 1;
            if hangs { answer(request, 0).ending(End::Silent).cut(3, End::Silent) } else { answer(request, 0) }
        })
    };
    let chosen = at(&mock, "concepts");
    many(&killed);
    many(&undisturbed);
    for round in 1..=2 {
        let mut indexing = command(&killed, &chosen, &["chat", "--session", "other"]);
        let child = indexing.stdin(Stdio::piped()).spawn().expect("the binary runs");
        wait_until("it embeds", || batches.load(Ordering::SeqCst) >= 2 * round);
        kill(child);
    }
    // Session folders may lag behind; the index may not be astray.
    let is_of_folder = |what: &str| what.contains("session folder");
    let astray = |neap: &Neap| -> Vec<String> {
        let told: Value = serde_json::from_str(&run(neap, &[], &["store", "doctor", "--json"]).out).expect("JSON");
        let findings = told["findings"].as_array().expect("findings").clone();
        let serious = findings.iter().filter(|finding| finding["severity"] != "note");
        serious
            .filter_map(|finding| finding["what"].as_str())
            .filter(|what| !is_of_folder(what))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(astray(&killed), Vec::<String>::new(), "half embedded is not damaged");
    hangs.store(false, Ordering::SeqCst);
    for neap in [&killed, &undisturbed] {
        wait_until("all is embedded", || {
            let before = batches.load(Ordering::SeqCst);
            search(neap, &chosen, "vehicle");
            batches.load(Ordering::SeqCst) == before
        });
    }
    let (left, right) = (answers(&killed, &chosen), answers(&undisturbed, &chosen));
    assert_eq!(left, right);
    assert!(left.iter().all(|hits| hits.as_array().is_some_and(|hits| hits.len() > 10)), "{left:?}");
    assert_eq!(astray(&killed), Vec::<String>::new());
}

/// One writes, others search: nothing fails, and what was written is found by its words at once, by its meaning soon.
#[test]
fn what_one_process_writes_another_finds() {
    use std::io::{BufRead, BufReader, Write};
    let (neap, mock) = (store(), server(0));
    let chosen = at(&mock, "concepts");
    let mut writing = command(&neap, &chosen, &["lab", "replay", "--session", "writer", "--json", "-"]);
    let mut writer = writing.stdin(Stdio::piped()).spawn().expect("the binary runs");
    let (mut tell, mut told) =
        (writer.stdin.take().expect("a pipe"), BufReader::new(writer.stdout.take().expect("a pipe")));
    let tall = ["heron", "osprey", "dipper", "curlew"];
    for (nth, bird) in tall.into_iter().enumerate() {
        let text = format!("a {bird} over the river");
        writeln!(tell, "{}", json!({"user": text, "assistant": "Noted."})).expect("it takes a line");
        let mut line = String::new();
        told.read_line(&mut line).expect("it answers");
        assert_eq!(objects(&line)[0]["turn"], nth + 1);
        let (found, err) = search(&neap, &chosen, bird);
        assert!(err.is_empty() && found.contains(&text), "found by its words at once: {found:?} {err}");
        search_until(&neap, &chosen, "boat", |found| found.contains(&text));
    }
    drop(tell);
    assert!(writer.wait().expect("it ends").success());
}
