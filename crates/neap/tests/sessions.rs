//! `neap session` and the commands that look at a session: for people and, with `--json`, for programs.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::path::{Path, PathBuf};

use crate::rig::{Neap, holding, tree};
use serde_json::{Value, json};

const CANARY: &str = "xylophonequartz";

/// A store with one session that has a concluded effort, an open one and some chat.
fn store() -> Neap {
    let neap = Neap::new();
    let call = |user: &str, name: &str, arguments: Value| json!({"user": user, "calls": [{"name": name, "arguments": arguments}], "assistant": "Noted."});
    let turns = [
        call(
            &format!("The {CANARY} pump rattles at 40 Hz."),
            "open_effort",
            json!({"name": format!("{CANARY} pump")}),
        ),
        json!({"user": format!("A loose {CANARY} bracket, torque 12 Nm."), "assistant": "Tighten it."}),
        call("That is settled.", "close_effort", json!({})),
        call("The garden fence leans.", "open_effort", json!({"name": "garden-fence"})),
        json!({"user": format!("Hello {CANARY}."), "assistant": "Hello."}),
    ];
    neap.replay(&["--session", "work"], &turns);
    neap
}

/// Runs a command both ways: what people read must have these words in it, and the JSON is given back.
#[track_caller]
fn check(neap: &Neap, args: &[&str], words: &[&str]) -> Value {
    let said = neap.ok(args);
    for words in words {
        assert!(said.contains(words), "{args:?} does not say {words:?}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "no escape sequences in a pipe: {said:?}");
    neap.json(args)
}

#[test]
fn every_look_at_a_session_is_for_people_and_for_programs() {
    let neap = store();
    let of = ["--session", "work"];
    let pump = format!("{CANARY}-pump");
    let listed = check(&neap, &["session", "list"], &["work", "turns"]);
    assert_eq!(
        (&listed[0]["session"], &listed[0]["turns"], &listed[0]["efforts"]),
        (&json!("work"), &json!(5), &json!(2))
    );
    let shown = check(&neap, &["session", "show", "work"], &[&pump, "as files:", "savings_vs_naive"]);
    assert_eq!(
        (&shown["turns"], &shown["active"], &shown["report"]["turns"]),
        (&json!(5), &json!("garden-fence"), &json!(5))
    );
    let turn =
        check(&neap, &["session", "show", "work", "--turn", "2"], &["user: A loose", "assistant: Tighten it."]);
    assert_eq!(turn["reply"], "Tighten it.");
    let efforts = check(&neap, &["session", "efforts", of[0], of[1]], &[&pump, "garden-fence", "active", "shown"]);
    assert_eq!((&efforts[0]["id"], &efforts[1]["id"]), (&json!("garden-fence"), &json!(pump)));
    let report = check(&neap, &["report", of[0], of[1]], &["context_tokens_peak"]);
    assert_eq!(report["efforts"]["open"], 1);
    let found = check(&neap, &["search", "bracket", "torque"], &["work / ", "torque 12 Nm"]);
    assert!(found.as_array().is_some_and(|hits| hits.len() <= 10 && hits[0]["session"] == "work"), "{found}");
    assert_eq!(check(&neap, &["search", "zebra"], &["Nothing found for \"zebra\".\nhint: "]), json!([]));
    let one = check(&neap, &["search", CANARY, "-n", "1", of[0], of[1]], &[]);
    assert_eq!(one.as_array().map(Vec::len), Some(1));
    let explained =
        check(&neap, &["explain", of[0], of[1], "--turn", "3"], &["turn 3 in ", "in the context", "concluded "]);
    assert_eq!(explained["turn"], 3);
    let settings = check(&neap, &["store", "settings"], &["decay_threshold", "--set key=value"]);
    assert_eq!(settings["summary_eviction_threshold"], 20);
    assert_eq!(check(&neap, &["store", "doctor"], &["1 session, ", ": clean\n"])["clean"], true);
    assert_eq!(check(&neap, &["store", "rebuild"], &["rebuilt work\n"])["rebuilt"], json!(["work"]));
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Neap::new().ok(&["completions", shell]);
        assert!(script.contains("erase"), "{shell}");
    }
}

#[test]
fn what_is_not_there_is_named_with_a_hint() {
    let neap = store();
    for args in [
        &["session", "show", "nothing"][..],
        &["session", "export", "nothing"],
        &["session", "erase", "nothing"],
        &["session", "efforts", "--session", "nothing"],
        &["report", "--session", "nothing"],
        &["search", "word", "--session", "nothing"],
        &["store", "doctor", "--session", "nothing"],
        &["store", "rebuild", "--session", "nothing"],
        &["session", "show", "work", "--turn", "77"],
        &["explain", "--session", "work", "--turn", "77"],
        &["session", "import", "nowhere"],
    ] {
        let ran = neap.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains("\nhint: "), "{args:?}: {}", ran.err);
        let told: Value = serde_json::from_str(&neap.run(&[args, &["--json"]].concat()).err).expect("JSON");
        assert!(told["error"].is_string() && told["hint"].is_string(), "{args:?}: {told}");
    }
    let empty = Neap::new();
    let ran = empty.run(&["session", "efforts"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no store at"), "{}", ran.err);
    assert!(!empty.data().exists(), "looking makes nothing");
}

/// Clients of the proxy have sessions that nobody named: without a name, the one used last is shown, and which one that is is said.
#[test]
fn without_a_name_the_session_used_last_is_shown() {
    let neap = store();
    let turn = json!({"user": "The boat leaks.", "calls": [{"name": "open_effort", "arguments": {"name": "boat"}}], "assistant": "Noted."});
    neap.replay(&["--session", "later"], &[turn]);
    let shown = |args: &[&str]| {
        let ran = neap.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        assert!(!ran.out.contains("the one used last"), "{args:?}: {}", ran.out);
        (ran.err, serde_json::from_str::<Value>(&ran.out).expect("JSON"))
    };
    let said = "session later, the one used last\n";
    let (err, efforts) = shown(&["session", "efforts"]);
    assert_eq!((err.as_str(), &efforts[0]["id"]), (said, &json!("boat")));
    let (err, report) = shown(&["report"]);
    assert_eq!((err.as_str(), &report["turns"], &report["session"]), (said, &json!(1), &json!("later")));
    let others: [&[&str]; 4] =
        [&["session", "receipts"], &["session", "show"], &["session", "original", "t1"], &["explain"]];
    for args in others {
        assert_eq!(shown(args).0, said, "{args:?}");
    }
    assert_eq!(neap.json(&["report", "--session", "work"])["turns"], 5);
    let (err, all) = shown(&["report", "--all"]);
    assert_eq!((err.as_str(), &all["sessions"], &all["turns"]), ("", &json!(2), &json!(6)));
    let one = neap.json(&["session", "erase", "later", "--confirm", "later"]);
    assert!(one.is_object(), "{one}");
    assert_eq!(shown(&["report"]).1["session"], "work", "an erased session is not the last");
    assert_eq!(neap.run(&["report", "--all", "--session", "work"]).code, 2);
}

#[test]
fn an_export_imported_under_another_name_has_the_same_events() {
    let neap = store();
    let file = neap.place().join("work.jsonl");
    let path = file.to_str().expect("a plain path");
    assert_eq!(neap.ok(&["session", "export", "work", "--output", path]), format!("wrote {path}\n"));
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), neap.ok(&["session", "export", "work"]));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o077, 0, "an export is for its owner's eyes only: {mode:o}");
    }
    let again = neap.run(&["session", "export", "work", "--output", path]);
    assert_eq!(again.code, 2, "an export never replaces a file");
    assert!(again.err.contains("\nhint: choose a name that is not in use"), "{}", again.err);

    let ran = neap.run(&["session", "import", path]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("a session 'work' already exists\nhint: "), "{}", ran.err);
    let imported = neap.json(&["session", "import", path, "--session", "copy"]);
    assert_eq!(
        (&imported["session"], &imported["turns"], &imported["efforts"]),
        (&json!("copy"), &json!(5), &json!(2))
    );
    let mut events = neap.events("copy");
    assert_eq!(events[0]["event"]["session"], "copy");
    events[0]["event"]["session"] = json!("work");
    assert_eq!(events, neap.events("work"));
    assert_eq!(tree(&neap.folder("copy").join("efforts")), tree(&neap.folder("work").join("efforts")));
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
    let told = neap.replay(&["--session", "copy"], &[json!({"user": "And on."})]);
    assert_eq!((&told[0]["turn"], &told[0]["active"]), (&json!(6), &json!("garden-fence")));
}

