//! What an agent knows, as a person teaches, asks and corrects it: the real binary, each command and what it refuses.
#![allow(clippy::disallowed_methods, reason = "tests make files on purpose")]

use crate::rig::{Neap, Ran, holding, lines, objects};
use serde_json::{Value, json};

/// What was refused: the exit code, one error that says so, one hint.
#[track_caller]
fn refused(ran: &Ran, code: i32, said: &str) {
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    assert!(ran.err.starts_with("error: ") && ran.err.contains(said), "not {said:?}: {}", ran.err);
    assert!(code == 2 || ran.err.contains("\nhint: "), "no hint: {}", ran.err);
}

/// Teaches and gives the id.
#[track_caller]
fn learn(neap: &Neap, args: &[&str]) -> String {
    neap.json(args)["id"].as_str().expect("an id").to_owned()
}

fn text_of(neap: &Neap, question: &str) -> String {
    neap.json(&["context", question])["text"].as_str().expect("a text").to_owned()
}

#[test]
fn a_fact_is_remembered_recalled_and_shown() {
    let neap = Neap::new();
    let told = neap.json(&["remember", "Tim prefers Celsius", "--subject", "Tim", "--tag", "units", "--always"]);
    assert_eq!((&told["id"], &told["status"]), (&json!("f1"), &json!("new")));
    assert_eq!(told["memory"]["provenance"]["author"], "person");
    assert_eq!(neap.json(&["recall", "celsius"])[0]["id"], "f1");
    assert!(neap.ok(&["recall", "celsius"]).contains("Tim prefers Celsius"));
    let shown = neap.json(&["memory", "show", "f1"]);
    assert_eq!((&shown["tags"], &shown["pinned"]), (&json!(["units"]), &json!(true)));
    assert!(neap.ok(&["memory", "show", "f1"]).contains("Subject: Tim"));
    assert!(neap.ok(&["memory", "list"]).contains("Tim prefers Celsius"));
    let nearest = neap.ok(&["recall", "zeppelin"]);
    assert!(nearest.contains("bears clearly on") && nearest.contains("Tim prefers Celsius"), "{nearest}");
    assert_eq!(neap.json(&["recall", "zeppelin"])[0]["nearest"], true);
    assert_eq!(neap.json(&["recall", "celsius"])[0].get("nearest"), None);
}

#[test]
fn every_kind_has_its_fields() {
    let neap = Neap::new();
    let deploy =
        ["remember", "Deploy", "--kind", "procedure", "--pattern", "never on a Friday", "--step", "open a PR"];
    assert_eq!(learn(&neap, &deploy), "p1");
    let moved =
        ["remember", "Moved billing to the new host", "--kind", "episode", "--participant", "Tim", "--minutes"];
    let moved = [&moved[..], &["90", "--outcome", "no downtime", "--lesson", "freeze writes first"]].concat();
    let ran =
        neap.fed(&[&moved[..], &["--detail", "-", "--json"]].concat(), "First we froze writes.\nThen we copied.");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rule =
        ["remember", "production password", "--kind", "censor", "--reason", "ask first", "--side", "tool-call"];
    assert_eq!(learn(&neap, &[&rule[..], &["--action", "refuse"]].concat()), "c1");
    let episode = neap.json(&["memory", "show", "e1"]);
    assert_eq!(episode["body"]["minutes"], 90);
    assert_eq!(episode["body"]["detail"], "First we froze writes.\nThen we copied.");
    let rule = neap.json(&["memory", "show", "c1"]);
    assert_eq!((&rule["body"]["side"], &rule["body"]["action"]), (&json!("tool_call"), &json!("refuse")));
    assert_eq!(neap.json(&["memory", "list", "--kind", "procedure"]).as_array().map(Vec::len), Some(1));
    assert_eq!(neap.json(&["memory", "list", "-n", "1"]).as_array().map(Vec::len), Some(1));
    let until = neap.json(&["remember", "the key card is in the drawer", "--valid-until", "2199-12-30"]);
    assert_eq!(until["memory"]["valid_until"], 7_258_032_000_000_i64, "the last day is part of it");
}

