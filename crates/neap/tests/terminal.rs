//! `neap chat` on a real (pseudo-)terminal: colour, the status line, Ctrl-C and Ctrl-D. Needs python3, whose
//! standard library opens one.
#![cfg(unix)]

use std::process::Command;

use crate::disk::skip;
use crate::rig::{Neap, holding};
use serde_json::Value;

/// Types the script of `terminal.py` and gives what it saw; nothing where there is no python3.
fn check(neap: &Neap, no_color: bool) -> Option<Value> {
    let works = Command::new("python3").args(["-c", "import pty"]).output().is_ok_and(|ran| ran.status.success());
    if !works {
        skip("chat on a terminal", "python3 with its pty module is not here");
        return None;
    }
    let mut command = Command::new("python3");
    command.args([concat!(env!("CARGO_MANIFEST_DIR"), "/tests/terminal.py"), env!("CARGO_BIN_EXE_neap")]);
    command.env("NEAP_DATA_DIR", neap.data()).env("HOME", neap.place()).env("TERM", "xterm-256color");
    command.env_remove("NO_COLOR");
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let output = command.output().expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    Some(
        serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{e}: {text} {}", String::from_utf8_lossy(&output.stderr))),
    )
}

#[track_caller]
fn all_came(told: &Value) {
    for (what, came) in told.as_object().expect("an object") {
        assert!(came != false, "{what} did not come: {}", told["seen"].as_str().unwrap_or_default());
    }
    assert_eq!(told["exit"], 0, "Ctrl-D ends the chat: {}", told["seen"]);
}

#[test]
fn a_chat_survives_ctrl_c_and_ends_with_ctrl_d() {
    let neap = Neap::new();
    let Some(told) = check(&neap, false) else { return };
    all_came(&told);
    let seen = told["seen"].as_str().expect("text");
    assert!(seen.contains("\u{1b}[36m--- Started effort: login-failing-mobile ---"), "in colour: {seen}");
    assert!(seen.contains("session \u{1b}[1mdefault\u{1b}[0m \u{1b}[2m(new)"), "a welcome: {seen}");
    assert!(seen.contains("turn 2 · ") && seen.contains(" of 16k"), "{seen}");
    assert!(seen.contains(" · active login-") && !seen.contains("saved"), "{seen}");
    assert_eq!(neap.json(&["session", "show"])["turns"], 14, "every message was kept, answered or not");
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}

#[test]
fn colour_is_left_out_where_it_is_not_wanted() {
    let neap = Neap::new();
    let Some(told) = check(&neap, true) else { return };
    all_came(&told);
    assert!(!told["seen"].as_str().expect("text").contains("\u{1b}[36m"), "{}", told["seen"]);
}

/// What is typed on a terminal is also kept as history, which goes with the session.
#[test]
fn erasing_a_session_erases_what_was_typed_in_it() {
    let neap = Neap::new();
    if check(&neap, true).is_none() {
        return;
    }
    let canary = "detail 7 of the login";
    assert!(holding(&neap.data(), canary).iter().any(|path| path.ends_with("history/default.txt")));
    neap.ok(&["session", "erase", "default", "--confirm", "default"]);
    assert_eq!(holding(&neap.data(), canary), Vec::<std::path::PathBuf>::new());
}