#[test]
fn a_file_that_is_no_export_is_refused_by_its_line() {
    let neap = Neap::new();
    let whole = store().ok(&["session", "export", "work"]);
    let second = whole.lines().nth(1).expect("two events").to_owned() + "\n";
    for (content, why) in [
        ("{\"user\": \"x\"}\n".to_owned(), "line 1 of"),
        (format!("{}\nnope\n", whole.lines().next().expect("an event")), "line 2 of"),
        (second, "does not begin with the creation of a session"),
        (String::new(), "does not begin with the creation of a session"),
    ] {
        let path = neap.file("bad.jsonl", content);
        let ran = neap.run(&["session", "import", &path]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{why}");
        assert!(ran.err.contains(why) && ran.err.contains("\nhint: "), "{why}: {}", ran.err);
        assert_eq!(neap.json(&["session", "list"]), json!([]), "{why}");
    }
}

#[test]
fn a_folder_of_the_reference_system_is_taken_in_and_left_alone() {
    let neap = Neap::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ccm-session");
    let before = tree(&fixture);
    let path = fixture.to_str().expect("a plain path");
    let said = neap.ok(&["session", "import", path]);
    assert!(said.starts_with("imported ccm-session: 5 turns, 2 efforts; the originals are untouched\n"), "{said}");
    assert!(said.contains("note: raw.jsonl: 1 lines cannot be parsed and were skipped (first: line 3)"), "{said}");
    assert!(said.ends_with("continue with neap chat --session ccm-session\n"), "{said}");
    assert_eq!(tree(&fixture), before, "byte for byte");

    let efforts = neap.json(&["session", "efforts", "--session", "ccm-session"]);
    let brief: Vec<Value> = efforts
        .as_array()
        .expect("efforts")
        .iter()
        .map(|e| json!([e["id"], e["place"], e["exchanges"]]))
        .collect();
    assert_eq!(brief, [json!(["bike-lights", "active", 1]), json!(["greenhouse-vents", "shown", 2])]);
    let found = neap.json(&["search", "Thermovent"]);
    assert_eq!(found[0]["effort"], "greenhouse-vents", "{found}");
    let expand = json!({"user": "Which model?", "calls": [{"name": "expand_effort", "arguments": {"id": "greenhouse-vents"}}]});
    let told = neap.replay(&["--session", "ccm-session"], &[expand]);
    assert_eq!((&told[0]["turn"], &told[0]["expanded"]), (&json!(6), &json!(["greenhouse-vents"])));
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);

    let twice = neap.run(&["session", "import", path]);
    assert_eq!(twice.code, 2);
    assert!(twice.err.contains("already exists\nhint: choose another name with --session"), "{}", twice.err);
    assert_eq!(neap.json(&["session", "import", path, "--session", "other"])["session"], "other");
}