#[test]
fn senseless_records_are_refused_in_words() {
    let neap = Neap::new();
    learn(&neap, &["remember", "Tim prefers Celsius"]);
    let by_arguments: [(&[&str], &str); 7] = [
        (&["remember", "x", "--confidence", "1.7"], "not between 0 and 1"),
        (&["remember", "x", "--confidence", "sure"], "not a number"),
        (&["remember", "x", "--kind", "opinion"], "possible values: fact, procedure, episode, censor"),
        (&["remember", "x", "--valid-until", "2026-02-30"], "not a date"),
        (&["recall", "x", "--kind", "feelings"], "no kind of memory"),
        (&["memory", "show", "x9"], "no id of a memory"),
        (&["memory", "decide", "Use Postgres"], "--confidence"),
    ];
    for (args, said) in by_arguments {
        refused(&neap.run(args), 2, said);
    }
    let by_rules: [(&[&str], &str); 12] = [
        (&["remember", "..."], "a fact needs content"),
        (&["remember", "x", "--step", "y"], "--step is not for a fact"),
        (&["remember", "Deploy", "--kind", "procedure"], "a core pattern or a step"),
        (&["remember", "x", "--kind", "censor"], "needs a reason"),
        (&["remember", "x", "--valid-until", "2300-01-01"], "1900 to 2200"),
        (&["remember", "--from-effort", "nothing"], "there is no session"),
        (&["recall", "the"], "no word to search for"),
        (&["recall", "--time", "when pigs fly"], "time is not understood"),
        (&["memory", "show", "f9"], "f9"),
        (&["memory", "edit", "f1"], "the edit changes nothing in f1"),
        (&["memory", "retire", "f1"], "f1 is a fact"),
        (&["memory", "review", "f1", "success"], "only a decision can be reviewed"),
    ];
    for (args, said) in by_rules {
        let code = if said == "there is no session" { 2 } else { 1 };
        refused(&neap.run(args), code, said);
    }
    let ran = neap.run(&["memory", "edit", "f1", "--json"]);
    assert_eq!(ran.code, 1);
    let told: Value = serde_json::from_str(&ran.err).expect("an error in JSON");
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("neap memory edit f1")), "{told}");
    assert_eq!(neap.json(&["memory", "list"]).as_array().map(Vec::len), Some(1), "nothing was written");
}

#[test]
fn a_fact_of_a_megabyte_is_refused_and_not_repeated() {
    let neap = Neap::new();
    let ran = neap.fed(&["remember", "-"], "a megabyte ".repeat(100_000));
    refused(&ran, 1, "at most 2000 are kept");
    assert!(ran.err.len() < 1_000);
    let ran = neap.fed(&["remember", "much", "--kind", "episode", "--detail", "-"], "x".repeat(9 * 1_024 * 1_024));
    refused(&ran, 1, "bytes");
    let ran = neap.fed(&["remember", "-"], b"\xff\xfe");
    refused(&ran, 2, "not UTF-8");
    refused(&neap.fed(&["remember", "-", "--kind", "episode", "--detail", "-"], "x"), 2, "cannot both");
}

