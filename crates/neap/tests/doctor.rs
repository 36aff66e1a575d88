//! `neap store doctor` and `neap store rebuild`: damage is contained and said aloud.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use crate::rig::{self, Neap, Ran, tree};
use serde_json::{Value, json};

/// A store with a session of one concluded effort and some chat.
fn store() -> Neap {
    let neap = Neap::new();
    let call = |user: &str, name: &str, arguments: Value| json!({"user": user, "calls": [{"name": name, "arguments": arguments}], "assistant": "Noted."});
    let turns = [
        call("The pump rattles at 40 Hz.", "open_effort", json!({"name": "pump"})),
        json!({"user": "A loose bracket, torque twelve newton metres.", "assistant": "Tighten it."}),
        call("That is settled.", "close_effort", json!({})),
        json!({"user": "Good morning, said the heron.", "assistant": "Hello."}),
    ];
    neap.replay(&["--session", "work"], &turns);
    neap
}

/// Examines a store: the exit code and what is found wrong must be these, for people and in JSON.
#[track_caller]
fn check(neap: &Neap, code: i32, wrong: &[&str]) {
    let Ran { code: found, out, err } = neap.run(&["store", "doctor"]);
    assert_eq!((found, err.as_str()), (code, ""), "{out}");
    let told = neap.run(&["store", "doctor", "--json"]);
    assert_eq!(told.code, code);
    let told: Value = serde_json::from_str(&told.out).expect("JSON");
    let keys: Vec<&str> = told.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["agents", "clean", "connections", "embedder", "events", "exit", "findings", "sessions"]);
    assert_eq!((&told["clean"], &told["exit"]), (&json!(code == 0), &json!(code)));
    let findings = told["findings"].as_array().expect("a list");
    let serious: Vec<&str> =
        findings.iter().filter(|f| f["severity"] != "note").filter_map(|f| f["what"].as_str()).collect();
    assert_eq!(serious.len(), wrong.len(), "{serious:?}");
    for words in wrong {
        assert!(serious.iter().any(|what| what.contains(words)), "{words:?} is not in {serious:?}");
        assert!(out.contains(words), "{words:?} is not in {out}");
    }
}

#[test]
fn a_store_as_it_was_written_is_clean() {
    let neap = store();
    check(&neap, 0, &[]);
    let before = tree(&neap.folder("work"));
    check(&neap, 0, &[]);
    assert_eq!(tree(&neap.folder("work")), before, "looking changes nothing");
}

#[test]
fn lost_and_garbled_views_are_named_and_rebuilt_byte_for_byte() {
    let neap = store();
    let folder = neap.folder("work");
    let before = tree(&folder);
    let files = ["raw.jsonl", "manifest.yaml", "expanded.json", "session_state.json", "efforts/0001.jsonl"];
    for file in files {
        std::fs::remove_file(folder.join(file)).expect("it was there");
        check(&neap, 1, &[&format!("{file} is missing")]);
        neap.ok(&["store", "rebuild"]);
        assert_eq!(tree(&folder), before, "{file}");
        std::fs::write(folder.join(file), b"\xff garbled {").expect("it can be garbled");
        check(&neap, 1, &[&format!("{file} in the session folder differs")]);
        neap.ok(&["store", "rebuild"]);
        assert_eq!(tree(&folder), before, "{file}");
    }
    check(&neap, 0, &[]);
}

#[test]
fn a_lost_folder_is_made_anew_byte_for_byte() {
    let neap = store();
    let before = tree(&neap.data().join("sessions"));
    std::fs::remove_dir_all(neap.data().join("sessions")).expect("it was there");
    check(&neap, 1, &["the session folder is missing"]);
    neap.ok(&["store", "rebuild", "--session", "work"]);
    assert_eq!(tree(&neap.data().join("sessions")), before);
    check(&neap, 0, &[]);
}