#[test]
fn erasure_is_asked_for_shown_confirmed_and_complete() {
    let neap = store();
    neap.replay(&["--session", "other"], &[json!({"user": "This one stays."})]);
    let data = neap.data();
    assert!(!holding(&data, CANARY).is_empty());
    let before = tree(&neap.folder("work"));

    let said = neap.ok(&["session", "erase", "work"]);
    assert!(said.starts_with("work has 5 turns and 2 efforts. Erasing it removes all its text"), "{said}");
    assert!(said.contains("neap session export work --output work.jsonl"), "{said}");
    assert!(said.contains("neap session erase work --confirm work"), "{said}");
    assert_eq!(neap.json(&["session", "erase", "work"])["erased"], false);
    let wrong = neap.run(&["session", "erase", "work", "--confirm", "other"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("\nhint: nothing was erased"), "{}", wrong.err);
    assert_eq!(tree(&neap.folder("work")), before, "nothing happened yet");

    let said = neap.ok(&["session", "erase", "work", "--confirm", "work"]);
    assert!(said.starts_with("erased work: "), "{said}");
    assert_eq!(holding(&data, CANARY), Vec::<PathBuf>::new(), "not a word is left in any file");
    assert!(!neap.folder("work").exists());
    let listed = neap.json(&["session", "list"]);
    let erased: Vec<Value> =
        listed.as_array().expect("sessions").iter().map(|s| json!([s["session"], s["scrubbed"]])).collect();
    assert_eq!(erased, [json!(["other", false]), json!(["work", true])]);
    assert_eq!(neap.json(&["search", CANARY]), json!([]));
    assert_eq!(neap.json(&["session", "show", "other"])["turns"], 1);
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}