#[test]
fn the_same_again_confirms_and_a_newer_value_takes_its_place_until_undone() {
    let neap = Neap::new();
    let old = ["remember", "the staging database is called heron", "--subject", "staging database"];
    assert_eq!(learn(&neap, &old), "f1");
    let again = neap.json(&old);
    assert_eq!((&again["id"], &again["status"]), (&json!("f1"), &json!("confirmed")));
    let new = neap.json(&["remember", "the staging database is called plover", "--subject", "staging database"]);
    assert_eq!((&new["status"], &new["superseded"]), (&json!("superseded"), &json!(["f1"])), "{new}");
    let found = |args: &[&str]| {
        let hits = neap.json(&[&["recall", "staging", "database"], args].concat());
        hits.as_array().expect("hits").iter().map(|hit| hit["id"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), [r#""f2""#]);
    assert_eq!(found(&["--superseded"]), [r#""f2""#, r#""f1""#]);
    assert_eq!(found(&["--superseded", "-n", "1"]), [r#""f2""#]);
    let history = neap.json(&["memory", "history", "f1"]);
    let changes: Vec<&str> =
        history.as_array().expect("versions").iter().filter_map(|v| v["change"].as_str()).collect();
    assert_eq!(changes.first(), Some(&"remembered"));
    assert!(changes.contains(&"confirmed") && changes.contains(&"superseded"), "{changes:?}");
    assert!(neap.ok(&["memory", "history", "f1"]).contains("superseded by f2"));
    neap.ok(&["memory", "undo", "f2"]);
    assert_eq!(neap.json(&["memory", "show", "f2"])["status"], "inactive");
    assert_eq!(found(&[]), [r#""f1""#], "what it took the place of holds again");
}

#[test]
fn facts_are_confirmed_marked_and_found_wrong_and_what_rests_on_them_is_flagged() {
    let neap = Neap::new();
    learn(&neap, &["remember", "Postgres holds a million rows a second"]);
    learn(
        &neap,
        &[
            "memory", "decide", "Use Postgres", "--confidence", "0.85", "--rests-on", "f1", "--reason",
            "evidence: measured",
        ],
    );
    assert_eq!(neap.json(&["memory", "confirm", "f1"])["memory"]["status"], "confirmed");
    assert_eq!(neap.json(&["memory", "core", "f1"])["memory"]["status"], "core");
    refused(&neap.run(&["memory", "core", "f1"]), 1, "core already");
    assert_eq!(neap.json(&["memory", "wrong", "f1"])["memory"]["status"], "inactive");
    let decision = neap.json(&["memory", "show", "d1"]);
    assert_eq!(decision["shaken_by"], json!(["f1"]));
    assert_eq!(decision["body"]["reasons"], json!([{"kind": "evidence", "text": "measured"}]));
    assert!(neap.ok(&["memory", "list"]).contains("shaken"));
    refused(
        &neap.run(&["memory", "decide", "x y", "--confidence", "0.5", "--rests-on", "d1"]),
        1,
        "rests on facts",
    );
}

#[test]
fn decisions_are_reviewed_and_calibrate() {
    let neap = Neap::new();
    let choices =
        ["Use Postgres for billing", "Ship the parser", "Hire Ann", "Move the office", "Buy the heron server"];
    for (at, choice) in choices.iter().enumerate() {
        let id = learn(
            &neap,
            &["memory", "decide", choice, "--confidence", "0.9", "--stakes", "high", "--category", "work"],
        );
        assert_eq!(id, format!("d{}", at + 1));
    }
    let status = neap.json(&["memory", "status"]);
    assert_eq!(status["pending"].as_array().map(Vec::len), Some(5));
    assert_eq!(status["calibration"], Value::Null);
    for at in 1..=5 {
        let outcome = if at == 5 { "failure" } else { "success" };
        let told = neap.json(&["memory", "review", &format!("d{at}"), outcome, "--notes", "seen in use"]);
        assert_eq!(told["memory"]["body"]["outcome"], outcome);
    }
    let status = neap.json(&["memory", "status"]);
    assert_eq!((&status["pending"], &status["reviews"]), (&json!([]), &json!(5)));
    // Four of five are right where nine in ten were expected; 4 × 0.01 + 0.81, over 5.
    assert!((status["calibration"]["brier"].as_f64().expect("a number") - 0.17).abs() < 1e-9, "{status}");
    assert_eq!(status["kinds"], json!({"decision": {"reviewed": 5}}));
    assert!(neap.ok(&["memory", "status"]).contains("verconfident"), "advice is given");
    refused(&neap.run(&["memory", "review", "d1", "fine"]), 2, "possible values");
}

#[test]
fn an_edit_changes_what_is_named_and_can_be_undone() {
    let neap = Neap::new();
    learn(&neap, &["remember", "Tim prefers Celsius", "--subject", "Tim"]);
    let edited = neap.json(&["memory", "edit", "f1", "Tim prefers Kelvin", "--always", "--tag", "units"]);
    let memory = &edited["memory"];
    assert_eq!(
        (&memory["body"]["content"], &memory["body"]["subject"]),
        (&json!("Tim prefers Kelvin"), &json!("Tim"))
    );
    assert_eq!((&memory["pinned"], &memory["tags"]), (&json!(true), &json!(["units"])));
    refused(&neap.run(&["memory", "edit", "f1", "--minutes", "3"]), 1, "--minutes is not for a fact");
    refused(&neap.run(&["memory", "edit", "f1", "--always", "--not-always"]), 2, "cannot be used with");
    let undone = neap.json(&["memory", "undo", "f1"]);
    assert_eq!(undone["memory"]["body"]["content"], "Tim prefers Celsius");
    learn(&neap, &["remember", "Deploy", "--kind", "procedure", "--step", "open a PR"]);
    let edited = neap.json(&["memory", "edit", "p1", "--step", "open a pull request", "--step", "wait for CI"]);
    assert_eq!(edited["memory"]["body"]["steps"], json!(["open a pull request", "wait for CI"]));
    assert_eq!(neap.json(&["memory", "retire", "p1"])["memory"]["status"], "retired");
}

#[test]
fn forgetting_shows_what_would_go_and_erases_only_when_confirmed() {
    let neap = Neap::new();
    learn(&neap, &["remember", "the canary is called quetzalcoatlus", "--always"]);
    neap.ok(&["memory", "edit", "f1", "the canary is called quetzalcoatlus northropi"]);
    learn(&neap, &["remember", "Tim prefers Celsius"]);
    let shown = neap.ok(&["memory", "forget", "f1"]);
    assert!(shown.contains("2 versions") && shown.contains("neap memory forget f1 --confirm f1"), "{shown}");
    refused(&neap.run(&["memory", "forget", "f1", "--confirm", "f2"]), 2, "--confirm names f2");
    assert!(!holding(&neap.data(), "quetzalcoatlus").is_empty(), "the canary can be seen while it is there");
    assert_eq!(neap.json(&["memory", "forget", "f1", "--confirm", "f1"])["erased"], true);
    assert_eq!(holding(&neap.data(), "quetzalcoatlus"), Vec::<std::path::PathBuf>::new());
    refused(&neap.run(&["memory", "show", "f1"]), 1, "f1");
    let found = neap.json(&["recall", "canary"]);
    assert!(found.as_array().is_some_and(|found| found.iter().all(|hit| hit["id"] == "f2")), "{found}");
    assert_eq!(neap.json(&["recall", "celsius"])[0]["id"], "f2");
    assert_eq!(learn(&neap, &["remember", "the moon is far away"]), "f3", "an id is never used again");
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
    neap.ok(&["store", "rebuild"]);
    assert_eq!(holding(&neap.data(), "quetzalcoatlus"), Vec::<std::path::PathBuf>::new());
    assert!(neap.ok(&["memory", "forget", "--asked"]).starts_with("No model has asked"));
}

/// A turn in which the model calls a tool.
fn turn(user: &str, name: &str, arguments: Value) -> Value {
    json!({"user": user, "calls": [{"name": name, "arguments": arguments}], "assistant": "Noted."})
}

#[test]
fn what_a_model_wrote_is_listed_asked_about_and_rolled_back() {
    let neap = Neap::new();
    learn(&neap, &["remember", "the office cat is called Max", "--subject", "office cat"]);
    let told = neap.replay(
        &["--session", "s"],
        &[
            turn("Note it.", "remember", json!({"kind": "fact", "text": "The build server is called osprey"})),
            turn("And that.", "remember", json!({"kind": "procedure", "text": "Deploy", "steps": ["open a PR"]})),
            turn("We decide.", "record_decision", json!({"description": "Use Postgres", "confidence": 0.8})),
            turn("Forget it.", "forget", json!({"id": "f2", "reason": "it was a guess"})),
        ],
    );
    assert!(told.iter().all(|turn| turn["refusals"] == json!([])), "{told:?}");
    let asked = neap.json(&["memory", "forget", "--asked"]);
    assert_eq!((&asked[0]["id"], &asked[0]["reason"]), (&json!("f2"), &json!("it was a guess")));
    assert!(neap.ok(&["memory", "list"]).contains("model, s t1"));
    let listed = neap.json(&["memory", "roll-back", "--author", "model", "--session", "s"]);
    assert_eq!((listed["records"].as_array().map(Vec::len), &listed["done"]), (Some(3), &json!(false)));
    assert_eq!(neap.json(&["memory", "show", "f2"])["status"], "new");
    assert_eq!(neap.json(&["memory", "roll-back", "--author", "import"])["records"], json!([]));
    let none = neap.json(&["memory", "roll-back", "--author", "model", "--since", "2199-01-01"]);
    assert_eq!(none["records"], json!([]));
    let done = neap.json(&["memory", "roll-back", "--author", "model", "--confirm"]);
    assert_eq!(done["rolled_back"].as_array().map(Vec::len), Some(2), "{done}");
    let status = |id: &str| neap.json(&["memory", "show", id])["status"].clone();
    assert_eq!(
        [status("f2"), status("p1"), status("d1"), status("f1")],
        ["inactive", "retired", "recorded", "new"]
    );
}

#[test]
fn an_export_is_imported_by_the_same_rules_with_little_trust() {
    let neap = Neap::new();
    learn(&neap, &["remember", "Tim prefers Celsius", "--always"]);
    learn(&neap, &["remember", "the staging database is called heron", "--subject", "staging database"]);
    learn(&neap, &["remember", "the staging database is called plover", "--subject", "staging database"]);
    learn(&neap, &["memory", "decide", "Keep staging small", "--confidence", "0.7", "--rests-on", "f3"]);
    let file = neap.place().join("records.jsonl");
    let file = file.to_str().expect("a plain path");
    neap.ok(&["memory", "export", "-o", file]);
    assert_eq!(objects(&neap.ok(&["memory", "export"])).len(), 4);
    refused(&neap.run(&["memory", "export", "-o", file]), 2, "already exists");
    let other = ["--agent", "other"];
    learn(&neap, &[&other[..], &["remember", "bicycles have two wheels"]].concat());
    let told = neap.json(&[&other[..], &["memory", "import", file]].concat());
    assert_eq!(
        (&told["new"], &told["out_of_use"], &told["refused"]),
        (&json!(3), &json!(1), &json!([])),
        "{told}"
    );
    assert_eq!(told["always_elsewhere"], 1);
    let of = |id: &str| neap.json(&[&other[..], &["memory", "show", id]].concat());
    assert_eq!(of("f2")["provenance"]["trust"], "low");
    assert_eq!(of("f2")["pinned"], Value::Null, "a file does not decide what is always loaded");
    assert_eq!(of("d1")["body"]["rests_on"], json!(["f3"]), "by the ids that the facts have here");
    let again = neap.json(&[&other[..], &["memory", "import", file]].concat());
    assert_eq!(again["new"], 0, "{again}");
    let bad = neap.file("bad.jsonl", "{\"id\":\"f1\"}\n");
    refused(&neap.run(&["memory", "import", &bad]), 2, "line 1 of ");
    let mut record = neap.json(&["memory", "show", "f1"]);
    record["body"]["confidence"] = json!(1.7);
    let bad = neap.file("worse.jsonl", lines(&[record]));
    refused(&neap.run(&["memory", "import", &bad]), 2, "not between 0 and 1");
    refused(&neap.run(&["memory", "import", "nowhere.jsonl"]), 2, "cannot read");
}

#[test]
fn rules_are_tried_on_recent_texts_before_they_are_in_force() {
    let neap = Neap::new();
    let said: Vec<Value> =
        (0..6).map(|at| json!({"user": format!("message {at} of heron"), "assistant": "Noted."})).collect();
    neap.replay(&["--session", "s"], &said);
    let ran = neap.run(&["memory", "censor", "add", "heron", "--reason", "not now", "--side", "input"]);
    refused(&ran, 1, "6 of the last 6 texts");
    assert!(ran.err.contains("--force"), "{}", ran.err);
    let told = neap.ok(&["memory", "censor", "add", "heron", "--reason", "not now", "--side", "input", "--force"]);
    assert!(told.contains(": 6 matched") && told.contains("c1"), "{told}");
    let told = neap.ok(&["memory", "censor", "add", "launch codes", "--reason", "secret", "--action", "abort"]);
    assert!(told.contains("tried on 6 recent texts (output): 0 matched"), "{told}");
    assert_eq!(neap.json(&["memory", "censor", "list"]).as_array().map(Vec::len), Some(2));
    assert!(neap.ok(&["memory", "censor", "list"]).contains("launch codes"));
    refused(&neap.run(&["memory", "censor", "false-positive", "c2"]), 1, "c2");
    refused(&neap.run(&["memory", "censor", "retire", "f1"]), 2, "not a rule");
    neap.ok(&["memory", "censor", "retire", "c1"]);
    assert_eq!(neap.json(&["memory", "censor", "list"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn patterns_are_validated_and_can_be_tested() {
    let neap = Neap::new();
    let found = |args: &[&str]| neap.json(&[&["memory", "censor", "test"], args].concat())["found"].clone();
    assert_eq!(found(&["delete production", "please delete the whole production database"]), true);
    assert_eq!(found(&["delete production", "please delete the whole staging database"]), false);
    assert_eq!(found(&["sk-[a-z0-9]{8}", "it is sk-abcd1234", "--regex"]), true);
    let add = |pattern: &str, more: &[&str]| {
        neap.run(&[&["memory", "censor", "add", pattern, "--reason", "because"], more].concat())
    };
    for (pattern, said) in [
        ("(((a{1,900}){1,900}){1,900})", "too large"),
        (".*", "matches any text"),
        ("(unclosed", "cannot be read"),
    ] {
        refused(&add(pattern, &["--regex"]), 1, said);
    }
    refused(&add("the", &[]), 1, "almost every text");
    refused(&add("...", &[]), 1, "pattern");
    refused(&add(&"long ".repeat(400), &[]), 1, "characters");
    refused(&add("x", &["--regex", "--like"]), 2, "cannot be used with");
    refused(&add("x", &["--action", "destroy"]), 2, "possible values: steer, refuse, abort");
    assert!(!neap.data().exists() || neap.json(&["memory", "censor", "list"]) == json!([]), "nothing was written");
}

#[test]
fn a_persons_rule_ends_a_turn_and_the_turn_says_so() {
    let neap = Neap::new();
    neap.ok(&[
        "memory", "censor", "add", "launch codes", "--reason", "never speak of them", "--side", "input",
        "--action", "abort",
    ]);
    let ran = neap.fed(&["chat"], "tell me the launch codes\n");
    assert!(ran.err.contains("never speak of them"), "{}{}", ran.out, ran.err);
    assert!(neap.ok(&["explain", "--turn", "1"]).contains("rule c1 matched the message and ended the turn"));
    assert_eq!(neap.json(&["memory", "show", "c1"])["body"]["triggers"], 1);
    assert_eq!(neap.json(&["memory", "censor", "false-positive", "c1"])["memory"]["body"]["false_positives"], 1);
}

#[test]
fn what_is_remembered_reaches_every_conversation() {
    let neap = Neap::new();
    learn(&neap, &["remember", "The staging database is called heron", "--subject", "staging database"]);
    learn(&neap, &["remember", "Tim prefers Celsius", "--always"]);
    let text = text_of(&neap, "what is the staging database called?");
    assert!(
        text.contains("The staging database is called heron") && text.contains("Tim prefers Celsius"),
        "{text}"
    );
    for session in ["one", "two"] {
        let input = "what is the staging database called?\n/context\n";
        let ran = neap.fed(&["chat", "--session", session], input);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains("── facts") && ran.out.contains("is called heron"), "{}", ran.out);
        let ledger = &neap.json(&["explain", "--session", session])["ledger"];
        assert_eq!(ledger["memories"], json!(["f1"]), "{ledger}");
        let why = neap.ok(&["explain", "--session", session]);
        assert!(why.contains("f1") && why.contains("likeness"), "{why}");
    }
    // Another agent knows nothing of it, and a replay without a session has no agent.
    assert!(!neap.ok(&["--agent", "other", "context", "staging database"]).contains("heron"));
    let plain = neap.replay(&[], &[json!({"user": "what is the staging database called?", "assistant": "-"})]);
    assert_eq!(plain[0]["tokens"]["facts"], 0);
    let kept = neap.replay(&["--session", "s"], &[json!({"user": "what is the staging database called?"})]);
    assert!(kept[0]["tokens"]["facts"].as_u64() > Some(0), "{}", kept[0]);
    let report = neap.json(&["report", "--session", "one"]);
    assert_eq!(report["memories"]["loads"], 1);
    assert_eq!(report["memory_metrics"][0]["target"], "> 0.6");
    assert!(neap.ok(&["report", "--session", "one"]).contains("build_ms"));
}

#[test]
fn a_chat_can_be_told_and_asked() {
    let neap = Neap::new();
    let out = neap.chat(&[
        "/remember the wifi password hint is a river",
        "/recall wifi",
        "/decide Use Postgres --confidence 0.85",
        "/decide Use Postgres",
        "/remember",
        "/why",
        "where do we stand with the wifi?",
        "/why",
        "/help",
    ]);
    for said in
        ["f1 new:", "a river", "d1 new: Use Postgres", "how sure you are", "Say what to remember", "/decide"]
    {
        assert!(out.contains(said), "not {said:?}: {out}");
    }
    assert_eq!(neap.json(&["memory", "show", "f1"])["provenance"]["session"], "default");
    let ran = neap.fed(&["chat"], "/decide Use Postgres --confidence 1.7\n/remember ...\n");
    assert!(ran.err.contains("not between 0 and 1") && ran.err.contains("a fact needs content"), "{}", ran.err);
}

#[test]
fn an_effort_leaves_an_episode() {
    let neap = Neap::new();
    neap.replay(
        &["--session", "s"],
        &[
            turn("The login fails after an hour.", "open_effort", json!({"name": "auth bug"})),
            turn("The refresh token had no expiry; fixed, done.", "close_effort", json!({})),
            turn("And now the logo.", "open_effort", json!({"name": "logo"})),
        ],
    );
    refused(&neap.run(&["remember", "--from-effort", "logo", "--session", "s"]), 1, "no concluded effort");
    refused(
        &neap.run(&["remember", "--from-effort", "auth-bug", "--session", "s", "--kind", "fact"]),
        1,
        "episode",
    );
    let told =
        neap.json(&["remember", "--from-effort", "auth-bug", "--session", "s", "--lesson", "set an expiry"]);
    let body = &told["memory"]["body"];
    assert_eq!((&body["effort"], &body["session"]), (&json!("auth-bug"), &json!("s")), "{told}");
    assert!(body["summary"].as_str().is_some_and(|summary| summary.contains("token")), "{told}");
}

#[test]
fn frames_are_listed_explained_and_configured() {
    let neap = Neap::new();
    assert!(neap.ok(&["memory", "frames"]).contains("decision"));
    assert_eq!(neap.json(&["memory", "frames"]).as_array().map(Vec::len), Some(6));
    assert_eq!(neap.json(&["memory", "frames", "debug"])["total"], 10_000);
    assert_eq!(neap.json(&["memory", "frames", "--for", "should we use Redis?"])["frame"], "decision");
    assert!(
        neap.ok(&["memory", "frames", "--for", "should we use Redis?"])
            .starts_with("decision (0.30), by its words")
    );
    refused(&neap.run(&["memory", "frames", "sleep"]), 2, "no frame 'sleep'");
    learn(&neap, &["remember", "Tim prefers Celsius"]);
    refused(&neap.run(&["context", "hello", "--frame", "sleep"]), 2, "no frame 'sleep'");
    let place = neap.data().join("agents").join("cook");
    std::fs::create_dir_all(&place).expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(place.join(name), text).expect("a file can be written");
    write("frames.toml", "[[frame]]\nname = \"cooking\"\ndescription = \"A meal.\"\nwords = [\"simmer\"]\n");
    write("identity.md", "You are a cook called Basil.\n");
    let cook = |args: &[&str]| neap.json(&[&["--agent", "cook"], args].concat());
    assert_eq!(cook(&["memory", "frames", "--for", "simmer it slowly"])["frame"], "cooking");
    let text = cook(&["context", "simmer it slowly"])["text"].as_str().expect("a text").to_owned();
    assert!(text.contains("called Basil") && text.contains("Cooking"), "{text}");
    write("frames.toml", "[[frame]]\nname = \"cooking\"\n\nwrods = [\"simmer\"]\n");
    refused(&neap.run(&["--agent", "cook", "memory", "frames"]), 2, "frames.toml: unknown field `wrods`");
    assert!(neap.run(&["--agent", "cook", "memory", "frames"]).err.contains("line 4 of"), "the line is named");
    write("frames.toml", "[[frame]]\nname = \"Cooking!\"\n");
    refused(&neap.run(&["--agent", "cook", "chat"]), 2, "not a name for a frame");
    write("frames.toml", "");
    write("identity.md", &"You are a cook. ".repeat(1_000));
    refused(&neap.run(&["--agent", "cook", "chat"]), 2, "the maximum is 2000");
    refused(&neap.run(&["--agent", "..", "memory", "list"]), 2, "as an agent's name");
}

#[test]
fn a_context_is_explained_candidate_by_candidate() {
    let neap = Neap::new();
    for text in ["Redis holds our sessions", "Redis fell over in March", "the office cat is called Max"] {
        learn(&neap, &["remember", text]);
    }
    let told = neap.json(&["context", "should we keep Redis for sessions?", "--budget", "2000"]);
    assert_eq!(told["frame"], "decision");
    assert!(told["build_ms"].as_f64().is_some_and(|ms| ms > 0.0));
    assert!(told["tokens_total"].as_u64().is_some_and(|tokens| tokens <= 2_000), "{told}");
    let candidates = told["candidates"].as_array().expect("candidates");
    assert_eq!(candidates.iter().map(|c| c["id"].as_str()).collect::<Vec<_>>(), [Some("f1"), Some("f2")]);
    assert!(candidates.iter().all(|c| c["score"].is_number() && c["recency"].is_number() && c["why"].is_string()));
    let page = neap.ok(&["context", "should we keep Redis for sessions?", "--explain"]);
    assert!(page.contains("likeness") && page.contains("frame decision"), "{page}");
    let text = neap.ok(&["context", "should we keep Redis for sessions?"]);
    assert_eq!(text, text_of(&neap, "should we keep Redis for sessions?"), "the text, exactly");
    assert!(neap.ok(&["context", "zeppelins", "--explain"]).contains("No candidates"));
}

#[test]
fn secrets_are_masked_before_anything_is_stored() {
    let neap = Neap::new();
    let key = "sk-live-9f8e7d6c5b4a39281706f5e4d3c2b1a0";
    let told = neap.ok(&["remember", &format!("the billing key is {key}")]);
    assert!(told.contains("1 secret masked"), "{told}");
    assert_eq!(holding(&neap.data(), key), Vec::<std::path::PathBuf>::new());
}

#[test]
fn where_nothing_was_stored_looking_makes_nothing() {
    let neap = Neap::new();
    for args in [
        &["memory", "list"][..],
        &["recall", "x"],
        &["memory", "status"],
        &["context", "x"],
        &["memory", "censor", "list"],
    ] {
        refused(&neap.run(args), 2, "there is no store");
    }
    assert!(!neap.data().exists());
}