#[test]
fn no_decision_reads_a_view() {
    let neap = store();
    let folder = neap.folder("work");
    std::fs::write(folder.join("manifest.yaml"), "efforts: []\n").expect("it can be changed");
    std::fs::write(folder.join("session_state.json"), r#"{"turn_count": 900}"#).expect("it can be changed");
    let told = neap.replay(&["--session", "work"], &[json!({"user": "And?"})]);
    assert_eq!((&told[0]["turn"], &told[0]["shown_summaries"]), (&json!(5), &json!(["pump"])));
}

/// Changes one letter of something said, in the database file itself.
fn flip(neap: &Neap, words: &str) {
    let wal = neap.data().join("neap.db-wal");
    assert!(std::fs::metadata(&wal).map_or(0, |found| found.len()) == 0, "everything is in the database file");
    let mut bytes = std::fs::read(neap.database()).expect("a database");
    let places: Vec<usize> =
        bytes.windows(words.len()).enumerate().filter(|(_, w)| *w == words.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "{words:?} is stored as it is");
    for at in places {
        bytes[at] ^= 0x01;
    }
    std::fs::write(neap.database(), bytes).expect("it can be changed");
}

#[test]
fn a_damaged_event_costs_only_itself() {
    let neap = store();
    let whole = neap.events("work");
    let at =
        whole.iter().position(|e| e["event"]["message"]["content"].as_str().is_some_and(|c| c.contains("heron")));
    let seq = at.expect("it was said") + 1;
    flip(&neap, "heron");
    let named = format!("event {seq} is damaged: its checksum does not match");
    let ran = neap.run(&["store", "doctor"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains(&named) && ran.out.contains(": damaged: "), "{}", ran.out);

    let export = neap.run(&["session", "export", "work"]);
    assert_eq!(export.code, 2);
    assert!(export.err.contains("1 damaged event"), "{}", export.err);
    let rest: Vec<Value> = whole.iter().filter(|event| event["seq"] != seq).cloned().collect();
    assert_eq!(rig::objects(&export.out), rest, "everything else is there");

    let expand = json!({"user": "Torque?", "calls": [{"name": "expand_effort", "arguments": {"id": "pump"}}], "assistant": "12."});
    let told = neap.replay(&["--session", "work"], &[expand, json!({"user": "Thanks."})]);
    assert_eq!((&told[0]["turn"], &told[0]["expanded"]), (&json!(5), &json!(["pump"])), "the session goes on");
    assert_eq!(neap.json(&["session", "show", "work"])["turns"], 6);

    let rebuilt = neap.run(&["store", "rebuild"]);
    assert_eq!(rebuilt.code, 2, "a rebuild cannot bring it back, and says so: {}", rebuilt.out);
    assert!(rebuilt.out.contains(&named), "{}", rebuilt.out);
    let ran = neap.run(&["store", "doctor", "--json"]);
    let told: Value = serde_json::from_str(&ran.out).expect("JSON");
    let serious: Vec<&Value> =
        told["findings"].as_array().expect("a list").iter().filter(|f| f["severity"] != "note").collect();
    assert_eq!(ran.code, 2);
    // The folder still has the words: it is their only copy now, and no rebuild writes over it.
    let kept = "in the session folder raw.jsonl has 6 lines and the store 6; 1 of them are in the folder alone";
    let damaged = |what: &str| json!({"severity": "damaged", "session": "work", "what": what});
    assert_eq!(serious, [&damaged(&named), &damaged(kept)]);
    let log = std::fs::read_to_string(neap.folder("work").join("raw.jsonl")).expect("a log");
    assert!(log.contains("said the heron"), "{log}");
}

#[test]
fn one_session_can_be_examined_alone() {
    let neap = store();
    neap.replay(&["--session", "other"], &[json!({"user": "Hello."})]);
    std::fs::remove_file(neap.folder("other").join("raw.jsonl")).expect("it was there");
    assert_eq!(neap.run(&["store", "doctor", "--session", "work"]).code, 0);
    assert_eq!(neap.run(&["store", "doctor", "--session", "other"]).code, 1);
    check(&neap, 1, &["raw.jsonl is missing"]);
}
